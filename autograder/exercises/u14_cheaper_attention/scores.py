"""Scores of a lightning indexer."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import indexer


def by_broadcasting(q, k, w):
    """Products as matrices, weights with an axis at the end."""
    products = (q @ k.mT[:, None]).relu()
    return (products * w[..., None]).sum(2)


def head_by_head(q, k, w):
    """One small head at a time."""
    total = 0
    for j in range(q.shape[2]):
        total = total + w[:, :, j, None] * (q[:, :, j] @ k.mT).clamp(min=0)
    return total


MISTAKES = changes(
    by_broadcasting,
    """
no_relu: .relu() →
    Negative products count. Set them to 0 with ReLU before the heads are summed.
relu_last: .relu() → ; (products * w[..., None]).sum(2) → (products * w[..., None]).sum(2).relu()
    ReLU comes after the sum, so heads cancel each other first, and scores can't be negative. Apply it to each product.
relu_of_weighted: .relu() → ; (products * w[..., None]) → (products * w[..., None]).relu()
    ReLU comes after the weight, so a negative weight turns negative products into positive ones. Apply ReLU to the
    product, then multiply.
absolute: .relu() → .abs()
    Negative products count as positive ones. ReLU sets them to 0.
squared: .relu() → .relu().square()
    The products are squared after ReLU. The formula has ReLU alone.
sigmoid: .relu() → .sigmoid()
    The products go through a sigmoid. The formula has ReLU.
positive_weights: w[..., None] → w.relu()[..., None]
    Negative weights are set to 0. ReLU belongs to the products; weights may be negative.
softmax_weights: w[..., None] → w.softmax(-1)[..., None]
    The weights go through a softmax over the heads. They are used as they come.
unweighted: products * w[..., None] → products
    The heads are summed without their weights. Multiply each head's products by w.
mean: .sum(2) → .mean(2)
    The mean over the heads is returned. The formula has their sum.
strongest_head: .sum(2) → .amax(2)
    Only the strongest head counts. Sum over all heads.
scaled: .relu() → .relu() / q.shape[-1] ** 0.5
    The products are divided by √D. The formula has no root.
softmax_scores: .sum(2) → .sum(2).softmax(-1)
    The scores go through a softmax over the keys. They are returned as they are, since only their order counts.
weights_of_first: w[..., None] → w[:, :1, :, None]
    All queries use the first query's weights. Each query has its own: w (B, T, J).
""",
)


def _inputs(
    g: Source, B: int, T: int, S: int, J: int, D: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return g.randn(B, T, J, D, dtype=dtype), g.randn(B, S, D, dtype=dtype), g.randn(B, T, J, dtype=dtype)


def _by_hand(g: Source) -> Program:
    return call(torch.tensor([[[[3.0], [-2.0]]]]), torch.tensor([[[1.0]]]), torch.tensor([[[0.5, 4.0]]]))


EXERCISE = Exercise(
    id="index.scores",
    title="Scores of an indexer",
    points=1,
    difficulty=2,
    minutes=5,
    reference=indexer.index_scores,
    alternatives=[by_broadcasting, head_by_head],
    cases=[
        Case("by hand", "products 3 and −2 with weights 0.5 and 4 make 1.5", _by_hand),
        Case(
            "square",
            "two sentences, four queries on four keys, three heads of 5 numbers",
            lambda g: call(*_inputs(g, 2, 4, 4, 3, 5)),
            weight=2,
        ),
        Case("more keys", "two queries on seven keys", lambda g: call(*_inputs(g, 2, 2, 7, 3, 4)), weight=2),
        Case("one head", "J = 1, one sentence, in float64", lambda g: call(*_inputs(g, 1, 3, 5, 1, 4, torch.float64))),
        Case(
            "gradients",
            "in float64: gradients reach queries, keys and weights",
            lambda g: call(*_inputs(g, 2, 3, 4, 2, 3, torch.float64), grad=[0, 1, 2]),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
sums and single entries do not depend on the order
    1bc78e97f1 alternative head_by_head, reversed: range(q.shape[2]) reversed
""",
)
