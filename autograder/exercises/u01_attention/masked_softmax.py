"""Softmax under a mask, with rows that may look at nothing."""

import math

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
from autograder.reference import attention as ref

INF = math.inf


def zero_after(scores, mask=None):
    """NaN rows replaced after the softmax; masked_fill keeps NaN out of the gradient."""
    return torch.softmax(scores.masked_fill(~mask, -INF), -1).nan_to_num(0.0)


def by_exp(scores, mask):
    """Shift by the largest allowed score, multiply by the mask, divide by a sum that is never 0."""
    peak = torch.where(mask, scores, torch.full_like(scores, -INF)).amax(-1, keepdim=True)
    e = torch.where(
        mask, torch.exp(torch.where(mask, scores - peak, torch.zeros_like(scores))), torch.zeros_like(scores)
    )
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total == 0, torch.ones_like(total), total)


def minus_inf_only(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -INF), -1)


def large_negative(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -1e9), -1)


def multiplied_after(scores, mask):
    return torch.softmax(scores, -1) * mask


def zero_scores(scores, mask):
    return torch.softmax(scores * mask, -1)


def shifted_first(scores, mask):
    e = torch.exp(scores - scores.amax(-1, keepdim=True)) * mask
    return e / e.sum(-1, keepdim=True).clamp_min(1e-30)


def added_bias(scores, mask):
    bias = torch.zeros(mask.shape).masked_fill(~mask, -INF)
    return torch.softmax(scores + bias, -1).nan_to_num(0.0)


def upside_down(scores, mask):
    return ref.attention_weights(scores, ~mask)


def _with_empty_row(g: Source, *shape: int) -> Tensor:
    mask = g.mask(*shape)
    mask[..., -1] = False
    mask[..., 1, :] = False
    return mask


def _mixed(g: Source, *shape: int) -> Tensor:
    """Every row has an allowed and a forbidden key."""
    mask = g.mask(*shape)
    mask[..., -1] = False
    return mask


def zero_scores_emptied(scores, mask):
    return torch.softmax(scores * mask, -1).masked_fill(~mask.any(-1, keepdim=True), 0.0)


def upside_down_nan(scores, mask):
    return torch.softmax(scores.masked_fill(mask, -INF), -1)


def upside_down_emptied(scores, mask):
    return upside_down_nan(scores, mask).masked_fill(~mask.any(-1, keepdim=True), 0.0)


def small_negative(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -100.0), -1).masked_fill(~mask.any(-1, keepdim=True), 0.0)


def renormalized_nan(scores, mask):
    kept = torch.softmax(scores, -1) * mask
    return kept / kept.sum(-1, keepdim=True)


def emptied(scores, mask, empty):
    return minus_inf_only(scores, mask).masked_fill(empty, 0.0)


def over_queries(scores, mask):
    masked = scores.masked_fill(~mask, -INF)
    return torch.softmax(masked, -2).masked_fill(~mask.any(-1, keepdim=True), 0.0)


def row_index(scores, mask):
    weights = ref.softmax(scores.masked_fill(~mask, -INF)) * 1.0
    weights[~mask.any(-1)] = 0.0
    return weights


def exponentials_only(scores, mask):
    masked = scores.masked_fill(~mask, -INF)
    peak = masked.amax(-1, keepdim=True).clamp_min(-1e30)
    return torch.exp(masked - peak)


def unshifted(scores, mask):
    e = torch.exp(scores) * mask
    total = e.sum(-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1.0)


def _added(low):
    return lambda scores, mask: torch.softmax(scores + low * (~mask).to(scores.dtype), -1)


def exp_times_mask(scores, mask):
    e = torch.exp(scores) * mask
    return e / e.sum(-1, keepdim=True)


def exp_of_masked(scores, mask):
    e = torch.exp(scores.masked_fill(~mask, -INF))
    return e / e.sum(-1, keepdim=True)


def exp_of_masked_guarded(scores, mask):
    e = torch.exp(scores.masked_fill(~mask, -INF))
    return e / e.sum(-1, keepdim=True).clamp_min(1e-9)


EXERCISE = Exercise(
    id="attention.masked_softmax",
    title="Rows that may look at nothing",
    points=2,
    difficulty=3,
    minutes=12,
    signature="masked_softmax(scores, mask)",
    reference=ref.attention_weights,
    alternatives=[zero_after, by_exp],
    cases=[
        Case(
            "by hand",
            "scores ln 3, 0 and 9, the last one forbidden: weights 3/4, 1/4 and 0",
            lambda g: call(torch.tensor([[math.log(3), 0.0, 9.0]]), torch.tensor([[True, True, False]])),
        ),
        Case(
            "empty row",
            "the second of two rows may look at nothing: zeros, not NaN and not 1/3 each",
            lambda g: call(
                torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]),
                torch.tensor([[True, True, False], [False, False, False]]),
            ),
        ),
        Case(
            "large forbidden",
            "a forbidden score of 10000 does not disturb its neighbors",
            lambda g: call(torch.tensor([[0.5, 1e4, 1.5, -0.5]]), torch.tensor([[True, False, True, True]])),
        ),
        Case(
            "per key",
            "a (B, 1, 1, S) mask on (B, H, T, S) scores, one of the sentences empty",
            lambda g: call(g.randn(3, 2, 4, 5), (torch.arange(5) < torch.tensor([3, 0, 5])[:, None])[:, None, None]),
        ),
        Case(
            "gradient",
            "no NaN in the gradient either, with an empty row among the others",
            lambda g: call(g.randn(3, 4), _with_empty_row(g, 3, 4), grad=[0], cotangent=g.randn(3, 4)),
        ),
        Case(
            "float64",
            "float64 scores near −1000 and near 1000 give float64 weights, and gradients flow back",
            lambda g: call(
                g.randn(2, 5, dtype=torch.float64) + torch.tensor([[-1000.0], [1000.0]]), _mixed(g, 2, 5), grad=[0]
            ),
        ),
    ],
    mutants=[
        Mutant(
            "minus_inf_only",
            minus_inf_only,
            "A row of minus infinities is 0/0 in the softmax: NaN. Rows where mask has no True need zeros in their "
            "place.",
        ),
        Mutant(
            "large_negative",
            large_negative,
            "A row without any allowed key gets equal weights, as -1e9 or 0 in all its scores makes them. Fill with "
            "-inf, and give such a row zeros after the softmax.",
        ),
        Mutant(
            "multiplied_after",
            multiplied_after,
            "Forbidden weights are removed after the softmax, so the others no longer sum to 1. Mask the scores "
            "before it.",
        ),
        Mutant(
            "zero_scores",
            zero_scores,
            "Forbidden scores become 0, and exp(0) = 1 gets weight, in empty rows too. Fill them with -inf, and "
            "give zeros to rows without any allowed key.",
        ),
        Mutant(
            "shifted_first",
            shifted_first,
            "The largest score is taken over forbidden keys too, so a large one pushes the allowed ones to 0. Mask "
            "first, then shift.",
        ),
        Mutant(
            "added_bias",
            added_bias,
            "The values are right, but a gradient flows through the NaN of the empty row and spoils it. Fill the "
            "scores with masked_fill instead of adding -inf.",
        ),
        Mutant(
            "upside_down",
            upside_down,
            "The mask is used upside down. True means may look: the False entries get weight 0.",
        ),
        Mutant(
            "zero_scores_emptied",
            zero_scores_emptied,
            "Forbidden scores become 0, and exp(0) = 1 gets weight. Fill them with -inf instead; the rows without any "
            "allowed key are right.",
        ),
        Mutant(
            "upside_down_nan",
            upside_down_nan,
            "The allowed scores are filled with -inf. True means may look: fill where the mask is False, ~mask, and "
            "give zeros to a row without any True.",
        ),
        Mutant(
            "upside_down_emptied",
            upside_down_emptied,
            "The allowed scores are filled with -inf, though rows without a True do get zeros. True means may look: "
            "fill where the mask is False, ~mask.",
        ),
        Mutant(
            "small_negative",
            small_negative,
            "The number that stands for forbidden scores is not low enough: real scores may be as low. Fill with "
            "-math.inf, whose weight is exactly 0.",
        ),
        Mutant(
            "renormalized_nan",
            renormalized_nan,
            "Forbidden weights are hidden after exp and the rest divided by its sum: 0/0 where nothing is left. Mask "
            "the scores first, and give zeros to empty rows.",
        ),
        Mutant(
            "all_for_any",
            lambda scores, mask: emptied(scores, mask, ~mask.all(-1, keepdim=True)),
            "Rows get zeros as soon as one key is forbidden. Only a row without any allowed key does: ask with any, "
            "not with all.",
        ),
        Mutant(
            "any_not_inverted",
            lambda scores, mask: emptied(scores, mask, mask.any(-1, keepdim=True)),
            "The rows that have an allowed key get the zeros, and the empty ones stay NaN. Turn the test round: "
            "~mask.any(dim=-1, keepdim=True).",
        ),
        Mutant(
            "lost_axis",
            lambda scores, mask: emptied(scores, mask, ~mask.any(-1)),
            "mask.any(dim=-1) has lost its axis, so rows line up with keys. Write mask.any(dim=-1, keepdim=True).",
        ),
        Mutant(
            "empty_columns",
            lambda scores, mask: emptied(scores, mask, ~mask.any(-2, keepdim=True)),
            "The empty rows are looked for along the queries. A row is empty if none of its keys is allowed: "
            "mask.any(dim=-1, keepdim=True).",
        ),
        Mutant(
            "row_index",
            row_index,
            "weights[~mask.any(-1)] = 0 works only where the mask has the scores' shape. A mask that broadcasts needs "
            "masked_fill or torch.where, with keepdim=True.",
        ),
        Mutant(
            "over_queries",
            over_queries,
            "The softmax runs over the queries. The weights of each row sum to 1: use the last axis, the keys.",
        ),
        Mutant(
            "mask_ignored",
            lambda scores, mask: torch.softmax(scores, -1),
            "The mask plays no part: forbidden keys get weight. Fill their scores with -inf before the softmax.",
        ),
        Mutant(
            "only_empty_rows",
            lambda scores, mask: torch.softmax(scores, -1).masked_fill(~mask.any(-1, keepdim=True), 0.0),
            "Empty rows get zeros, but in the other rows forbidden keys keep their weight. Fill their scores with -inf "
            "before the softmax.",
        ),
        Mutant(
            "unnormalized",
            exponentials_only,
            "These are the exponentials. Divide them by their sum along the last axis, where that is not 0.",
        ),
        Mutant(
            "unshifted",
            unshifted,
            "exp is taken of the scores as they are: large ones overflow and very low ones all become 0. Subtract the "
            "largest allowed score of the row first.",
        ),
        Mutant(
            "plus_infinity",
            lambda scores, mask: torch.softmax(scores.masked_fill(~mask, INF), -1),
            "Forbidden scores are filled with plus infinity, and the softmax gives NaN. It is minus infinity whose "
            "weight is 0.",
        ),
        Mutant(
            "large_number_added",
            _added(-1e9),
            "A large number is subtracted from forbidden scores, so a row of them alone still gets weights, and a "
            "gradient. Fill with -inf, and give such a row zeros.",
        ),
        Mutant(
            "too_little_added",
            _added(-1e4),
            "What is subtracted from forbidden scores is not enough: a large one comes back, and an empty row keeps "
            "its differences. Fill with -inf, and give empty rows zeros.",
        ),
        Mutant(
            "exp_times_mask",
            exp_times_mask,
            "Without a shift exp overflows, also at forbidden scores, and ∞·0 is NaN; an empty row is 0/0. Mask with "
            "-inf, take a softmax that shifts, give empty rows zeros.",
        ),
        Mutant(
            "exp_of_masked",
            exp_of_masked,
            "Without a shift exp overflows or becomes 0 everywhere, and an empty row is 0/0. Take a softmax that "
            "shifts, and give empty rows zeros.",
        ),
        Mutant(
            "exp_of_masked_guarded",
            exp_of_masked_guarded,
            "Empty rows are right, but without a shift exp of a large score overflows and of very low ones nothing is "
            "left. Subtract the largest allowed score of the row first.",
        ),
        Mutant(
            "over_queries_without_nan",
            lambda scores, mask: ref.attention_weights(scores.mT, mask.mT).mT,
            "The softmax runs over the queries, and zeros hide the NaN. The weights of each row sum to 1: use the last "
            "axis, the keys.",
        ),
        Mutant(
            "detached",
            lambda scores, mask: ref.attention_weights(scores, mask).detach(),
            "The numbers are right, but no gradient can flow back: the result was cut off from the scores. Stay with "
            "torch operations on them, without detach, NumPy or torch.tensor(…).",
        ),
    ],
)
