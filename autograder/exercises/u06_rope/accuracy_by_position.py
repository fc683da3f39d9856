"""Accuracy per stretch of positions."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
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
    total = torch.zeros(len(targets[0][::width]))
    hits = total.index_add(-1, stretch[asked], right)
    return hits / total.index_add(-1, stretch[asked], torch.ones_like(right))


def _exam(g: Source, right: Pattern, asked: Pattern, width: int, classes: int = 5) -> Program:
    """Logits and targets with a given pattern of right answers, so that no verdict hangs on chance."""
    hit, counted = (torch.tensor(t, dtype=torch.bool) for t in (right, asked))
    targets = g.integers(0, classes, *hit.shape)
    best = torch.where(hit, targets, (targets + 1) % classes)
    logits = g.randn(*hit.shape, classes) + 9.0 * torch.nn.functional.one_hot(best, classes)
    return call(logits, torch.where(counted, targets, -1), width)


def _close(g: Source) -> Program:
    """float64 logits whose best class leads by less than float32 can hold."""
    targets = g.integers(0, 5, 2, 6)
    best = torch.where(g.mask(2, 6), targets, (targets + 2) % 5)
    return call(3.0 + 1e-9 * torch.nn.functional.one_hot(best, 5).double(), targets, 2)


def _single(g: Source) -> Program:
    return _exam(g, [g.mask(6).tolist()[::-1], g.mask(6).tolist()], [[True] * 6] * 2, 1)


def _small(g: Source) -> Program:
    logits = torch.tensor([[[2.0, 1.0], [0.0, 3.0], [4.0, 1.0], [0.0, 1.0]]])
    return call(logits, torch.tensor([[0, 0, 0, 1]]), 2)


def _pattern(text: str) -> Pattern:
    return [[c == "1" for c in row] for row in text.split()]


MISTAKES = changes(
    accuracy_by_position,
    """
unasked_count: / fold(asked) → / (len(targets) * width)
    Positions with target −1 are counted as wrong. Divide by the number of questions, not of positions.
row_means: .sum((0, 2)) → .sum(2) ; fold(right) / fold(asked) → (fold(right) / fold(asked)).mean(0)
    Each text's share is computed first and then averaged, so a text with one question weighs as much as one with
    three. Add up over the batch before dividing.
every_nth: (-1, width)).sum((0, 2)) → (width, -1)).sum((0, 1))
    The stretches are not contiguous: the axis was cut the wrong way. Shape (B, T/width, width) keeps neighbors
    together.
unasked_right: & asked → | ~asked ; / fold(asked) → / (len(targets) * width)
    Positions with target −1 are counted as right. They count neither way: divide by the number of questions.
probability: (logits.argmax(-1) == targets) & asked → asked * chance
; right = → chance = logits.softmax(-1).gather(-1, targets.clamp(min=0)[..., None])[..., 0]; right =
    This is the mean probability of the right class. An answer is the class with the largest logit: it is right or
    wrong.
whole_batch: fold(right) / fold(asked) → (right.sum() / asked.sum()).repeat(targets.shape[1] // width)
    Every stretch has the same share, that of the whole row. Count the questions and answers of each stretch.
counts: / fold(asked) →
    These are counts of right answers. Divide them by the number of questions.
running: .sum((0, 2)) → .sum((0, 2)).cumsum(0)
    These are running totals from the start. Each stretch counts for itself.
errors: return fold(right) → return 1 - fold(right)
    This is the share of wrong answers. The share of right ones is asked for.
class_zero_left_out: targets >= 0 → targets > 0
    Questions whose right answer is class 0 are left out: targets > 0. Only −1 means that nothing is asked: targets
    >= 0.
width_as_count: (-1, width) → (width, -1)
    The row is cut into width stretches. width is the number of positions in each: unflatten(1, (-1, width)).
texts_apart: .sum((0, 2)) → .sum(2)
    The texts are kept apart: the shape is (B, T/width). Add up over the batch as well, both right answers and
    questions, before dividing.
whole_division: .sum((0, 2)).float() → .sum((0, 2)) ; fold(right) / → fold(right) //
    The counts are divided with //, so every share below 1 becomes 0. Divide with /.
whole_division_as_float: .sum((0, 2)).float() → .sum((0, 2))
; fold(right) / fold(asked) → (fold(right) // fold(asked)).float()
    Every share below 1 has become 0: it was rounded down. Divide with /, or convert to float before.
places_apart: (-1, width) → (-1, 1)
    There is a share for each single position. Add up over stretches of width positions before dividing.
one_number: fold(right) / fold(asked) → right.sum() / asked.sum()
    This is one share for all. One for each stretch is asked for, shape (T/width,).
of_all_questions: / fold(asked) → / asked.sum()
    Each stretch is divided by the questions of the whole row. Divide by its own number of questions.
of_one_text: / fold(asked) → / width
    The right answers of the whole batch are divided by width. Divide by the number of questions that the batch has
    in the stretch.
first_text_only: t.unflatten → t[:1].unflatten
    Only the first text counts. Add up over the whole batch.
smallest_logit: logits.argmax → (-logits).argmax
    The class with the smallest logit is taken as the answer. It is the one with the largest: argmax(-1).
percent: return fold(right) → return 100 * fold(right)
    These are percentages. A share lies between 0 and 1: leave out the factor 100.
in_float32: logits.argmax → logits.float().argmax
    Logits that differ by a billionth are taken as equal: they were rounded to float32. Take argmax of the logits as
    they come.
""",
)

EXERCISE = Exercise(
    id="rope.accuracy_by_position",
    title="Accuracy, stretch by stretch",
    points=2,
    difficulty=2,
    minutes=12,
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
        Case(
            "one place each",
            "stretches of a single position, in a batch of 2",
            _single,
        ),
        Case(
            "one stretch",
            "width T: the whole row is one stretch",
            lambda g: _exam(g, g.mask(3, 7).tolist(), g.mask(3, 7, keep=0.7).tolist(), 7),
        ),
        Case(
            "close",
            "float64 logits whose largest leads by a billionth",
            _close,
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
a target of −1 is never the number of a class
    5d5c2ad03b solution, operand: (logits.argmax(-1) == targets) & asked → logits.argmax(-1) == targets
dividing counts gives float32 without a cast
    f29f59d7df solution, call: t.unflatten(1, (-1, width)).sum((0, 2)).float() → t.unflatten(1, (-1, width)).sum((0, 2…
the tensor has one axis: 0 and −1 are the same one
    ce03b2d94b alternative by_index_add, constant: -1 → 0 in total.index_add(-1, stretch[asked], right)
    f0e74de690 alternative by_index_add, constant: -1 → 0 in total.index_add(-1, stretch[asked], torch.ones_like(right…
every row has the same length
    84da818ba3 alternative by_index_add, constant: 0 → -1 in targets[0]
""",
)
