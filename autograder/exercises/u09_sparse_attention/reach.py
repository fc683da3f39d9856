"""How far stacked windows reach: measured by gradients, in closed form, and how many pairs are scored."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import sparse as ref
from autograder.reference.masks import dependence

from .patterns import UNIT


# --- measured by gradients -----------------------------------------------------------------------------------------
def stack(x, layers):
    """The notebook's given helper."""
    return ref.residual_stack(x, layers)


def gradient_reach(x, layers):
    """Boolean (T, T): where a gradient arrives."""
    return dependence(lambda x: stack(x, layers), x) > 0


def gradient_by_output(x, layers):
    """One backward pass per output feature."""
    with torch.enable_grad():
        x = x.detach().clone().requires_grad_()
        y = stack(x, layers)
        rows = []
        for i in range(x.shape[0]):
            hit = torch.zeros(x.shape[0], dtype=torch.bool)
            for feature in y[i]:
                hit |= (torch.autograd.grad(feature, x, retain_graph=True)[0] != 0).any(-1)
            rows.append(hit)
    return torch.stack(rows)


def gradient_by_functional(x, layers):
    """torch.func."""
    jacobian = torch.func.jacrev(lambda x: ref.residual_stack(x, layers))(x)
    return (jacobian != 0).any(3).any(1)


def _jacobian(x, layers):
    return torch.autograd.functional.jacobian(lambda x: stack(x, layers), x)  # (T, d, T, d)


def _only_own_feature(x, layers):
    diagonal = _jacobian(x, layers).diagonal(dim1=1, dim2=3)  # (T, T, d)
    return (diagonal[..., :1] != 0).any(-1)


def _signs(g, T, d=1):
    """Neighbors of opposite sign, so that some gradients are negative whatever is drawn."""
    return (1.5 + g.uniform(T, d)) * torch.tensor([(-1.0) ** t for t in range(T)])[:, None]


def _two_kinds(g):
    length, width, block = g.integer(10, 14), g.choice([3, 5]), g.choice([3, 4])
    return call(g.randn(length, 3), [ref.local_symmetric_mask(length, width), ref.block_mask(length, block)])


_WINDOW = ref.local_causal_mask

GRADIENT = Exercise(
    id="sparse.gradient_reach",
    unit=UNIT,
    title="Reach, measured by gradients",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="gradient_reach(x, layers)",
    reference=gradient_reach,
    alternatives=[gradient_by_output, gradient_by_functional],
    cases=[
        Case(
            "two windows",
            "three words of one number, a window of 2, two layers: word 2 depends on all three",
            lambda g: call(torch.tensor([[1.0], [-1.0], [0.5]]), [_WINDOW(3, 2)] * 2),
            weight=2,
        ),
        Case(
            "one layer",
            "six words, one layer with a window of 3: the gradient finds the mask",
            lambda g: call(_signs(g, 6), [_WINDOW(6, 3)]),
        ),
        Case(
            "three layers",
            "nine words of one number, a window of 3, three layers: seven words back from the last",
            lambda g: call(_signs(g, 9), [_WINDOW(9, 3)] * 3),
            weight=2,
        ),
        Case(
            "five layers",
            "twelve words of four numbers, a window of 2, five layers: far gradients are small",
            lambda g: call(g.randn(12, 4, dtype=torch.float64), [_WINDOW(12, 2)] * 5),
            weight=2,
        ),
        Case(
            "deep",
            "ten words, a window of 2, eight layers: the farthest gradients are below 1e-6, and not 0",
            lambda g: call(_signs(g, 10).double(), [_WINDOW(10, 2)] * 8),
        ),
        Case("different layers", "a symmetric window, then blocks: not the same as blocks, then a window", _two_kinds),
    ],
    mutants=[
        Mutant(
            "positive_only",
            lambda x, layers: _jacobian(x, layers).amax((1, 3)) > 0,
            "Negative gradients are dropped. A word also counts when more of it makes the output smaller: take "
            "absolute values first.",
        ),
        Mutant(
            "threshold",
            lambda x, layers: _jacobian(x, layers).abs().amax((1, 3)) > 0.05,
            "Small gradients are dropped. Far words arrive weakly, but they arrive; what is masked is exactly 0. "
            "Compare with 0.",
        ),
        Mutant(
            "tolerance",
            lambda x, layers: _jacobian(x, layers).abs().amax((1, 3)) > 1e-6,
            "Very small gradients are taken for 0. What is masked is exactly 0, so no tolerance is needed: > 0.",
        ),
        Mutant(
            "transposed",
            lambda x, layers: gradient_reach(x, layers).mT,
            "Rows and columns are exchanged. Rows are outputs, columns the inputs that they depend on.",
        ),
        Mutant(
            "features",
            lambda x, layers: _jacobian(x, layers).abs().amax((0, 2)) > 0,
            "This is a table of features by features. Take the maximum over the two feature axes, 1 and 3, and "
            "keep the positions.",
        ),
        Mutant(
            "sizes",
            lambda x, layers: _jacobian(x, layers).abs().amax((1, 3)),
            "These are the sizes of the gradients. Ask whether they differ from 0.",
        ),
        Mutant(
            "first_layer",
            lambda x, layers: gradient_reach(x, layers[:1]),
            "Only the first layer is measured. Send x through the whole stack.",
        ),
        Mutant(
            "own_left_out",
            lambda x, layers: gradient_reach(x, layers) & ~torch.eye(len(x)).bool(),
            "A word's own input is left out. The output depends on it, through the residual connection and "
            "through attention.",
        ),
    ],
)


# --- formulas ------------------------------------------------------------------------------------------------------
def causal_by_adding(w, n_layers):
    """w − 1 more with every layer."""
    return 1 + sum(w - 1 for _ in range(n_layers))


def symmetric_by_adding(r, n_layers):
    """2r more with every layer."""
    reached = 1
    for _ in range(n_layers):
        reached += 2 * r
    return reached


def layers_by_trying(w, distance):
    """Adds layers until the distance is covered."""
    if w == 1 and distance > 0:
        raise ValueError("a window of one key never moves")
    n = 0
    while n * (w - 1) < distance:
        n += 1
    return n


CR, SR, LN = ref.causal_reach, ref.symmetric_reach, ref.layers_needed


# Like most first attempts these do not mind a window of 1: Python then divides by zero.
def _needed(w, distance):
    return math.ceil(distance / (w - 1)) if distance else 0


def _fields(causal=CR, symmetric=SR, needed=_needed):
    return causal, symmetric, needed


FIELD = Exercise(
    id="sparse.receptive_field",
    unit=UNIT,
    title="Receptive field",
    points=2,
    difficulty=2,
    minutes=10,
    signature="causal_reach(w, n_layers)",
    targets=("causal_reach", "symmetric_reach", "layers_needed"),
    reference=(CR, SR, LN),
    alternatives=[(causal_by_adding, symmetric_by_adding, layers_by_trying)],
    cases=[
        Case("by hand", "windows of 3 keys, 2 layers: two more words with each layer, 5 in all", lambda g: call(3, 2)),
        Case("own word", "a window of 1 stays at 1 word, whatever the depth", lambda g: call(1, 7), weight=0),
        Case("Mistral 7B", "windows of 4,096 keys, 32 layers", lambda g: call(4096, 32)),
        Case("random", "a random window and depth", lambda g: call(g.integer(5, 60), g.integer(3, 20))),
        Case(
            "both sides",
            "radius 1, 3 layers: 3 words to each side and the own one, 7 in all",
            lambda g: call(1, 3, fn="symmetric_reach"),
        ),
        Case(
            "random radius",
            "a random radius and depth",
            lambda g: call(g.integer(4, 30), g.integer(3, 20), fn="symmetric_reach"),
        ),
        Case(
            "seven back",
            "windows of 4 keys, 7 words back: 2 layers reach 6 back, so 3 are needed",
            lambda g: call(4, 7, fn="layers_needed"),
        ),
        Case(
            "just enough",
            "windows of 4 keys, 6 words back: 2 layers suffice exactly",
            lambda g: call(4, 6, fn="layers_needed"),
        ),
        Case(
            "random distance",
            "a random window and distance",
            lambda g: call(g.integer(6, 40), g.integer(100, 900), fn="layers_needed"),
        ),
        Case("itself", "no layer is needed to depend on itself", lambda g: call(4, 0, fn="layers_needed"), weight=0),
        Case(
            "never",
            "windows of 1 key never reach the word before: ValueError",
            lambda g: call(1, 1, fn="layers_needed"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "windows_in_a_row",
            _fields(causal=lambda w, n_layers: n_layers * w),
            "The causal field is counted as L windows in a row. Neighboring windows share a word: each layer adds "
            "w − 1, and one is there from the start.",
        ),
        Mutant(
            "self_added",
            _fields(causal=lambda w, n_layers: 1 + n_layers * w),
            "The causal field counts the own word twice. The window of w already holds it, so a layer adds w − 1.",
        ),
        Mutant(
            "only_distance",
            _fields(causal=lambda w, n_layers: n_layers * (w - 1)),
            "The causal field lacks the own word: L(w − 1) is how far back it reaches. Count the word itself, too.",
        ),
        Mutant(
            "power",
            _fields(causal=lambda w, n_layers: w**n_layers),
            "The causal field grows by a factor here. The windows overlap, so each layer *adds* the same number of "
            "words.",
        ),
        Mutant(
            "one_side",
            _fields(symmetric=lambda r, n: 1 + n * r),
            "The symmetric field counts one side only. It grows by r on both sides: 2r with each layer.",
        ),
        Mutant(
            "symmetric_overlap",
            _fields(symmetric=lambda r, n: n * (2 * r + 1)),
            "The symmetric field is counted as L windows in a row. They overlap in the middle word: 2r more with "
            "each layer, and 1.",
        ),
        Mutant(
            "rounded_down",
            _fields(needed=lambda w, distance: distance // (w - 1)),
            "layers_needed rounds down, so the last step is missing. Round up.",
        ),
        Mutant(
            "one_too_many",
            _fields(needed=lambda w, distance: distance // (w - 1) + 1),
            "layers_needed gives one layer too many where the distance is a multiple of w − 1. Round up only if "
            "something is left.",
        ),
        Mutant(
            "divides_by_w",
            _fields(needed=lambda w, distance: -(-distance // w)),
            "layers_needed takes w steps back per layer. A window of w reaches w − 1 back, since it holds the own key.",
        ),
        Mutant(
            "unchecked",
            _fields(),
            "The numbers are right. Raise a ValueError for a window of 1 and a distance above 0: no depth is enough.",
        ),
    ],
)


# --- counts --------------------------------------------------------------------------------------------------------
def causal_pairs_by_rows(T, w):
    """Row by row."""
    return sum(min(w, i + 1) for i in range(T))


def symmetric_pairs_by_rows(T, w):
    """Row by row, both sides cut at the ends."""
    r = w // 2
    return sum(min(i, r) + 1 + min(T - 1 - i, r) for i in range(T))


def block_pairs_by_blocks(T, block):
    """Block by block."""
    return sum(min(block, T - start) ** 2 for start in range(0, T, block))


CP, SP, BP = ref.local_causal_pairs, ref.local_symmetric_pairs, ref.block_pairs


def _pairs(causal=CP, symmetric=SP, block=BP):
    return causal, symmetric, block


PAIRS = Exercise(
    id="sparse.pairs",
    unit=UNIT,
    title="Pairs to be scored",
    points=2,
    difficulty=3,
    minutes=12,
    signature="local_causal_pairs(T, w)",
    targets=("local_causal_pairs", "local_symmetric_pairs", "block_pairs"),
    reference=(CP, SP, BP),
    alternatives=[(causal_pairs_by_rows, symmetric_pairs_by_rows, block_pairs_by_blocks)],
    cases=[
        Case("by hand", "four words, a causal window of 2: 1 + 2 + 2 + 2 = 7 pairs", lambda g: call(4, 2)),
        Case("long", "4,096 words, a causal window of 128", lambda g: call(4096, 128)),
        Case("random", "random sizes", lambda g: call(g.integer(200, 900), g.integer(20, 90))),
        Case("wide", "a window of 9 on 5 words is the causal triangle: 15 pairs", lambda g: call(5, 9)),
        Case(
            "both sides",
            "four words, a symmetric window of 3: 2 + 3 + 3 + 2 = 10 pairs",
            lambda g: call(4, 3, fn="local_symmetric_pairs"),
        ),
        Case(
            "random both sides",
            "random sizes",
            lambda g: call(g.integer(200, 900), 2 * g.integer(10, 40) + 1, fn="local_symmetric_pairs"),
        ),
        Case(
            "wide both sides",
            "a symmetric window of 11 on 4 words: all 16 pairs",
            lambda g: call(4, 11, fn="local_symmetric_pairs"),
        ),
        Case("blocks", "five words in blocks of 2: 4 + 4 + 1 = 9 pairs", lambda g: call(5, 2, fn="block_pairs")),
        Case("even blocks", "six words in blocks of 3: 9 + 9 = 18 pairs", lambda g: call(6, 3, fn="block_pairs")),
        Case(
            "random blocks",
            "random sizes, with a shorter block at the end",
            lambda g: call(16 * g.integer(9, 30) + g.integer(1, 15), 16, fn="block_pairs"),
        ),
    ],
    mutants=[
        Mutant(
            "full_windows",
            _pairs(causal=lambda T, w: T * w),
            "Every query is given w keys in the causal count. The first w − 1 queries have fewer: take off w(w − 1)/2.",
        ),
        Mutant(
            "edge_twice",
            _pairs(causal=lambda T, w: T * min(w, T) - min(w, T) * (min(w, T) - 1)),
            "The causal count takes off both ends. Only the first queries lack keys: w(w − 1)/2, half of that.",
        ),
        Mutant(
            "edge_off_by_one",
            _pairs(causal=lambda T, w: T * min(w, T) - min(w, T) * (min(w, T) + 1) // 2),
            "The causal count takes off too much at the start. The first w − 1 queries lack w − 1, …, 1 keys: "
            "w(w − 1)/2 together.",
        ),
        Mutant(
            "window_beyond_text",
            _pairs(causal=lambda T, w: T * w - w * (w - 1) // 2),
            "The causal count is wrong for a window longer than the text. Use min(w, T) for w.",
        ),
        Mutant(
            "symmetric_full",
            _pairs(symmetric=lambda T, w: T * w),
            "Every query is given w keys in the symmetric count. At both ends some are missing: with r keys to a "
            "side take off r(r + 1).",
        ),
        Mutant(
            "symmetric_one_end",
            _pairs(
                symmetric=lambda T, w: (
                    T * (1 + 2 * min(w // 2, T - 1)) - min(w // 2, T - 1) * (min(w // 2, T - 1) + 1) // 2
                )
            ),
            "The symmetric count is cut at one end only. Both the first and the last queries lack keys: r(r + 1) "
            "in all.",
        ),
        Mutant(
            "symmetric_beyond_text",
            _pairs(symmetric=lambda T, w: T * w - (w // 2) * (w // 2 + 1)),
            "The symmetric count is wrong for a window longer than the text. With r keys to a side use min(r, T − 1).",
        ),
        Mutant(
            "whole_blocks",
            _pairs(block=lambda T, b: T * b),
            "Words in the last block see fewer than `block` keys when that block is shorter. Count it apart.",
        ),
        Mutant(
            "last_block_lost",
            _pairs(block=lambda T, b: (T // b) * b * b),
            "The shorter block at the end is not counted. It has T % block words, and that number squared pairs.",
        ),
    ],
)
