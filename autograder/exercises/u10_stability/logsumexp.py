"""The log of a sum of exponentials."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
from autograder.reference import stability as ref

INF = math.inf


def lse_by_where(x, dim=-1):
    """The peak is replaced where it is infinite."""
    peak = x.amax(dim=dim, keepdim=True)
    peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak))
    return peak.squeeze(dim) + (x - peak).exp().sum(dim).log()


def lse_online(x, dim=-1):
    """One entry after the other: the sum so far is rescaled whenever the maximum grows."""
    parts = x.unbind(dim)
    peak, total = torch.full_like(parts[0], -1e30), torch.zeros_like(parts[0])
    for part in parts:
        larger = torch.maximum(peak, part)
        total = total * torch.exp(peak - larger) + torch.exp(part - larger)
        peak = larger
    return peak + torch.log(total)


def lse_plain(x, dim=-1):
    return torch.log(torch.exp(x).sum(dim=dim))


def lse_unshifted(x, dim=-1):
    return torch.log(torch.exp(x - x.amax(dim=dim, keepdim=True)).sum(dim=dim))


def lse_global(x, dim=-1):
    peak = x.max()
    return peak + torch.log(torch.exp(x - peak).sum(dim=dim))


def lse_last(x, dim=-1):
    return ref.logsumexp(x, -1)


def lse_nan(x, dim=-1):
    peak = x.amax(dim=dim, keepdim=True)
    return (peak + torch.log(torch.exp(x - peak).sum(dim=dim, keepdim=True))).squeeze(dim)


def lse_no_keepdim(x, dim=-1):
    peak = x.amax(dim=dim)
    peak = peak.masked_fill(peak == -INF, 0.0)
    return peak + torch.log(torch.exp(x - peak).sum(dim=dim))


def lse_squeezed(x, dim=-1):
    peak = x.amax(dim=dim, keepdim=True)
    return (peak + torch.log(torch.exp(x - peak).sum(dim=dim, keepdim=True))).squeeze()


def lse_kept(x, dim=-1):
    return ref.logsumexp(x, dim).unsqueeze(dim)


def lse_by_minimum(x, dim=-1):
    low = x.amin(dim=dim, keepdim=True)
    low = low.masked_fill(low == -INF, 0.0)
    return (low + torch.log(torch.exp(x - low).sum(dim=dim, keepdim=True))).squeeze(dim)


def lse_clamped(x, dim=-1):
    return torch.log(torch.exp(x.clamp(max=80.0)).sum(dim=dim))


def lse_padded(x, dim=-1):
    peak = x.amax(dim=dim, keepdim=True)
    peak = peak.masked_fill(peak == -INF, 0.0)
    return (peak + torch.log(torch.exp(x - peak).sum(dim=dim, keepdim=True) + 1e-9)).squeeze(dim)


def lse_zero_for_inf(x, dim=-1):
    return ref.logsumexp(x.masked_fill(x == -INF, 0.0), dim)


def _with_gap(g: Source, *shape: int) -> Tensor:
    """Random entries, the second of the last axis 200 below the others."""
    x = g.randn(*shape)
    x[..., 1] -= 200
    return x


def _with_peak(g: Source, *shape: int) -> Tensor:
    """Random entries, the last of the last axis 300 above the others."""
    x = g.randn(*shape)
    x[..., -1] += 300
    return x


def _with_hole(g: Source) -> Tensor:
    x = g.randn(2, 3, 4)
    x[0, 1, g.integer(0, 4)] = -INF
    return x


def lse_mean(x, dim=-1):
    return ref.logsumexp(x, dim) - math.log(x.shape[dim])


def mean_out(x, dim=-1):
    m = x.mean(dim=dim, keepdim=True)
    m = torch.where(torch.isfinite(m), m, torch.zeros_like(m))
    return m.squeeze(dim) + torch.log(torch.exp(x - m).sum(dim=dim))


def finite(m):
    """A shift with 0 where it is -inf."""
    return m.masked_fill(m == -INF, 0.0)


def shifted(x, dim, form, safe=True):
    """``form`` of the maximum (axis kept) and of what is left of x."""
    m = x.amax(dim=dim, keepdim=True)
    m = finite(m) if safe else m
    return form(m, x - m)


def taken_out(x, dim, m, back=True):
    """logsumexp with the shift ``m``; without ``back`` it stays out, and the axis stays."""
    rest = (x - m).exp().sum(dim, keepdim=True).log()
    return (m + rest).squeeze(dim) if back else rest


EXERCISE = Exercise(
    id="stability.logsumexp",
    title="The log of a sum of exponentials",
    points=2,
    difficulty=2,
    minutes=10,
    signature="logsumexp(x, dim=-1)",
    reference=ref.logsumexp,
    alternatives=[lse_by_where, lse_online],
    forbidden=("logsumexp", "logaddexp", "log_softmax", "softmax", "softplus"),
    forbidden_message="Use exp, a maximum, a sum and log.",
    cases=[
        Case(
            "by hand",
            "ln 3 and 0 have exponentials 3 and 1, and ln 4 is 1.386; two zeros give ln 2",
            lambda g: call(torch.tensor([[math.log(3), 0.0], [0.0, 0.0]])),
        ),
        Case("other axis", "with dim=0 the columns are added up", lambda g: call(g.randn(4, 3), dim=0)),
        Case(
            "one row",
            "dim disappears, other axes of size 1 stay: (1, 3) becomes (1,), and (2, 1, 3) becomes (2, 1)",
            lambda g: call(g.randn(1, 3)).call(g.randn(2, 1, 3)),
        ),
        Case(
            "overflow",
            "scores near 1000, whose exponentials do not exist in float32",
            lambda g: call(1000 + g.randn(2, 5)),
        ),
        Case(
            "far apart",
            "two rows that lie 4000 apart",
            lambda g: call(torch.tensor([[2000.0, 2001.0], [-2000.0, -2001.0]])),
        ),
        Case(
            "gap",
            "one entry of each row lies 200 below the others: the largest is taken out, not the smallest",
            lambda g: call(_with_gap(g, 3, 4)),
        ),
        Case(
            "peak",
            "one entry of each row lies 300 above the others: the largest is taken out, not the mean",
            lambda g: call(_with_peak(g, 3, 5)),
        ),
        Case(
            "double",
            "float64 of shape (2, 3, 4) with dim=1: the result is float64, shape (2, 4)",
            lambda g: call(g.randn(2, 3, 4, dtype=torch.float64), 1),
            weight=0.5,
        ),
        Case(
            "gradients",
            "the gradient is the softmax; one entry is minus infinity",
            lambda g: call(_with_hole(g), grad=[0]),
        ),
        Case(
            "empty",
            "a row of minus infinities has sum 0, and log 0 is minus infinity",
            lambda g: call(torch.tensor([[-INF, -INF], [0.5, -INF]])),
        ),
    ],
    mutants=[
        Mutant(
            "mean_out",
            mean_out,
            "The mean is taken out, so a single entry far above it still overflows. Take out the largest.",
        ),
        Mutant(
            "global",
            lse_global,
            "One maximum serves the whole tensor, so slices far below it sum to 0. Take the maximum along dim.",
        ),
        Mutant(
            "plain",
            lse_plain,
            "exp overflows before log can bring the number back. Take the maximum out of the "
            "sum first, and add it again after the log.",
        ),
        Mutant(
            "unshifted",
            lse_unshifted,
            "The maximum was taken out and never came back. Add it after the log: log(e^m · sum) = m + log(sum).",
        ),
        Mutant(
            "last_axis",
            lse_last,
            "The sum runs over the last axis whatever dim says. Use dim in the maximum and in the sum.",
        ),
        Mutant(
            "kept_axis",
            lse_kept,
            "The axis dim is still there, with size 1. It disappears: squeeze(dim) at the end.",
        ),
        Mutant(
            "minimum",
            lse_by_minimum,
            "The smallest entry is taken out, so the large ones still overflow. Take out the largest.",
        ),
        Mutant(
            "clamped",
            lse_clamped,
            "Large entries are cut off before exp. Take the maximum out of the sum instead, and add it after the log.",
        ),
        Mutant(
            "padded",
            lse_padded,
            "A small number is added inside the log, so the sum 0 gives a finite result. log 0 is -inf, as asked.",
        ),
        Mutant(
            "inf_as_zero",
            lse_zero_for_inf,
            "Entries of -inf are replaced by 0, and exp(0) counts as 1. Only the shift of a slice of -inf becomes 0.",
        ),
        Mutant(
            "nan_row",
            lse_nan,
            "Right for finite rows. Where the maximum is -inf, -inf minus -inf is NaN: use 0 "
            "as the shift of such a row.",
        ),
        Mutant(
            "no_keepdim",
            lse_no_keepdim,
            "The maximum has lost its axis, so it is subtracted along another one, or "
            "does not fit at all. Take it with keepdim=True, and drop the axis at the end.",
        ),
        Mutant("squeezes_all", lse_squeezed, "All axes of size 1 disappear. Only dim should: squeeze(dim)."),
        Mutant("mean", lse_mean, "This is the log of the mean. The number of entries must not divide the sum."),
        Mutant(
            "unshifted_safe",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: z.exp().sum(dim).log()),
            "The shift never comes back, so every result is too small by it. Add m after the log: m + log(sum).",
        ),
        Mutant(
            "squeezes_all_safe",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: (m + z.exp().sum(dim, keepdim=True).log()).squeeze()),
            "squeeze() takes away every axis of size 1. Name the one that disappears: squeeze(dim).",
        ),
        Mutant(
            "subtracted",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: z.exp().sum(dim).log() - m.squeeze(dim)),
            "The shift is subtracted after the log. It is added: log(e^m · sum) = m + log(sum).",
        ),
        Mutant(
            "subtracted_nan",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: z.exp().sum(dim).log() - m.squeeze(dim), safe=False),
            "The shift is subtracted after the log. It is added; and a slice of -inf is shifted by 0, or it is NaN.",
        ),
        Mutant(
            "no_log",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: m.squeeze(dim) + z.exp().sum(dim)),
            "The log is missing: the result is m + log(sum), not m + sum.",
        ),
        Mutant(
            "no_log_nan",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: m.squeeze(dim) + z.exp().sum(dim), safe=False),
            "The log is missing: the result is m + log(sum). And a slice of -inf is shifted by 0, or it is NaN.",
        ),
        Mutant(
            "multiplied",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: m.squeeze(dim) * z.exp().sum(dim).log()),
            "m is a factor before the log only. After it, it is added: log(e^m · sum) = m + log(sum).",
        ),
        Mutant(
            "added_inside",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: (m.squeeze(dim) + z.exp().sum(dim)).log()),
            "m is added inside the log. It comes out of the log as a summand: m + log(sum).",
        ),
        Mutant(
            "log_first",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: m.squeeze(dim) + z.exp().log().sum(dim)),
            "The log is taken before the sum, and undoes exp. First sum the exponentials, then take the log.",
        ),
        Mutant(
            "kept_axis_and_all",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: m + z.exp().sum(dim).log()),
            "m still has the axis dim and the sum has lost it, so they are broadcast or do not fit. "
            "keepdim=True in both, squeeze(dim) at the end.",
        ),
        Mutant(
            "kept_axis_nan",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: m + z.exp().sum(dim, keepdim=True).log(), safe=False),
            "The axis dim is still there, with size 1: squeeze(dim). And a slice of -inf is shifted by 0, or "
            "it is NaN.",
        ),
        Mutant(
            "mean_nan",
            lambda x, dim=-1: shifted(x, dim, lambda m, z: m.squeeze(dim) + z.exp().mean(dim).log(), safe=False),
            "This is the log of the mean: sum, do not average. And a slice of -inf is shifted by 0, or it is NaN.",
        ),
        Mutant(
            "global_by_row",
            lambda x, dim=-1: lse_nan(x, -1),
            "The last axis is used whatever dim says: use dim. And a slice of -inf is shifted by 0, or it is NaN.",
        ),
        Mutant(
            "minimum_nan",
            lambda x, dim=-1: taken_out(x, dim, x.amin(dim, keepdim=True)),
            "The smallest entry is taken out, so the large ones overflow, and -inf gives NaN. Take out the largest.",
        ),
        Mutant(
            "mean_out_nan",
            lambda x, dim=-1: taken_out(x, dim, x.mean(dim, keepdim=True)),
            "The mean is taken out, so one large entry still overflows, and -inf gives NaN. Take out the largest.",
        ),
        Mutant(
            "empty_is_zero",
            lambda x, dim=-1: torch.where(x.amax(dim) == -INF, 0.0, ref.logsumexp(x, dim)),
            "A slice of -inf gives 0. Only its shift is 0; the sum of its exponentials is 0, and log 0 is -inf.",
        ),
        Mutant(
            "sizes",
            lambda x, dim=-1: taken_out(x, dim, finite(x.abs().amax(dim, keepdim=True))),
            "The largest |x| is taken out, which is far above a row of negative numbers. Take out the largest"
            " x itself.",
        ),
        Mutant(
            "maximum_of_last_axis",
            lambda x, dim=-1: (
                finite(x.amax(-1, keepdim=True)) + taken_out(x, dim, finite(x.amax(-1, keepdim=True)), back=False)
            ).squeeze(dim),
            "The maximum runs over the last axis whatever dim says. Use dim in the maximum too.",
        ),
    ],
)
