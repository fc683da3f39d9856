"""Follow-through: points for a student's own work on top of a broken answer, and no points for attempts to get more.

Most tests run the course's own solutions, with some answers missing, in this process: the questions and replies are the
same. For each kind of slip, one test runs all of it, through a sandbox and the disposable child.
"""

import dataclasses
import json

import pytest
from anatomy.program.units import grade_id

from autograder.grading.base.masters import gradable_units, master
from autograder.grading.judging import contained, execution, following, grade
from autograder.grading.judging.following import builds_on, follow_through
from autograder.grading.judging.result_json import followed_from, graded_from, to_json
from autograder.grading.judging.submitted import of_bytes
from autograder.grading.judging.work import Followed, Work
from autograder.judge import trusted
from autograder.sandbox import disposable

from .cheats.base import ATTENTION, find
from .solved import DEPENDENT, FIRST, KEY, MISSING, UNWRITTEN, WRONG, followed, own_verdicts, submission


class Told(Work):
    """Remembers what it was told."""

    def __init__(self, **known):
        super().__init__(**known)
        self.told = []

    def better(self, followed):
        self.told.append(followed)


# Whole models, put together from the learner's own layers: by functions that return modules, from classes that are
# passed on. No table of calls records those, so these keep their own score; the guide for instructors says so.
OF_OWN_LAYERS = {f"assembly.{name}" for name in ("decoder", "encoder", "experts", "cross_block", "encoder_decoder")}


@pytest.mark.parametrize("unit", gradable_units())
def test_each_exercise_gets_its_points_when_all_that_others_build_on_is_missing(unit):
    base = frozenset().union(*builds_on(unit).values())
    if not base:
        pytest.skip("no answer of this unit builds on another one")
    found, before = followed(unit, dict.fromkeys(base, MISSING))
    points = {e.id: e.points for e in master(unit).exercises}
    dependent = {e for e, needs in builds_on(unit).items() if needs} - base
    assert dependent - OF_OWN_LAYERS == set(found)
    for exercise in found:
        assert found[exercise].verdict.passed and found[exercise].verdict.score == points[exercise]
        assert found[exercise].own == before[exercise] < points[exercise]


@pytest.mark.parametrize(
    "missing, helped",
    [("assembly.masks", {"assembly.decoder"}), ("assembly.parts", {"assembly.pieces", "assembly.attention"})],
)
def test_a_function_that_unit_11_lacks_costs_no_layer_that_calls_it(missing, helped):
    found, before = followed("11-assembly", {missing: MISSING}, {missing, *helped})
    assert set(found) == helped and missing not in found
    assert all(f.verdict.passed and before[e] < f.verdict.score for e, f in found.items())


@pytest.mark.parametrize("answer", [MISSING, UNWRITTEN, WRONG], ids=["missing", "unwritten", "wrong"])
def test_a_slip_in_softmax_costs_softmax_alone(answer):
    found, before = followed(ATTENTION, {"attention.softmax": answer}, ("attention.softmax", *DEPENDENT))
    assert tuple(found) == DEPENDENT and all(f.verdict.passed for f in found.values())
    assert sum(f.verdict.score - f.own for f in found.values()) == 9 and before["attention.softmax"] == 0
    assert "with the course's own softmax in the place of yours" in found[DEPENDENT[0]].sentence


def test_a_chain_gives_each_link_what_its_own_work_is_worth():
    half = (  # rows without an allowed key are ones
        "def masked_softmax(scores, mask):\n    weights = softmax(scores.masked_fill(~mask, -math.inf))\n"
        "    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 1.0)\n"
    )
    found, _ = followed(
        ATTENTION, {"attention.softmax": MISSING, "attention.masked_softmax": half}, ("attention.softmax", *DEPENDENT)
    )
    middle = found["attention.masked_softmax"].verdict
    assert 0 < middle.score < middle.max_score and not middle.passed and middle.mistakes
    assert "course's own" not in middle.mistakes[0].message  # the message is about its own mistake
    assert found["attention.scaled_dot_product"].verdict.passed and found["attention.multi_head"].verdict.passed


def test_a_function_that_is_not_called_is_no_excuse():
    wrong = "def masked_softmax(scores, mask):\n    return scores * mask\n"
    own = "def masked_softmax(scores, mask):\n    return softmax(scores) * mask\n"
    for answer in (wrong, own):
        found, _ = followed(ATTENTION, {"attention.softmax": MISSING, "attention.masked_softmax": answer}, FIRST)
        assert "attention.masked_softmax" not in found


def test_a_loop_over_calls_takes_few_rounds():
    rows = (
        "def masked_softmax(scores, mask):\n    scores = scores.masked_fill(~mask, -math.inf)\n"
        "    rows = [softmax(row) for row in scores.reshape(-1, scores.shape[-1])]\n"
        "    weights = torch.stack(rows).reshape(scores.shape)\n"
        "    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)\n"
    )
    exercises, verdicts, session = own_verdicts(
        ATTENTION, {"attention.softmax": MISSING, "attention.masked_softmax": rows}, FIRST[:2]
    )
    before = session.questions
    found = follow_through(exercises, verdicts, session, KEY, Work())
    assert found["attention.masked_softmax"].verdict.passed and session.questions - before <= 6


def test_nothing_is_asked_where_everything_passes_or_nothing_depends():
    exercises, verdicts, session = own_verdicts(
        ATTENTION,
        {"attention.cost": MISSING, "attention.families": MISSING},
        ("attention.cost", "attention.families", *FIRST),
    )
    before = session.questions
    assert not follow_through(exercises, verdicts, session, KEY, Work()) and session.questions == before
    passing = [v for v in verdicts if v.passed]
    assert not follow_through(
        [e for e in exercises if e.id in {v.exercise for v in passing}], passing, None, KEY, Work()
    )


def test_what_an_earlier_attempt_followed_is_not_asked_again_and_its_function_stays_broken():
    exercises, verdicts, session = own_verdicts(ATTENTION, {"attention.softmax": MISSING}, FIRST)
    work = Told()
    first = follow_through(exercises, verdicts, session, KEY, work)
    assert work.told == list(first.values())
    known = {DEPENDENT[0]: first[DEPENDENT[0]]}
    settled = [known[v.exercise].verdict if v.exercise in known else v for v in verdicts]
    again = Told(followed=known)
    second = follow_through(exercises, settled, session, KEY, again)
    assert set(second) == set(first) and DEPENDENT[0] not in {f.verdict.exercise for f in again.told}
    assert "masked_softmax" in second[DEPENDENT[1]].offered
    skipped = Told(skipped={"the follow-through"}, followed=known)
    assert follow_through(exercises, settled, session, KEY, skipped) == known


def test_a_renamed_function_costs_its_own_points_and_the_verdicts_say_so(sandbox):
    data = submission(rename=True)
    without = contained.grade(of_bytes(data, ATTENTION, "ada", KEY), sandbox)
    graded = contained.grade(of_bytes(data, ATTENTION, "ada", KEY, follow=True), sandbox)
    assert (without.score, without.followed) == (11, {})
    assert graded.score == 20 and graded.followed == dict.fromkeys(DEPENDENT, 0.0) and not graded.held
    for exercise in DEPENDENT:
        (note,) = [n for n in graded.notes if n.exercise == exercise]
        assert "with the course's own" in note.sentence and "in the place of yours" in note.sentence
        cell = next(
            c for c in graded.notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id(exercise)
        )
        assert note.sentence in cell.outputs[0].data["text/plain"]
    assert graded_from(json.loads(json.dumps(to_json(graded)))) == graded


@pytest.mark.parametrize(
    "slip", ["def softmax(x, dim=-1)\n    return x\n", "raise RuntimeError\n"], ids=["syntax", "cell"]
)
def test_a_cell_that_does_not_run_is_a_slip_too(slip, sandbox):
    graded = grade.grade(of_bytes(submission(slip), ATTENTION, "ada", KEY, follow=True), sandbox)
    assert graded.score == 20 and set(graded.followed) == set(DEPENDENT)


def test_a_function_that_never_ends_is_a_slip_too(sandbox, monkeypatch):
    monkeypatch.setattr(trusted, "TOGETHER_SECONDS", 1.0)
    monkeypatch.setattr(execution, "ANSWER_SECONDS", 3.0)
    made = json.loads(submission())
    find(made, "solve-attention-split_heads")["source"] = (
        "def split_heads(x, n_heads):\n    while True:\n        pass\n"
    )
    graded = grade.grade(of_bytes(json.dumps(made).encode(), ATTENTION, "ada", KEY, follow=True), sandbox)
    assert graded.score == 20 and set(graded.followed) == {"attention.multi_head"}


def test_what_is_stood_in_for_is_still_read(sandbox):
    """A second name may refer to it: points that such an exercise earns wait for an instructor."""
    odd = "import os\ndef softmax(x, dim=-1):\n    os.system('ls')\n"
    graded = grade.grade(of_bytes(submission(odd), ATTENTION, "ada", KEY, follow=True), sandbox)
    assert {h.exercise for h in graded.held} == {"attention.scaled_dot_product", "attention.multi_head"}
    assert set(graded.followed) == set(DEPENDENT) and graded.score == 13


def crash(*args):
    import ctypes

    ctypes.string_at(0)


@pytest.mark.skipif(not disposable.available(), reason="needs Linux")
def test_a_child_that_is_lost_in_it_costs_the_rest_of_it_alone(sandbox, monkeypatch):
    real = following.value_of

    def value(wanted, given):
        return crash() if wanted.name == "scaled_dot_product_attention" else real(wanted, given)

    monkeypatch.setattr(following, "value_of", value)
    graded = contained.grade(of_bytes(submission(rename=True), ATTENTION, "ada", KEY, follow=True), sandbox)
    assert not graded.problem and graded.notebook is not None
    assert set(graded.followed) == set(DEPENDENT[:2]) and graded.score == 16  # all except multi-head attention
    assert len([n for n in graded.notes if n.name == "follow_through"]) == 2
    monkeypatch.undo()
    again = contained.grade(of_bytes(submission(rename=True), ATTENTION, "ada", KEY, follow=True), sandbox)
    assert again.score == 20


def test_better_verdicts_of_another_form_are_refused():
    _, verdicts, _ = own_verdicts("00-start-here", {})
    right = dataclasses.asdict(Followed(verdicts[0], 0.0, ("softmax",), ("softmax",)))
    assert followed_from(json.loads(json.dumps(right))).own == 0
    for change in ({"own": 1.0}, {"own": -1.0}, {"own": "0"}, {"names": [3]}, {"offered": None}):
        with pytest.raises((TypeError, ValueError)):
            followed_from(right | change)


def test_a_loop_that_waits_for_a_value_does_not_wait_for_a_guess():
    steps = (
        "def masked_softmax(scores, mask):\n    scores = scores.masked_fill(~mask, -math.inf)\n"
        "    row, weights = scores.flatten(0, -2)[0], softmax(scores / 2)\n"
        "    right = (row - row.amax()).exp()\n"
        "    right = (right / right.sum()).nan_to_num()\n"
        "    while not torch.allclose(weights.flatten(0, -2)[0], right, atol=1e-3):\n"
        "        weights = softmax(scores)\n"
        "    return softmax(scores).masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)\n"
    )
    found, _ = followed(ATTENTION, {"attention.softmax": MISSING, "attention.masked_softmax": steps}, FIRST[:2])
    assert found["attention.masked_softmax"].verdict.passed
