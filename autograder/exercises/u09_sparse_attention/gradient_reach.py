"""The same reach, measured by gradients."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import sparse as ref
from autograder.reference.masks import dependence


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


def _signs(g: Source, T: int, d: int = 1) -> Tensor:
    """Neighbors of opposite sign, so that some gradients are negative whatever is drawn."""
    return (1.5 + g.uniform(T, d)) * torch.tensor([(-1.0) ** t for t in range(T)])[:, None]


def _two_kinds(g: Source) -> Program:
    links = g.mask(12, 12, keep=0.15) | torch.eye(12, dtype=torch.bool)
    return call(g.randn(12, 3), [ref.local_symmetric_mask(12, 3), links])


_WINDOW = ref.local_causal_mask

EXERCISE = Exercise(
    id="sparse.gradient_reach",
    unit="09-sparse-attention",
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
        Case(
            "different layers",
            "a symmetric window, then random links: not the same as the links, then the window",
            _two_kinds,
        ),
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
