"""InfoNCE of queries and keys in a batch."""

import math
from typing import Any

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
        logits = F.normalize(keys) @ q / (q.norm() * temperature)
        losses.append(F.cross_entropy(logits, torch.tensor(i)))
    return sum(losses) / len(losses)


# The mistakes leave the ValueError out.
def _unit(x):
    return x / x.norm(dim=-1, keepdim=True)


def _longer(x, eps):
    return x / (x.norm(dim=-1, keepdim=True) + eps)


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


def _unchecked_for(accepted):
    """The right loss; accepted: temperatures that it forgets to refuse."""

    def wrong(queries, keys, temperature=0.07):
        return (
            _wrong()(queries, keys, temperature) if accepted(temperature) else ref.info_nce(queries, keys, temperature)
        )

    return wrong


def over_queries_too(s):
    e = torch.exp(s - s.max())
    return -torch.log(e.diagonal() / e.sum()).mean()


def _opposite(g: Source) -> Program:
    """Queries at right angles, each key opposite to its own query."""
    q = torch.linalg.qr(g.randn(6, 6))[0][:4].contiguous()
    return call(3 * q, -2 * q, temperature=g.number(0.004, 0.006, 6))


def _small_batches(g: Source) -> Program:
    return call(g.randn(2, 5), g.randn(2, 5), 0.3).call(g.randn(1, 3), g.randn(1, 3), fn="info_nce")


def _trained(g: Source) -> Program:
    """Gradients for queries and keys, at the usual temperature and at another."""
    program = Program()
    other: dict[str, Any] = {"temperature": 0.4}
    for given in ({}, other):
        program.call(g.randn(4, 3), 2 * g.randn(4, 3), fn="info_nce", grad=[0, 1], **given)
    return program


def _cold(g: Source) -> Program:
    q, k = g.randn(4, 5), g.randn(4, 5)
    k[0] = 2 * q[0]  # a cosine of 1 over 0.01 is a logit of 100, beyond exp in float32
    return call(q, k, temperature=0.01)


def _checked(wrong):
    def checked(queries, keys, temperature=0.07):
        if temperature <= 0:
            raise ValueError("temperature must be positive")
        return wrong(queries, keys, temperature)

    return checked


EXERCISE = Exercise(
    id="objective.info_nce",
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
            "opposite",
            "each key opposite to its own query: its probability is below float32, the loss is an ordinary number",
            _opposite,
            rtol=1e-4,
        ),
        Case(
            "float64",
            "three queries and keys of seven numbers in float64, at a random temperature: a float64 loss",
            lambda g: call(g.randn(3, 7, dtype=torch.float64), g.randn(3, 7, dtype=torch.float64), g.number(0.1, 3.0)),
        ),
        Case("small batches", "two pairs, then a single one, whose only key is the right one: loss 0", _small_batches),
        Case(
            "gradients",
            "the slope of the loss by queries and keys, both of which learn",
            _trained,
            rtol=1e-4,
        ),
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
            _checked(_wrong(loss=naive)),
            "exp of a logit of 100 is infinite in float32, and the ratio is NaN. Use log_softmax, logsumexp or "
            "cross_entropy.",
        ),
        Mutant(
            "keys_not_normalized",
            _wrong(lambda q, k, t: _unit(q) @ k.mT / t),
            "Only the queries are divided by their lengths. A cosine needs both: divide the keys as well.",
        ),
        Mutant(
            "queries_not_normalized",
            _wrong(lambda q, k, t: q @ _unit(k).mT / t),
            "Only the keys are divided by their lengths. A cosine needs both: divide the queries as well.",
        ),
        Mutant(
            "over_batch",
            _wrong(lambda q, k, t: F.normalize(q, dim=0) @ F.normalize(k, dim=0).mT / t),
            "The lengths are taken over the batch. Each vector is divided by its own length: dim=-1.",
        ),
        Mutant(
            "squared_lengths",
            _wrong(lambda q, k, t: (q / q.square().sum(-1, True)) @ (k / k.square().sum(-1, True)).mT / t),
            "The vectors are divided by their squared lengths. The root is missing.",
        ),
        Mutant(
            "first_key",
            _wrong(loss=lambda s: F.cross_entropy(s, torch.zeros(len(s), dtype=torch.long))),
            "For every query the first key counts as the right one. The right key of query i is key i: "
            "torch.arange(B).",
        ),
        Mutant(
            "whole_table",
            _wrong(loss=over_queries_too),
            "The softmax runs over the whole table. Each query has a sum of its own, over its row.",
        ),
        Mutant(
            "negated",
            _wrong(loss=lambda s: -F.cross_entropy(s, torch.arange(len(s)))),
            "The sign is turned. The loss is −log of a probability, so it is never negative.",
        ),
        Mutant(
            "detached",
            lambda queries, keys, temperature=0.07: ref.info_nce(queries, keys, temperature).detach(),
            "The number is right, but it is cut off from its inputs (detach, item, torch.tensor), so nothing could be "
            "trained on it.",
        ),
        Mutant(
            "keys_detached",
            lambda queries, keys, temperature=0.07: ref.info_nce(queries, keys.detach(), temperature),
            "The keys are cut off (detach), so only the queries learn. Here both sides do.",
        ),
        Mutant(
            "zero_allowed",
            _unchecked_for(lambda t: t == 0),
            "A temperature of 0 is accepted, and the loss is NaN. 0 is not positive: raise for temperature <= 0.",
        ),
        Mutant(
            "negative_allowed",
            _unchecked_for(lambda t: t < 0),
            "A negative temperature is accepted, which makes the farthest key the best. Raise for temperature <= 0.",
        ),
        Mutant("unchecked", _wrong(), "The loss is right. Raise a ValueError when the temperature is not positive."),
        Mutant(
            "queries_alone",
            _checked(_wrong(lambda q, k, t: _unit(q) @ _unit(q).mT / t)),
            "The queries are compared with each other, and the keys play no part. The table holds queries times keys.",
        ),
        Mutant(
            "temperature_twice",
            _checked(_wrong(lambda q, k, t: _unit(q) @ _unit(k).mT / t**2)),
            "The temperature divides twice. Divide the cosines by it once.",
        ),
        Mutant(
            "length_of_all",
            _checked(_wrong(lambda q, k, t: q / q.norm() @ (k / k.norm()).mT / t)),
            "All vectors are divided by one length, that of the whole matrix. Each vector is divided by its own: "
            "norm(dim=-1, keepdim=True).",
        ),
        Mutant(
            "per_query",
            _checked(_wrong(loss=lambda s: F.cross_entropy(s, torch.arange(len(s)), reduction="none"))),
            "There is one loss per query here. Return their mean.",
        ),
        Mutant(
            "divided_again",
            _checked(_wrong(loss=lambda s: F.cross_entropy(s, torch.arange(len(s))) / len(s))),
            "The mean is divided by the number of queries once more. cross_entropy takes the mean by itself.",
        ),
        Mutant(
            "sums",
            _checked(_wrong(loss=lambda s: (s.logsumexp(-1) - s.mean(-1)).mean())),
            "All keys count as right ones. The right key of query i is key i: take the diagonal.",
        ),
        Mutant(
            "diagonal_alone",
            _checked(_wrong(loss=lambda s: -s.diagonal().mean())),
            "Only the right pairs count here. The loss compares them with the other keys: cross_entropy over each row.",
        ),
        Mutant(
            "abs_cosine",
            _checked(_wrong(lambda q, k, t: (_unit(q) @ _unit(k).mT).abs() / t)),
            "The cosines have lost their signs. An opposite key is the least like, not the most.",
        ),
        Mutant(
            "lengths_plus_millionth",
            _checked(_wrong(lambda q, k, t: _longer(q, 1e-6) @ _longer(k, 1e-6).mT / t)),
            "A millionth is added to the lengths, so every cosine comes out a little too close to 0. Divide each "
            "vector by its length as it is.",
        ),
        Mutant(
            "lengths_plus_tiny",
            _checked(_wrong(lambda q, k, t: _longer(q, 1e-8) @ _longer(k, 1e-8).mT / t)),
            "A tiny number, 1e-8, is added to the lengths, and the cosines are no longer exact. Divide each vector by "
            "its length as it is.",
        ),
    ],
)
