"""Which tokens may come next: temperature, top-k, top-p."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference.language.generating import distribution

from ._sampling_mistakes import (
    UNNAMED,
    before,
    greedy_first,
    k_of_all,
    late_best,
    late_ties,
    not_renormalized,
    order,
    rank,
    raw_p,
    refusing,
    sampling,
    softmaxed_twice,
    sorted_out,
    strict_topk,
    through,
    tie_shared,
    ties_kept,
    unsorted,
    without,
)

INF = float("inf")


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

EXERCISE = Exercise(
    id="generate.distribution",
    title="Temperature, top-k, top-p",
    points=3,
    difficulty=3,
    minutes=11,
    signature="distribution(logits, temperature=1.0, top_k=None, top_p=None)",
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
    mutants=[
        Mutant(
            "multiplied",
            sampling(scale=lambda x, t: x * t),
            "The logits are multiplied by the temperature. Divide: a high temperature makes them alike.",
        ),
        Mutant(
            "no_temperature",
            sampling(scale=lambda x, t: x),
            "The temperature changes nothing. Divide the logits by it before everything else.",
        ),
        Mutant(
            "temperature_after_softmax",
            sampling(scale=lambda x, t: x.softmax(-1) / t),
            "The temperature divides probabilities, and a softmax follows. It divides the logits, before the only "
            "softmax.",
        ),
        Mutant(
            "p_at_one", raw_p, "Top-p is taken at temperature 1. The order is temperature, top-k, top-p: divide first."
        ),
        Mutant(
            "p_before_k",
            sampling(p_first=True),
            "The sum for top-p counts tokens that top-k removes. First k, then p of the probabilities of what is left.",
        ),
        Mutant(
            "crossing_lost",
            sampling(cut_p=lambda x, p: x.masked_fill((through(x) > p) & (rank(x) > 0), -INF)),
            "The token with which the sum passes p is removed. It stays: cut those before which the sum has reached p.",
        ),
        Mutant(
            "crossing_lost_all",
            sampling(cut_p=lambda x, p: x.masked_fill(through(x) > p, -INF)),
            "The token with which the sum passes p is removed, even if it is the first, and then nothing is left. It "
            "stays.",
        ),
        Mutant(
            "one_further",
            sampling(cut_p=lambda x, p: x.masked_fill(before(x) > p, -INF)),
            "Where the sum reaches p exactly, one token more stays. Cut those before which it is p or more: >=.",
        ),
        Mutant(
            "one_more_p",
            sampling(
                cut_p=lambda x, p: x.masked_fill(
                    (before(x) - x.softmax(-1).gather(-1, order(x)).roll(1, -1).gather(-1, rank(x)) >= p)
                    & (rank(x) > 1),
                    -INF,
                )
            ),
            "Top-p keeps one token too many. The one with which the sum reaches p is the last.",
        ),
        Mutant(
            "unsorted",
            sampling(cut_p=unsorted),
            "The sum for top-p runs in the order of the ids. Sort first: it begins with the likeliest token.",
        ),
        Mutant(
            "each_by_itself",
            sampling(cut_p=lambda x, p: x.masked_fill((x.softmax(-1) < 1 - p) & (rank(x) > 0), -INF)),
            "Each token is compared with p by itself. Top-p adds probabilities from the largest on, until the sum "
            "reaches p.",
        ),
        Mutant(
            "of_largest",
            sampling(cut_p=lambda x, p: x.masked_fill(x.softmax(-1) < p * x.softmax(-1).amax(-1, keepdim=True), -INF)),
            "Tokens are compared with a share of the largest probability (that is min-p). Top-p adds from the largest "
            "on, until the sum reaches p.",
        ),
        Mutant(
            "least_likely",
            sampling(cut_k=lambda x, k: x.masked_fill(rank(-x) >= k, -INF)),
            "The least likely tokens stay. Sort in descending order.",
        ),
        Mutant(
            "one_more",
            sampling(cut_k=lambda x, k: x.masked_fill(rank(x) > k, -INF)),
            "Top-k keeps k + 1 tokens. Ranks count from 0: cut those of rank k and more.",
        ),
        Mutant(
            "one_fewer",
            sampling(cut_k=lambda x, k: x.masked_fill(rank(x) >= max(1, k - 1), -INF)),
            "Top-k keeps one token too few. k of them stay.",
        ),
        Mutant(
            "ties_kept",
            sampling(cut_k=ties_kept),
            "Tokens as likely as the k-th stay as well, so more than k do. Of equal ones the lower id comes first: "
            "cut by place, not by value.",
        ),
        Mutant(
            "late_ties",
            sampling(cut_k=late_ties),
            "Of equally likely tokens the one with the higher id stays. The lower one comes first: sort with "
            "stable=True.",
        ),
        Mutant(
            "k_of_all",
            sampling(cut_k=k_of_all),
            "The k likeliest of all rows together stay. Each row has its own: work along the last axis.",
        ),
        Mutant(
            "large_k_refused",
            sampling(cut_k=strict_topk),
            "A k above the number of tokens is an error, or equal tokens all stay. Cut by place in the sorted order: "
            "then a large k cuts nothing.",
        ),
        Mutant(
            "cut_to_zero",
            sampling(
                cut_k=lambda x, k: x.masked_fill(rank(x) >= k, 0.0),
                cut_p=lambda x, p: x.masked_fill(before(x) >= p, 0.0),
            ),
            "Logits that are cut are set to 0, which still has a probability. Set them to −∞.",
        ),
        Mutant(
            "not_renormalized",
            not_renormalized,
            "What is left does not add up to 1. Take the softmax after the cuts, or divide by the sum.",
        ),
        Mutant(
            "sorted_out",
            sorted_out,
            "The probabilities come back in sorted order. Put each one back at its token's id: scatter, or a mask.",
        ),
        Mutant("twice", softmaxed_twice, "The softmax is taken twice. Cut logits, and take it once at the end."),
        Mutant(
            "logits", sampling(finish=lambda x: x), "These are logits, not probabilities. Take the softmax at the end."
        ),
        Mutant(
            "first_axis",
            sampling(finish=lambda x: x.softmax(0)),
            "The softmax runs over the rows. Tokens are the last axis: softmax(-1).",
        ),
        Mutant(
            "in_float32",
            lambda *a, **k: distribution(*a, **k).float(),
            "The result is float32 whatever comes in. Keep the logits' dtype.",
        ),
        Mutant(
            "divides_by_zero",
            sampling(greedy=None),
            "At temperature 0 the division gives ∞ or NaN. That case is greedy: 1 for the likeliest token, 0 for all "
            "others.",
        ),
        Mutant(
            "tie_shared",
            sampling(greedy=tie_shared),
            "At temperature 0 equal tokens share. All goes to the one with the lowest id.",
        ),
        Mutant(
            "tie_all",
            sampling(greedy=lambda x: (x == x.max(-1, keepdim=True).values).to(x.dtype)),
            "At temperature 0 every one of equal tokens gets 1. All goes to the one with the lowest id.",
        ),
        Mutant(
            "late_best",
            sampling(greedy=late_best),
            "At temperature 0 the last of equal tokens is taken. All goes to the one with the lowest id.",
        ),
        Mutant(
            "greedy_as_one",
            sampling(greedy=lambda x: x.softmax(-1)),
            "At temperature 0 the result is the softmax of the logits. The likeliest token gets 1, all others 0.",
        ),
        Mutant(
            "greedy_id",
            sampling(greedy=lambda x: x.argmax(-1)),
            "At temperature 0 the id of a token comes back. Return probabilities of the same shape: 1 at that id.",
        ),
        Mutant(
            "zero_refused",
            sampling(check=refusing(lambda t, k, p: t == 0)),
            "Temperature 0 raises an error. It is allowed: the likeliest token gets 1.",
        ),
        Mutant(
            "all_refused",
            sampling(check=refusing(lambda t, k, p: p == 1)),
            "top_p 1 raises an error. It is allowed and cuts nothing.",
        ),
        Mutant(
            "unchecked",
            sampling(check=lambda t, k, p: None),
            "The probabilities are right. Raise a ValueError for a negative temperature, top_k below 1 and top_p "
            "outside (0, 1].",
        ),
        Mutant(
            "greedy_first",
            greedy_first,
            "At temperature 0 neither top_k nor top_p is checked. Raise the ValueErrors before anything is returned.",
        ),
        Mutant(
            "temperature_unchecked",
            sampling(check=without("temperature")),
            "A negative temperature passes, and turns the order round. Raise a ValueError.",
        ),
        Mutant(
            "k_unchecked",
            sampling(check=without("_k")),
            "top_k 0 passes, and nothing is left. Raise a ValueError below 1.",
        ),
        Mutant(
            "p_unchecked",
            sampling(check=without("_p")),
            "top_p is not checked. Raise a ValueError unless 0 < top_p ≤ 1.",
        ),
        Mutant(
            "large_p_unchecked",
            sampling(check=without("large_p")),
            "A top_p above 1 passes. Raise a ValueError there, too: it is a share.",
        ),
        Mutant(
            "small_p_unchecked",
            sampling(check=without("small_p")),
            "A top_p of 0 passes, though no token would be left. Raise a ValueError there, too.",
        ),
        *UNNAMED,
    ],
)
