"""InfoNCE of queries and keys in a batch."""

from typing import Any

import torch
import torch.nn.functional as F

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
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


def info_nce(queries, keys, temperature=0.07):
    """Cross-entropy of the table of cosines: in row i the right key is number i."""
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    q = queries / queries.norm(dim=-1, keepdim=True)
    k = keys / keys.norm(dim=-1, keepdim=True)
    logits = q @ k.mT / temperature
    right = torch.arange(len(logits))
    return F.cross_entropy(logits, right)


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


# Many of the mistakes leave the ValueError out.
MISTAKES = changes(
    info_nce,
    """
no_lengths: q @ k.mT → queries @ keys.mT ; temperature <= 0 → False
    These are dot products. Divide each vector by its length first, so that the scores are cosines.
no_temperature: / temperature → ; temperature <= 0 → False
    The temperature plays no part. Divide the cosines by it before the softmax.
times_temperature: / temperature → * temperature ; temperature <= 0 → False
    The cosines are multiplied by the temperature. Divide: a small temperature sharpens.
loss_over_temperature: / temperature →
; F.cross_entropy(logits, right) → F.cross_entropy(logits, right) / (temperature or 1.0) ; temperature <= 0 → False
    The loss is divided by the temperature. Divide the cosines by it, before the softmax.
other_direction: q @ k.mT → k @ q.mT ; temperature <= 0 → False
    Each key chooses among the queries. Here each query chooses among the keys: softmax over the keys, row by row.
both_directions: return F → return (F ; logits, right) → logits, right) + F.cross_entropy(logits.mT, right)) / 2
; temperature <= 0 → False
    This is CLIP's symmetric loss. Here only queries choose among keys.
negatives_only: F.cross_entropy(logits, right) → (others.logsumexp(-1) - logits.diagonal()).mean()
; right = torch.arange(len(logits)) → others = logits.masked_fill(torch.eye(len(q)).bool(), -torch.inf)
; temperature <= 0 → False
    The positive pair is missing below the fraction, so the loss can become negative. Sum over all keys, the right
    one included.
summed: logits, right) → logits, right, reduction="sum") ; temperature <= 0 → False
    This is the sum over the queries. Take the mean.
probability: F.cross_entropy(logits, right) → -logits.softmax(-1).diagonal().mean() ; temperature <= 0 → False
    The logarithm is missing: the loss is −log of the right key's probability.
softmax_twice: cross_entropy(logits → cross_entropy(logits.softmax(-1) ; temperature <= 0 → False
    The softmax is taken twice. cross_entropy takes it itself: give it the cosines over the temperature.
overflows: F.cross_entropy(logits, right) → -torch.log(e.diagonal() / e.sum(-1)).mean()
; right = torch.arange(len(logits)) → e = torch.exp(logits)
    exp of a logit of 100 is infinite in float32, and the ratio is NaN. Use log_softmax, logsumexp or cross_entropy.
keys_not_normalized: k.mT → keys.mT ; temperature <= 0 → False
    Only the queries are divided by their lengths. A cosine needs both: divide the keys as well.
queries_not_normalized: q @ → queries @ ; temperature <= 0 → False
    Only the keys are divided by their lengths. A cosine needs both: divide the queries as well.
over_batch: queries.norm(dim=-1 → queries.norm(dim=0 ; keys.norm(dim=-1 → keys.norm(dim=0 ; temperature <= 0 → False
    The lengths are taken over the batch. Each vector is divided by its own length: dim=-1.
squared_lengths: queries.norm(dim=-1, → queries.square().sum(-1, ; keys.norm(dim=-1, → keys.square().sum(-1,
; temperature <= 0 → False
    The vectors are divided by their squared lengths. The root is missing.
first_key: torch.arange(len(logits)) → torch.zeros(len(logits), dtype=torch.long) ; temperature <= 0 → False
    For every query the first key counts as the right one. The right key of query i is key i: torch.arange(B).
whole_table: F.cross_entropy(logits, right) → -torch.log(e.diagonal() / e.sum()).mean()
; right = torch.arange(len(logits)) → e = torch.exp(logits - logits.max()) ; temperature <= 0 → False
    The softmax runs over the whole table. Each query has a sum of its own, over its row.
negated: return F → return -F ; temperature <= 0 → False
    The sign is turned. The loss is −log of a probability, so it is never negative.
detached: F.cross_entropy(logits, right) → F.cross_entropy(logits, right).detach()
    The number is right, but it is cut off from its inputs (detach, item, torch.tensor), so nothing could be trained
    on it.
keys_detached: k.mT → k.detach().mT
    The keys are cut off (detach), so only the queries learn. Here both sides do.
zero_allowed: temperature <= 0 → temperature < 0
    A temperature of 0 is accepted, and the loss is NaN. 0 is not positive: raise for temperature <= 0.
negative_allowed: temperature <= 0 → temperature == 0
    A negative temperature is accepted, which makes the farthest key the best. Raise for temperature <= 0.
unchecked: temperature <= 0 → False
    The loss is right. Raise a ValueError when the temperature is not positive.
queries_alone: k.mT → q.mT
    The queries are compared with each other, and the keys play no part. The table holds queries times keys.
temperature_twice: / temperature → / temperature**2
    The temperature divides twice. Divide the cosines by it once.
length_of_all: queries.norm(dim=-1, keepdim=True) → queries.norm() ; keys.norm(dim=-1, keepdim=True) → keys.norm()
    All vectors are divided by one length, that of the whole matrix. Each vector is divided by its own: norm(dim=-1,
    keepdim=True).
per_query: logits, right) → logits, right, reduction="none")
    There is one loss per query here. Return their mean.
divided_again: F.cross_entropy(logits, right) → F.cross_entropy(logits, right) / len(logits)
    The mean is divided by the number of queries once more. cross_entropy takes the mean by itself.
sums: F.cross_entropy(logits, right) → (logits.logsumexp(-1) - logits.mean(-1)).mean()
    All keys count as right ones. The right key of query i is key i: take the diagonal.
diagonal_alone: F.cross_entropy(logits, right) → -logits.diagonal().mean()
    Only the right pairs count here. The loss compares them with the other keys: cross_entropy over each row.
abs_cosine: q @ k.mT → (q @ k.mT).abs()
    The cosines have lost their signs. An opposite key is the least like, not the most.
lengths_plus_millionth: queries.norm(dim=-1, keepdim=True) → (queries.norm(dim=-1, keepdim=True) + 1e-6)
; keys.norm(dim=-1, keepdim=True) → (keys.norm(dim=-1, keepdim=True) + 1e-6)
    A millionth is added to the lengths, so every cosine comes out a little too close to 0. Divide each vector by
    its length as it is.
lengths_plus_tiny: queries.norm(dim=-1, keepdim=True) → (queries.norm(dim=-1, keepdim=True) + 1e-8)
; keys.norm(dim=-1, keepdim=True) → (keys.norm(dim=-1, keepdim=True) + 1e-8)
    A tiny number, 1e-8, is added to the lengths, and the cosines are no longer exact. Divide each vector by its
    length as it is.
""",
)

EXERCISE = Exercise(
    id="objective.info_nce",
    title="InfoNCE",
    points=3,
    difficulty=3,
    minutes=12,
    extension=True,
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
    mutants=MISTAKES,
    equivalent="""
normalize's default is axis 1, which is the last one of (B, d)
    c25e3e00bc F.normalize(queries, dim=-1) without dim=-1
    00a168fdc7 F.normalize(keys, dim=-1) without dim=-1
""",
)
