"""The same reach, measured by gradients."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import sparse as ref
from autograder.reference.masks import dependence

from .shared import attend


def stack(x, layers):
    """The notebook's given helper."""
    return ref.residual_stack(x, layers)


def gradient_reach(x, layers):
    """Boolean (T, T): where a gradient arrives."""
    return dependence(lambda x: stack(x, layers), x) > 0


def gradient_by_jacobian(x, layers):
    """With the Jacobian, as the notebook hands it out."""
    J = _jacobian(x, layers)  # (T, d, T, d)
    return J.abs().amax((1, 3)) > 0


def gradient_by_output(x, layers):
    """One backward pass per output word, for all of its features at once."""
    x, rows = x.detach().requires_grad_(), []
    for word in ref.residual_stack(x, layers):
        each = torch.eye(len(word))
        (found,) = torch.autograd.grad(word, x, each, retain_graph=True, is_grads_batched=True)
        rows.append(found.count_nonzero(dim=(0, 2)) > 0)
    return torch.stack(rows)


def gradient_by_functional(x, layers):
    """torch.func."""
    return torch.func.jacrev(ref.residual_stack)(x, layers).count_nonzero(dim=(1, 3)) > 0


def _as_given(x, layers):
    """stack as the notebook has it, since some mistakes show the numbers themselves."""
    for mask in layers:
        x = (x + attend(x, x, x, mask | torch.eye(len(x), dtype=torch.bool))) / 2
    return x


def _jacobian(x, layers):
    return torch.autograd.functional.jacobian(lambda x: _as_given(x, layers), x)


def _signs(g: Source, T: int, d: int = 1) -> Tensor:
    """Neighbors of opposite sign, so that some gradients are negative whatever is drawn."""
    return (1.5 + g.uniform(T, d)) * torch.tensor([(-1.0) ** t for t in range(T)])[:, None]


def _two_camps(g: Source, T: int, size: float, spread: float, d: int = 1, **kind: torch.dtype) -> Tensor:
    """Tokens near ±size, the first two of either kind: where the signs differ a weight is about exp(−2·size²/√d)."""
    signs = torch.cat([torch.tensor([1.0, -1.0]), 2.0 * g.integers(0, 2, T - 2) - 1.0])
    x = g.randn(T, d, scale=0.1, **kind)
    x[:, 0] = signs * (size + g.uniform(T, high=spread))
    return x


def _no_weight_left(g: Source) -> Program:
    """exp(−1800) is 0 in every precision: tokens depend on their own camp alone, whatever the mask allows."""
    return several(2, lambda p: p.call(_two_camps(g, 8, 30.0, 0.2, d=1 + len(p.steps)), [_WINDOW(8, 4)] * 2))


def _weight_left_in_float64(g: Source) -> Program:
    """exp(−112) to exp(−128) is 0 in float32, but not in float64. The square of exp(−420) is 0 in float64 too."""
    layers = [_WINDOW(7, 3), g.mask(7, 7, keep=0.4) | torch.eye(7, dtype=torch.bool)]
    wide = _two_camps(g, 7, 7.5, 0.5, dtype=torch.float64)
    wider = _two_camps(g, 7, 14.5, 0.5, dtype=torch.float64)
    return call(wide, layers).call(wide.float(), layers).call(wider, layers[:1])


def _two_kinds(g: Source) -> Program:
    links = g.mask(10, 10, keep=0.15) | torch.eye(10, dtype=torch.bool)
    return call(g.randn(10, 2), [ref.local_symmetric_mask(10, 3), links])


_WINDOW = ref.local_causal_mask

MISTAKES = [
    *changes(
        gradient_by_jacobian,
        """
positive_only: J.abs() → J
    Negative gradients are dropped. A token also counts when more of it makes the output smaller: take absolute values
    first.
threshold: > 0 → > 0.05
    Small gradients are dropped. What comes from far tokens is weak, but it arrives; what is masked is exactly 0.
    Compare with 0.
tolerance: > 0 → > 1e-6
    Very small gradients are taken for 0. What is masked is exactly 0, so no tolerance is needed: > 0.
transposed: amax((1, 3)) → amax((1, 3)).mT
    Rows and columns are exchanged. Rows are outputs, columns the inputs that they depend on.
features: (1, 3) → (0, 2)
    This is a table of features by features. Take the maximum over the two feature axes, 1 and 3, and keep the
    positions.
sizes: > 0 →
    These are the sizes of the gradients. Ask whether they differ from 0.
by_masks: J.abs().amax((1, 3)) > 0 → ref.reach(layers)
    This is what the masks allow; x plays no part in it. Ask the Jacobian: a weight may be 0 although the mask
    allows the pair.
loose_threshold: > 0 → > 1e-3
    Gradients below 0.001 are dropped. What comes from far tokens is weak, but it arrives; what does not arrive is
    exactly 0. Compare with 0.
half_precision: J.abs() → J.half().abs()
    The gradients are rounded to float16, where small ones become 0. Compare them with 0 as they are.
in_float32: J = _jacobian(x, → J = _jacobian(x.float(),
    The gradients are taken in float32, where very small weights become 0. Keep the dtype of x.
first_layer: J = _jacobian(x, layers) → J = _jacobian(x, layers[:1])
    Only the first layer is measured. Send x through the whole stack.
own_left_out: amax((1, 3)) → amax((1, 3)).fill_diagonal_(0)
    A token's own input is left out. The output depends on it, through the residual connection and through attention.
sum: J.abs().amax → J.sum
    Gradients are added with their signs, and negative sums are dropped. Take absolute values first, then compare
    with 0.
at_least_zero: > 0 → >= 0
    Every pair counts, since a size is always at least 0. A token that has no effect has a gradient of exactly 0: use >.
whole_numbers: amax((1, 3)) → amax((1, 3)).long()
    Gradients below 1 become 0, because they are made whole numbers. Compare them with 0 as they are.
squares: J.abs().amax → J.square().sum
    The gradients are squared first, and the square of a very small number is rounded to 0. Take absolute values, or
    compare with != 0 directly.
tiny_tolerance: > 0 → > 1e-12
    Tiny gradients are taken for 0. Only what no path leads to is exactly 0, so no tolerance is needed, however
    small: > 0.
every_feature: J.abs().amax((1, 3)) > 0 → (J != 0).all(3).all(1)
    A pair counts only if all its features have a gradient. One is enough: the maximum over axes 1 and 3, or any.
reshaped: J.abs().amax((1, 3)) → J.reshape(len(x), len(x), -1).abs().amax(-1)
    The axes are (token, feature, token, feature), so reshape mixes tokens with features. Take the maximum over axes 1
    and 3.
upside_down: > 0 → == 0
    The result is upside down: True where the gradient is 0. Ask where it differs from 0.
features_left: (1, 3) → 3
    One of the two feature axes is left. Take the maximum over both, 1 and 3.
""",
    ),
    *[
        Mutant(
            f"below_{digits}_digits",
            lambda x, layers, least=10.0**-digits: _jacobian(x, layers).abs().amax((1, 3)) > least,
            f"Gradients below about 1e-{digits} are dropped. What comes from far tokens is weak, but it arrives; "
            "what does not arrive is exactly 0. Compare with 0, without a tolerance.",
        )
        for digits in (2, 4, 8, 10)
    ],
]


EXERCISE = Exercise(
    id="sparse.gradient_reach",
    title="Reach, measured by gradients",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=gradient_reach,
    alternatives=[gradient_by_output, gradient_by_functional],
    cases=[
        Case(
            "two windows",
            "three tokens of one number, a window of 2, two layers: token 2 depends on all three",
            lambda g: call(torch.tensor([[1.0], [-1.0], [0.5]]), [_WINDOW(3, 2)] * 2),
            weight=2,
        ),
        Case(
            "one layer",
            "six tokens, one layer with a window of 3: the gradient finds the mask",
            lambda g: call(_signs(g, 6), [_WINDOW(6, 3)]),
        ),
        Case(
            "three layers",
            "nine tokens of one number, a window of 3, three layers: the last depends on seven, itself included",
            lambda g: call(_signs(g, 9), [_WINDOW(9, 3)] * 3),
            weight=2,
        ),
        Case(
            "five layers",
            "eight tokens of two numbers, a window of 2, five layers: far gradients are small",
            lambda g: call(g.randn(8, 2, dtype=torch.float64), [_WINDOW(8, 2)] * 5),
            weight=2,
        ),
        Case(
            "deep",
            "ten tokens, a window of 2, eight layers: the farthest gradients are below 1e-6, and not 0",
            lambda g: call(_signs(g, 10).double(), [_WINDOW(10, 2)] * 8),
        ),
        Case(
            "different layers",
            "a symmetric window, then random links: not the same as the links, then the window",
            _two_kinds,
        ),
        Case(
            "no weight left",
            "tokens near 30 and near −30: between these the softmax gives weights of exactly 0, mask or no mask",
            _no_weight_left,
            weight=2,
        ),
        Case(
            "float64, float32",
            "weights of about 1e−50, then 1e−190: above 0 in float64; in float32 the first are exactly 0",
            _weight_left_in_float64,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
the tensors that come in carry no gradient yet, and whether an answer asks for one on them is not judged
    db0464ee9c alternative gradient_by_output, call: x.detach() → x
""",
)
