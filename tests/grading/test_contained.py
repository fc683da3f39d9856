"""The judge's process is disposable too: a hang, crash or full memory costs one exercise or one part, never the class.

Bounded printers defuse the known bombs (``test_fuzz.py``). Here the judge itself gets bugs, so that the limits are
tested against problems that nobody has foreseen.
"""

import ctypes
import dataclasses
import json
import signal

import pytest
from anatomy.system import translation

from autograder import ROOT
from autograder.grading.base.masters import gradable_units
from autograder.grading.intake import rebuild as rebuilding
from autograder.grading.intake.rebuild import BadSubmission
from autograder.grading.judging import contained, execution, grade, sessions
from autograder.grading.judging.result_json import graded_from, to_json, verdict_from
from autograder.grading.judging.submitted import of_bytes
from autograder.judge import trusted
from autograder.judge.drawing import student_key
from autograder.sandbox import disposable
from autograder.sandbox.disposable import ChildEnded

from ..waiting import at_most
from .cheats.base import ATTENTION, START, released

KEY = student_key("secret", "ada", START)
pytestmark = [pytest.mark.skipif(not disposable.available(), reason="needs Linux"), pytest.mark.slow]


def loop(*args, **kwargs):
    """Never ends. Only this step's allowance is made short: honest steps keep theirs, however slow the machine."""
    if signal.getitimer(signal.ITIMER_PROF)[0]:
        signal.setitimer(signal.ITIMER_PROF, 0.2)
    while True:
        pass


def fill(*args, **kwargs):
    return [bytearray(64 << 20) for _ in range(1000)]


def crash(*args, **kwargs):
    ctypes.string_at(0)


def solved(unit=ATTENTION):
    return (ROOT / "solutions" / unit / f"{unit}.ipynb").read_bytes()


def plain(graded):
    return to_json(dataclasses.replace(graded, seconds=0.0, verdicts=[_still(v) for v in graded.verdicts]))


def _still(verdict):
    return dataclasses.replace(verdict, seconds=0.0)


@pytest.mark.parametrize("unit", gradable_units()[:3])
@pytest.mark.parametrize("kind", ["solved", "released"])
def test_the_result_is_the_same_as_without_a_child(unit, kind, sandbox):
    data = solved(unit) if kind == "solved" else json.dumps(released(unit)).encode()
    assert plain(contained.grade(of_bytes(data, unit, "ada", KEY), sandbox)) == plain(
        grade.grade(of_bytes(data, unit, "ada", KEY), sandbox)
    )


@pytest.mark.parametrize("harm", [loop, fill, crash])
def test_two_poisoned_replies_cost_their_exercises_alone(harm, sandbox, monkeypatch):
    poisoned, real = {"attention.softmax", "attention.cost"}, trusted._verdict

    def verdict(record, answer, *more):
        if record.id in poisoned:
            harm()
        return real(record, answer, *more)

    monkeypatch.setattr(trusted, "_verdict", verdict)
    graded = contained.grade(of_bytes(solved(), ATTENTION, "ada", KEY), sandbox)
    lost = {v.exercise: v for v in graded.verdicts if not v.passed}
    assert {v.mistakes[0].name for v in lost.values()} == {"generic.too_complicated"}
    assert all("Return the plain numbers" in v.mistakes[0].message for v in lost.values())
    assert set(lost) == poisoned and all(v.score == 0 for v in lost.values())
    assert graded.notebook is not None and any(s.technique == "resources" for s in graded.signs)


@pytest.mark.parametrize("harm", [loop, crash])
def test_a_notebook_that_cannot_be_read_within_the_limits_is_one_line(harm, sandbox, monkeypatch):
    monkeypatch.setattr(rebuilding, "cells_of", harm)
    graded = contained.grade(of_bytes(solved(), ATTENTION, "ada", KEY), sandbox)
    assert graded.problem and graded.problem[0] == "submission.unreadable" and graded.score == 0
    with pytest.raises(BadSubmission, match="within the grader's limits"):
        contained.rebuild(solved(), ATTENTION)


@pytest.mark.parametrize("harm", [loop, crash])
@pytest.mark.parametrize("name", ["order_matters", "signs_of", "_with_outputs"])
def test_a_part_that_is_lost_leaves_the_points(name, harm, sandbox, monkeypatch):
    monkeypatch.setattr(execution if name == "order_matters" else grade, name, harm)
    graded = contained.grade(of_bytes(solved(START), START, "ada", KEY), sandbox)
    assert graded.score == 1 and not graded.problem
    if name == "signs_of":
        assert "cannot be examined" in graded.signs[0].evidence
    assert (graded.notebook is None) is (name == "_with_outputs")


def test_time_that_is_used_up_ends_the_submission_and_says_so(sandbox, monkeypatch):
    given, real = [], disposable.run

    def run(work, budget, *more):
        """A lost child counts half of the time, whatever it took here."""
        given.append(budget.wall_seconds)
        with pytest.raises(ChildEnded) as end:
            real(work, budget, *more)
        end.value.seconds = contained.TOTAL_SECONDS / 2
        raise end.value

    monkeypatch.setattr(disposable, "run", run)
    monkeypatch.setattr(trusted, "parse_reply", loop)
    with at_most(60):
        graded = contained.grade(of_bytes(solved(), ATTENTION, "ada", KEY), sandbox)
    assert given == [contained.TOTAL_SECONDS, contained.TOTAL_SECONDS / 2]
    late = ["was used up before this exercise" in v.mistakes[0].message for v in graded.verdicts]
    assert graded.score == 0 and late == [False, False] + [True] * (len(late) - 2)


def test_the_class_goes_on_and_the_session_is_closed(sandbox, monkeypatch):
    opened = []

    def factory():
        opened.append(sandbox())
        return opened[-1]

    monkeypatch.setattr(trusted, "parse_reply", crash)
    contained.grade(of_bytes(solved(START), START, "ada", KEY), factory)
    monkeypatch.undo()
    assert contained.grade(of_bytes(solved(START), START, "ada", KEY), factory).score == 1
    assert len(opened) >= 3 and not any(s.alive for s in opened)
    assert sessions.zygote().healthy()


SETUP = """
import sys
before = {*sys.modules}
from anatomy import check, predict, quiz
import safetensors.torch, torch
saved = safetensors.torch.save({"x": torch.ones(2)})
torch.ones(2, requires_grad=True).sum().backward()
print(sorted({*sys.modules} - before))
"""


def test_no_submission_waits_for_an_import_or_a_catalogue(sandbox):
    """What every notebook needs is loaded before a process is forked for it."""
    with sandbox() as session:
        assert session.execute(SETUP, timeout=60).stdout == "[]\n"
    contained.prepare(START)
    read = translation._catalogue.cache_info().misses
    for language in translation.languages():
        with translation.speaking(language):
            translation._("Nothing was judged.")
    assert translation._catalogue.cache_info().misses == read


@pytest.mark.parametrize(
    "change",
    [
        {"score": "1"},
        {"score": 2.0},
        {"score": -1.0},
        {"score": float("nan")},
        {"passed": 1},
        {"exercise": None},
        {"mistakes": [{"name": "x"}]},
        {"mistakes": [{"name": "x", "message": 3}]},
        {"cases": [{"name": "x", "other": 1}]},
        {"seconds": True},
    ],
    ids=str,
)
def test_a_result_of_another_form_is_refused(change):
    right = {"exercise": "a.b", "passed": True, "score": 1.0, "max_score": 1.0, "mistakes": [], "cases": []}
    right |= {"seconds": 0.5}
    assert verdict_from(right).passed
    with pytest.raises((TypeError, ValueError, KeyError)):
        verdict_from(right | change)


def test_a_result_survives_the_way(sandbox):
    graded = grade.grade(of_bytes(solved(), ATTENTION, "ada", KEY), sandbox)
    assert graded_from(json.loads(json.dumps(to_json(graded)))) == graded
