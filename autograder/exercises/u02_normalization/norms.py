"""Unit 02, first part: the two norms, how one follows from the other, and what they do not notice."""

import torch

from autograder.judge.spec import Case, Exercise, Fn, Mutant, call
from autograder.reference import norms as ref

UNIT = "02-normalization"
BUILT_IN = (
    "layer_norm",
    "native_layer_norm",
    "rms_norm",
    "batch_norm",
    "instance_norm",
    "group_norm",
    "normalize",
    "var_mean",
    "std_mean",
)


def t(*rows):
    """A float32 tensor of the given numbers."""
    return torch.tensor(rows, dtype=torch.float32)


def ones(d):
    return torch.ones(d)


def zeros(d):
    return torch.zeros(d)


# ---- LayerNorm --------------------------------------------------------------------------------------------


def layer(
    center=lambda x: x - x.mean(-1, keepdim=True),
    spread=lambda c: c.pow(2).mean(-1, keepdim=True),
    scale=lambda variance, eps: torch.sqrt(variance + eps),
    finish=lambda y, w, b: y * w + b,
):
    """A layer_norm whose steps are given."""

    def layer_norm(x, weight, bias, eps=1e-5):
        centered = center(x)
        return finish(centered / scale(spread(centered), eps), weight, bias)

    return layer_norm


def with_var(x, weight, bias, eps=1e-5):
    """With torch's own variance, told to divide by d."""
    return weight * (x - x.mean(-1, keepdim=True)) * (x.var(-1, correction=0, keepdim=True) + eps).rsqrt() + bias


def row_by_row(x, weight, bias, eps=1e-5):
    """One token at a time."""
    rows = [
        (r - r.sum() / len(r)) / ((r * r).mean() - r.mean() ** 2 + eps) ** 0.5 * weight + bias
        for r in x.reshape(-1, x.shape[-1])
    ]
    return torch.stack(rows).reshape(x.shape)


def over_first_axis(x, weight, bias, eps=1e-5):
    return (x - x.mean(0)) / torch.sqrt(x.var(0, correction=0) + eps) * weight + bias


layer_norm = Exercise(
    id="norm.layer_norm",
    unit=UNIT,
    title="LayerNorm",
    points=2,
    difficulty=2,
    minutes=12,
    signature="layer_norm(x, weight, bias, eps=1e-5)",
    reference=ref.layer_norm,
    alternatives=[layer(), with_var, row_by_row],
    forbidden=BUILT_IN,
    forbidden_message="mean, sqrt and arithmetic are enough.",
    cases=[
        Case(
            "by hand",
            "1, 3, 5 has mean 3 and variance 8/3: it becomes −1.225, 0, 1.225",
            lambda g: call(t(1, 3, 5), ones(3), zeros(3)),
        ),
        Case(
            "weight and bias",
            "weight and bias act entry by entry, after the normalization",
            lambda g: call(t(1, 3, 5), t(1, 2, 3), t(10, 20, 30)),
        ),
        Case("large eps", "with ε = 1 the root is √(8/3 + 1)", lambda g: call(t(1, 3, 5), ones(3), zeros(3), eps=1.0)),
        Case(
            "equal entries",
            "7, 7, 7 has no spread: it becomes the bias, not NaN",
            lambda g: call(t(7, 7, 7), ones(3), t(0.5, 0, -0.5)),
        ),
        Case(
            "tokens",
            "each token has its own mean: 1, 3, 5 and 10, 30, 50 come out alike",
            lambda g: call(t([1, 3, 5], [10, 30, 50]), ones(3), zeros(3)),
        ),
        Case(
            "square",
            "four tokens of four numbers, so that a wrong axis cannot hide behind a shape error",
            lambda g: call(g.randn(4, 4, scale=3.0) + g.randn(4, 1), g.randn(4), g.randn(4)),
        ),
        Case(
            "batch",
            "shape (2, 3, 5) with random weight and bias",
            lambda g: call(g.randn(2, 3, 5, scale=2.0) + 4, g.randn(5), g.randn(5)),
            weight=2,
        ),
    ],
    mutants=[
        Mutant(
            "unbiased",
            layer(spread=lambda c: c.pow(2).sum(-1, keepdim=True) / (c.shape[-1] - 1)),
            "The variance is divided by d − 1 (torch.var does that by default). LayerNorm divides by d.",
        ),
        Mutant(
            "eps_outside",
            layer(scale=lambda variance, eps: torch.sqrt(variance) + eps),
            "ε is added to the standard deviation. It stands inside the root: √(variance + ε).",
        ),
        Mutant(
            "deviation_plus_eps",
            lambda x, weight, bias, eps=1e-5: (
                weight * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + bias
            ),
            "Two things: x.std() divides by d − 1, and ε is added to the deviation. Use √(mean of squares + ε).",
        ),
        Mutant(
            "eps_fixed",
            lambda x, weight, bias, eps=1e-5: layer()(x, weight, bias),
            "The argument eps has no effect where it should: add eps itself, which may be any number, to the "
            "variance under the root.",
        ),
        Mutant(
            "no_eps",
            layer(scale=lambda variance, eps: torch.sqrt(variance)),
            "ε is missing: equal entries give 0/0. Add it to the variance, inside the root.",
        ),
        Mutant(
            "sum",
            layer(spread=lambda c: c.pow(2).sum(-1, keepdim=True)),
            "The squares are added up. The variance is their mean: divide by d.",
        ),
        Mutant(
            "squares_of_x",
            lambda x, weight, bias, eps=1e-5: (
                weight * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) + bias
            ),
            "The squares are those of x. The variance is the mean square of the centered vector.",
        ),
        Mutant(
            "divides_by_variance",
            layer(scale=lambda variance, eps: variance + eps),
            "The centered vector is divided by the variance. Take the square root of (variance + ε) first.",
        ),
        Mutant(
            "keepdim_lost",
            layer(spread=lambda c: c.pow(2).mean(-1)),
            "The variance has lost its last axis, so it lines up with another one or does not fit: keepdim=True.",
        ),
        Mutant(
            "not_centered",
            layer(center=lambda x: x),
            "The mean is not subtracted: this is RMSNorm with a bias. Center each token first.",
        ),
        Mutant(
            "whole_tensor",
            lambda x, weight, bias, eps=1e-5: (x - x.mean()) / torch.sqrt(x.var(correction=0) + eps) * weight + bias,
            "One mean and variance for the whole tensor. Each token, a row of the last axis, has its own.",
        ),
        Mutant(
            "first_axis",
            over_first_axis,
            "The statistics run over the first axis, that is over the batch. LayerNorm runs over the last one.",
        ),
        Mutant("no_bias", layer(finish=lambda y, w, b: y * w), "The bias is not added."),
        Mutant("no_weight", layer(finish=lambda y, w, b: y + b), "The weight is not used."),
        Mutant("bare", layer(finish=lambda y, w, b: y), "Weight and bias are not used: y·weight + bias comes last."),
        Mutant(
            "bias_scaled",
            layer(finish=lambda y, w, b: (y + b) * w),
            "The bias is multiplied by the weight. Scale first, then add: y·weight + bias.",
        ),
    ],
)

# ---- RMSNorm ----------------------------------------------------------------------------------------------


def rms(size=lambda x, eps: torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps), finish=lambda y, w: y * w):
    """An rms_norm whose steps are given."""

    def rms_norm(x, weight, eps=1e-6):
        return finish(x / size(x, eps), weight)

    return rms_norm


def by_norm(x, weight, eps=1e-6):
    """From the Euclidean length: mean square = length²/d."""
    return weight * x * torch.rsqrt(torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 / x.shape[-1] + eps)


rms_norm = Exercise(
    id="norm.rms_norm",
    unit=UNIT,
    title="RMSNorm",
    points=2,
    difficulty=2,
    minutes=10,
    signature="rms_norm(x, weight, eps=1e-6)",
    reference=ref.rms_norm,
    alternatives=[
        rms(),
        by_norm,
        lambda x, weight, eps=1e-6: torch.einsum(
            "...i,...->...i", x * weight, (torch.einsum("...i,...i->...", x, x) / x.shape[-1] + eps) ** -0.5
        ),
    ],
    forbidden=BUILT_IN,
    forbidden_message="mean, sqrt and arithmetic are enough.",
    cases=[
        Case(
            "by hand",
            "1, 3, 5 has mean square 35/3: it becomes 0.293, 0.878, 1.464",
            lambda g: call(t(1, 3, 5), ones(3)),
        ),
        Case("weight", "the weight acts entry by entry", lambda g: call(t(1, 3, 5), t(1, 10, 100))),
        Case("large eps", "with ε = 1 the root is √(35/3 + 1)", lambda g: call(t(1, 3, 5), ones(3), eps=1.0)),
        Case(
            "zeros",
            "a vector of zeros stays zero, and is not NaN",
            lambda g: call(torch.zeros(2, 4), ones(4)),
            weight=0,
        ),
        Case(
            "tokens",
            "each token has its own size: 1, 3, 5 and 100, 300, 500 come out alike",
            lambda g: call(t([1, 3, 5], [100, 300, 500]), ones(3)),
        ),
        Case(
            "square",
            "four tokens of four numbers",
            lambda g: call(g.randn(4, 4, scale=3.0) + 2 * g.randn(4, 1), g.randn(4)),
        ),
        Case(
            "batch",
            "shape (2, 3, 64): the mean of 64 squares, not their sum",
            lambda g: call(g.randn(2, 3, 64, scale=2.0) + 1, g.randn(64)),
            weight=2,
        ),
    ],
    mutants=[
        Mutant(
            "sum",
            rms(lambda x, eps: torch.sqrt(x.pow(2).sum(-1, keepdim=True) + eps)),
            "You divide by √(sum of squares), the length. RMS takes the mean of the squares: off by √d.",
        ),
        Mutant(
            "eps_outside",
            rms(lambda x, eps: torch.sqrt(x.pow(2).mean(-1, keepdim=True)) + eps),
            "ε is added after the root. It stands inside: √(mean of squares + ε).",
        ),
        Mutant(
            "eps_fixed",
            lambda x, weight, eps=1e-6: rms()(x, weight),
            "ε stands in your code as a number. Use the argument eps, which may be another.",
        ),
        Mutant(
            "no_eps",
            rms(lambda x, eps: torch.sqrt(x.pow(2).mean(-1, keepdim=True))),
            "ε is missing: a vector of zeros gives 0/0. Add it inside the root.",
        ),
        Mutant(
            "centered",
            lambda x, weight, eps=1e-6: (
                weight * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps)
            ),
            "The mean is subtracted: this is LayerNorm without a bias. RMSNorm does not look at the mean.",
        ),
        Mutant(
            "keepdim_lost",
            rms(lambda x, eps: torch.sqrt(x.pow(2).mean(-1) + eps)),
            "The mean has lost its last axis, so it lines up with another one or does not fit: keepdim=True.",
        ),
        Mutant(
            "deviation",
            rms(lambda x, eps: torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps)),
            "x is divided by its standard deviation. The root mean square is taken about 0, not about the mean.",
        ),
        Mutant(
            "no_root",
            rms(lambda x, eps: x.pow(2).mean(-1, keepdim=True) + eps),
            "x is divided by the mean square. Take the root first.",
        ),
        Mutant("no_weight", rms(finish=lambda y, w: y), "The weight is not used."),
        Mutant(
            "one_plus_weight",
            rms(finish=lambda y, w: y * (1 + w)),
            "You multiply by 1 + weight, as Gemma does. Here the weight itself is the factor.",
        ),
        Mutant(
            "whole_tensor",
            rms(lambda x, eps: torch.sqrt(x.pow(2).mean() + eps)),
            "One size for the whole tensor. Each token, that is each row of the last axis, has its own.",
        ),
    ],
)

# ---- one from the other -----------------------------------------------------------------------------------


def from_rms(x, eps=1e-5):
    """LayerNorm without weight and bias, by centering and RMSNorm."""
    return ref.rms_norm(x - x.mean(-1, keepdim=True), None, eps)


layer_norm_from_rms = Exercise(
    id="norm.from_rms",
    unit=UNIT,
    title="LayerNorm is RMSNorm of the centered vector",
    points=1,
    difficulty=1,
    minutes=5,
    signature="layer_norm_from_rms(x, eps=1e-5)",
    reference=from_rms,
    alternatives=[
        lambda x, eps=1e-5: ref.layer_norm(x, None, None, eps),
        lambda x, eps=1e-5: rms()(x - x.sum(-1, keepdim=True) / x.shape[-1], 1.0, eps),
    ],
    cases=[
        Case("by hand", "1, 3, 5 centered is −2, 0, 2; its RMS is √(8/3)", lambda g: call(t(1, 3, 5))),
        Case("eps", "ε is handed on", lambda g: call(t(1, 3, 5), eps=1.0)),
        Case(
            "square",
            "three tokens of three numbers, each with its own mean",
            lambda g: call(g.randn(3, 3) + 3 * g.randn(3, 1)),
        ),
        Case("batch", "shape (2, 3, 5)", lambda g: call(g.randn(2, 3, 5) + 3 * g.randn(2, 3, 1))),
    ],
    mutants=[
        Mutant(
            "not_centered",
            lambda x, eps=1e-5: ref.rms_norm(x, None, eps),
            "This is RMSNorm alone. Subtract each token's mean first.",
        ),
        Mutant(
            "centered_after",
            lambda x, eps=1e-5: (y := ref.rms_norm(x, None, eps)) - y.mean(-1, keepdim=True),
            "The mean is subtracted after RMSNorm, so the size was taken about 0. Center first.",
        ),
        Mutant(
            "eps_lost",
            lambda x, eps=1e-5: from_rms(x, 1e-6),
            "eps is not handed on to rms_norm, which then uses its own default.",
        ),
        Mutant(
            "one_mean",
            lambda x, eps=1e-5: ref.rms_norm(x - x.mean(), None, eps),
            "One mean for all tokens. Use x.mean(-1, keepdim=True).",
        ),
        Mutant(
            "keepdim_lost",
            lambda x, eps=1e-5: ref.rms_norm(x - x.mean(-1), None, eps),
            "Without keepdim=True the means are subtracted along the wrong axis, or the shapes do not fit.",
        ),
    ],
)

# ---- invariance as a number -------------------------------------------------------------------------------


def largest_change(norm, x, scale, shift):
    """max |norm(scale·x + shift) − norm(x)|, a float."""
    return float((norm(scale * x + shift) - norm(x)).abs().max())


def by_list(norm, x, scale, shift):
    """The same with Python's max."""
    before, after = norm(x), norm(x * scale + shift)
    return max(abs(b - a) for a, b in zip(before.flatten().tolist(), after.flatten().tolist(), strict=True))


def summary(of):
    return lambda norm, x, scale, shift: of(norm, x, scale, shift)


def any_case(name):
    return lambda g: call(Fn(name), g.randn(3, 5, scale=2.0), g.number(1.5, 3.0), g.number(0.5, 2.0))


invariance = Exercise(
    id="norm.invariance",
    unit=UNIT,
    title="Invariance as a number",
    points=1,
    difficulty=1,
    minutes=6,
    signature="largest_change(norm, x, scale, shift)",
    reference=largest_change,
    alternatives=[
        by_list,
        summary(lambda norm, x, scale, shift: torch.dist(norm(scale * x + shift), norm(x), p=torch.inf)),
    ],
    cases=[
        Case(
            "scale",
            "the identity on 1, 3, 5 with scale 0.5: the last entry moves by 2.5",
            lambda g: call(Fn("identity"), t(1, 3, 5), 0.5, 0.0),
            rtol=1e-4,
        ),
        Case(
            "shift",
            "the identity with shift 10: every entry moves by 10",
            lambda g: call(Fn("identity"), t(1, 3, 5), 1.0, 10.0),
            rtol=1e-4,
        ),
        Case(
            "both", "first scaled, then shifted: 2·x + 3", lambda g: call(Fn("identity"), t(1, -4), 2.0, 3.0), rtol=1e-4
        ),
        Case(
            "constant",
            "a function that always gives 1 notices nothing",
            lambda g: call(Fn("ones"), t(1, 3, 5), 2.0, 3.0),
            weight=0,
        ),
        Case("tanh", "a random tensor through tanh", any_case("tanh"), rtol=1e-3),
        Case("square", "a random tensor through the square", any_case("square"), rtol=1e-3),
    ],
    mutants=[
        Mutant(
            "signed",
            summary(lambda norm, x, scale, shift: float((norm(scale * x + shift) - norm(x)).max())),
            "The largest signed change. An entry may also fall: take the absolute value first.",
        ),
        Mutant(
            "abs_last",
            summary(lambda norm, x, scale, shift: abs(float((norm(scale * x + shift) - norm(x)).max()))),
            "The maximum comes before the absolute value, so an entry that falls is overlooked. Take abs first.",
        ),
        Mutant(
            "mean",
            summary(lambda norm, x, scale, shift: float((norm(scale * x + shift) - norm(x)).abs().mean())),
            "This is the mean change. The largest is asked for.",
        ),
        Mutant(
            "shift_first",
            summary(lambda norm, x, scale, shift: largest_change(norm, x, scale, scale * shift)),
            "The shift is scaled as well: scale·(x + shift). Scale first, then shift.",
        ),
        Mutant(
            "against_input",
            summary(lambda norm, x, scale, shift: float((norm(scale * x + shift) - x).abs().max())),
            "Compared with x itself. Compare with norm(x).",
        ),
        Mutant(
            "against_scaled",
            summary(
                lambda norm, x, scale, shift: float((norm(scale * x + shift) - (scale * norm(x) + shift)).abs().max())
            ),
            "Compared with the scaled and shifted output. Invariant means: the output stays norm(x).",
        ),
    ],
)

EXERCISES = [layer_norm, rms_norm, layer_norm_from_rms, invariance]
