"""Accuracy per stretch of positions."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference.measuring import accuracy_by_position

Pattern = list[list[bool]]


def by_loop(logits, targets, width):
    out = []
    for start in range(0, targets.shape[1], width):
        t = targets[:, start : start + width]
        guess = logits[:, start : start + width].argmax(-1)
        out.append((guess[t >= 0] == t[t >= 0]).float().mean())
    return torch.stack(out)


def by_index_add(logits, targets, width):
    B, T = targets.shape
    stretch = (torch.arange(T) // width).expand(B, T)
    asked = targets >= 0
    right = (logits.max(-1).indices == targets)[asked].float()
    total = torch.zeros(T // width)
    hits = total.clone().index_add(0, stretch[asked], right)
    return hits / total.index_add(0, stretch[asked], torch.ones_like(right))


def _folded(right, asked, width):
    fold = lambda t: t.unflatten(1, (-1, width)).sum((0, 2)).float()
    return fold(right) / fold(asked)


def unasked_count(logits, targets, width):
    return _folded(logits.argmax(-1) == targets, torch.ones_like(targets, dtype=torch.bool), width)


def row_means(logits, targets, width):
    asked = targets >= 0
    right = (logits.argmax(-1) == targets) & asked
    fold = lambda t: t.unflatten(1, (-1, width)).sum(2).float()
    return (fold(right) / fold(asked)).mean(0)


def every_nth(logits, targets, width):
    asked = targets >= 0
    right = (logits.argmax(-1) == targets) & asked
    fold = lambda t: t.unflatten(1, (width, -1)).sum((0, 1)).float()
    return fold(right) / fold(asked)


def running(logits, targets, width):
    asked = targets >= 0
    right = (logits.argmax(-1) == targets) & asked
    fold = lambda t: t.unflatten(1, (-1, width)).sum((0, 2)).cumsum(0).float()
    return fold(right) / fold(asked)


def errors(logits, targets, width):
    return 1 - accuracy_by_position(logits, targets, width)


def _exam(g: Source, right: Pattern, asked: Pattern, width: int, classes: int = 5) -> Program:
    """Logits and targets with a given pattern of right answers, so that no verdict hangs on chance."""
    hit, counted = (torch.tensor(t, dtype=torch.bool) for t in (right, asked))
    targets = g.integers(0, classes, *hit.shape)
    best = torch.where(hit, targets, (targets + 1) % classes)
    logits = g.randn(*hit.shape, classes) + 9.0 * torch.nn.functional.one_hot(best, classes)
    return call(logits, torch.where(counted, targets, -1), width)


def _small(g: Source) -> Program:
    logits = torch.tensor([[[2.0, 1.0], [0.0, 3.0], [4.0, 1.0], [0.0, 1.0]]])
    return call(logits, torch.tensor([[0, 0, 0, 1]]), 2)


def _pattern(text: str) -> Pattern:
    return [[c == "1" for c in row] for row in text.split()]


EXERCISE = Exercise(
    id="rope.accuracy_by_position",
    unit="06-rope",
    title="Accuracy, stretch by stretch",
    points=2,
    difficulty=2,
    minutes=12,
    signature="accuracy_by_position(logits, targets, width)",
    extension=True,
    reference=accuracy_by_position,
    alternatives=[by_loop, by_index_add],
    cases=[
        Case("four answers", "one text, answers right, wrong | right, right: 0.5 and 1.0", _small),
        Case(
            "not asked",
            "positions with target −1 do not count, neither as right nor as wrong",
            lambda g: _exam(g, _pattern("110111 011110"), _pattern("011111 111011"), 3),
        ),
        Case(
            "uneven rows",
            "one text asks once, the other three times: every question counts the same",
            lambda g: _exam(g, _pattern("1000 0100"), _pattern("1000 0111"), 4),
        ),
        Case(
            "twelve stretches",
            "twelve stretches of 2 in a batch of 5",
            lambda g: _exam(g, g.mask(5, 24).tolist(), [[True] * 24] * 5, 2),
            weight=2,
        ),
    ],
    mutants=[
        Mutant(
            "unasked_count",
            unasked_count,
            "Positions with target −1 are counted as wrong. Divide by the number of questions, not of positions.",
        ),
        Mutant(
            "row_means",
            row_means,
            "Each text's share is computed first and then averaged, so a text with one question weighs as much as "
            "one with three. Add up over the batch before dividing.",
        ),
        Mutant(
            "every_nth",
            every_nth,
            "The stretches are not contiguous: the axis was cut the wrong way. Shape (B, T/width, width) keeps "
            "neighbors together.",
        ),
        Mutant("running", running, "These are running totals from the start. Each stretch counts for itself."),
        Mutant("errors", errors, "This is the share of wrong answers. The share of right ones is asked for."),
    ],
)
