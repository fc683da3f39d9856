"""What a stack of masks reaches."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call
from autograder.reference import sparse as ref


def reach_by_sets(layers):
    """For each position the set of inputs that it depends on."""
    T = len(layers[0])
    known = [{i} for i in range(T)]
    for mask in layers:
        known = [set.union(known[i], *(known[j] for j in range(T) if mask[i, j])) for i in range(T)]
    return torch.tensor([[j in known[i] for j in range(T)] for i in range(T)])


def reach_by_any(layers):
    """A third axis for the stop between, and any over it."""
    reached = torch.eye(len(layers[0]), dtype=torch.bool)
    for mask in layers:
        reached = reached | (mask[:, :, None] & reached[None]).any(1)
    return reached


def _random_layers(g: Source, T: int, n: int, keep: float = 0.15) -> list[Tensor]:
    return [torch.rand(T, T, generator=g.generator) < keep for _ in range(n)]


def _many_ways() -> list[Tensor]:
    """Two layers with exactly 128 and 256 ways from token 0 to the last tokens: few entries, for loops in Python."""
    first, second = torch.zeros(2, 260, 260, dtype=torch.bool)
    first[:256, 0] = True
    second[256:258, :256] = True
    second[258:, :128] = True
    return [first, second]


_OPEN = torch.tensor([[True, False, False], [True, True, False], [False, True, True]])
_SILENT = torch.tensor([[False, False], [True, False]])

_CHAIN = [
    torch.tensor([[False, False, False], [True, False, False], [False, False, False]]),
    torch.tensor([[False, False, False], [False, False, False], [False, True, False]]),
]


MISTAKES = changes(
    ref.reach,
    """
reversed: in layers: → in layers[::-1]:
    The layers are run in the wrong order. The first layer acts on the inputs: multiply each next mask from the
    left.
union: ((mask | eye).float() @ reached.float()) > 0 → mask | reached
    The masks are joined with |, as if there was one layer. A second layer goes on from what the first one reached:
    multiply.
no_residual: (mask | eye).float() → mask.float()
    A token forgets itself where the mask hides it. The residual connection keeps it: add the diagonal to every mask.
residual_at_end: (mask | eye).float() → mask.float() ; return reached → return reached | eye
    The diagonal is opened once, at the end. Every layer has a residual connection: add the diagonal to each mask
    before you multiply.
transposed: return reached → return reached.mT
    Rows and columns are exchanged. Rows are outputs, columns the inputs that they depend on.
counts: reached = eye → reached = eye.double()
; ((mask | eye).float() @ reached.float()) > 0 → (mask | eye).double() @ reached
    These are the numbers of ways. Ask whether there is at least one: > 0.
power_of_last: (mask | eye) → (layers[-1] | eye)
    Only the last layer's mask is used. The layers may differ: go through the list.
one_layer: in layers: → in layers[:1]:
    Only the first layer is used. Go through the list, and multiply each mask with what was reached before.
overflows: reached = eye → reached = eye.float()
; ((mask | eye).float() @ reached.float()) > 0 → (mask | eye).float() @ reached ; return reached → return reached > 0
    In a deep stack the numbers of ways overflow, and 0 · ∞ is not a number. Go back to booleans after every layer:
    > 0.
wraps_in_bytes: reached = eye → reached = eye.byte()
; ((mask | eye).float() @ reached.float()) > 0 → (mask | eye).byte() @ reached ; return reached → return reached > 0
    The ways are counted in 8 bits, where 256 of them become 0. Count in floats, and go back to booleans after every
    layer: > 0.
wraps_in_integers: reached = eye → reached = eye.long()
; ((mask | eye).float() @ reached.float()) > 0 → (mask | eye).long() @ reached ; return reached → return reached > 0
    In a deep stack the numbers of ways outgrow the integers, and 2^64 of them become 0. Go back to booleans after
    every layer: > 0.
exactly_one_way: reached = eye → reached = eye.double()
; ((mask | eye).float() @ reached.float()) > 0 → (mask | eye).double() @ reached ; return reached → return reached == 1
    A pair counts only if there is exactly one way. Any positive number will do: > 0.
until_nothing_changes: in layers: → in [torch.stack(layers).any(0)] * 16:
    The stack is taken as endlessly deep, and its layers in any order. Each mask is used once, the first layer
    first.
signed_bytes: (mask | eye).float() @ reached.float() → (mask | eye).to(torch.int8) @ reached.to(torch.int8)
    The ways are counted in int8, where 128 of them are negative and 256 become 0. Count in floats.
unsigned_bytes: (mask | eye).float() @ reached.float() → (mask | eye).byte() @ reached.byte()
    The ways are counted in uint8, and 256 of them through one layer become 0. Count in floats.
opened_in_place: (mask | eye) → mask.fill_diagonal_(True)
    The diagonal is opened in the masks that were given, so they are changed for whoever uses them next. Make new
    ones: mask | own.
elementwise: reached = eye → reached = ~torch.zeros_like(eye)
; ((mask | eye).float() @ reached.float()) > 0 → (mask | eye) & reached
    A pair counts only if every layer allows it. Ways lead over other tokens: use the matrix product @, not * or &.
last_layer: in layers: → in layers[-1:]:
    Only the last layer counts. Multiply its mask with what the layers before it have reached, and keep the product.
one_layer_short: in layers: → in layers[:-1]:
    The last layer is left out. Go through the whole list.
first_layer_left_out: in layers: → in layers[1:]:
    The first layer is left out. Start from the identity, or from the first mask with its diagonal open.
first_layer_closed: T = layers[0] → T = layers[1] ; reached = eye → reached = layers[0] ; in layers: → in layers[1:]:
    The first layer has no residual connection here. Open its diagonal as well: start from the identity, and go
    through all masks.
masks_transposed: (mask | eye) → (mask | eye).mT
    Each mask is used with rows and columns exchanged. Row i says what output i reads: multiply with the mask as it
    is, from the left.
first_mask_repeated: (mask | eye) → (layers[0] | eye)
    The first mask is used for every layer. The layers may differ: go through the list.
ones_and_zeros: return reached → return reached.float()
    These are ones and zeros in a float tensor. The result is boolean: end with > 0.
""",
)


EXERCISE = Exercise(
    id="sparse.reach",
    title="What a stack of masks reaches",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    reference=ref.reach,
    alternatives=[reach_by_sets, reach_by_any],
    cases=[
        Case(
            "two windows",
            "three tokens, a window of 2, two layers: token 2 depends on token 0 through token 1",
            lambda g: call([_OPEN, _OPEN]),
            weight=2,
        ),
        Case("one layer", "one layer reaches what its mask allows", lambda g: call([_OPEN]), weight=0.5),
        Case(
            "residual",
            "two tokens, neither may look at itself: the residual connection keeps each one's own state",
            lambda g: call([_SILENT]),
            weight=0.5,
        ),
        Case(
            "a chain",
            "layer 1 carries token 0 to token 1, layer 2 carries token 1 to token 2",
            lambda g: call([_CHAIN[0].clone(), _CHAIN[1].clone()]),
            weight=2,
        ),
        Case(
            "wrong way",
            "the same two layers swapped: token 0 gets to token 1 only, too late for token 2",
            lambda g: call([_CHAIN[1].clone(), _CHAIN[0].clone()]),
            weight=2,
        ),
        Case(
            "random", "three layers of random masks over nine tokens", lambda g: call(_random_layers(g, 9, 3)), weight=2
        ),
        Case(
            "deep",
            "60 symmetric windows of 11 over twelve tokens: more ways than float32 can count",
            lambda g: call([ref.local_symmetric_mask(12, 11)] * 60),
        ),
        Case(
            "many ways",
            "256 of 260 tokens read token 0 in layer 1; in layer 2 two tokens read all these, and two read 128 of them",
            lambda g: call(_many_ways()),
            weight=0.5,
        ),
        Case(
            "powers of two",
            "20 layers in blocks of 16 tokens: 2^76 ways, which whole numbers of 8 to 64 bits turn into 0",
            lambda g: call([ref.block_mask(20, 16)] * 20),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
all layers of a stack have masks of one size
    56db0213df solution, constant: 0 → -1 in layers[0]
    9d4766c81a alternative reach_by_sets, constant: 0 → -1 in layers[0]
    5677d09ab4 alternative reach_by_any, constant: 0 → -1 in layers[0]
a token more than there are is never read
    32bc314cee alternative reach_by_sets, window: T + 1 in range(T)
a union does not depend on its order
    fa03663232 alternative reach_by_sets, reversed: range(T) reversed
""",
)
