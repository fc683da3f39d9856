"""Softmax under a mask, with rows that may look at nothing."""

import math

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call
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


MISTAKES = changes(
    zero_after,
    """
minus_inf_only: .nan_to_num(0.0) →
    A row of minus infinities is 0/0 in the softmax: NaN. Rows where mask has no True need zeros in their place.
large_negative: -INF → -1e9
    A row without any allowed key gets equal weights, as -1e9 or 0 in all its scores makes them. Fill with -inf, and
    give such a row zeros after the softmax.
multiplied_after: scores.masked_fill(~mask, -INF) → scores ; .nan_to_num(0.0) → * mask
    Forbidden weights are removed after the softmax, so the others no longer sum to 1. Mask the scores before it.
zero_scores: scores.masked_fill(~mask, -INF) → scores * mask
    Forbidden scores become 0, and exp(0) = 1 gets weight, in empty rows too. Fill them with -inf, and give zeros to
    rows without any allowed key.
shifted_first: return torch.softmax( → e = torch.exp(
; scores.masked_fill(~mask, -INF) → scores - scores.amax(-1, keepdim=True)
; , -1).nan_to_num(0.0) → ) * mask; return e / e.sum(-1, keepdim=True).clamp_min(1e-30)
    The largest score is taken over forbidden keys too, so a large one pushes the allowed ones to 0. Mask first,
    then shift.
added_bias: scores.masked_fill(~mask, -INF) → scores + torch.zeros(mask.shape).masked_fill(~mask, -INF)
    The values are right, but a gradient flows through the NaN of the empty row and spoils it. Fill the scores with
    masked_fill instead of adding -inf.
upside_down: ~mask → mask
    The mask is used upside down. True means may look: the False entries get weight 0.
zero_scores_emptied: scores.masked_fill(~mask, -INF) → scores * mask
; .nan_to_num(0.0) → .masked_fill(~mask.any(-1, keepdim=True), 0.0)
    Forbidden scores become 0, and exp(0) = 1 gets weight. Fill them with -inf instead; the rows without any allowed
    key are right.
upside_down_nan: ~mask → mask ; .nan_to_num(0.0) →
    The allowed scores are filled with -inf. True means may look: fill where the mask is False, ~mask, and give
    zeros to a row without any True.
upside_down_emptied: ~mask → mask ; .nan_to_num(0.0) → .masked_fill(~mask.any(-1, keepdim=True), 0.0)
    The allowed scores are filled with -inf, though rows without a True do get zeros. True means may look: fill
    where the mask is False, ~mask.
small_negative: -INF → -100.0 ; .nan_to_num(0.0) → .masked_fill(~mask.any(-1, keepdim=True), 0.0)
    The number that stands for forbidden scores is not low enough: real scores may be as low. Fill with -math.inf,
    whose weight is exactly 0.
renormalized_nan: return → kept = ; scores.masked_fill(~mask, -INF) → scores
; .nan_to_num(0.0) → * mask; return kept / kept.sum(-1, keepdim=True)
    Forbidden weights are hidden after exp and the rest divided by its sum: 0/0 where nothing is left. Mask the
    scores first, and give zeros to empty rows.
all_for_any: .nan_to_num(0.0) → .masked_fill(~mask.all(-1, keepdim=True), 0.0)
    Rows get zeros as soon as one key is forbidden. Only a row without any allowed key does: ask with any, not with
    all.
any_not_inverted: .nan_to_num(0.0) → .masked_fill(mask.any(-1, keepdim=True), 0.0)
    The rows that have an allowed key get the zeros, and the empty ones stay NaN. Turn the test round:
    ~mask.any(dim=-1, keepdim=True).
lost_axis: .nan_to_num(0.0) → .masked_fill(~mask.any(-1), 0.0)
    mask.any(dim=-1) has lost its axis, so rows line up with keys. Write mask.any(dim=-1, keepdim=True).
empty_columns: .nan_to_num(0.0) → .masked_fill(~mask.any(-2, keepdim=True), 0.0)
    The empty rows are looked for along the queries. A row is empty if none of its keys is allowed: mask.any(dim=-1,
    keepdim=True).
row_index: return torch.softmax → weights = ref.softmax
; .nan_to_num(0.0) → * 1.0; weights[~mask.any(-1)] = 0.0; return weights
    weights[~mask.any(-1)] = 0 works only where the mask has the scores' shape. A mask that broadcasts needs
    masked_fill or torch.where, with keepdim=True.
over_queries: , -1) → , -2) ; .nan_to_num(0.0) → .masked_fill(~mask.any(-1, keepdim=True), 0.0)
    The softmax runs over the queries. The weights of each row sum to 1: use the last axis, the keys.
mask_ignored: scores.masked_fill(~mask, -INF) → scores
    The mask plays no part: forbidden keys get weight. Fill their scores with -inf before the softmax.
only_empty_rows: scores.masked_fill(~mask, -INF) → scores
; .nan_to_num(0.0) → .masked_fill(~mask.any(-1, keepdim=True), 0.0)
    Empty rows get zeros, but in the other rows forbidden keys keep their weight. Fill their scores with -inf before
    the softmax.
unnormalized: return torch.softmax( → masked = (
; , -1).nan_to_num(0.0) → ); return torch.exp(masked - masked.amax(-1, keepdim=True).clamp_min(-1e30))
    These are the exponentials. Divide them by their sum along the last axis, where that is not 0.
unshifted: return torch.softmax( → e = torch.exp( ; scores.masked_fill(~mask, -INF) → scores
; , -1).nan_to_num(0.0) → ) * mask; total = e.sum(-1, keepdim=True); return e / total.masked_fill(total == 0, 1.0)
    exp is taken of the scores as they are: large ones overflow and very low ones all become 0. Subtract the largest
    allowed score of the row first.
plus_infinity: -INF → INF ; .nan_to_num(0.0) →
    Forbidden scores are filled with plus infinity, and the softmax gives NaN. It is minus infinity whose weight is
    0.
large_number_added: scores.masked_fill(~mask, -INF) → scores - 1e9 * (~mask).to(scores.dtype)
    A large number is subtracted from forbidden scores, so a row of them alone still gets weights, and a gradient.
    Fill with -inf, and give such a row zeros.
too_little_added: scores.masked_fill(~mask, -INF) → scores - 1e4 * (~mask).to(scores.dtype)
    What is subtracted from forbidden scores is not enough: a large one comes back, and an empty row keeps its
    differences. Fill with -inf, and give empty rows zeros.
exp_times_mask: return torch.softmax( → e = torch.exp( ; scores.masked_fill(~mask, -INF) → scores
; , -1).nan_to_num(0.0) → ) * mask; return e / e.sum(-1, keepdim=True)
    Without a shift exp overflows, also at forbidden scores, and ∞·0 is NaN; an empty row is 0/0. Mask with -inf,
    take a softmax that shifts, give empty rows zeros.
exp_of_masked: return torch.softmax( → e = torch.exp( ; , -1).nan_to_num(0.0) → ); return e / e.sum(-1, keepdim=True)
    Without a shift exp overflows or becomes 0 everywhere, and an empty row is 0/0. Take a softmax that shifts, and
    give empty rows zeros.
exp_of_masked_guarded: return torch.softmax( → e = torch.exp(
; , -1).nan_to_num(0.0) → ); return e / e.sum(-1, keepdim=True).clamp_min(1e-9)
    Empty rows are right, but without a shift exp of a large score overflows and of very low ones nothing is left.
    Subtract the largest allowed score of the row first.
over_queries_without_nan: , -1) → , -2)
    The softmax runs over the queries, and zeros hide the NaN. The weights of each row sum to 1: use the last axis,
    the keys.
detached: .nan_to_num(0.0) → .nan_to_num(0.0).detach()
    The numbers are right, but no gradient can flow back: the result was cut off from the scores. Stay with torch
    operations on them, without detach, NumPy or torch.tensor(…).
""",
)

EXERCISE = Exercise(
    id="attention.masked_softmax",
    title="Rows that may look at nothing",
    points=2,
    difficulty=3,
    minutes=12,
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
    mutants=MISTAKES,
    equivalent="""
softmax's own default is dim=-1
    8175c0a082 solution, keyword: softmax(scores.masked_fill(~mask, -math.inf), dim=-1) without dim=-1
forbidden weights are 0 already, and rows without any allowed key are wholly forbidden
    f3391a191b solution, call: mask.any(dim=-1, keepdim=True) → mask
the outer where takes zero at these entries whatever stands inside
    3bad39a75d alternative by_exp, name: zeros_like → ones_like in torch.zeros_like(scores)
""",
)
