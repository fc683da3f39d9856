"""``sampling.tempered``: softmax of scores divided by a temperature."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call


def tempered(scores, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    return torch.softmax(scores / temperature, -1)


def by_exponentials(scores, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    scaled = scores / temperature
    e = torch.exp(scaled - scaled.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def large(g: Source) -> Program:
    """The two largest scores of a row lie near each other: else no temperature would change anything."""
    scores = 3000 * g.randn(3, 5)
    return call(torch.cat([scores, scores.amax(-1, keepdim=True) + g.randn(3, 1)], -1), 0.7)


EXERCISE = Exercise(
    id="sampling.tempered",
    title="Probabilities at a temperature",
    points=1,
    difficulty=1,
    minutes=10,
    reference=tempered,
    alternatives=[by_exponentials],
    cases=[
        Case(
            "two tokens",
            "scores ln 3 and 0 at temperature ½: 9 to 1, so 90 % and 10 %",
            lambda g: call(torch.tensor([1.0986123, 0.0]), 0.5),
        ),
        Case(
            "default",
            "without a temperature it is softmax",
            lambda g: call(g.randn(2, 4)),
        ),
        Case(
            "square",
            "four rows of four scores, so that a wrong axis cannot hide behind a shape error",
            lambda g: call(g.randn(4, 4), 2.0),
            weight=2,
        ),
        Case(
            "large",
            "scores of some thousands: no exponential may overflow",
            large,
        ),
        Case(
            "gradients",
            "gradients flow back to float64 scores, and the probabilities are float64",
            lambda g: call(g.randn(3, 4, dtype=torch.float64), g.number(0.4, 0.9), grad=[0]),
        ),
        Case(
            "negative",
            "temperature −1 raises ValueError too",
            lambda g: call(g.randn(2, 3), -1.0),
            weight=0.5,
        ),
        Case(
            "zero",
            "temperature 0 raises ValueError",
            lambda g: call(g.randn(2, 3), 0.0),
            weight=0.5,
        ),
    ],
    mutants=changes(
        tempered,
        """
multiplied: scores / temperature → scores * temperature
    The scores are multiplied by the temperature. Divide them: a low temperature sharpens.
probabilities_divided: softmax(scores / temperature, -1) → softmax(scores, -1) / temperature
    The probabilities are divided, so they no longer sum to 1. Divide the scores, before softmax.
wrong_axis: -1 → 0
    Softmax runs over the first axis. The tokens lie along the last one: dim=-1.
overflow: torch.softmax(scores / temperature, -1) → (e := torch.exp(scores / temperature)) / e.sum(-1, keepdim=True)
    Large scores overflow in exp and give NaN. Subtract each row's maximum first, or use torch.softmax.
no_error: temperature <= 0 → False
    Temperature 0 divides by zero in silence. Raise ValueError for 0 or less.
""",
    ),
)
