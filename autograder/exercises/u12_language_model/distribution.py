"""Which tokens may come next: temperature, top-k, top-p."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference.language.generating import distribution


def row_by_row(logits, temperature=1.0, top_k=None, top_p=None):
    """Correct: each row in plain loops over its tokens."""
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k <= 0:
        raise ValueError("top_k")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError("top_p")
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        order = sorted(range(len(row)), key=lambda i: (-row[i].item(), i))
        if temperature == 0:
            order = order[:1]
        else:
            row = row / temperature
        keep = order[:top_k]
        if top_p is not None:
            share, total, n = row[keep].softmax(-1), 0.0, 0
            while total < top_p and n < len(keep):
                total += share[n].item()
                n += 1
            keep = keep[:n]
        out = torch.zeros_like(row)
        out[keep] = row[keep].softmax(-1)
        rows.append(out)
    return torch.stack(rows).reshape(logits.shape)


def _row(*logits: float) -> torch.Tensor:
    return torch.tensor(logits)


def _logits(g: Source, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return g.randn(*shape, scale=1.5, dtype=dtype)


def _tied(g: Source) -> torch.Tensor:
    """Eight tokens; the three likeliest are equal, and stand at ids that are drawn."""
    logits = g.randn(4, 8)
    for row in logits:
        row[torch.randperm(8, generator=g.generator)[:3]] = 4.0
    return logits


def _crossing(g: Source) -> Program:
    """Half, a quarter and two eighths, shuffled: p = 0.6 is crossed by the second. It is reached where four logits are
    0: each share is a quarter then, however it is computed, and no right answer hangs on a rounding."""
    p = torch.tensor([0.5, 0.25, 0.125, 0.125]).log()
    program = Program()
    for top_p in (0.6, 0.8, 0.3, g.number(0.51, 0.74)):
        program.call(p[torch.randperm(4, generator=g.generator)] + g.number(-3, 3), top_p=top_p)
    return program.call(torch.zeros(4), top_p=0.5)


def _below_one(g: Source) -> torch.Tensor:
    """Two rows of shares that add up to a little less than 1, by id and by rank: who waits for the sum runs off the
    end. More than 1 would be a mistake's undoing in one order and not in the other, and then it would have no name."""
    while True:
        logits = _logits(g, 2, 6)
        shares = torch.stack([logits, logits.sort(descending=True).values]).softmax(-1)
        if all((t.cumsum(-1)[..., -1] < 1).all() for t in (shares, shares.double())):
            return logits


SHARES = (0.5, 0.25, 0.125, 0.125)


MISTAKES = changes(
    distribution,
    """
multiplied: logits / temperature → logits * temperature
    The logits are multiplied by the temperature. Divide: a high temperature makes them alike.
no_temperature: (logits / temperature) → logits
    The temperature changes nothing. Divide the logits by it before everything else.
temperature_after_softmax: logits / temperature → logits.softmax(-1) / temperature
    The temperature divides probabilities, and a softmax follows. It divides the logits, before the only softmax.
p_at_one: share = scaled.softmax(-1) → share = (scaled * temperature).softmax(-1)
    Top-p is taken at temperature 1. The order is temperature, top-k, top-p: divide first.
p_before_k: share = scaled.softmax(-1) → share = (logits / temperature).gather(-1, order).softmax(-1)
    The sum for top-p counts tokens that top-k removes. First k, then p of the probabilities of what is left.
crossing_lost: share.cumsum(-1) - share >= top_p → (share.cumsum(-1) > top_p) & (torch.arange(logits.shape[-1]) > 0)
    The token with which the sum passes p is removed. It stays: cut those before which the sum has reached p.
crossing_lost_all: share.cumsum(-1) - share >= top_p → share.cumsum(-1) > top_p
    The token with which the sum passes p is removed, even if it is the first, and then nothing is left. It stays.
one_further: >= top_p → > top_p
    Where the sum reaches p exactly, one token more stays. Cut those before which it is p or more: >=.
one_more_p: (share.cumsum(-1) - share → ((share.cumsum(-1) - share - share.roll(1, -1)
; top_p, -torch.inf → top_p) & (torch.arange(logits.shape[-1]) > 1), -torch.inf
    Top-p keeps one token too many. The one with which the sum reaches p is the last.
unsorted: share = scaled.softmax(-1) → share = torch.zeros_like(logits).scatter(-1, order, scaled.softmax(-1))
; share.cumsum(-1) - share >= top_p → (share.cumsum(-1) - share >= top_p).gather(-1, order)
    The sum for top-p runs in the order of the ids. Sort first: it begins with the likeliest token.
each_by_itself: share.cumsum(-1) - share >= top_p → (share < 1 - top_p) & (torch.arange(logits.shape[-1]) > 0)
    Each token is compared with p by itself. Top-p adds probabilities from the largest on, until the sum reaches p.
of_largest: share.cumsum(-1) - share >= top_p → share < top_p * share.amax(-1, keepdim=True)
    Tokens are compared with a share of the largest probability (that is min-p). Top-p adds from the largest on,
    until the sum reaches p.
least_likely: scaled[..., top_k:] → scaled[..., :-top_k]
    The least likely tokens stay. Sort in descending order.
one_more: scaled[..., top_k:] → scaled[..., top_k + 1 :]
    Top-k keeps k + 1 tokens. Ranks count from 0: cut those of rank k and more.
one_fewer: scaled[..., top_k:] → scaled[..., max(1, top_k - 1) :]
    Top-k keeps one token too few. k of them stay.
ties_kept: scaled[..., top_k:] → scaled[scaled < scaled[..., :top_k][..., -1:]]
    Tokens as likely as the k-th stay as well, so more than k do. Of equal ones the lower id comes first: cut by
    rank, not by value.
late_ties: scaled[..., top_k:] → scaled[late.gather(-1, order) >= top_k]
; order = → late = logits.argsort(dim=-1, stable=True).flip(-1).argsort(dim=-1); order =
    Of equally likely tokens the one with the higher id stays. The lower one comes first: sort with stable=True.
k_of_all: scaled[..., top_k:] → scaled[scaled < scaled.flatten().topk(min(top_k, scaled.numel())).values[-1]]
    The k likeliest of all rows together stay. Each row has its own: work along the last axis.
large_k_refused: scaled[..., top_k:] → scaled[scaled < scaled.topk(top_k).values[..., -1:]]
    A k above the number of tokens is an error, or equal tokens all stay. Cut by rank in the sorted order: then a
    large k cuts nothing.
cut_to_zero: top_k:] = -torch.inf → top_k:] = 0.0 ; top_p, -torch.inf → top_p, 0.0
; share = → scaled, at = scaled.sort(dim=-1, descending=True, stable=True); order = order.gather(-1, at); share =
    Logits that are cut are set to 0, which still has a probability. Set them to −∞.
not_renormalized: .gather(-1, order) → .gather(-1, order); whole = scaled.softmax(-1)
; order, scaled.softmax(-1) → order, whole * (scaled > -torch.inf)
    What is left does not add up to 1. Take the softmax after the cuts, or divide by the sum.
sorted_out: torch.zeros_like(logits).scatter(-1, order, scaled.softmax(-1)) → scaled.softmax(-1)
; order[..., :1], 1.0 → 0 * order[..., :1], 1.0
    The probabilities come back in sorted order. Put each one back at its token's id: scatter, or a mask.
twice: order, scaled.softmax(-1) → order, scaled.softmax(-1).softmax(-1)
    The softmax is taken twice. Cut logits, and take it once at the end.
logits: order, scaled.softmax(-1) → order, scaled
    These are logits, not probabilities. Take the softmax at the end.
first_axis: order, scaled.softmax(-1)) → order, scaled).softmax(0)
    The softmax runs over the rows. Tokens are the last axis: softmax(-1).
in_float32: order, scaled.softmax(-1)) → order, scaled.softmax(-1)).float() ; 1.0) → 1.0).float()
    The result is float32 whatever comes in. Keep the logits' dtype.
divides_by_zero: temperature == 0 → False
    At temperature 0 the division gives ∞ or NaN. That case is greedy: 1 for the likeliest token, 0 for all others.
tie_shared: order[..., :1], 1.0 → order, best.gather(-1, order) / best.sum(-1, keepdim=True)
; order = → best = (logits == logits.amax(-1, keepdim=True)).to(logits.dtype); order =
    At temperature 0 equal tokens share. All goes to the one with the lowest id.
tie_all: order[..., :1], 1.0 → order, best.gather(-1, order)
; order = → best = (logits == logits.amax(-1, keepdim=True)).to(logits.dtype); order =
    At temperature 0 every one of equal tokens gets 1. All goes to the one with the lowest id.
late_best: order[..., :1] → logits.argsort(dim=-1, stable=True)[..., -1:]
    At temperature 0 the last of equal tokens is taken. All goes to the one with the lowest id.
greedy_as_one: torch.zeros_like(logits).scatter(-1, order[..., :1], 1.0) → logits.softmax(-1)
    At temperature 0 the result is the softmax of the logits. The likeliest token gets 1, all others 0.
greedy_id: torch.zeros_like(logits).scatter(-1, order[..., :1], 1.0) → logits.argmax(-1)
    At temperature 0 the id of a token comes back. Return probabilities of the same shape: 1 at that id.
zero_refused: temperature < 0 → temperature <= 0
    Temperature 0 raises an error. It is allowed: the likeliest token gets 1.
all_refused: top_p <= 1 → top_p < 1
    top_p 1 raises an error. It is allowed and cuts nothing.
unchecked: raise ValueError → str
    The probabilities are right. Raise a ValueError for a negative temperature, top_k below 1 and top_p outside (0,
    1].
greedy_first: if temperature < 0 or → if temperature and (temperature < 0 or ; top_p <= 1): → top_p <= 1)):
    At temperature 0 neither top_k nor top_p is checked. Raise the ValueErrors before anything is returned.
temperature_unchecked: temperature < 0 or →
    A negative temperature passes, and turns the order round. Raise a ValueError.
k_unchecked: (top_k is not None and top_k < 1) or →
    top_k 0 passes, and nothing is left. Raise a ValueError below 1.
p_unchecked: or (top_p is not None and not 0 < top_p <= 1) →
    top_p is not checked. Raise a ValueError unless 0 < top_p ≤ 1.
large_p_unchecked: 0 < top_p <= 1 → 0 < top_p
    A top_p above 1 passes. Raise a ValueError there, too: it is a share.
small_p_unchecked: 0 < top_p <= 1 → top_p <= 1
    A top_p of 0 passes, though no token would be left. Raise a ValueError there, too.
argsort_unnamed_axis: argsort(dim=-1 → argsort(-1
    argsort is given its axis without a name. Beside stable=True it takes arguments by name only: say which one the
    −1 is.
argsort_unnamed_axis_when_warm: (logits / → (logits.argsort(-1, descending=True, stable=True) /
    Temperature 0 works; above it argsort is given its axis without a name. Beside stable=True it takes arguments by
    name only: say which one the −1 is.
argsort_unnamed_axis_in_cuts: scaled[..., top_k:] → scaled[scaled.argsort(-1, descending=True, stable=True) >= top_k]
; share = scaled. → share = scaled.argsort(-1, descending=True, stable=True).
    For the cuts argsort is given its axis without a name. Beside stable=True it takes arguments by name only: say
    which one the −1 is.
sort_unnamed_axis: argsort(dim=-1 → sort(-1
    sort is given its axis without a name. Beside stable=True it takes arguments by name only: say which one the −1
    is.
sort_unnamed_axis_when_warm: (logits / → (logits.sort(-1, descending=True, stable=True) /
    Temperature 0 works; above it sort is given its axis without a name. Beside stable=True it takes arguments by
    name only: say which one the −1 is.
""",
)

EXERCISE = Exercise(
    id="generate.distribution",
    title="Temperature, top-k, top-p",
    points=3,
    difficulty=3,
    minutes=11,
    reference=distribution,
    alternatives=[row_by_row],
    cases=[
        Case(
            "by hand",
            "shares 1/2, 1/4, 1/8, 1/8 and top_k 2: 2/3 and 1/3 remain",
            lambda g: call(_row(*SHARES).log(), top_k=2),
        ),
        Case("plain", "two rows of seven logits", lambda g: call(_logits(g, 2, 7)), weight=0.5),
        Case(
            "temperature",
            "a low and a high temperature",
            lambda g: Program().call(_logits(g, 2, 7), g.number(0.3, 0.8)).call(_logits(g, 2, 7), g.number(1.4, 3.0)),
        ),
        Case(
            "greedy",
            "temperature 0: all for the largest, in float64",
            lambda g: call(_logits(g, 6, 9, dtype=torch.float64), 0),
        ),
        Case(
            "greedy tie", "temperature 0 and three equal logits: all for the lowest id", lambda g: call(_tied(g), 0.0)
        ),
        Case("top k", "three rows, the three likeliest of nine each", lambda g: call(_logits(g, 3, 9), top_k=3)),
        Case(
            "top k tie", "three equal logits and top_k 2: the two with the lower ids", lambda g: call(_tied(g), top_k=2)
        ),
        Case(
            "large k",
            "more than there are tokens: nothing is cut; then top_k 1: one token has all",
            lambda g: call(_logits(g, 2, 5), top_k=50).call(_logits(g, 2, 5), top_k=1),
            weight=0.5,
        ),
        Case(
            "top p",
            "three batches of two rows, p = 0.7, in float64",
            lambda g: call(_logits(g, 3, 2, 9, dtype=torch.float64), top_p=0.7),
        ),
        Case(
            "crossing",
            "shares 1/2, 1/4, 1/8, 1/8, shuffled, and four of 1/4: the token with which the sum reaches p is the last",
            _crossing,
            weight=2,
        ),
        Case("all", "top_p 1: nothing is cut", lambda g: call(_below_one(g), top_p=1.0), weight=0.5),
        Case(
            "k then p",
            "top_k 3, then p = 0.6 of what is left",
            lambda g: call(_logits(g, 6, 9), top_k=3, top_p=0.6),
            weight=2,
        ),
        Case("hot p", "temperature 2, then p = 0.6", lambda g: call(_logits(g, 6, 9), 2.0, top_p=0.6), weight=2),
        Case(
            "everything",
            "temperature, top_k 3 and p together, in float64",
            lambda g: call(_logits(g, 9, 12, dtype=torch.float64), g.number(1.2, 1.8), 3, g.number(0.6, 0.8)),
        ),
        Case("greedy all", "temperature 0 with both cuts", lambda g: call(_logits(g, 9, 7), 0.0, 3, 0.9), weight=0.5),
        Case(
            "negative temperature", "a temperature of −1: ValueError", lambda g: call(_logits(g, 5), -1.0), weight=0.25
        ),
        Case("no k", "top_k 0: ValueError", lambda g: call(_logits(g, 5), top_k=0), weight=0.25),
        Case("no p", "top_p 0: ValueError", lambda g: call(_logits(g, 5), top_p=0.0), weight=0.25),
        Case(
            "greedy, no k",
            "temperature 0 and top_k 0: ValueError",
            lambda g: call(_logits(g, 5), 0.0, top_k=0),
            weight=0.25,
        ),
        Case(
            "greedy, no p",
            "temperature 0 and top_p 0: ValueError",
            lambda g: call(_logits(g, 5), 0.0, top_p=0.0),
            weight=0.25,
        ),
        Case("more than all", "top_p 1.5: ValueError", lambda g: call(_logits(g, 5), top_p=1.5), weight=0.25),
    ],
    mutants=MISTAKES,
    unasked="""
tokens are drawn from it, and a draw has no gradient
    gradient of distribution
""",
    equivalent="""
tokens are drawn from it, and a draw has no gradient
    d9d98ea7bd solution, result: return torch.zeros_like(logits).scatter(-1, order, scaled.softmax(-1)): result detach
it is torch's default
    f19547e70a solution, keyword: logits.argsort(dim=-1, descending=True, stable=True) without dim=-1
torch sorts stably on a CPU, asked to or not; its documentation promises it only if asked
    cc2e06b1ac solution, keyword: logits.argsort(dim=-1, descending=True, stable=True) without stable=True
    3e5b616ec7 solution, flag: True → False in stable=True
the order has every id once, so all zeros are written over
    a6fce7842a solution, call: torch.zeros_like(logits) → its argument
    7e628f83ed solution, name: zeros_like → ones_like in torch.zeros_like(logits)
ids are part of the key, so no two are equal
    607fe0b7cb alternative row_by_row, reversed: range(len(row)) reversed
a row has one axis
    0a1d1f9777 alternative row_by_row, constant: -1 → 0 in row[keep].softmax(-1)
    d122d36866 alternative row_by_row, constant: -1 → 0 in row[keep].softmax(-1)
numbers as floats have the same order
    7b40d63c13 alternative row_by_row, result: lambda i: (-row[i].item(), i): result int_to_float
""",
)
