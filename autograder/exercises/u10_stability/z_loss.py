"""z-loss and its gradient."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
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


def _z_loss(form):
    return lambda logits, coefficient=1e-4: form(logits, coefficient, torch.logsumexp(logits, -1))


def _z_gradient(form):
    return lambda logits, coefficient=1e-4: form(
        coefficient, torch.logsumexp(logits, -1, keepdim=True), torch.softmax(logits, -1), logits[..., 0].numel()
    )


def _by_exp(logits, coefficient):
    e = logits.exp()
    total = e.sum(-1, keepdim=True)
    return 2 * coefficient * torch.logsumexp(logits, -1, keepdim=True) * e / total / total.numel()


def _over_rows(logits, coefficient):
    log_z = torch.logsumexp(logits, -1, keepdim=True)
    return 2 * coefficient * log_z * torch.softmax(logits, -2) / log_z.numel()


def _slope(x: Tensor, coefficient: float) -> Program:
    return Program().call(x, coefficient, fn="z_loss_gradient")


def _doubles(g: Source) -> tuple[Tensor, float]:
    return g.randn(2, 3, 4, dtype=torch.float64), g.number(0.1, 0.9)


_TWO_ROWS = torch.tensor([[-3.0, -4.0, -5.0], [2.0, 1.0, 4.0]])

EXERCISE = Exercise(
    id="stability.z_loss",
    title="z-loss and its gradient",
    points=3,
    difficulty=3,
    minutes=15,
    signature="z_loss(logits, coefficient=1e-4)",
    targets=("z_loss", "z_loss_gradient"),
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
            "coefficient_fixed",
            (_z_loss(lambda x, c, z: 1e-4 * z.square().mean()), ref.z_loss_gradient),
            "The loss takes 1e-4 whatever coefficient says. Use the argument, which may be another.",
        ),
        Mutant(
            "no_mean",
            (_z_loss(lambda x, c, z: c * z.square().sum() / x.numel()), ref.z_loss_gradient),
            "The loss is divided by the number of all entries. It is a mean over rows: divide by their number.",
        ),
        Mutant(
            "gradient_coefficient_fixed",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2e-4 * z * p / n)),
            "The loss is right. Its gradient takes 1e-4 whatever coefficient says: use the argument.",
        ),
        Mutant(
            "gradient_overflow",
            (ref.z_loss, lambda logits, coefficient=1e-4: _by_exp(logits, coefficient)),
            "The loss is right. In its gradient exp(logits) overflows for large logits: exp(logits − log Z) does not.",
        ),
        Mutant(
            "other_axis",
            (ref.z_loss, lambda logits, coefficient=1e-4: _over_rows(logits, coefficient)),
            "The loss is right. In its gradient the softmax runs over the rows. Take it along the last axis.",
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
        Mutant(
            "coefficient_squared",
            (_z_loss(lambda x, c, z: (c * z).square().mean()), ref.z_loss_gradient),
            "The coefficient is squared too. Square log Z alone: λ · (log Z)².",
        ),
        Mutant(
            "halved",
            (_z_loss(lambda x, c, z: c / 2 * z.square().mean()), ref.z_loss_gradient),
            "The loss is halved. The formula has λ/N, without a ½.",
        ),
        Mutant(
            "size_for_square",
            (_z_loss(lambda x, c, z: c * z.abs().mean()), ref.z_loss_gradient),
            "The loss takes |log Z|. Square it.",
        ),
        Mutant(
            "first_axis_of_loss",
            (_z_loss(lambda x, c, z: c * z.square().sum() / x.shape[0]), ref.z_loss_gradient),
            "The loss is divided by the size of the first axis. All leading axes together make the rows.",
        ),
        Mutant(
            "mean_of_entries",
            (_z_loss(lambda x, c, z: c * x.square().mean()), ref.z_loss_gradient),
            "The logits themselves are squared. First log Z of each row, with your logsumexp.",
        ),
        Mutant(
            "one_z",
            (_z_loss(lambda x, c, z: c * torch.logsumexp(x.flatten(), 0).square()), ref.z_loss_gradient),
            "One Z is taken over all logits. Each row has its own: logsumexp along the last axis.",
        ),
        Mutant(
            "over_rows",
            (_z_loss(lambda x, c, z: c * torch.logsumexp(x, 0).square().mean()), ref.z_loss_gradient),
            "log Z runs over the first axis. Rows lie along the last one.",
        ),
        Mutant(
            "python_number",
            (_z_loss(lambda x, c, z: (c * z.square().mean()).item()), ref.z_loss_gradient),
            "The loss is made from Python numbers, so it is cut off from the logits: no gradient flows back. Leave out "
            ".item() and float(…), and return a scalar tensor.",
        ),
        Mutant(
            "rooted",
            (_z_loss(lambda x, c, z: c * z.square().mean().sqrt()), ref.z_loss_gradient),
            "A root is taken at the end. The loss is the mean of the squares itself.",
        ),
        Mutant(
            "gradient_no_coefficient",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * z * p / n)),
            "The loss is right. Its gradient lacks the coefficient λ.",
        ),
        Mutant(
            "gradient_squared",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z.square() * p / n)),
            "The loss is right. In its gradient log Z is still squared: the derivative of u² is 2u·u′.",
        ),
        Mutant(
            "gradient_turned",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: -2 * c * z * p / n)),
            "The loss is right. Its gradient has the opposite sign: it is positive where log Z is above 0.",
        ),
        Mutant(
            "by_classes",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z * p / p.shape[-1])),
            "The loss is right. Its gradient is divided by the number of classes. Divide by the number of rows.",
        ),
        Mutant(
            "log_softmax",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z * p.log() / n)),
            "The loss is right. Its gradient has logits − log Z, the log of the softmax. Take exp of it.",
        ),
        Mutant(
            "slope_of_softmax",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z * p * (1 - p) / n)),
            "The loss is right. The derivative of log Z is the softmax p itself, not p·(1 − p).",
        ),
        Mutant(
            "bare_exponential",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * z * p * z.exp() / n)),
            "The loss is right. In its gradient exp(logits) is not divided by Z: the softmax is exp(logits − log Z).",
        ),
        Mutant(
            "logits_for_log_z",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * (p.log() + z) * p / n)),
            "The loss is right. Its gradient has each logit in place of log Z, which is one number per row.",
        ),
        Mutant(
            "logits_for_softmax",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: 2 * c * (p.log() + z) * z / n)),
            "The loss is right. Its gradient has the logits where the softmax belongs: exp(logits − log Z).",
        ),
        Mutant(
            "summed_gradient",
            (ref.z_loss, _z_gradient(lambda c, z, p, n: (2 * c * z * p / n).sum())),
            "The loss is right. Its gradient is added up to one number. It has the shape of logits.",
        ),
    ],
)
