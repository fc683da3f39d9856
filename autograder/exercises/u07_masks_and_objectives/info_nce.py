"""InfoNCE of queries and keys in a batch."""

import math

import torch
import torch.nn.functional as F

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import objectives as ref


def by_logsumexp(queries, keys, temperature=0.07):
    """Partition function minus the diagonal."""
    if not temperature > 0:
        raise ValueError("temperature must be positive")
    q = queries / queries.norm(dim=-1, keepdim=True)
    k = keys / keys.norm(dim=-1, keepdim=True)
    logits = torch.einsum("id,jd->ij", q, k) / temperature
    return (torch.logsumexp(logits, -1) - logits.diagonal()).mean()


def by_pairs(queries, keys, temperature=0.07):
    """Query by query with cosine_similarity."""
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    losses = []
    for i, q in enumerate(queries):
        logits = F.cosine_similarity(q[None], keys, dim=-1) / temperature
        losses.append(-torch.log_softmax(logits, -1)[i])
    return sum(losses) / len(losses)


# The mistakes leave the ValueError out.
def _unit(x):
    return x / x.norm(dim=-1, keepdim=True)


def _wrong(logits=lambda q, k, t: _unit(q) @ _unit(k).mT / t, loss=None):
    def wrong(queries, keys, temperature=0.07):
        s = logits(queries, keys, temperature)
        return loss(s) if loss else F.cross_entropy(s, torch.arange(len(s)))

    return wrong


def naive(s):
    e = torch.exp(s)
    return -torch.log(e.diagonal() / e.sum(-1)).mean()


def negatives_only(s):
    others = s.masked_fill(torch.eye(len(s), dtype=torch.bool), -math.inf)
    return (torch.logsumexp(others, -1) - s.diagonal()).mean()


def _cold(g: Source) -> Program:
    q, k = g.randn(4, 5), g.randn(4, 5)
    k[0] = 2 * q[0]  # a cosine of 1 over 0.01 is a logit of 100, beyond exp in float32
    return call(q, k, temperature=0.01)


EXERCISE = Exercise(
    id="objective.info_nce",
    unit="07-masks-and-objectives",
    title="InfoNCE",
    points=3,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="info_nce(queries, keys, temperature=0.07)",
    reference=ref.info_nce,
    alternatives=[by_logsumexp, by_pairs],
    cases=[
        Case(
            "by hand",
            "two pairs at right angles, temperature 1: scores 1 and 0, loss ln(1 + 1/e) = 0.313",
            lambda g: call(torch.eye(2), 3 * torch.eye(2), temperature=1.0),
        ),
        Case(
            "all alike",
            "four equal keys: nothing to choose by, so ln 4 = 1.386",
            lambda g: call(g.randn(4, 3), g.randn(1, 3).expand(4, 3).clone()),
            rtol=1e-4,
            weight=0.5,
        ),
        Case(
            "random",
            "five queries and keys of six numbers at the usual temperature",
            lambda g: call(g.randn(5, 6), g.randn(5, 6)),
            rtol=1e-4,
            weight=2,
        ),
        Case("warm", "temperature 2", lambda g: call(g.randn(6, 4), 3 * g.randn(6, 4), temperature=2.0), rtol=1e-4),
        Case("cold", "temperature 0.01: logits up to 100, and exp(100) is beyond float32", _cold, rtol=1e-4),
        Case(
            "zero",
            "a temperature of 0 raises ValueError",
            lambda g: call(g.randn(3, 4), g.randn(3, 4), temperature=0.0),
            weight=0.5,
        ),
        Case(
            "negative",
            "a temperature of −1 raises ValueError",
            lambda g: call(g.randn(3, 4), g.randn(3, 4), temperature=-1.0),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "no_lengths",
            _wrong(lambda q, k, t: q @ k.mT / t),
            "These are dot products. Divide each vector by its length first, so that the scores are cosines.",
        ),
        Mutant(
            "no_temperature",
            _wrong(lambda q, k, t: _unit(q) @ _unit(k).mT),
            "The temperature plays no part. Divide the cosines by it before the softmax.",
        ),
        Mutant(
            "times_temperature",
            _wrong(lambda q, k, t: _unit(q) @ _unit(k).mT * t),
            "The cosines are multiplied by the temperature. Divide: a small temperature sharpens.",
        ),
        Mutant(
            "loss_over_temperature",
            lambda queries, keys, temperature=0.07: _wrong()(queries, keys, 1.0) / (temperature or 1.0),
            "The loss is divided by the temperature. Divide the cosines by it, before the softmax.",
        ),
        Mutant(
            "other_direction",
            _wrong(lambda q, k, t: (_unit(q) @ _unit(k).mT / t).mT),
            "Each key chooses among the queries. Here each query chooses among the keys: softmax over the keys, "
            "row by row.",
        ),
        Mutant(
            "both_directions",
            lambda queries, keys, temperature=0.07: (
                (_wrong()(queries, keys, temperature) + _wrong()(keys, queries, temperature)) / 2
            ),
            "This is CLIP's symmetric loss. Here only queries choose among keys.",
        ),
        Mutant(
            "negatives_only",
            _wrong(loss=negatives_only),
            "The positive pair is missing below the fraction, so the loss can become negative. Sum over all keys, "
            "the right one included.",
        ),
        Mutant(
            "summed",
            _wrong(loss=lambda s: F.cross_entropy(s, torch.arange(len(s)), reduction="sum")),
            "This is the sum over the queries. Take the mean.",
        ),
        Mutant(
            "probability",
            _wrong(loss=lambda s: -torch.softmax(s, -1).diagonal().mean()),
            "The logarithm is missing: the loss is −log of the right key's probability.",
        ),
        Mutant(
            "softmax_twice",
            _wrong(lambda q, k, t: torch.softmax(_unit(q) @ _unit(k).mT / t, -1)),
            "The softmax is taken twice. cross_entropy takes it itself: give it the cosines over the temperature.",
        ),
        Mutant(
            "overflows",
            _wrong(loss=naive),
            "exp of a logit of 100 is infinite in float32, and the ratio is NaN. Use log_softmax, logsumexp or "
            "cross_entropy.",
        ),
        Mutant("unchecked", _wrong(), "The loss is right. Raise a ValueError when the temperature is not positive."),
    ],
)
