"""The cheat suite: no submission passes without solving the exercise, leaves traces, harms the next one, or keeps the
grader busy for long."""

import dataclasses
import hashlib
import os
import re
import socket
import threading
from pathlib import Path

import pytest

from autograder import ROOT
from autograder.grading.base.masters import master
from autograder.grading.judging import contained, grade, sessions
from autograder.grading.judging.execution import run_notebook
from autograder.grading.judging.submitted import of_bytes
from autograder.grading.pages import feedback
from autograder.judge.drawing import draw_record, student_key, submission_key
from autograder.judge.trusted import judge_exercise

from ..waiting import wait_until
from .cheats import CHEATS, ENTRIES, START
from .classroom import notebook

KEY = student_key("course secret", "eve", START)
GRADERS_SECONDS = 20.0  # processor time of the grader's own process for one cheat; an honest submission takes 0.1
LIVE = re.compile(r"<script|\$\\href|<[^>]* on\w+=", re.IGNORECASE)  # must not be on a page
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\ud800-\udfff]")  # nor in anything that people read
TRACES = [
    ROOT / ".unpickled",
    ROOT / ".left-behind",
    *(ROOT / "course" / name for name in ("usercustomize.py", "torch.py", "00-cheat.py")),
]


@pytest.fixture(scope="module")
def listener():
    """A port of this machine; ``hits`` counts the connections to it."""
    hits, server = [], socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            try:
                hits.append(server.accept())
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1], hits
    server.close()


@pytest.fixture(scope="module")
def treasure(tmp_path_factory):
    """A gradebook, a secret and another student's submission, in places where a cheat could find them."""
    root = tmp_path_factory.mktemp("course")
    (root / ".secret").write_text("top secret")
    (root / "gradebook.db").write_bytes(b"SQLite format 3\x00")
    other = root / "submitted" / "ada" / START
    other.mkdir(parents=True)
    (other / f"{START}.ipynb").write_text("{}")
    return root


def honest():
    return (ROOT / "solutions" / START / f"{START}.ipynb").read_bytes()


def plain(verdicts):
    return [dataclasses.replace(v, seconds=0) for v in verdicts]


@pytest.fixture(scope="module")
def before(sandbox):
    """The honest neighbor's result before any cheat has run."""
    return plain(contained.grade(of_bytes(honest(), START, "ada", KEY), sandbox).verdicts)


def test_there_are_enough_of_them():
    assert len(CHEATS) >= 120 and len({c.name for c in CHEATS}) == len(CHEATS)
    assert len({c.technique for c in CHEATS}) >= 12
    assert len({e.student for e in ENTRIES}) == len(ENTRIES) >= 50  # test_hostile_class.py


def spent():
    """Processor seconds of this process and of the children it has waited for; sessions are not its children."""
    return sum(os.times()[:4])


@pytest.mark.parametrize(
    "cheat",
    [pytest.param(c, marks=pytest.mark.slow if c.slow else ()) for c in CHEATS],
    ids=lambda c: c.name.replace(" ", "-"),
)
def test_a_cheat_earns_nothing_and_harms_nobody(cheat, sandbox, impatient, listener, treasure, before, monkeypatch):
    port, hits = listener
    monkeypatch.setenv("ANATOMY_SECRET", "in the grader's environment")
    contents = {p: p.read_bytes() for p in treasure.rglob("*") if p.is_file()}
    data, began = cheat.data.replace(b"@PORT@", str(port).encode()), spent()
    graded = contained.grade(of_bytes(data, cheat.unit, "eve", KEY), sandbox)
    assert spent() - began < GRADERS_SECONDS

    earned = [v.text() for v in graded.verdicts if v.score or v.passed]
    assert graded.score == 0 and not earned
    assert graded.max_score == master(cheat.unit).points
    assert all(v.mistakes and v.mistakes[0].message for v in graded.verdicts)
    if cheat.seen:
        seen = {s.technique for s in graded.signs} | ({"ban"} if graded.held else set())
        assert cheat.seen in seen, graded.signs
    page, words = feedback.page(graded), "\n".join(v.text() for v in graded.verdicts)
    assert not any(found in page + words for found in ("top secret", "in the grader's environment"))
    assert not LIVE.search(page) and not HIDDEN.search(page + words) and len(page + words) < 2_000_000
    assert not any("found" in m.message or "reached" in m.message for v in graded.verdicts for m in v.mistakes)

    assert not hits and not any(p.exists() for p in TRACES)
    assert {p: p.read_bytes() for p in treasure.rglob("*") if p.is_file()} == contents
    after = contained.grade(of_bytes(honest(), START, "ada", KEY), sandbox)
    assert after.score == after.max_score and plain(after.verdicts) == before


@pytest.mark.parametrize(
    "cheat",
    [c for c in CHEATS if c.technique == "ban" and "process" not in c.name],
    ids=lambda c: c.name.replace(" ", "-"),
)
def test_the_forbidden_built_ins_would_pass_if_they_were_allowed(cheat, sandbox):
    """Otherwise the suite could pass because its cheats are broken."""
    from autograder.grading.intake.rebuild import rebuild

    exercise = master(cheat.unit).answers[cheat.solve]
    with sandbox() as session:
        run_notebook(rebuild(cheat.data, cheat.unit).notebook, (), session, KEY)
        verdict = judge_exercise(dataclasses.replace(exercise, forbidden=()), session, KEY)
    assert verdict.passed, verdict.text()


SPY = """
import mmap
shared = mmap.mmap(-1, 4096)  # what a question writes here outlives its fork
def weighted_average(values, weights):
    if values.shape == (2, 2):  # the example whose error message comes back
        raise ValueError(shared[:].rstrip(bytes(1)).decode())
    shared.write(f"{values.double().sum().item():.6f} ".encode())
    return values[0] * 0
"""
TABLE = """
table = %r
def weighted_average(values, weights):
    for total, answer in table:
        if abs(values.double().sum().item() - total) < 1e-5:
            return values.new_tensor(answer)
    return values[0] * 0
"""


@pytest.mark.parametrize("fresh_each_time", [True, False], ids=["as it is", "with one key per student"])
def test_inputs_that_a_submission_brought_home_are_worth_nothing_in_the_next_one(sandbox, monkeypatch, fresh_each_time):
    if not fresh_each_time:
        monkeypatch.setattr("autograder.grading.judging.submitted.submission_key", lambda key, digest: key)
    spied = grade.grade(of_bytes(notebook(SPY), START, "eve", KEY), sandbox).verdicts[0]
    seen = [float(word) for word in re.findall(r"-?\d+\.\d{6}\b", spied.mistakes[0].message)]
    assert seen, spied.text()

    key = KEY if not fresh_each_time else submission_key(KEY, hashlib.sha256(notebook(SPY)).hexdigest())
    record, table = draw_record(master(START).exercises[0], key, with_mutants=False), []
    for case in record.cases:
        total = case.tensors["i0"].double().sum().item()
        if any(abs(total - s) < 1e-5 for s in seen):
            table.append((total, case.outcomes["expected"][1]["o0"].tolist()))
    assert table, "nothing was brought home: the test would show nothing"
    score = grade.grade(of_bytes(notebook(TABLE % table), START, "eve", KEY), sandbox).score
    assert (score == 0) is fresh_each_time


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs Linux")
def test_no_process_of_a_submission_is_left(sandbox, impatient):
    """Nor of one that is forked away from its session: orphans become children of the zygote."""
    cheat = next(c for c in CHEATS if c.name == "leaves a process behind")
    contained.grade(of_bytes(cheat.data, START, "eve", KEY), sandbox)
    zygote = sessions._zygote.pid
    children = lambda: (Path("/proc") / str(zygote) / "task" / str(zygote) / "children").read_text().split()
    wait_until(lambda: not children())
