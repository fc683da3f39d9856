"""The log of a sum of exponentials."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call
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


MISTAKES = changes(
    lse_by_where,
    """
mean_out: x.amax → x.mean
    The mean is taken out, so a single entry far above it still overflows. Take out the largest.
global: x.amax(dim=dim, keepdim=True) → x.max() ; peak.squeeze(dim) → peak
    One maximum serves the whole tensor, so slices far below it sum to 0. Take the maximum along dim.
plain: peak.squeeze(dim) + (x - peak).exp() → x.exp()
    exp overflows before log can bring the number back. Take the maximum out of the sum first, and add it again
    after the log.
unshifted: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) → ; peak.squeeze(dim) + →
    The maximum was taken out and never came back. Add it after the log: log(e^m · sum) = m + log(sum).
last_axis: peak = x → dim = -1; peak = x
    The sum runs over the last axis whatever dim says. Use dim in the maximum and in the sum.
kept_axis: peak.squeeze(dim) → peak ; .sum(dim) → .sum(dim, keepdim=True)
    The axis dim is still there, with size 1. It disappears: squeeze(dim) at the end.
minimum: x.amax → x.amin
    The smallest entry is taken out, so the large ones still overflow. Take out the largest.
clamped: peak.squeeze(dim) + (x - peak).exp() → x.clamp(max=80.0).exp()
    Large entries are cut off before exp. Take the maximum out of the sum instead, and add it after the log.
padded: .sum(dim) → .sum(dim).add(1e-9)
    A small number is added inside the log, so the sum 0 gives a finite result. log 0 is -inf, as asked.
inf_as_zero: peak = x → x = x.masked_fill(x == -INF, 0.0); peak = x
    Entries of -inf are replaced by 0, and exp(0) counts as 1. Only the shift of a slice of -inf becomes 0.
nan_row: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) →
    Right for finite rows. Where the maximum is -inf, -inf minus -inf is NaN: use 0 as the shift of such a row.
no_keepdim: , keepdim=True → ; peak.squeeze(dim) → peak
    The maximum has lost its axis, so it is subtracted along another one, or does not fit at all. Take it with
    keepdim=True, and drop the axis at the end.
squeezes_all: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) → ; peak.squeeze(dim) → (peak
; .sum(dim).log() → .sum(dim, keepdim=True).log()).squeeze()
    All axes of size 1 disappear. Only dim should: squeeze(dim).
mean: .sum(dim) → .mean(dim)
    This is the log of the mean. The number of entries must not divide the sum.
unshifted_safe: peak.squeeze(dim) + →
    The shift never comes back, so every result is too small by it. Add m after the log: m + log(sum).
squeezes_all_safe: peak.squeeze(dim) → (peak ; .sum(dim).log() → .sum(dim, keepdim=True).log()).squeeze()
    squeeze() takes away every axis of size 1. Name the one that disappears: squeeze(dim).
subtracted: peak.squeeze(dim) + → -peak.squeeze(dim) +
    The shift is subtracted after the log. It is added: log(e^m · sum) = m + log(sum).
subtracted_nan: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) →
; peak.squeeze(dim) + → -peak.squeeze(dim) +
    The shift is subtracted after the log. It is added; and a slice of -inf is shifted by 0, or it is NaN.
no_log: .log() →
    The log is missing: the result is m + log(sum), not m + sum.
no_log_nan: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) → ; .log() →
    The log is missing: the result is m + log(sum). And a slice of -inf is shifted by 0, or it is NaN.
multiplied: peak.squeeze(dim) + → peak.squeeze(dim) *
    m is a factor before the log only. After it, it is added: log(e^m · sum) = m + log(sum).
added_inside: return peak → return (peak ; .log() → ).log()
    m is added inside the log. It comes out of the log as a summand: m + log(sum).
log_first: .sum(dim).log() → .log().sum(dim)
    The log is taken before the sum, and undoes exp. First sum the exponentials, then take the log.
kept_axis_and_all: peak.squeeze(dim) → peak
    m still has the axis dim and the sum has lost it, so they are broadcast or do not fit. keepdim=True in both,
    squeeze(dim) at the end.
kept_axis_nan: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) → ; peak.squeeze(dim) → peak
; .sum(dim) → .sum(dim, keepdim=True)
    The axis dim is still there, with size 1: squeeze(dim). And a slice of -inf is shifted by 0, or it is NaN.
mean_nan: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) → ; .sum(dim) → .mean(dim)
    This is the log of the mean: sum, do not average. And a slice of -inf is shifted by 0, or it is NaN.
global_by_row: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) → ; peak = x → dim = -1; peak = x
    The last axis is used whatever dim says: use dim. And a slice of -inf is shifted by 0, or it is NaN.
minimum_nan: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) → ; x.amax → x.amin
    The smallest entry is taken out, so the large ones overflow, and -inf gives NaN. Take out the largest.
mean_out_nan: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) → ; x.amax → x.mean
    The mean is taken out, so one large entry still overflows, and -inf gives NaN. Take out the largest.
empty_is_zero: return peak → return (peak ; .log() → .log()).masked_fill(x.amax(dim) == -INF, 0.0)
    A slice of -inf gives 0. Only its shift is 0; the sum of its exponentials is 0, and log 0 is -inf.
sizes: peak = torch.where(torch.isfinite(peak), peak, torch.zeros_like(peak)) → ; x.amax → x.abs().amax
    The largest |x| is taken out, which is far above a row of negative numbers. Take out the largest x itself.
maximum_of_last_axis: dim=dim → dim=-1 ; peak.squeeze(dim) → (peak
; .sum(dim).log() → .sum(dim, keepdim=True).log()).squeeze(dim)
    The maximum runs over the last axis whatever dim says. Use dim in the maximum too.
""",
)


EXERCISE = Exercise(
    id="stability.logsumexp",
    title="The log of a sum of exponentials",
    points=2,
    difficulty=2,
    minutes=10,
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
    mutants=MISTAKES,
    equivalent="""
Any finite shift of a slice of -inf gives -inf; 0 is one of them.
    a9114d516f solution, name: zeros_like → ones_like in torch.zeros_like(m)
    93c4afdd08 alternative lse_by_where, name: zeros_like → ones_like in torch.zeros_like(peak)
The start only has to lie below every number that float32 holds sensibly, and it is rescaled away.
    17c272d3fb alternative lse_online, constant: -1e+30 → -2e+30 in torch.full_like(parts[0], -1e+30)
Only the shape and dtype of a part are used, and all parts share them.
    bec82aff8c alternative lse_online, constant: 0 → 1 in parts[0]
    4d9c2e40f7 alternative lse_online, constant: 0 → -1 in parts[0]
    3323a2187b alternative lse_online, constant: 0 → 1 in parts[0]
    a4edadd60d alternative lse_online, constant: 0 → -1 in parts[0]
""",
)
