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
    total = torch.zeros(len(targets[0][::width]))
    hits = total.index_add(-1, stretch[asked], right)
    return hits / total.index_add(-1, stretch[asked], torch.ones_like(right))


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


def unasked_right(logits, targets, width):
    right = (logits.argmax(-1) == targets) | (targets < 0)
    return _folded(right, torch.ones_like(targets, dtype=torch.bool), width)


def probability(logits, targets, width):
    """The mean probability of the right class."""
    asked = targets >= 0
    p = logits.softmax(-1).gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    return _folded(torch.where(asked, p, 0.0), asked, width)


def whole_batch(logits, targets, width):
    """One accuracy, repeated."""
    asked = targets >= 0
    right = (logits.argmax(-1) == targets) & asked
    return (right.sum() / asked.sum()).repeat(targets.shape[1] // width)


def counts(logits, targets, width):
    right = (logits.argmax(-1) == targets) & (targets >= 0)
    return right.unflatten(1, (-1, width)).sum((0, 2)).float()


def errors(logits, targets, width):
    return 1 - accuracy_by_position(logits, targets, width)


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


def class_zero_left_out(logits, targets, width):
    asked = targets > 0
    return _folded((logits.argmax(-1) == targets) & asked, asked, width)


def width_as_count(logits, targets, width):
    """``width`` stretches."""
    asked = targets >= 0
    right = (logits.argmax(-1) == targets) & asked
    fold = lambda t: t.unflatten(1, (width, -1)).sum((0, 2)).float()
    return fold(right) / fold(asked)


def texts_apart(logits, targets, width):
    asked = targets >= 0
    right = (logits.argmax(-1) == targets) & asked
    fold = lambda t: t.unflatten(1, (-1, width)).sum(2).float()
    return fold(right) / fold(asked)


def whole_division(logits, targets, width):
    asked = targets >= 0
    right = (logits.argmax(-1) == targets) & asked
    fold = lambda t: t.unflatten(1, (-1, width)).sum((0, 2))
    return fold(right) // fold(asked)


def whole_division_as_float(logits, targets, width):
    return whole_division(logits, targets, width).float()


def places_apart(logits, targets, width):
    """No stretches: one share for each place."""
    return accuracy_by_position(logits, targets, 1)


def of_all_questions(logits, targets, width):
    return counts(logits, targets, width) / (targets >= 0).sum()


def first_text_only(logits, targets, width):
    return accuracy_by_position(logits[:1], targets[:1], width)


def of_one_text(logits, targets, width):
    """Right answers over the batch, divided by the places of one text."""
    return counts(logits, targets, width) / width


def smallest_logit(logits, targets, width):
    return accuracy_by_position(-logits, targets, width)


def percent(logits, targets, width):
    return 100 * accuracy_by_position(logits, targets, width)


def in_float32(logits, targets, width):
    return accuracy_by_position(logits.float(), targets, width)


def one_number(logits, targets, width):
    asked = targets >= 0
    return ((logits.argmax(-1) == targets) & asked).sum() / asked.sum()


EXERCISE = Exercise(
    id="rope.accuracy_by_position",
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
        Case(
            "one place each",
            "stretches of a single place, in a batch of 2",
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
        Mutant(
            "unasked_right",
            unasked_right,
            "Positions with target −1 are counted as right. They count neither way: divide by the number of questions.",
        ),
        Mutant(
            "probability",
            probability,
            "This is the mean probability of the right class. An answer is the class with the largest logit: it is "
            "right or wrong.",
        ),
        Mutant(
            "whole_batch",
            whole_batch,
            "Every stretch has the same share, that of the whole row. Count the questions and answers of each stretch.",
        ),
        Mutant("counts", counts, "These are counts of right answers. Divide them by the number of questions."),
        Mutant("running", running, "These are running totals from the start. Each stretch counts for itself."),
        Mutant("errors", errors, "This is the share of wrong answers. The share of right ones is asked for."),
        Mutant(
            "class_zero_left_out",
            class_zero_left_out,
            "Questions whose right answer is class 0 are left out: targets > 0. Only −1 means that nothing is asked: "
            "targets >= 0.",
        ),
        Mutant(
            "width_as_count",
            width_as_count,
            "The row is cut into width stretches. width is the number of places in each: unflatten(1, (-1, width)).",
        ),
        Mutant(
            "texts_apart",
            texts_apart,
            "The texts are kept apart: the shape is (B, T/width). Add up over the batch as well, both right answers "
            "and questions, before dividing.",
        ),
        Mutant(
            "whole_division",
            whole_division,
            "The counts are divided with //, so every share below 1 becomes 0. Divide with /.",
        ),
        Mutant(
            "whole_division_as_float",
            whole_division_as_float,
            "Every share below 1 has become 0: it was rounded down. Divide with /, or convert to float before.",
        ),
        Mutant(
            "places_apart",
            places_apart,
            "There is a share for each single place. Add up over stretches of width places before dividing.",
        ),
        Mutant(
            "one_number",
            one_number,
            "This is one share for all. One for each stretch is asked for, shape (T/width,).",
        ),
        Mutant(
            "of_all_questions",
            of_all_questions,
            "Each stretch is divided by the questions of the whole row. Divide by its own number of questions.",
        ),
        Mutant(
            "of_one_text",
            of_one_text,
            "The right answers of the whole batch are divided by width. Divide by the number of questions that the "
            "batch has in the stretch.",
        ),
        Mutant(
            "first_text_only",
            first_text_only,
            "Only the first text counts. Add up over the whole batch.",
        ),
        Mutant(
            "smallest_logit",
            smallest_logit,
            "The class with the smallest logit is taken as the answer. It is the one with the largest: argmax(-1).",
        ),
        Mutant(
            "percent",
            percent,
            "These are percentages. A share lies between 0 and 1: leave out the factor 100.",
        ),
        Mutant(
            "in_float32",
            in_float32,
            "Logits that differ by a billionth are taken as equal: they were rounded to float32. Take argmax of the "
            "logits as they come.",
        ),
    ],
)
