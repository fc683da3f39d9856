"""The difference added to the weight, and what it saves."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import lora


def merge(weight, A, B, alpha):
    """weight + (α/r)·B·A, in weight's dtype."""
    return (weight.to(A.dtype) + alpha / A.shape[0] * (B @ A)).to(weight.dtype)


def lora_parameters(d_in, d_out, r):
    """The reference's count."""
    return lora.lora_parameters(d_in, d_out, r)


def merge_by_einsum(weight, A, B, alpha):
    """Named axes, and torch's own sum with a factor."""
    return weight.add(torch.einsum("or,ri->oi", B, A), alpha=alpha / len(A)).type_as(weight)


def count_by_matrices(d_in, d_out, r):
    """Rows times columns, twice."""
    return d_in * r + r * d_out


def _case(g: Source, d_in: int, d_out: int, r: int, dtype: torch.dtype = torch.float32) -> Program:
    draw = lambda *s: g.randn(*s, dtype=dtype)
    return call(draw(d_out, d_in), draw(r, d_in), draw(d_out, r), g.number(0.5, 20, 1))


def _half(g: Source) -> Program:
    """bfloat16 weights beside float32 adapters: a sum that is rounded once."""
    return call(
        g.randn(6, 5, dtype=torch.bfloat16), g.randn(2, 5, scale=0.3), g.randn(6, 2, scale=0.3), g.number(1, 6, 1)
    )


def _undone(g: Source) -> Program:
    """A large difference that takes most of a bfloat16 weight back: rounded too early it is off by whole steps."""
    A, B, alpha = g.uniform(2, 5, low=1, high=2), g.uniform(6, 2, low=1, high=2), g.number(2, 6, 1)
    weight = (1.5 - alpha / 2 * (B @ A)).to(torch.bfloat16)
    return call(weight, A, B, alpha)


MISTAKES = changes(
    (merge, count_by_matrices),
    """
difference_alone: weight.to(A.dtype) + →
    The weight itself is missing: return the sum.
subtracted: weight.to(A.dtype) + → weight.to(A.dtype) -
    The difference is subtracted.
no_alpha: alpha / A.shape[0] * (B @ A) → B @ A
    The factor α/r is missing.
alpha: alpha / A.shape[0] → alpha
    The factor is α. Divide it by the rank: α/r.
over_width: alpha / A.shape[0] → alpha / A.shape[1]
    The factor is α/d_in. The rank is the number of rows of A.
over_output: alpha / A.shape[0] → alpha / B.shape[0]
    α is divided by the width of the output. The rank is the number of rows of A, and of columns of B.
transposed: (B @ A) → (B @ A).T.reshape(B.shape[0], A.shape[1])
    The product is transposed. A weight has shape (d_out, d_in), and so has B @ A.
in_place: return (weight.to(A.dtype) + → weight += ( ; .to(weight.dtype) →; return weight
    The given weight is changed. Return a new tensor: other adapters need the base as it was.
promoted: .to(weight.dtype) →
    A bfloat16 weight comes back as float32. Give the sum the weight's dtype.
rounded_first: (weight.to(A.dtype) + alpha → weight + (alpha
    The difference is rounded to bfloat16 before it is added. Add in float32, then round the sum.
whole: d_in * r + r * d_out → d_in * d_out
    That is the whole matrix. Count A and B.
one: d_in * r + r * d_out → d_in * r
    B is missing from the count: d_out · r numbers.
other: d_in * r + r * d_out → r * d_out
    A is missing from the count: r · d_in numbers.
one_twice: d_in * r + r * d_out → 2 * d_in * r
    A is counted twice. B has other sizes: d_out · r numbers.
product: d_in * r + r * d_out → d_in * r * d_out
    The three sizes are multiplied. A has r · d_in numbers and B d_out · r: add them.
rank_once: d_in * r + r * d_out → d_in * r + d_out
    The brackets are missing: r · (d_in + d_out).
with_weight: d_in * r + r * d_out → d_in * d_out + d_in * r + r * d_out
    The frozen weight is counted, too. Count what is trained: A and B.
""",
)

EXERCISE = Exercise(
    id="lora.merge",
    title="Merge, and count",
    points=2,
    difficulty=2,
    minutes=8,
    reference=(merge, lora_parameters),
    alternatives=[(merge_by_einsum, count_by_matrices)],
    cases=[
        Case(
            "by hand",
            "B = (1, 2) upright times A = (3, 4), doubled, on a weight of ones: 7, 9 and 13, 17",
            lambda g: call(torch.ones(2, 2), torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0], [2.0]]), 2),
        ),
        Case("wide", "from 6 to 4 numbers, rank 3", lambda g: _case(g, 6, 4, 3), weight=2),
        Case("square", "5 × 5, rank 2: what is transposed shows", lambda g: _case(g, 5, 5, 2)),
        Case("full rank", "3 × 3, rank 3", lambda g: _case(g, 3, 3, 3)),
        Case("float64", "from 4 to 7, rank 2", lambda g: _case(g, 4, 7, 2, torch.float64)),
        Case("half precision", "a weight in bfloat16, adapters in float32: the sum in bfloat16", _half, rounding=0.75),
        Case(
            "rounded once",
            "in bfloat16, a difference that takes most of the weight back: what is rounded early is lost",
            _undone,
            weight=0.5,
            rounding=0.75,
        ),
        Case(
            "counts",
            "three matrices of random sizes",
            lambda g: several(
                3,
                lambda p: p.call(g.integer(100, 9000), g.integer(100, 9000), g.integer(2, 99), fn="lora_parameters"),
            ),
            weight=2,
        ),
    ],
    mutants=MISTAKES,
    unasked="""
weights are merged when training is over, for a model that only serves
    gradient of merge
""",
    equivalent="""
weights are merged when training is over; whoever returns them detached is right
    9fa51eae8a solution, result: return (weight + alpha / A.shape[0] * (B @ A)).to(weight.dtype): result detach
    f36221d110 alternative (merge_by_einsum, count_by_matrices), result: return weight.add(…).type_as(weight): result …
""",
)
