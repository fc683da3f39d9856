"""What a stack of masks reaches."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
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


def _steps(layers, eye=True):
    own = torch.eye(layers[0].shape[0], dtype=torch.bool)
    return [(m | own if eye else m).double() for m in layers]


def _product(matrices):
    out = torch.eye(matrices[0].shape[0], dtype=torch.float64)
    for m in matrices:
        out = m @ out
    return out


def _overflowing(layers):
    ways = torch.eye(layers[0].shape[0])
    for m in _steps(layers):
        ways = m.float() @ ways
    return ways > 0


def _in_bytes(layers):
    own = torch.eye(layers[0].shape[0], dtype=torch.uint8)
    ways = own
    for m in layers:
        ways = (m.to(torch.uint8) | own) @ ways
    return ways > 0


def _in_integers(layers):
    own = torch.eye(layers[0].shape[0], dtype=torch.int64)
    ways = own
    for m in layers:
        ways = (m.long() | own) @ ways
    return ways > 0


def _random_layers(g: Source, T: int, n: int, keep: float = 0.15) -> list[Tensor]:
    return [torch.rand(T, T, generator=g.generator) < keep for _ in range(n)]


def _many_ways() -> list[Tensor]:
    """Two layers with exactly 128 and 256 ways from word 0 to the last words: few entries, for loops in Python."""
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


def _any_layer(layers):
    return torch.stack(layers).any(0) | torch.eye(len(layers[0]), dtype=torch.bool)


def _each_layer_in(dtype):
    def wrong(layers):
        own = torch.eye(len(layers[0]), dtype=torch.bool)
        reached = own
        for m in layers:
            reached = (m | own).to(dtype) @ reached.to(dtype) > 0
        return reached

    return wrong


def _opened_in_place(layers):
    for m in layers:
        m.fill_diagonal_(True)
    return ref.reach(layers)


EXERCISE = Exercise(
    id="sparse.reach",
    title="What a stack of masks reaches",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="reach(layers)",
    reference=ref.reach,
    alternatives=[reach_by_sets, reach_by_any],
    cases=[
        Case(
            "two windows",
            "three words, a window of 2, two layers: word 2 depends on word 0 through word 1",
            lambda g: call([_OPEN, _OPEN]),
            weight=2,
        ),
        Case("one layer", "one layer reaches what its mask allows", lambda g: call([_OPEN]), weight=0.5),
        Case(
            "residual",
            "two words, no word may look at itself: the residual connection keeps its own",
            lambda g: call([_SILENT]),
            weight=0.5,
        ),
        Case(
            "a chain",
            "layer 1 carries word 0 to word 1, layer 2 carries word 1 to word 2",
            lambda g: call([_CHAIN[0].clone(), _CHAIN[1].clone()]),
            weight=2,
        ),
        Case(
            "wrong way",
            "the same two layers swapped: word 0 gets to word 1 only, too late for word 2",
            lambda g: call([_CHAIN[1].clone(), _CHAIN[0].clone()]),
            weight=2,
        ),
        Case(
            "random", "three layers of random masks over nine words", lambda g: call(_random_layers(g, 9, 3)), weight=2
        ),
        Case(
            "deep",
            "60 symmetric windows of 11 over twelve words: more ways than float32 can count",
            lambda g: call([ref.local_symmetric_mask(12, 11)] * 60),
        ),
        Case(
            "many ways",
            "256 of 260 words read word 0 in layer 1; in layer 2 two words read all these, and two read 128 of them",
            lambda g: call(_many_ways()),
            weight=0.5,
        ),
        Case(
            "powers of two",
            "20 layers in blocks of 16 words: 2^76 ways, which whole numbers of 8 to 64 bits turn into 0",
            lambda g: call([ref.block_mask(20, 16)] * 20),
        ),
    ],
    mutants=[
        Mutant(
            "reversed",
            lambda layers: _product(_steps(layers)[::-1]) > 0,
            "The layers are run in the wrong order. The first layer acts on the inputs: multiply each next mask "
            "from the left.",
        ),
        Mutant(
            "union",
            lambda layers: torch.stack(layers).any(0) | torch.eye(len(layers[0])).bool(),
            "The masks are joined with |, as if there was one layer. A second layer goes on from what the first "
            "one reached: multiply.",
        ),
        Mutant(
            "no_residual",
            lambda layers: _product(_steps(layers, eye=False)) > 0,
            "A word forgets itself where the mask hides it. The residual connection keeps it: add the diagonal to "
            "every mask.",
        ),
        Mutant(
            "residual_at_end",
            lambda layers: (_product(_steps(layers, eye=False)) > 0) | torch.eye(len(layers[0])).bool(),
            "The diagonal is opened once, at the end. Every layer has a residual connection: add the diagonal to "
            "each mask before you multiply.",
        ),
        Mutant(
            "transposed",
            lambda layers: (_product(_steps(layers)) > 0).mT,
            "Rows and columns are exchanged. Rows are outputs, columns the inputs that they depend on.",
        ),
        Mutant(
            "counts",
            lambda layers: _product(_steps(layers)),
            "These are the numbers of ways. Ask whether there is at least one: > 0.",
        ),
        Mutant(
            "power_of_last",
            lambda layers: torch.linalg.matrix_power(_steps(layers)[-1], len(layers)) > 0,
            "Only the last layer's mask is used. The layers may differ: go through the list.",
        ),
        Mutant(
            "one_layer",
            lambda layers: layers[0] | torch.eye(len(layers[0])).bool(),
            "Only the first layer is used. Go through the list, and multiply each mask with what was reached before.",
        ),
        Mutant(
            "overflows",
            _overflowing,
            "In a deep stack the numbers of ways overflow, and 0 · ∞ is not a number. Go back to booleans after "
            "every layer: > 0.",
        ),
        Mutant(
            "wraps_in_bytes",
            _in_bytes,
            "The ways are counted in 8 bits, where 256 of them become 0. Count in floats, and go back to booleans "
            "after every layer: > 0.",
        ),
        Mutant(
            "wraps_in_integers",
            _in_integers,
            "In a deep stack the numbers of ways outgrow the integers, and 2^64 of them become 0. Go back to booleans "
            "after every layer: > 0.",
        ),
        Mutant(
            "exactly_one_way",
            lambda layers: _product(_steps(layers)) == 1,
            "A pair counts only if there is exactly one way. Any positive number will do: > 0.",
        ),
        Mutant(
            "until_nothing_changes",
            lambda layers: torch.linalg.matrix_power(_any_layer(layers).double(), 16) > 0,
            "The stack is taken as endlessly deep, and its layers in any order. Each mask is used once, the first "
            "layer first.",
        ),
        Mutant(
            "signed_bytes",
            _each_layer_in(torch.int8),
            "The ways are counted in int8, where 128 of them are negative and 256 become 0. Count in floats.",
        ),
        Mutant(
            "unsigned_bytes",
            _each_layer_in(torch.uint8),
            "The ways are counted in uint8, and 256 of them through one layer become 0. Count in floats.",
        ),
        Mutant(
            "opened_in_place",
            _opened_in_place,
            "The diagonal is opened in the masks that were given, so they are changed for whoever uses them next. "
            "Make new ones: mask | own.",
        ),
        Mutant(
            "elementwise",
            lambda layers: torch.stack([m | torch.eye(len(m)).bool() for m in layers]).all(0),
            "A pair counts only if every layer allows it. Ways lead over other words: use the matrix product @, not * "
            "or &.",
        ),
        Mutant(
            "last_layer",
            lambda layers: layers[-1] | torch.eye(len(layers[-1])).bool(),
            "Only the last layer counts. Multiply its mask with what the layers before it have reached, and keep the "
            "product.",
        ),
        Mutant(
            "one_layer_short",
            lambda layers: _product(_steps(layers[:-1])) > 0 if layers[:-1] else torch.eye(len(layers[0])).bool(),
            "The last layer is left out. Go through the whole list.",
        ),
        Mutant(
            "first_layer_left_out",
            lambda layers: _product(_steps(layers[1:])) > 0 if layers[1:] else torch.eye(len(layers[0])).bool(),
            "The first layer is left out. Start from the identity, or from the first mask with its diagonal open.",
        ),
        Mutant(
            "first_layer_closed",
            lambda layers: _product([layers[0].double(), *_steps(layers[1:])]) > 0,
            "The first layer has no residual connection here. Open its diagonal as well: start from the identity, and "
            "go through all masks.",
        ),
        Mutant(
            "masks_transposed",
            lambda layers: _product([m.mT for m in _steps(layers)]) > 0,
            "Each mask is used with rows and columns exchanged. Row i says what output i reads: multiply with the "
            "mask as it is, from the left.",
        ),
        Mutant(
            "first_mask_repeated",
            lambda layers: torch.linalg.matrix_power(_steps(layers)[0], len(layers)) > 0,
            "The first mask is used for every layer. The layers may differ: go through the list.",
        ),
        Mutant(
            "ones_and_zeros",
            lambda layers: ref.reach(layers).float(),
            "These are ones and zeros in a float tensor. The result is boolean: end with > 0.",
        ),
    ],
)
