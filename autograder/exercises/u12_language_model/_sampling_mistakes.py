"""The distribution of the next token in steps, each of which a mistake can replace."""

import torch

from autograder.judge.spec import Mutant
from autograder.reference.language.generating import distribution

INF = float("inf")


def in_range(temperature, top_k, top_p):
    if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise ValueError("out of range")


def sampling(
    check=in_range,
    scale=lambda x, t: x / t,
    cut_k=lambda x, k: x.masked_fill(rank(x) >= k, -INF),
    cut_p=lambda x, p: x.masked_fill(before(x) >= p, -INF),
    p_first=False,
    finish=lambda x: x.softmax(-1),
    greedy=lambda x: (rank(x) == 0).to(x.dtype),
):
    """The exercise in steps, each of which a mistake can replace."""

    def wrong(logits, temperature=1.0, top_k=None, top_p=None):
        check(temperature, top_k, top_p)
        if temperature == 0 and greedy is not None:
            return greedy(logits)
        x = scale(logits, temperature)
        cuts = [(cut_k, top_k), (cut_p, top_p)]
        for cut, value in reversed(cuts) if p_first else cuts:
            x = x if value is None else cut(x, value)
        return finish(x)

    return wrong


def order(x):
    return x.argsort(dim=-1, descending=True, stable=True)


def rank(x):
    """Place of each token in the order, 0 for the likeliest."""
    return order(x).argsort(dim=-1)


def before(x):
    """Probability of the tokens that come before each one in the order."""
    share = x.softmax(-1).gather(-1, order(x))
    return (share.cumsum(-1) - share).gather(-1, rank(x))


def through(x):
    """Probability of the tokens up to each one, with it: as learners sum, so that it rounds as theirs does."""
    return x.softmax(-1).gather(-1, order(x)).cumsum(-1).gather(-1, rank(x))


def ties_kept(x, k):
    kth = x.topk(min(k, x.shape[-1])).values[..., -1:]
    return x.masked_fill(x < kth, -INF)


def late_ties(x, k):
    order = x.flip(-1).argsort(dim=-1, descending=True, stable=True)
    return x.masked_fill(order.argsort(dim=-1).flip(-1) >= k, -INF)


def k_of_all(x, k):
    kth = x.flatten().topk(min(k, x.numel())).values[-1]
    return x.masked_fill(x < kth, -INF)


def strict_topk(x, k):
    return x.masked_fill(x < x.topk(k).values[..., -1:], -INF)


def unsorted(x, p):
    share = x.softmax(-1)
    return x.masked_fill(share.cumsum(-1) - share >= p, -INF)


def raw_p(logits, temperature=1.0, top_k=None, top_p=None):
    """Top-p from probabilities at temperature 1."""
    in_range(temperature, top_k, top_p)
    if temperature == 0:
        return (rank(logits) == 0).to(logits.dtype)
    sums = before(logits if top_k is None else logits.masked_fill(rank(logits) >= top_k, -INF))
    x = logits / temperature
    if top_k is not None:
        x = x.masked_fill(rank(logits) >= top_k, -INF)
    return (x if top_p is None else x.masked_fill(sums >= top_p, -INF)).softmax(-1)


def sorted_out(logits, temperature=1.0, top_k=None, top_p=None):
    return distribution(logits, temperature, top_k, top_p).sort(-1, descending=True).values


def not_renormalized(logits, temperature=1.0, top_k=None, top_p=None):
    p = distribution(logits, temperature, top_k, top_p)
    if temperature == 0:
        return p
    return torch.where(p > 0, (logits / temperature).softmax(-1), p)


def tie_shared(x):
    best = (x == x.max(-1, keepdim=True).values).to(x.dtype)
    return best / best.sum(-1, keepdim=True)


def late_best(x):
    return (late_ties(x, 1) > -INF).to(x.dtype)


def softmaxed_twice(logits, temperature=1.0, top_k=None, top_p=None):
    return sampling(finish=lambda x: x.softmax(-1).softmax(-1))(logits, temperature, top_k, top_p)


def greedy_first(logits, temperature=1.0, top_k=None, top_p=None):
    """Temperature 0 is answered before anything is checked."""
    return sampling(check=in_range if temperature else lambda t, k, p: None)(logits, temperature, top_k, top_p)


def without(name):
    """The checks but for one."""
    checks = {
        "temperature": lambda t, k, p: t < 0,
        "top_k": lambda t, k, p: k is not None and k < 1,
        "small_p": lambda t, k, p: p is not None and p <= 0,
        "large_p": lambda t, k, p: p is not None and p > 1,
    }
    left = [check for key, check in checks.items() if not key.endswith(name)]

    def check(temperature, top_k, top_p):
        if any(is_wrong(temperature, top_k, top_p) for is_wrong in left):
            raise ValueError("out of range")

    return check


def refusing(more):
    def check(temperature, top_k, top_p):
        in_range(temperature, top_k, top_p)
        if more(temperature, top_k, top_p):
            raise ValueError("refused")

    return check


def unnamed_axis(x):
    """torch takes the axis beside stable=True by name only: a TypeError."""
    return x.argsort(-1, descending=True, stable=True)


def sort_unnamed_axis(x):
    return x.sort(-1, descending=True, stable=True)


UNNAMED = [
    Mutant(
        "argsort_unnamed_axis",
        sampling(scale=lambda x, t: unnamed_axis(x), greedy=unnamed_axis),
        "argsort is given its axis without a name. Beside stable=True it takes arguments by name only: say which one "
        "the −1 is.",
    ),
    Mutant(
        "argsort_unnamed_axis_when_warm",
        sampling(scale=lambda x, t: unnamed_axis(x)),
        "Temperature 0 works; above it argsort is given its axis without a name. Beside stable=True it takes arguments "
        "by name only: say which one the −1 is.",
    ),
    Mutant(
        "argsort_unnamed_axis_in_cuts",
        sampling(cut_k=lambda x, k: unnamed_axis(x), cut_p=lambda x, p: unnamed_axis(x)),
        "For the cuts argsort is given its axis without a name. Beside stable=True it takes arguments by name only: "
        "say which one the −1 is.",
    ),
    Mutant(
        "sort_unnamed_axis",
        sampling(scale=lambda x, t: sort_unnamed_axis(x), greedy=sort_unnamed_axis),
        "sort is given its axis without a name. Beside stable=True it takes arguments by name only: say which one the "
        "−1 is.",
    ),
    Mutant(
        "sort_unnamed_axis_when_warm",
        sampling(scale=lambda x, t: sort_unnamed_axis(x)),
        "Temperature 0 works; above it sort is given its axis without a name. Beside stable=True it takes arguments by "
        "name only: say which one the −1 is.",
    ),
]
