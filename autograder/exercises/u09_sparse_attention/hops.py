"""Two masks that work together: strided and fixed patterns, and what a stack of masks reaches."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import sparse as ref

from .patterns import UNIT, places


def pair_by_rules(first, second):
    """Two masks from two rules of i, j and the sizes; errors are not checked."""

    def wrong(T, *sizes, **named):
        i, j = places(T)
        sizes = (*sizes, *named.values())
        return tuple(torch.as_tensor(rule(i, j, *sizes)).expand(T, T) for rule in (first, second))

    return wrong


# --- strided -------------------------------------------------------------------------------------------------------
def strided_by_slices(T, stride):
    """Slices with a step."""
    if stride < 1:
        raise ValueError("stride must be at least 1")
    near, far = torch.zeros(2, T, T, dtype=torch.bool)
    for i in range(T):
        near[i, max(0, i - stride + 1) : i + 1] = True
        far[i, i % stride : i + 1 : stride] = True
    return near, far


def strided_by_remainders(T, stride):
    """Equal remainders."""
    if stride < 1:
        raise ValueError(stride)
    i, j = places(T)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    return causal & (j > i - stride), causal & (i % stride == j % stride)


_NEAR = lambda i, j, s: (j <= i) & (i - j < s)
_FAR = lambda i, j, s: (j <= i) & ((i - j) % s == 0)

STRIDED = Exercise(
    id="sparse.strided",
    unit=UNIT,
    title="Strided: near ones, and every stride-th",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="strided_masks(T, stride)",
    reference=ref.strided_masks,
    alternatives=[strided_by_slices, strided_by_remainders],
    cases=[
        Case(
            "every second",
            "five words, stride 2: word 4 sees 3 and 4 in the first mask, 0, 2 and 4 in the second",
            lambda g: call(5, 2),
            weight=2,
        ),
        Case("every third", "nine words, stride 3", lambda g: call(9, 3)),
        Case(
            "stride 1",
            "stride 1: only itself in the first mask, all before it in the second",
            lambda g: call(4, 1),
            weight=0.5,
        ),
        Case("random", "random sizes", lambda g: call(g.integer(15, 40), g.integer(3, 8)), weight=2),
        Case("no stride", "a stride of 0: ValueError", lambda g: call(4, 0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "swapped",
            pair_by_rules(_FAR, _NEAR),
            "The two masks are in the other order. First the near keys, then every stride-th.",
        ),
        Mutant(
            "looks_ahead",
            pair_by_rules(_NEAR, lambda i, j, s: (i - j) % s == 0),
            "The second mask looks ahead. Every stride-th key *back* from the query: also ask for j <= i.",
        ),
        Mutant(
            "from_the_start",
            pair_by_rules(_NEAR, lambda i, j, s: (j <= i) & (j % s == 0)),
            "The second mask counts from the start of the text: all queries see the same keys. Count back from the "
            "query, (i − j) % stride == 0.",
        ),
        Mutant(
            "own_left_out",
            pair_by_rules(_NEAR, lambda i, j, s: (j < i) & ((i - j) % s == 0)),
            "In the second mask a word does not see itself, and the first words see nothing. Distance 0 is a "
            "multiple of the stride.",
        ),
        Mutant(
            "window_too_wide",
            pair_by_rules(lambda i, j, s: (j <= i) & (i - j <= s), _FAR),
            "The first mask holds stride + 1 keys. Take stride of them, the own one included.",
        ),
        Mutant(
            "blocks",
            pair_by_rules(lambda i, j, s: (j <= i) & (i // s == j // s), _FAR),
            "The first mask cuts the text into blocks. Strided attention uses a window that moves with the query.",
        ),
        Mutant(
            "together",
            lambda T, stride: (ref.strided_masks(T, stride)[0] | ref.strided_masks(T, stride)[1],) * 2,
            "Both masks are joined into one. Keep them apart: one is for one head or layer, one for another.",
        ),
        Mutant(
            "unchecked", pair_by_rules(_NEAR, _FAR), "The masks are right. Raise a ValueError for a stride below 1."
        ),
    ],
)


# --- fixed ---------------------------------------------------------------------------------------------------------
def fixed_by_slices(T, stride, summary=1):
    """Row by row."""
    if not 1 <= summary <= stride:
        raise ValueError("summary must lie in 1 to stride")
    own, ends = torch.zeros(2, T, T, dtype=torch.bool)
    for i in range(T):
        own[i, i - i % stride : i + 1] = True
        for j in range(i + 1):
            ends[i, j] = (j + summary) // stride > j // stride
    return own, ends


def fixed_by_blocks(T, stride, summary=1):
    """The causal part of a block mask, and a row of chosen places."""
    if summary < 1 or summary > stride:
        raise ValueError(summary)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    row = torch.tensor([t % stride + summary >= stride for t in range(T)])
    return ref.block_mask(T, stride) & causal, row.repeat(T, 1) & causal


def few_unchecked(T, stride, summary=1):
    """Refuses only too many summaries."""
    if summary > stride:
        raise ValueError(summary)
    return pair_by_rules(_OWN, _ENDS)(T, stride, summary)


_OWN = lambda i, j, s, c=1: (j <= i) & (i // s == j // s)
_ENDS = lambda i, j, s, c=1: (j <= i) & (j % s >= s - c)

FIXED = Exercise(
    id="sparse.fixed",
    unit=UNIT,
    title="Fixed: the own block, and summaries of the others",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="fixed_masks(T, stride, summary=1)",
    reference=ref.fixed_masks,
    alternatives=[fixed_by_slices, fixed_by_blocks],
    cases=[
        Case(
            "pairs",
            "five words, stride 2: word 4 sees itself in the first mask, words 1 and 3 in the second",
            lambda g: call(5, 2),
            weight=2,
        ),
        Case("threes", "nine words, stride 3", lambda g: call(9, 3)),
        Case(
            "two summaries",
            "ten words, stride 4: the last two of every block are seen by all after them",
            lambda g: call(10, 4, summary=2),
            weight=2,
        ),
        Case("random", "random sizes", lambda g: call(g.integer(15, 40), g.integer(4, 9), summary=2), weight=2),
        Case("too many", "5 summaries in blocks of 4: ValueError", lambda g: call(8, 4, summary=5), weight=0.5),
        Case("too few", "blocks without any summary: ValueError", lambda g: call(8, 4, summary=0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "first_of_block",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (j % s < c)),
            "The summaries are the first places of each block. Take the last ones: only they have seen the whole "
            "block.",
        ),
        Mutant(
            "summaries_ahead",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j % s >= s - c) & (i >= 0)),
            "The second mask looks ahead at summaries of later blocks. Also ask for j <= i.",
        ),
        Mutant(
            "whole_block",
            pair_by_rules(lambda i, j, s, c=1: i // s == j // s, _ENDS),
            "The first mask looks ahead inside the block. It is the own block so far: also ask for j <= i.",
        ),
        Mutant(
            "window",
            pair_by_rules(lambda i, j, s, c=1: (j <= i) & (i - j < s), _ENDS),
            "The first mask is a window that moves with the query. Here it stays in the query's own block: compare "
            "i // stride with j // stride.",
        ),
        Mutant(
            "one_summary",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (j % s == s - 1)),
            "Only the last place of each block is a summary. Take the last `summary` places.",
        ),
        Mutant(
            "one_too_many",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (j % s >= s - c - 1)),
            "One summary too many in each block. The last c of the places 0 … s − 1 are those with j % s >= s − c.",
        ),
        Mutant(
            "rows",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j <= i) & (i % s >= s - c)),
            "The second mask chooses queries: summaries see everything. Choose keys instead, the columns j: all "
            "later words see the summaries.",
        ),
        Mutant(
            "others_only",
            pair_by_rules(_OWN, lambda i, j, s, c=1: (j // s < i // s) & (j % s >= s - c)),
            "The summaries of the own block are left out. They belong to the second mask as well, from their own "
            "place on.",
        ),
        Mutant(
            "too_few_unchecked",
            few_unchecked,
            "Too many summaries are refused, too few are not. Raise a ValueError below 1, too.",
        ),
        Mutant(
            "swapped",
            pair_by_rules(_ENDS, _OWN),
            "The two masks are in the other order. First the own block, then the summaries.",
        ),
        Mutant(
            "unchecked",
            pair_by_rules(_OWN, _ENDS),
            "The masks are right. Raise a ValueError when summary lies outside 1 … stride.",
        ),
    ],
)


# --- reach ---------------------------------------------------------------------------------------------------------
def reach_by_sets(layers):
    """For each position the set of inputs that it depends on."""
    T = layers[0].shape[0]
    known = [{i} for i in range(T)]
    for mask in layers:
        known = [set.union(known[i], *(known[j] for j in range(T) if mask[i, j])) for i in range(T)]
    return torch.tensor([[j in known[i] for j in range(T)] for i in range(T)])


def reach_by_any(layers):
    """A third axis for the stop between, and any over it."""
    reached = torch.eye(layers[0].shape[0], dtype=torch.bool)
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


def _random_layers(g, T, n, keep=0.15):
    return [torch.rand(T, T, generator=g.generator) < keep for _ in range(n)]


_OPEN = torch.tensor([[True, False, False], [True, True, False], [False, True, True]])
_SILENT = torch.tensor([[False, False], [True, False]])
_CHAIN = [
    torch.tensor([[False, False, False], [True, False, False], [False, False, False]]),
    torch.tensor([[False, False, False], [False, False, False], [False, True, False]]),
]

REACH = Exercise(
    id="sparse.reach",
    unit=UNIT,
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
            "exactly_one_way",
            lambda layers: _product(_steps(layers)) == 1,
            "A pair counts only if there is exactly one way. Any positive number will do: > 0.",
        ),
    ],
)
