"""nbgrader's exchange, from the release to the page that a student opens, with stock commands and ``make grade``.

If the tests run as root, the student is another user of the machine, as in a real class.
"""

import json
import os
import pwd
import shutil
import tempfile
from pathlib import Path

import pytest

from autograder import ROOT

from .. import ordinary_user
from .cheats.base import SOLVE, START, find
from .classroom import ANSWERS, course, environment, grade, grades
from .commands import Commands

pytestmark = pytest.mark.xdist_group("exchange")  # the class is set up once

COURSE = "transformer-anatomy"


class Place(Commands):
    """The folder of a teacher or student, with a process that runs nbgrader's commands in it."""

    def __init__(self, folder, user=None):
        own = environment(JUPYTER_DATA_DIR=str(folder / "data"), HOME=str(folder))
        super().__init__(folder, own, ordinary_user.as_nobody if user else lambda line: line)
        self.user, self.name = user, user or pwd.getpwuid(os.geteuid()).pw_name

    def answer(self, source):
        """Writes an answer into the fetched notebook, as a person does."""
        path = self.folder / START / f"{START}.ipynb"
        book = json.loads(path.read_text())
        find(book, SOLVE)["source"] = source
        path.write_text(json.dumps(book))

    def pages(self):
        """Fetched feedback pages in the order of the submissions."""
        return [p.read_text() for p in sorted((self.folder / START / "feedback").glob(f"*/{START}.html"))]


@pytest.fixture(scope="module")
def school(sandbox):
    """(teacher, student): their two places, with one exchange between them."""
    folder = Path(tempfile.mkdtemp(prefix="anatomy-exchange-", dir="/tmp"))  # pytest's own is closed to other users
    try:
        folder.chmod(0o755)
        (folder / "exchange").mkdir()
        (folder / "exchange").chmod(0o777)
        config = f"\nc.Exchange.root = {str(folder / 'exchange')!r}\n"
        teacher = Place(course(folder / "teacher"))
        teacher.folder.chmod(0o700)
        (teacher.folder / "release").mkdir()
        shutil.copytree(ROOT / "course" / START, teacher.folder / "release" / START)
        with open(teacher.folder / "nbgrader_config.py", "a", encoding="utf-8") as file:
            file.write(config)
        student = Place(folder / "student", ordinary_user.NOBODY if os.geteuid() == 0 else None)
        student.folder.mkdir()
        (student.folder / "nbgrader_config.py").write_text(
            f"c = get_config()\nc.CourseDirectory.course_id = {COURSE!r}{config}"
        )
        if student.user:
            shutil.chown(student.folder, student.user)
        with teacher, student:
            yield teacher, student
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def inbound(teacher):
    return teacher.folder.parent / "exchange" / COURSE / "inbound"


def handed_in(teacher, student):
    return teacher.folder / "submitted" / student.name / START


@pytest.fixture(scope="module")
def walked(school):
    """The messages on the way from the release to the student's page: dict step → text."""
    teacher, student = school
    said = {}
    teacher.run(f"release_assignment {START}")
    student.run(f"fetch_assignment {START}")
    student.answer(ANSWERS["mutant"])
    student.run(f"submit {START}")
    said["come in"] = teacher.run("list --inbound")
    said["collect"] = teacher.run(f"collect {START}")
    done = grade(teacher.folder, "--workers", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    teacher.run(f"release_feedback {START}")
    said["before"] = student.run("list --cached")
    student.run(f"fetch_feedback {START}")
    said["after"] = student.run("list --cached")
    return said


def test_from_release_to_the_page_that_the_student_reads(school, walked):
    teacher, student = school
    assert f"{COURSE} {student.name} {START}" in walked["come in"] and "Collecting submission" in walked["collect"]
    assert {p.name for p in handed_in(teacher, student).iterdir()} >= {f"{START}.ipynb", "submission_secret.txt"}
    assert (student.name, "not_divided") in [(r["student"], r["mistake"]) for r in grades(teacher.folder)]
    assert "feedback ready to be fetched" in walked["before"] and "feedback already fetched" in walked["after"]
    page = student.pages()[0]
    assert "This is the weighted sum. Divide it by the sum of the weights." in page
    assert page.rstrip().endswith("</html>") and "BEGIN SOLUTION" not in page


def test_handing_in_again_after_feedback(school, walked):
    """The later submission counts and has its own page; the earlier page stays."""
    teacher, student = school
    student.answer(ANSWERS["right"])
    student.run(f"submit {START}")
    first = (handed_in(teacher, student) / "timestamp.txt").read_text()
    assert "use --update to update" in teacher.run(f"collect {START}")
    assert (handed_in(teacher, student) / "timestamp.txt").read_text() == first
    teacher.run(f"collect {START} --update")
    assert (handed_in(teacher, student) / "timestamp.txt").read_text() > first
    assert not list(handed_in(teacher, student).parent.glob(".*")), "nothing half made stays"
    done = grade(teacher.folder, "--workers", "1")
    assert " 1 graded now" in done.stdout, done.stdout + done.stderr
    assert sum(float(r["score"]) for r in grades(teacher.folder)) == 1
    teacher.run(f"release_feedback {START}")
    teacher.run(f"release_feedback {START}")  # releasing twice does no harm
    student.run(f"fetch_feedback {START}")
    first_page, second = student.pages()
    assert "This is the weighted sum" in first_page and "This is the weighted sum" not in second


def test_with_a_due_date_the_last_one_in_time_is_collected(school, walked):
    teacher, student = school
    student.run(f"submit {START}")
    stamp = handed_in(teacher, student) / "timestamp.txt"
    first, *_, last = sorted(p.name.split("+")[2] for p in inbound(teacher).iterdir())
    teacher.run(f"db assignment add {START} --duedate='{first}'")
    teacher.run(f"collect {START} --before-duedate")
    assert stamp.read_text() == first
    teacher.run(f"collect {START} --update")
    assert stamp.read_text() == last


def test_stock_autograde_and_its_pages_pass_the_exchange_too(school, walked):
    teacher, student = school
    teacher.run(f"autograde {START} --force")
    teacher.run(f"generate_feedback {START} --force")
    teacher.run(f"release_feedback {START}")
    page = next((teacher.folder / "feedback").glob(f"*/{START}/{START}.html")).read_text()
    student.run(f"fetch_feedback {START}")
    assert student.pages()[-1] == page


def test_a_second_release_reaches_who_has_not_fetched_yet(school, walked):
    teacher, student = school
    assert "add --force" in teacher.run(f"release_assignment {START}", check=False)
    teacher.run(f"release_assignment {START} --force")
    written = (student.folder / START / f"{START}.ipynb").read_bytes()
    student.run(f"fetch_assignment {START}", check=False)  # an answer is never overwritten
    assert (student.folder / START / f"{START}.ipynb").read_bytes() == written
    shutil.move(student.folder / START, student.folder / "earlier")
    student.run(f"fetch_assignment {START}")
    assert (student.folder / START / f"{START}.ipynb").read_bytes() == (
        ROOT / "course" / START / f"{START}.ipynb"
    ).read_bytes()


def test_odd_entries_stop_nobody_and_lead_nowhere(school, walked):
    """Entries that stock nbgrader follows, waits for, believes or stops at."""
    teacher, student = school
    secret = teacher.folder / ".secret"
    secret.write_text("of the course\n")
    secret.chmod(0o600)
    entry = lambda name, time="2031-01-01 00:00:00 UTC": inbound(teacher) / f"{name}+{START}+{time}+x"
    link, pipe, large = entry("link"), entry("pipe"), entry("large")
    for folder in (link, pipe, large):
        folder.mkdir()
    (link / f"{START}.ipynb").symlink_to(secret)
    (link / "submission_secret.txt").symlink_to(secret)
    (link / "more").symlink_to(teacher.folder)
    os.mkfifo(pipe / f"{START}.ipynb")
    os.mkfifo(pipe / "timestamp.txt")
    with open(large / f"{START}.ipynb", "wb") as file:
        file.truncate(1 << 40)
    (large / "other.ipynb").write_text("{}")
    entry("whole").symlink_to(ROOT / "solutions" / START)
    entry("..").mkdir()
    entry("eve", "no time at all").mkdir()
    (inbound(teacher) / f"short+{START}+").mkdir()
    (inbound(teacher) / f"file+{START}+2031-01-01 00:00:00 UTC").write_text("")
    forged = entry(student.name)  # the newest in the student's name, but not owned by the student
    forged.mkdir()
    if student.user is None:
        shutil.rmtree(forged)
    before = (handed_in(teacher, student) / "timestamp.txt").read_text()
    said = teacher.run(f"collect {START} --update")
    assert student.name in teacher.run("list --inbound")
    submitted = teacher.folder / "submitted"
    if student.user:
        assert f"belongs to {pwd.getpwuid(os.geteuid()).pw_name}" in said
        assert {p.name for p in submitted.iterdir()} == {student.name}
    assert (handed_in(teacher, student) / "timestamp.txt").read_text() == before
    # The same if students share an account: names are believed, links and pipes are not.
    if student.user:
        shutil.rmtree(forged)
    with open(teacher.folder / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write("\nc.ExchangeCollect.check_owner = False\n")
    said = teacher.run(f"collect {START} --update")
    assert {p.name for p in submitted.iterdir()} == {student.name, "link", "pipe", "large"}
    assert {p.name for p in submitted.rglob("*") if p.is_file()} == {
        f"{START}.ipynb",
        "timestamp.txt",
        "submission_secret.txt",
        "other.ipynb",
    }
    assert not [p for p in submitted.rglob("*") if p.is_symlink() or p.is_file() and b"of the course" in p.read_bytes()]
    assert not list((submitted / "link").glob("*/*")) and not list((submitted / "pipe").glob("*/*"))
    for word in ("links to other files are not followed", "a pipe", "more than", "student+unit+time", "slash"):
        assert word in said, (word, said)
    assert not (teacher.folder / START).exists()
