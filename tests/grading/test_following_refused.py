"""Follow-through gives no points to code that asks for more, forges, floods or remembers."""

import pytest
import torch

from autograder.grading.base.masters import master
from autograder.grading.judging import following
from autograder.grading.judging.following import follow_through
from autograder.grading.judging.work import Work
from autograder.judge.values import value_of
from autograder.sandbox import AskTimeout

from .cheats.base import ATTENTION
from .solved import DEPENDENT, FIRST, KEY, MISSING, followed, own_verdicts


def test_no_question_offers_what_it_is_graded_on_and_nobody_is_asked_again_after(monkeypatch):
    questions, real = [], following._Rerun._asked

    def asked(rerun, *args):
        questions.append((rerun.exercise.id, set(rerun.given)))
        return real(rerun, *args)

    monkeypatch.setattr(following._Rerun, "_asked", asked)
    half = "def masked_softmax(scores, mask):\n    return softmax(scores.masked_fill(~mask, -math.inf))\n"
    followed(
        ATTENTION,
        {"attention.softmax": MISSING, "attention.masked_softmax": half, DEPENDENT[1]: half},
        ("attention.softmax", *DEPENDENT),
    )
    targets = {e.id: set(e.targets) for e in master(ATTENTION).exercises}
    told = set()
    for exercise, offered in questions:
        assert offered and not offered & targets[exercise] and not told & targets[exercise]
        told |= offered
    assert told == {"softmax", "masked_softmax", "scaled_dot_product_attention"}


def test_an_alias_of_an_answer_that_is_not_there_earns_nothing():
    unit, only = "06-rope", ("rope.apply_rope", "rope.apply_rope_complex")
    alias = "def apply_rope_complex(x, position_ids, base=10000.0):\n    return apply_rope(x, position_ids, base)\n"
    solved, before = followed(unit, {"rope.apply_rope_complex": alias}, only)
    assert before["rope.apply_rope_complex"] > 0 and not solved  # it works if apply_rope works
    found, before = followed(unit, {"rope.apply_rope": MISSING, "rope.apply_rope_complex": alias}, only)
    assert "rope.apply_rope_complex" not in found and before["rope.apply_rope_complex"] == 0


THIEF = """
store = globals().setdefault("_store", {"asked": [], "told": []})


def softmax(x, dim=-1):
    store["asked"].append(x.detach().clone())
    for given, value in store["told"]:
        if given.shape == x.shape and torch.equal(given, x):
            return value
    raise ValueError


def masked_softmax(scores, mask):
    for given in store["asked"][:30]:
        try:
            store["told"].append((given, globals()["softmax"](given)))
        except Exception:
            pass
    weights = globals()["softmax"](scores.masked_fill(~mask, -math.inf))
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
"""


def test_a_recording_of_the_values_does_not_answer_the_exercise_that_they_are_of():
    """The store survives each question, like a file in the sandbox."""
    answers = {"attention.softmax": THIEF, "attention.masked_softmax": MISSING}
    exercises, verdicts, session = own_verdicts(ATTENTION, answers, FIRST)
    found = follow_through(exercises, verdicts, session, KEY, Work())
    told = session.before["_store"]["told"]
    assert any(torch.equal(v, x.softmax(-1)) for x, v in told if v is not None)  # it did record some values
    assert verdicts[0].score == 0 and "attention.softmax" not in found


FIND = """
import sys


def found_desk():
    frame = sys._getframe()
    while frame is not None and "desk" not in frame.f_locals:
        frame = frame.f_back
    return frame and frame.f_locals["desk"]

"""
TABLE = (
    FIND
    + """
def masked_softmax(scores, mask):
    softmax(scores)
    desk = found_desk()
    return next(iter(next(t for k, t in desk.tensors.items() if k != "_").values())).expand(scores.shape)
"""
)


def test_what_stands_in_the_table_is_no_answer():
    found, _ = followed(ATTENTION, {"attention.softmax": MISSING, "attention.masked_softmax": TABLE}, FIRST)
    assert "attention.masked_softmax" not in found


FORGED = (
    FIND
    + """
def masked_softmax(scores, mask):
    desk = found_desk()
    if desk:
        {what}
    weights = softmax(scores.masked_fill(~mask, -math.inf))
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
"""
)


@pytest.mark.parametrize(
    "what",
    [
        "desk.calls['0' * 32] = dict(desk.calls.get('0' * 32) or {}, name='masked_softmax')",
        "desk.used.append('masked_softmax')",
        "desk.used = desk.used * 3 + [['softmax']]",
        "desk.calls |= {f'{i:032x}': {} for i in range(5000)}",
        "desk.calls = [1]",
        "desk.wanted = lambda: b'x' * (1 << 20)",
        "desk.wanted = lambda: None",
        "desk.sent['_'] = torch.zeros(40_000_000)",
        "desk.entries.clear()",
    ],
)
def test_a_forged_list_costs_the_points_of_right_code_and_harms_nobody_else(what):
    answers = {"attention.softmax": MISSING, "attention.masked_softmax": FORGED.replace("{what}", what)}
    found, _ = followed(ATTENTION, answers, FIRST)
    assert "attention.masked_softmax" not in found
    assert found["attention.scaled_dot_product"].verdict.passed  # later questions are not affected


FLOOD = """
def masked_softmax(scores, mask):
    for i in range(400):
        try:
            softmax(scores + i)
        except BaseException:
            pass
    weights = softmax(scores.masked_fill(~mask, -math.inf))
    return weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
"""


def test_a_flood_of_calls_is_bounded(monkeypatch):
    worked_out = []
    monkeypatch.setattr(following, "value_of", lambda *a: (worked_out.append(a), value_of(*a))[1])
    monkeypatch.setattr(following, "MAX_KNOWN", 150)
    found, _ = followed(ATTENTION, {"attention.softmax": MISSING, "attention.masked_softmax": FLOOD}, FIRST)
    assert len(worked_out) <= 3 * 150 and "attention.masked_softmax" not in found


HUGE = "def masked_softmax(scores, mask):\n    return softmax(torch.zeros(1).expand(1 << 33))\n"
THREADS = """
import threading


def masked_softmax(scores, mask):
    found = []

    def work():
        weights = softmax(scores.masked_fill(~mask, -math.inf))
        found.append(weights.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]
"""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_huge_call_is_not_sent_and_a_call_from_a_thread_is_a_call():
    found, _ = followed(ATTENTION, {"attention.softmax": MISSING, "attention.masked_softmax": HUGE}, FIRST)
    assert "attention.masked_softmax" not in found
    found, _ = followed(ATTENTION, {"attention.softmax": MISSING, "attention.masked_softmax": THREADS}, FIRST)
    assert found["attention.masked_softmax"].verdict.passed


def test_time_is_bounded_in_all(monkeypatch):
    exercises, verdicts, session = own_verdicts(ATTENTION, {"attention.softmax": MISSING}, FIRST)
    waited = []

    def ask(code, payload, timeout, max_bytes):
        waited.append(timeout)
        raise AskTimeout("no answer")

    session.ask = ask
    assert not follow_through(exercises, verdicts, session, KEY, Work()) and len(waited) == 2
    monkeypatch.setattr(following, "TOTAL_SECONDS", 0.0)
    assert not follow_through(exercises, verdicts, session, KEY, Work()) and len(waited) <= 3
