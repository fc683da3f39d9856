"""Known mistakes as changes of a right answer."""

import inspect
import math

import pytest
import torch

from autograder import exercises
from autograder.judge.changes import BadChange, Change, changes, problem
from autograder.messages import verdict_on


def softmax(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


class Scale:
    """Two methods, one of which calls the other."""

    def __init__(self, by):
        self.by = by

    def forward(self, x):
        return self.turned(x) * math.sqrt(self.by)

    def turned(self, x):
        return x


ONE = """
dim_ignored: e.sum(dim, → e.sum(-1,
    The sum runs along the last axis. Hand dim on.
unshifted: (x - x.amax(dim, keepdim=True)) → x ; e / →
; e.sum( → e / e.sum(
    Large entries overflow. Subtract
    the maximum first.
"""


def test_a_change_is_the_right_answer_but_for_what_it_replaces():
    first, second = changes(softmax, ONE)
    x = torch.randn(3, 4)
    assert torch.equal(first.fn(x), softmax(x)) and not torch.allclose(first.fn(x, 0), softmax(x, 0))
    assert torch.allclose(second.fn(x, 0), softmax(x, 0)) and second.fn(1000 * x).isnan().any()
    assert [(m.name, m.message) for m in (first, second)] == [
        ("dim_ignored", "The sum runs along the last axis. Hand dim on."),
        ("unshifted", "Large entries overflow. Subtract the maximum first."),
    ]
    assert second.change.split(" ; ")[0] == "(x - x.amax(dim, keepdim=True)) → x"
    assert "e = x.exp()" in inspect.getsource(second.fn), "a traceback quotes the changed line"
    assert softmax(1000 * x).isfinite().all() and first.fn is first.fn


def test_classes_and_several_targets_are_changed_too():
    (lost,) = changes(Scale, "lost: self.turned(x) * → x *\n    turned is not called.")
    assert lost.fn(4).forward(3) == 6 and lost.fn is not Scale and Scale(4).forward(3) == 6
    (both,) = changes((softmax, Scale), "both: e / e.sum → e.sum ; sqrt( → exp(\n    Both are wrong.")
    f, c = both.fn
    assert f(torch.zeros(2)).item() == 2 and c(0).forward(5) == 5


@pytest.mark.parametrize(
    "change, says",
    [
        ("wrong: e.mean → e.sum", "wrong: 'e.mean' occurs 0 times in the answer; it has to occur exactly once"),
        ("wrong: dim → 0", "wrong: 'dim' occurs 5 times in the answer; it has to occur exactly once"),
        ("wrong: → 0", "wrong: '' occurs"),
        ("wrong: return e → return (e", "wrong: the changed answer is not Python: '(' was never closed"),
        ("wrong: def softmax → def hardmax", "wrong: the changed answer no longer has softmax"),
    ],
)
def test_a_change_that_cannot_be_made_is_a_sentence(change, says):
    (mistake,) = changes(softmax, f"{change}\n    A message.")
    assert says in (problem(mistake) or "")
    with pytest.raises(BadChange):
        mistake.fn  # noqa: B018


@pytest.mark.parametrize(
    "text",
    ["wrong: x → y", "wrong: x is y\n    A message.", "x → y\n    A message.", "two words: x → y\n    A message.", ""],
    ids=["no message", "no arrow", "no name", "no identifier", "nothing"],
)
def test_a_block_of_another_form_is_refused_at_once(text):
    with pytest.raises(BadChange, match="a block is 'name: old → new', and its message below, indented"):
        changes(softmax, text)


LISTED = [(e, m) for e in exercises.all_exercises() for m in e.mutants]
CHANGED = [(e, m) for e, m in LISTED if isinstance(m, Change)]


def test_every_change_of_the_course_can_be_made():
    assert len(CHANGED) > 0.9 * len(LISTED)
    assert [f"{e.id}: {says}" for e, m in CHANGED if (says := problem(m))] == []


def test_what_is_changed_is_right_or_a_known_mistake_itself():
    """Otherwise a mistake would be two."""
    bases = {(e.id, m.parts): m for e, m in CHANGED}
    wrong = {}
    for (name, parts), mistake in bases.items():
        verdict = verdict_on(name, parts)
        if not verdict.passed and verdict.mistakes[0].name != parts[0].__name__:
            wrong[name, mistake.name] = verdict.mistakes[0].message
    assert wrong == {}
