"""z-loss and its gradient."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import stability as ref


def z_builtin(logits, coefficient=1e-4):
    """With PyTorch's logsumexp."""
    return coefficient * (torch.logsumexp(logits, -1) ** 2).mean()


def z_by_rows(logits, coefficient=1e-4):
    """The squared length of all log Z, over their number."""
    log_z = torch.logsumexp(logits, -1).flatten()
    return coefficient * torch.dot(log_z, log_z) / len(log_z)


def z_gradient_by_softmax(logits, coefficient=1e-4):
    """2λ·log Z·softmax over the number of rows, with built-ins."""
    log_z = torch.logsumexp(logits, -1, keepdim=True)
    return 2 * coefficient * log_z * torch.softmax(logits, -1) / log_z.numel()


def _slope(x: Tensor, coefficient: float) -> Program:
    return Program().call(x, coefficient, fn="z_loss_gradient")


def _doubles(g: Source) -> tuple[Tensor, float]:
    return g.randn(2, 3, 4, dtype=torch.float64), g.number(0.1, 0.9)


_TWO_ROWS = torch.tensor([[-3.0, -4.0, -5.0], [2.0, 1.0, 4.0]])

MISTAKES = changes(
    (z_builtin, z_gradient_by_softmax),
    """
no_square: ** 2 →
    log Z is not squared, so the loss could fall without end. Square it before the mean.
square_of_mean: ** 2).mean() → ).mean() ** 2
    The mean is squared, so rows above and below 0 cancel. Square log Z of each row, then take the mean.
summed: .mean() → .sum()
    The rows are summed, so the loss grows with the batch. Take their mean.
not_reduced: .mean() →
    There is one loss per row. Take the mean over the rows: the result is a scalar.
no_log: torch.logsumexp(logits, -1) ** → logits.exp().sum(-1) **
    This squares Z itself, which overflows soon. The loss squares log Z: use your logsumexp.
no_coefficient: return coefficient * → return
    The loss lacks its coefficient λ.
overflow: torch.logsumexp(logits, -1) ** → logits.exp().sum(-1).log() **
    Right for small logits, but exp overflows for large ones. Use your logsumexp.
coefficient_fixed: return coefficient → return 1e-4
    The loss takes 1e-4 whatever coefficient says. Use the argument, which may be another.
no_mean: .mean() → .sum() / logits.numel()
    The loss is divided by the number of all entries. It is a mean over rows: divide by their number.
gradient_coefficient_fixed: 2 * coefficient → 2e-4
    The loss is right. Its gradient takes 1e-4 whatever coefficient says: use the argument.
gradient_overflow: torch.softmax(logits, -1) → logits.exp() / logits.exp().sum(-1, keepdim=True)
    The loss is right. In its gradient exp(logits) overflows for large logits: exp(logits − log Z) does not.
other_axis: torch.softmax(logits, -1) → torch.softmax(logits, -2)
    The loss is right. In its gradient the softmax runs over the rows. Take it along the last axis.
no_two: 2 * coefficient → coefficient
    The loss is right. In the gradient the 2 is missing: the derivative of u² is 2u·u′.
no_softmax: torch.softmax(logits, -1) → torch.ones_like(logits)
    The loss is right. The derivative of log Z by a logit is that logit's softmax weight: multiply by it.
no_log_z: * log_z * → *
    The loss is right. The gradient lacks log Z, which says how hard to pull and in which direction.
per_entry: log_z.numel() → logits.numel()
    The loss is right. Its gradient is divided by the number of all entries. The loss is a mean over rows: divide by
    their number.
first_axis: log_z.numel() → logits.shape[0]
    The loss is right. Its gradient is divided by the size of the first axis. All leading axes together make the
    rows.
rows_forgotten: / log_z.numel() →
    The loss is a mean over rows, so its gradient is divided by the number of rows too.
coefficient_squared: coefficient * (torch → ((coefficient * torch ; logits, -1) ** 2 → logits, -1)) ** 2
    The coefficient is squared too. Square log Z alone: λ · (log Z)².
halved: return coefficient → return coefficient / 2
    The loss is halved. The formula has λ/N, without a ½.
size_for_square: -1) ** 2 → -1).abs()
    The loss takes |log Z|. Square it.
first_axis_of_loss: .mean() → .sum() / logits.shape[0]
    The loss is divided by the size of the first axis. All leading axes together make the rows.
mean_of_entries: torch.logsumexp(logits, -1) ** → logits **
    The logits themselves are squared. First log Z of each row, with your logsumexp.
one_z: torch.logsumexp(logits, -1) ** → torch.logsumexp(logits.flatten(), 0) **
    One Z is taken over all logits. Each row has its own: logsumexp along the last axis.
over_rows: torch.logsumexp(logits, -1) ** → torch.logsumexp(logits, 0) **
    log Z runs over the first axis. Rows lie along the last one.
python_number: .mean() → .mean().item()
    The loss is made from Python numbers, so it is cut off from the logits: no gradient flows back. Leave out
    .item() and float(…), and return a scalar tensor.
rooted: .mean() → .mean().sqrt()
    A root is taken at the end. The loss is the mean of the squares itself.
gradient_no_coefficient: 2 * coefficient → 2
    The loss is right. Its gradient lacks the coefficient λ.
gradient_squared: * log_z * → * log_z**2 *
    The loss is right. In its gradient log Z is still squared: the derivative of u² is 2u·u′.
gradient_turned: return 2 → return -2
    The loss is right. Its gradient has the opposite sign: it is positive where log Z is above 0.
by_classes: log_z.numel() → logits.shape[-1]
    The loss is right. Its gradient is divided by the number of classes. Divide by the number of rows.
log_softmax: torch.softmax(logits, -1) → torch.softmax(logits, -1).log()
    The loss is right. Its gradient has logits − log Z, the log of the softmax. Take exp of it.
slope_of_softmax: torch.softmax(logits, -1) → torch.softmax(logits, -1) * (1 - torch.softmax(logits, -1))
    The loss is right. The derivative of log Z is the softmax p itself, not p·(1 − p).
bare_exponential: torch.softmax(logits, -1) → torch.softmax(logits, -1) * log_z.exp()
    The loss is right. In its gradient exp(logits) is not divided by Z: the softmax is exp(logits − log Z).
logits_for_log_z: * log_z * → * logits *
    The loss is right. Its gradient has each logit in place of log Z, which is one number per row.
logits_for_softmax: torch.softmax(logits, -1) → logits
    The loss is right. Its gradient has the logits where the softmax belongs: exp(logits − log Z).
summed_gradient: return 2 → return (2 ; log_z.numel() → log_z.numel()).sum()
    The loss is right. Its gradient is added up to one number. It has the shape of logits.
""",
)


EXERCISE = Exercise(
    id="stability.z_loss",
    title="z-loss and its gradient",
    points=3,
    difficulty=3,
    minutes=15,
    reference=(ref.z_loss, ref.z_loss_gradient),
    alternatives=[(z_builtin, ref.z_loss_gradient), (z_by_rows, z_gradient_by_softmax)],
    forbidden=("autograd",),
    forbidden_message="The chain rule gives the gradient in one line.",
    cases=[
        Case(
            "by hand",
            "Z = 3 + 1 = 4: with λ = 0.5 the loss is 0.5 · (ln 4)², 0.96",
            lambda g: call(torch.tensor([[math.log(3), 0.0]]), 0.5),
        ),
        Case(
            "two rows",
            "two rows, one below log Z = 0 and one above: the loss is their mean",
            lambda g: call(_TWO_ROWS, 0.25),
        ),
        Case("batch", "the loss of a batch of shape (2, 3, 5)", lambda g: call(2 + g.randn(2, 3, 5), 0.1)),
        Case("large", "the loss of logits near 500", lambda g: call(500 + g.randn(3, 4), 1e-3)),
        Case(
            "gradient by hand",
            "for one row with Z = 4 and λ = 0.5 the gradient shares ln 4 as 3 to 1",
            lambda g: _slope(torch.tensor([[math.log(3), 0.0]]), 0.5),
        ),
        Case(
            "gradient of two rows",
            "each row of the gradient has the sign of its own log Z",
            lambda g: _slope(_TWO_ROWS, 0.25),
        ),
        Case(
            "gradient of a batch",
            "the gradient for a batch of shape (2, 3, 5)",
            lambda g: _slope(2 + g.randn(2, 3, 5), 0.1),
        ),
        Case(
            "default",
            "without a coefficient λ is 1e-4, in the loss and in the gradient",
            lambda g: call(2 + g.randn(3, 4)).call(2 + g.randn(3, 4), fn="z_loss_gradient"),
            weight=0.5,
        ),
        Case(
            "double",
            "float64 logits: the loss and its gradient are float64",
            lambda g: call(*_doubles(g)).call(*_doubles(g), fn="z_loss_gradient"),
            weight=0.5,
        ),
        Case(
            "autograd",
            "the loss can be trained: its gradient flows to the logits",
            lambda g: call(2 + g.randn(2, 3, 5), 0.1, grad=[0]),
        ),
        Case("gradient, large", "the gradient for logits near 500", lambda g: _slope(500 + g.randn(3, 4), 1e-3)),
    ],
    mutants=MISTAKES,
    unasked="""
it is the gradient by hand; nothing asks for gradients of gradients
    gradient of z_loss_gradient
""",
    equivalent="""
The gradient by hand is not trained through: no text asks for gradients of gradients.
    7ef01bbf52 solution, result: return 2 * coefficient * log_z * torch.exp(logits - log_z) / log_z.nu…: result detach
    5a8a32e875 alternative (z_by_rows, z_gradient_by_softmax), result: return 2 * coefficient * log_z * torch.softmax(…
""",
)
