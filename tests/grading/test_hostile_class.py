"""A class in which half of the entries are hostile is graded to the end, and the honest half gets what it earned."""

import csv
import os
import re
import stat
from html.parser import HTMLParser

import pytest

from autograder import ROOT, exercises
from autograder.grading.intake.stamps import SECRET as EXCHANGE
from autograder.grading.intake.stamps import STAMP

from ..waiting import finished
from .cheats.base import START
from .cheats.folders import ENTRIES, build
from .classroom import ANSWERS, command, consistent, course, environment, grade, grades, notebook, query, submit
from .commands import Commands
from .term import nbgrader

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hostile-class")]

SECRET = "top secret of the hostile class"
SECONDS = 280  # of a core; the class takes a small part of this
SOLVED = {"01-attention": 3, "02-normalization": 2, "06-rope": 2, "08-kv-cache-and-gqa": 2, "10-stability": 1}


def honest(root):
    """Creates 25 submissions that mean well: solved, partly solved, wrong, broken or not begun, in six units."""
    for number in range(10):
        kind = ("right", "partly", "mutant", "broken", "right")[number % 5]
        submit(root, f"honest-{number:02}", notebook(ANSWERS[kind]), timestamp="2026-01-02 10:00:00 UTC")
    submit(root, "ada", notebook(ANSWERS["right"]))
    submit(root, "Zoë Ångström", notebook(ANSWERS["partly"]))
    submit(root, "李雷", notebook(ANSWERS["right"]))
    submit(root, "begun", notebook())
    submit(root, "begun", notebook(unit="01-attention"), unit="01-attention")
    for unit, times in SOLVED.items():
        solution = (ROOT / "solutions" / unit / f"{unit}.ipynb").read_bytes()
        for number in range(times):
            submit(root, f"{unit[:2]}-{number}", solution, unit=unit)
    return 25


def school(root):
    """A course's folder with a secret next to the submissions."""
    course(root)
    (root / ".secret").write_text(SECRET)
    assert honest(root) == sum(len(os.listdir(root / "submitted" / s)) for s in os.listdir(root / "submitted"))
    return root


@pytest.fixture(scope="module")
def alone(tmp_path_factory, sandbox):
    """Rows of the honest half, graded as a class on its own."""
    root = school(tmp_path_factory.mktemp("alone"))
    done = grade(root, "--workers", "2")
    assert done.returncode == 0, done.stderr
    return grades(root)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, sandbox):
    """(root, finished process, snapshot of the folder before)."""
    root = school(tmp_path_factory.mktemp("hostile"))
    build(root / "submitted")
    before = snapshot(root)
    yield root, finished(command("--workers", "2"), SECONDS, cwd=root, env=environment()), before
    for path in (root / "submitted" / "unreadable" / START, root / "submitted" / "unreadable-file" / START):
        os.chmod(path, 0o700)  # so that it can be deleted


def snapshot(root):
    """dict path → (mode, size, time of the last change) of everything in the class's folder; does not follow links."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root / "submitted")):
        for name in folders + files:
            about = os.lstat(path := os.path.join(folder, name))
            found[path] = (about.st_mode, about.st_size, about.st_mtime_ns)
    return found


def test_the_class_is_graded_to_the_end(hostile):
    root, done, _ = hostile
    assert done.returncode == 1, done.stderr[-3000:]  # 1: some have no result
    assert b"Traceback" not in done.stderr + done.stdout
    assert grades(root) and consistent(root)


def test_the_honest_half_has_the_scores_that_it_has_alone(hostile, alone):
    root = hostile[0]
    # Which units count as not handed in depends on what other students handed in.
    alone = [row for row in alone if row["status"] != "missing"]
    names = {row["student"] for row in alone}
    assert len({(row["student"], row["unit"]) for row in alone}) == 25
    assert [row for row in grades(root) if row["student"] in names and row["status"] != "missing"] == alone
    earned = {(row["student"], row["unit"]): 0.0 for row in alone}
    for row in alone:
        earned[row["student"], row["unit"]] += float(row["score"])
    assert earned["ada", START] == 1 and earned["honest-02", START] == 0 and 0 < earned["honest-01", START] < 1
    for unit, times in SOLVED.items():
        full = sum(e.points for e in exercises.of_unit(unit))
        assert all(earned[f"{unit[:2]}-{number}", unit] == pytest.approx(full) for number in range(times)), unit


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name.replace(" ", "-"))
def test_an_entry_costs_itself_alone_and_is_named(entry, hostile):
    root, done, _ = hostile
    name = os.fsdecode(entry.student)
    bare = name.replace("'", "")  # the table quotes text that a spreadsheet would run as a formula
    mine = [row for row in grades(root) if row["student"].replace("'", "") == bare]
    score = sum(float(row["score"]) for row in mine)
    if entry.earns is None:
        assert score in (0, 1) and (score or said_of(entry, hostile))
    else:
        assert score == entry.earns, mine
    if entry.said:
        assert said_of(entry, hostile), done.stderr.decode()[:4000]


def said_of(entry, hostile):
    """True if a place where the instructor looks names the entry: the output, the table or the student's page."""
    root, done, _ = hostile
    name = os.fsdecode(entry.student)
    text = (done.stdout + done.stderr).decode()
    if not name.isprintable() or len(name) > 100:  # it must appear escaped, not as it is
        return any(row["mistake"] == "submission.name" for row in grades(root)) and name not in text
    page = root / "feedback" / name / START / f"{START}.html"
    noted = page.is_file() and any(
        w in page.read_text() for w in ("submission", "timestamp.txt", "notebook", "time of")
    )
    return name in text or noted or any(row["student"] == name and row["mistake"] for row in grades(root))


def test_what_is_shown_is_text(hostile):
    root, done, _ = hostile
    table = (root / "grades.csv").read_text(encoding="utf-8")
    for text in ((done.stdout + done.stderr).decode("utf-8"), table):
        hidden = [c for c in text if not c.isprintable() and c not in "\n\r\t"]
        assert not hidden, {hex(ord(c)) for c in hidden}
    with open(root / "grades.csv", newline="", encoding="utf-8") as file:
        assert all(
            len(row) == 8 and not any(cell[:1] in ("=", "+", "-", "@", "\t") for cell in row)
            for row in csv.reader(file)
        )


class Parts(HTMLParser):
    """Collects the tags and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {(name, value) for name, value in attrs}


def test_nothing_is_written_but_results_and_no_secret_is_in_them(hostile):
    root, _, before = hostile
    assert snapshot(root) == before, "the submissions were changed"
    written = ["attempts", "autograded", "feedback", "gradebook.db", "grades.csv"]
    assert sorted(p.name for p in root.iterdir()) == sorted([".secret", "nbgrader_config.py", "submitted", *written])
    for path in (p for folder in ("attempts", "autograded", "feedback") for p in (root / folder).rglob("*")):
        about = path.lstat()
        assert stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode), path
        if path.is_file():
            assert path.suffix in (".html", ".ipynb") or path.name in (STAMP, EXCHANGE), path
            assert path.relative_to(root).parts[2] in exercises.units() and about.st_size < 20_000_000
            assert SECRET.encode() not in path.read_bytes(), path
            assert path.name != EXCHANGE or re.fullmatch("[0-9a-f]{128}", path.read_text())
    assert SECRET.encode() not in (root / "gradebook.db").read_bytes() + (root / "grades.csv").read_bytes()
    for page in (root / "feedback").rglob("*.html"):
        parts = Parts()
        parts.feed(page.read_text(encoding="utf-8"))
        assert not {"script", "iframe", "object", "embed", "img"} & parts.tags
        assert not any(name.startswith("on") or "javascript:" in (value or "") for name, value in parts.attributes)


def test_a_second_run_is_quick_and_says_the_same(hostile):
    root, first, _ = hostile
    table = grades(root)
    again = grade(root, "--workers", "1")
    assert " 0 graded now" in again.stdout, again.stdout
    assert again.returncode == first.returncode and grades(root) == table


STOCK = (
    "in the notebook's place: a pipe",
    "in the notebook's place: a link to the secret",
    "beside the notebook: a pipe for a time stamp",
    "beside the notebook: a time stamp that links to endless zeros",
    "beside the notebook: links to the secret and to everything",
    "a unit's folder that links to somebody else's",
    "a name: the end of a line",
    "a name: a formula",
)


def test_stock_autograde_comes_through_the_same_folder(tmp_path, sandbox):
    root = course(tmp_path / "stock")
    (root / ".secret").write_text(SECRET)
    submit(root, "ada", notebook(ANSWERS["right"]))
    submit(root, "bob", notebook(ANSWERS["partly"]))
    chosen = [e for e in ENTRIES if e.name in STOCK]
    assert len(chosen) == len(STOCK)
    build(root / "submitted", chosen)
    solution = root / "solutions" / START
    solution.mkdir(parents=True)
    (solution / f"{START}.ipynb").write_bytes((ROOT / "solutions" / START / f"{START}.ipynb").read_bytes())
    nbgrader(root, "generate_assignment", START)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with Commands(root, environment(PYTHONPATH=path)) as teacher:
        for step in ("autograde", "generate_feedback"):
            teacher.run(f"{step} {START}", check=False)
    scores = dict(
        query(
            root,
            """SELECT s.student_id, sum(g.auto_score) FROM grade g JOIN submitted_notebook n ON g.notebook_id = n.id
            JOIN submitted_assignment s ON n.assignment_id = s.id GROUP BY s.student_id""",
        )
    )
    assert scores["ada"] == 1 and scores["bob"] == 0.666667
    for entry in chosen:
        got = scores.get(os.fsdecode(entry.student)) or 0
        assert got == entry.earns or (entry.said and not got), (entry.name, got)
    for folder in ("autograded", "feedback"):
        for path in (p for p in (root / folder).rglob("*") if p.is_file() or p.is_symlink()):
            assert not path.is_symlink() and SECRET.encode() not in path.read_bytes(), path


def test_the_entries_are_what_they_say(tmp_path):
    """Otherwise the class could be quiet because its entries were never created."""
    (tmp_path / ".secret").write_text(SECRET)
    submit(tmp_path, "ada", notebook(ANSWERS["right"]))
    build(tmp_path / "submitted")
    kinds = {stat.S_IFMT(mode) for mode, _, _ in snapshot(tmp_path).values()}
    assert {stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFLNK, stat.S_IFREG, stat.S_IFDIR} <= kinds
    assert len(os.listdir(tmp_path / "submitted")) == len(ENTRIES) + 1
    assert any(size > 10 << 30 for _, size, _ in snapshot(tmp_path).values())
    for name in ("unreadable", "unreadable-file"):
        os.chmod(tmp_path / "submitted" / name / START, 0o700)
