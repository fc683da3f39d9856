"""z-loss and its gradient."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, call
from autograder.reference import stability as ref


def z_builtin(logits, coefficient=1e-4):
    """With PyTorch's logsumexp."""
    return coefficient * (torch.logsumexp(logits, -1) ** 2).mean()


def z_gradient_by_autograd(logits, coefficient=1e-4):
    """Let autograd differentiate the loss."""
    with torch.enable_grad():
        x = logits.detach().clone().requires_grad_(True)
        return torch.autograd.grad(z_builtin(x, coefficient), x)[0]


def z_by_rows(logits, coefficient=1e-4):
    """One row at a time."""
    rows = logits.reshape(-1, logits.shape[-1])
    return coefficient * sum(r.logsumexp(0) ** 2 for r in rows) / len(rows)


def z_gradient_by_softmax(logits, coefficient=1e-4):
    """2λ·log Z·softmax over the number of rows, with built-ins."""
    log_z = torch.logsumexp(logits, -1, keepdim=True)
    return 2 * coefficient * log_z * torch.softmax(logits, -1) / log_z.numel()


def _z_loss(form):
    return lambda logits, coefficient=1e-4: form(logits, coefficient, torch.logsumexp(logits, -1))


def _z_gradient(form):
    return lambda logits, coefficient=1e-4: form(
        coefficient, torch.logsumexp(logits, -1, keepdim=True), torch.softmax(logits, -1), logits[..., 0].numel()
    )


def _slope(x: Tensor, coefficient: float) -> Program:
    return Program().call(x, coefficient, fn="z_loss_gradient")


_TWO_ROWS = torch.tensor([[-3.0, -4.0, -5.0], [2.0, 1.0, 4.0]])

EXERCISE = Exercise(
    id="stability.z_loss",
    unit="10-stability",
    title="z-loss and its gradient",
    points=3,
    difficulty=3,
    minutes=15,
    signature="z_loss(logits, coefficient=1e-4)",
    targets=("z_loss", "z_loss_gradient"),
    reference=(ref.z_loss, ref.z_loss_gradient),
    alternatives=[(z_builtin, z_gradient_by_autograd), (z_by_rows, z_gradient_by_softmax)],
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
        Case("gradient, large", "the gradient for logits near 500", lambda g: _slope(500 + g.randn(3, 4), 1e-3)),
    ],
    mutants=[
        Mutant(
            "no_square",
            (_z_loss(lambda x, c, z: c * z.mean()), ref.z_loss_gradient),
            "log Z is not squared, so the loss could fall without end. Square it before the mean.",
        ),
        Mutant(
            "square_of_mean",
            (_z_loss(lambda x, c, z: c * z.mean() ** 2), ref.z_loss_gradient),
            "The mean is squared, so rows above and below 0 cancel. Square log Z of each row, then take the mean.",
        ),
        Mutant(
            "summed",
            (_z_loss(lambda x, c, z: c * z.square().sum()), ref.z_loss_gradient),
            "The rows are summed, so the loss grows with the batch. Take their mean.",
        ),
        Mutant(
            "not_reduced",
            (_z_loss(lambda x, c, z: c * z.square()), ref.z_loss_gradient),
            "There is one loss per row. Take the mean over the rows: the result is a scalar.",
        ),
        Mutant(
            "no_log",
            (_z_loss(lambda x, c, z: c * x.exp().sum(-1).square().mean()), ref.z_loss_gradient),
            "This squares Z itself, which overflows soon. The loss squares log Z: use your logsumexp.",
        ),
        Mutant(
            "no_coefficient",
            (_z_loss(lambda x, c, z: z.square().mean()), ref.z_loss_gradient),
            "The loss lacks its coefficient λ.",
        ),
        Mutant(
            "overflow",
            (_z_loss(lambda x, c, z: c * x.exp().sum(-1).log().square().mean()), ref.z_loss_gradient),
            "Right for small logits, but exp overflows for large ones. Use your logsumexp.",
        ),
        Mutant(
            "no_two",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: c * z * p / n)),
            "The loss is right. In the gradient the 2 is missing: the derivative of u² is 2u·u′.",
        ),
        Mutant(
            "no_softmax",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z.expand_as(p) / n)),
            "The loss is right. The derivative of log Z by a logit is that logit's softmax weight: multiply by it.",
        ),
        Mutant(
            "no_log_z",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * p / n)),
            "The loss is right. The gradient lacks log Z, which says how hard to pull and in which direction.",
        ),
        Mutant(
            "per_entry",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z * p / p.numel())),
            "The loss is right. Its gradient is divided by the number of all entries. The loss is a mean over rows: "
            "divide by their number.",
        ),
        Mutant(
            "first_axis",
            (
                ref.z_loss,
                lambda logits, coefficient=1e-4: (
                    2
                    * coefficient
                    * torch.logsumexp(logits, -1, keepdim=True)
                    * torch.softmax(logits, -1)
                    / logits.shape[0]
                ),
            ),
            "The loss is right. Its gradient is divided by the size of the first axis. All leading axes together "
            "make the rows.",
        ),
        Mutant(
            "rows_forgotten",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z * p)),
            "The loss is a mean over rows, so its gradient is divided by the number of rows too.",
        ),
    ],
)
