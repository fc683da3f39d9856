"""``make grade`` on a class of odd folders, in an ASCII-only console: everything ends, with readable messages."""

import contextlib
import errno
import os
import sys
import unicodedata
from unittest import mock

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup

from autograder.grading.book.course import write_table
from autograder.grading.book.database import GradebookError
from autograder.grading.book.gradebook import GradebookWriter
from autograder.grading.pages import report
from autograder.grading.workers import engine

from .cheats.base import ATTENTION, START
from .classroom import ANSWERS, called, course, grade, grades, notebook, started, submit, times_graded
from .test_faults import run_here, scripted, small_class

pytestmark = [
    pytest.mark.xdist_group("odd-class"),  # the class is set up once
    pytest.mark.skipif(sys.platform == "win32", reason="the folders of this test need POSIX"),
]
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
HONEST = ("ada", "O'Brien", "王小明", "Zoë", "-rf", "=cmd|calc", "a;=1+1", "tex", "stamp")
LIVE = r"$\href{javascript:alert(1)}{x}$ \(x\) <svg onload=alert(1)> <base href=//x> [x](javascript:alert(1))"


@pytest.fixture(scope="module")
def school(tmp_path_factory, sandbox):
    """Grades the class once; the nine honest students earn full marks."""
    root = course(tmp_path_factory.mktemp("odd"))
    for name in HONEST:
        submit(root, unicodedata.normalize("NFD", name), notebook(ANSWERS["right"]))
    submit(root, "tex", notebook(f"print({LIVE!r})\nprint('\\x1b[2J\\u202e\\ud800')\n{ANSWERS['right']}"))
    os.mkfifo(root / "submitted" / "stamp" / START / "timestamp.txt")
    bad = f"def weighted_average(values, weights):\n    raise ValueError({LIVE!r})\n"
    submit(root, "raising", notebook(bad))
    submit(root, "wrong", notebook(unit=ATTENTION))
    submit(root, "deep", b"[" * 5_000_000)
    submit(root, "renamed", notebook(ANSWERS["right"]), name="00_start_here (1).ipynb")
    for answer, name in (("right", "a.ipynb"), ("mutant", "b.ipynb")):
        submit(root, "undecided", notebook(ANSWERS[answer]), name=name)
    submit(root, "cut", notebook(ANSWERS["right"])[:-500])
    submit(root, "nothing", b"")
    (root / "submitted" / "no-file" / START).mkdir(parents=True)
    (root / "submitted" / "linked").mkdir()
    (root / "submitted" / "linked" / START).symlink_to(root / "submitted" / "ada" / START)
    (root / "submitted" / "empty").mkdir()
    for name in ("\x1b[31mred", "a\u202eb", "a" * 101, os.fsdecode(b"\xc0\xee\xc4\xc8")):
        with contextlib.suppress(OSError):  # macOS only accepts UTF-8
            submit(root, name, notebook(ANSWERS["right"]))
    (root / "submitted" / "ada" / "\x1b[2J").mkdir()
    return root, started(root, "--workers", "2", **ASCII)


def test_the_honest_have_their_points_and_the_others_a_line(school):
    root, done = school
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr and "UnicodeEncodeError" not in done.stderr
    rows = {r["student"].replace("'", ""): r for r in grades(root) if r["exercise"]}
    assert all(rows[name.replace("'", "")]["score"] == "1" for name in HONEST), done.stderr
    assert rows["renamed"]["score"] == "1"
    for name in ("wrong", "deep", "linked", "raising", "undecided", "cut", "nothing", "no-file"):
        assert rows[name]["score"] == "0"
    for line in ("linked/00-start-here [submission.not_a_file]", r"\x1b[31mred/? [submission.name]", "empty/?"):
        assert line in done.stderr


def test_console_and_table_hold_nothing_that_a_terminal_or_a_spreadsheet_acts_on(school):
    root, done = school
    text = done.stdout + done.stderr
    assert text.isascii() and "\x1b" not in text
    table = (root / "grades.csv").read_text(encoding="utf-8")
    assert all(c.isprintable() or c == "\n" for c in table)
    cells = [cell for r in grades(root) for cell in r.values()]
    assert not any(part[:1] in tuple("=+-@") for cell in cells for part in cell.split(";") if part)
    assert {"'=cmd|calc", "'-rf", "a;'=1+1"} <= {r["student"] for r in grades(root)}


def test_no_run_forgets_what_could_not_be_graded(school):
    root, first = school
    for options in ((), ("--unit", ATTENTION)):
        again = grade(root, "--workers", "1", *options, encoding="ascii")
        said = [line for line in first.stderr.splitlines() if line.startswith(("no result", "zero points"))]
        assert len(said) >= 8 and set(said) <= set(again.stderr.splitlines())
        assert {"submission.other_unit", "submission.name"} <= {r["mistake"] for r in grades(root)}
        for sentence in (
            f"wrong/{START} [submission.other_unit] This is the notebook of {ATTENTION}, not of {START}",
            f"undecided/{START} [submission.several] There is no file {START}.ipynb but 2 notebooks that may be it",
            f"cut/{START} [submission.not_json] The file ends in the middle",
            f"nothing/{START} [submission.empty_file] The file is empty",
            f"no-file/{START} [submission.missing] There is no file {START}.ipynb. The folder is empty.",
        ):
            assert sentence in again.stderr


def test_pages_are_inert_and_say_what_is_odd(school):
    root, _ = school
    done = called(root, report.main, encoding="ascii")
    assert done.returncode == 0, done.stderr
    page = lambda student: root / "feedback" / student / START / f"{START}.html"
    assert "The time of submission is not known" in page("stamp").read_text(encoding="utf-8")
    assert "The notebook is named 00_start_here (1).ipynb" in page("renamed").read_text(encoding="utf-8")
    assert "javascript:alert(1)" in BeautifulSoup(page("tex").read_text(encoding="utf-8"), "html.parser").get_text()
    for path in (page("tex"), page("raising"), page("Zoë"), root / "report.html"):
        text = path.read_text(encoding="utf-8")
        soup = BeautifulSoup(text, "html.parser")
        assert all(c.isprintable() or c in "\n\t" for c in text)
        assert not soup.select("script, svg, base, iframe, img, link, meta[http-equiv], [onload], [onerror]")
        assert not any("javascript" in a["href"] for a in soup.select("[href]"))
        assert all(
            len(t) == 1 or not {"$", "\\"} & set(t) for t in soup.find_all(string=True) if t.parent.name != "style"
        )


@pytest.fixture
def written_here(tmp_path, sandbox, monkeypatch):
    """A small class with precomputed results, so that grading only writes."""
    monkeypatch.setattr(engine, "_results", scripted(sandbox))
    monkeypatch.setattr(engine, "_cluster", lambda *a: contextlib.nullcontext())
    return small_class(course(tmp_path / "class"), 3)


def _database(kind):
    error = GradebookError("no")
    error.__cause__ = kind
    return error


MINE = {
    "a text that cannot be written": UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"),
    "a number that is none": ValueError("\x1b[31mfloat NaN"),
    "a mistake of ours": KeyError("x"),
    "too deep": RecursionError("deep"),
    "a long name": OSError(errno.ENAMETOOLONG, "File name too long"),
    "a value the database refuses": _database(sa.exc.DataError("", {}, Exception())),
}
EVERYBODYS = {
    "full": OSError(errno.ENOSPC, "No space left on device"),
    "database": _database(sa.exc.OperationalError("", {}, Exception())),
}


@pytest.mark.parametrize("error", [*MINE.values(), *EVERYBODYS.values()], ids=[*MINE, *EVERYBODYS])
def test_what_goes_wrong_with_one_stops_the_others_only_where_it_is_everybodys(error, written_here, monkeypatch):
    real = GradebookWriter._write

    def write(self, graded, *rest):
        if graded.student == "s01":
            fails = mock.Mock(side_effect=error)
            real(self, graded, *rest[:-1], mock.Mock(keep=mock.Mock(), kept=mock.Mock(), show=fails))
        return real(self, graded, *rest)

    monkeypatch.setattr(GradebookWriter, "_write", write)
    summary, graded = run_here(written_here)
    if error in EVERYBODYS.values():
        assert summary.stopped and set(graded) == {("s00", START)}
    else:
        assert not summary.stopped and set(graded) == {("s00", START), ("s02", START)}
        ((student, unit, slug, sentence),) = summary.problems
        assert (student, unit, slug) == ("s01", START, "grader.failed") and sentence.isprintable()
    assert set(times_graded(written_here).values()) == {1}, "nothing half written stays for the next"


def test_a_result_that_does_not_arrive_is_that_ones_alone(written_here, monkeypatch):
    real = engine._results

    def results(*args):
        for s, outcome in real(*args):
            yield s, ZeroDivisionError("\x1b]0;") if s.student == "s01" else outcome

    monkeypatch.setattr(engine, "_results", results)
    summary, graded = run_here(written_here)
    assert len(graded) == 2 and summary.problems[0][0] == "s01" and r"\x1b" in summary.problems[0][3]


def test_what_was_swapped_since_it_was_found_is_not_read(tmp_path, sandbox):
    from autograder.grading.intake import collect
    from autograder.grading.workers import jobs

    root = course(tmp_path / "swapped")
    path = submit(root, "eve", notebook(ANSWERS["mutant"]))
    hers = submit(root, "ada", notebook(ANSWERS["right"]))
    found = next(s for s in collect.find(root / "submitted") if s.student == "eve")
    path.parent.rename(root / "old")
    path.parent.symlink_to(hers.parent)
    for remote in (True, False):
        graded, digest = jobs.evaluate(jobs.make_job(found, "secret", remote=remote))
        assert graded.problem[0] == "submission.not_a_file" and graded.score == 0
        assert digest != found.digest, "the next run looks again"


@pytest.mark.parametrize(
    "cell, seen",
    [
        ("=1+1", "'=1+1"),
        ("@x", "'@x"),
        ("＝1", "'＝1"),
        ("a;=1", "a;'=1"),
        ("\t=1", r"\x09=1"),
        ("a\x1b", r"a\x1b"),
        ("Ann-Marie", "Ann-Marie"),
        ("", ""),
    ],
)
def test_cells_of_tables(cell, seen, tmp_path):
    import csv

    write_table(tmp_path / "t.csv", ("a", "b"), [(cell, 3)])
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        assert list(csv.reader(file))[1] == [seen, "3"]
