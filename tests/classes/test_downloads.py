"""What a download holds besides notebooks: other files, and the times and marks that Moodle and Canvas give."""

import io
import zipfile
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from autograder.classes import collect
from autograder.classes.moments import read_moment
from autograder.grading.book.course import load_course
from tests.grading import classroom

from .downloads import ROPE, ROSTER, START, became, book, submitted, take, tree, zipped


@pytest.fixture
def course(tmp_path):
    return load_course(classroom.course(tmp_path / "course"))


ADA, GRACE, ZOE = book(mark="ada"), book(mark="grace"), book(mark="zoe")
FILE, TEXT = "assignsubmission_file_", "assignsubmission_onlinetext_"
M_ADA, M_GRACE, M_ZOE = (f"{n}_{FILE}/" for n in ("Ada Lovelace_11", "Grace Hopper_12", "Zoë Müller-Lüdenscheidt_13"))
# The header and the form of the times as Moodle 4 writes them in English.
WORKSHEET = (
    '\ufeffIdentifier,"Full name","ID number","Email address",Status,Grade,"Maximum grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    'Participant 11,"Ada Lovelace",,ada@example.org,"Submitted for grading",,20.00,Yes,"{ada}",-,\n'
    'Participant 12,"Grace Hopper",,grace@example.org,"Submitted for grading",,20.00,Yes,"{grace}",-,\n'
    'Participant 13,"Zoë Müller-Lüdenscheidt",,,"No submission",,20.00,Yes,-,-,\n'
)


def sheet(tmp_path, ada="Sunday, 22 November 2026, 5:57 PM", grace="Monday, 23 November 2026, 12:05 AM"):
    path = tmp_path / "worksheet.csv"
    path.write_text(WORKSHEET.format(ada=ada, grace=grace), encoding="utf-8")
    return path


def command(course, monkeypatch, capsys, *arguments):
    """(exit status, everything that the command printed)."""
    monkeypatch.chdir(course.root)
    monkeypatch.setattr(collect, "roster_of", lambda course: ROSTER)
    status = collect.main([str(a) for a in arguments])
    return status, "".join(capsys.readouterr())


# ---- other files ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("above", ["", "downloaded/"])
@pytest.mark.parametrize(
    "layout",
    [
        {
            f"{M_ADA}{START}.py": b"x",
            f"{M_GRACE}{START}.html": b"x",
            f"Zoë Müller-Lüdenscheidt_13_{TEXT}/onlinetext.html": b"x",
        },
        {f"{M_ADA[:-1]}{START}.py": b"x", f"{M_GRACE[:-1]}a.pdf": b"x", f"{M_ZOE[:-1]}b.docx": b"x"},
        {
            f"lovelaceada_901_5_{START}.py": b"x",
            "hoppergrace_LATE_902_text.html": b"x",
            "müllerlüdenscheidtzoë_903_link.html": b"x",
        },
        {f"ada/{START}/{START}.py": b"x", f"grace/{START}/a.html": b"x", f"zoe/{START}.py": b"x"},
        {f"{s}+{START}+2026-03-01 10:00:00 UTC+x/{START}.py": b"x" for s in ("ada", "grace", "zoe")},
    ],
    ids=["moodle", "moodle flat", "canvas", "tree", "exchange"],
)
def test_who_handed_in_anything_but_a_notebook_has_a_line(layout, above, course, tmp_path, monkeypatch):
    """Also beside others: they would be missing, like those who handed in nothing."""
    lines = take(course, zipped(tmp_path / "a.zip", {above + n: d for n, d in layout.items()}), monkeypatch)
    assert {(s, line.what) for (s, _), line in lines.items()} == {(s, "not taken") for s in ("ada", "grace", "zoe")}
    assert all("and no notebook: ask for the .ipynb file" in line.says for line in lines.values()), lines
    assert not (course.root / "submitted").exists()


def test_what_was_typed_online_is_called_so(course, tmp_path, monkeypatch):
    path = zipped(tmp_path / "a.zip", {"lovelaceada_901_link.html": b"x", "hoppergrace_LATE_902_text.html": b"x"})
    lines = take(course, path, monkeypatch)
    assert lines["ada", ""].says.startswith("only a link,")
    assert lines["grace", ""].says.startswith("only a text typed online,")


def test_files_beside_a_notebook_are_named(course, tmp_path, monkeypatch):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as target:
        target.writestr(f"work/{START}.ipynb", GRACE)
        target.writestr("work/helpers.py", b"x")
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as target:
        target.writestr("work/all.py", b"x")
    more = {f"{M_ADA}{n}": b"x" for n in ("a.png", "b.png", "c.png", "helpers.py")}
    files = {
        f"{M_ADA}{START}.ipynb": ADA,
        **more,
        f"{M_GRACE}all.zip": inner.getvalue(),
        f"{M_ZOE}z.zip": empty.getvalue(),
    }
    lines = take(course, zipped(tmp_path / "a.zip", files), monkeypatch)
    assert became(lines) == {("ada", START): "taken", ("grace", START): "taken", ("zoe", ""): "not taken"}
    assert lines["ada", START].says == "not a.png, b.png, c.png and 1 more: only the notebook is graded"
    assert lines["grace", START].says == "not helpers.py: only the notebook is graded"
    assert "has no notebook in it, only all.py" in lines["zoe", ""].says


def test_only_who_handed_in_nothing_is_said_to_have(course, tmp_path, monkeypatch, capsys):
    path = zipped(tmp_path / "a.zip", {f"{M_ADA}{START}.ipynb": ADA, f"{M_GRACE}{START}.py": b"x"})
    status, said = command(course, monkeypatch, capsys, path)
    assert status == 1 and f"{START}: nothing from 1 of the roster: zoe" in said and "grace: not taken (only" in said


def test_a_line_is_about_the_unit_that_the_folder_names(course, tmp_path, monkeypatch):
    files = {f"ada/{START}/{START}.ipynb": ADA, f"ada/{ROPE}/{ROPE}.py": b"x", f"ada/{START}/timestamp.txt": b"2026"}
    path = zipped(tmp_path / "a.zip", files)
    lines = take(course, path, monkeypatch)
    assert became(lines) == {("ada", START): "taken", ("ada", ROPE): "not taken"} and not lines["ada", START].says
    assert became(take(course, path, monkeypatch, unit=START)) == {("ada", START): "same"}


@pytest.mark.parametrize("ending", [".txt", ".json", " (1).txt", "-1.TXT"])
def test_an_ending_that_a_system_added_is_no_obstacle(ending, course, tmp_path, monkeypatch):
    files = {f"{M_ADA}{START}.ipynb{ending}": ADA, f"{M_GRACE}{START}.ipynb{ending}": b"my notes"}
    lines = take(course, zipped(tmp_path / "a.zip", files), monkeypatch)
    assert became(lines) == {("ada", START): "taken", ("grace", ""): "not taken"}
    assert lines["ada", START].says == f"its name was {START}.ipynb{ending}"
    assert submitted(course) == {f"ada/{START}/{START}.ipynb": ADA}


# ---- times ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text, utc",
    [
        ("Sunday, 22 November 2026, 5:57 PM", "2026-11-22 17:57"),
        ("Sunday, 22 November 2026, 05:57 AM", "2026-11-22 05:57"),
        ("Sunday, November 22, 2026, 12:05 AM", "2026-11-22 00:05"),
        ("Sunday, 22 November 2026, 12:05\u202fPM", "2026-11-22 12:05"),
        ("Sun, 22 Nov 2026, 17:57", "2026-11-22 17:57"),
        ("2026-11-22 17:57:30+01:00", "2026-11-22 16:57"),
        *((text, None) for text in ("", "-", "22/11/26, 17:57", "2/3/2026 5:57 PM", "22 November, 5:57 PM")),
        *((text, None) for text in ("Sunday, 31 November 2026, 5:57 PM", "22 marraskuu 2026, 17:57", "now", "9" * 500)),
        *((text, None) for text in ("22 November 2026, 13:57 PM", "22 November 2026, 25:57", "2026-11-22T99:99")),
    ],
)
def test_a_time_is_read_with_certainty_or_not_at_all(text, utc):
    moment = read_moment(text, UTC)
    assert (f"{moment:%Y-%m-%d %H:%M}" if moment else None) == utc


def test_of_the_hour_that_comes_twice_the_earlier_one_is_meant():
    moment = read_moment("Sunday, 25 October 2026, 2:30 AM", ZoneInfo("Europe/Berlin"))
    assert f"{moment:%H:%M}" == "00:30"


def test_moodles_worksheet_says_when(course, tmp_path, monkeypatch, capsys):
    path = zipped(tmp_path / "a.zip", {f"{M_ADA}{START}.ipynb": ADA, f"{M_GRACE}{START}.ipynb": GRACE})
    status, said = command(course, monkeypatch, capsys, path)
    assert status == 0 and "add the grading worksheet: WORKSHEET=" in said
    assert not [n for n in submitted(course) if n.endswith(".txt")]
    given = ("--worksheet", sheet(tmp_path), "--zone", "Europe/Berlin")
    status, said = command(course, monkeypatch, capsys, path, *given)
    assert status == 0 and "read as Europe/Berlin" in said and "does not tell" not in said
    found = {n.split("/")[0]: d for n, d in submitted(course).items() if n.endswith(".txt")}
    assert found == {"ada": b"2026-11-22 16:57:00 UTC\n", "grace": b"2026-11-22 23:05:00 UTC\n"}
    before = submitted(course)
    command(course, monkeypatch, capsys, path, *given)
    assert submitted(course) == before, "doing it again changes nothing"
    status, said = command(course, monkeypatch, capsys, path, "--zone", "Berlin")
    assert status == 2 and "There is no time zone Berlin" in said


@pytest.mark.parametrize("form", ["22.11.26, 17:57", "-", "Sonntag, 22. November 2026, 17:57"])
def test_a_time_that_cannot_be_read_costs_nothing_and_is_said_once(form, course, tmp_path, monkeypatch, capsys):
    path = zipped(tmp_path / "a.zip", {f"{M_ADA}{START}.ipynb": ADA, f"{M_GRACE}{START}.ipynb": GRACE})
    status, said = command(course, monkeypatch, capsys, path, "--worksheet", sheet(tmp_path, ada=form, grace=form))
    assert status == 0, "the notebooks are taken all the same"
    about = [line for line in said.splitlines() if "Nothing is taken off there until" in line]
    assert len(about) == 1 and "ada" in about[0] and "grace" in about[0]
    assert sorted(submitted(course)) == [f"ada/{START}/{START}.ipynb", f"grace/{START}/{START}.ipynb"]


def test_a_groups_number_is_no_participants(course, tmp_path, monkeypatch):
    """Where groups hand in, Moodle writes their numbers, and a participant may have the same one."""
    files = {f"Ada Lovelace_12_{FILE}/{START}.ipynb": ADA, f"Team 5_11_{FILE}/{START}.ipynb": GRACE}
    lines = take(course, zipped(tmp_path / "a.zip", files), monkeypatch, worksheet=sheet(tmp_path))
    assert became(lines) == {("ada", START): "taken", ("Team 5 (11)", ""): "not taken"}
    assert submitted(course) == {f"ada/{START}/{START}.ipynb": ADA} and "no row" in lines["ada", START].untimed
    older = {f"G-19-Grace Hopper_12_{FILE}/{START}.ipynb": GRACE}
    lines = take(course, zipped(tmp_path / "b.zip", older), monkeypatch, worksheet=sheet(tmp_path))
    assert became(lines) == {("grace", START): "taken"} and not lines["grace", START].untimed


@pytest.mark.parametrize("before", [{}, {f"ada/{START}/{START}.ipynb": ADA}], ids=["none", "the same"])
def test_a_time_that_the_instructor_wrote_stays_beside_a_worksheet(before, course, tmp_path, monkeypatch):
    tree(course.root / "submitted", {**before, f"ada/{START}/timestamp.txt": b"2026-11-01 10:00:00 UTC"})
    path = zipped(tmp_path / "a.zip", {f"{M_ADA}{START}.ipynb": ADA})
    line = take(course, path, monkeypatch, worksheet=sheet(tmp_path), zone=UTC)["ada", START]
    assert submitted(course)[f"ada/{START}/timestamp.txt"] == b"2026-11-01 10:00:00 UTC" and "--take" in line.says
    take(course, path, monkeypatch, worksheet=sheet(tmp_path), zone=UTC, take=True)
    assert submitted(course)[f"ada/{START}/timestamp.txt"] == b"2026-11-22 17:57:00 UTC\n"


def test_an_old_download_with_a_new_worksheet_does_no_harm(course, tmp_path, monkeypatch):
    """The worksheet then has the time of the newer upload, and the old file must not get it."""
    old, new = (zipped(tmp_path / f"{n}.zip", {f"{M_ADA}{START}.ipynb": d}) for n, d in ((1, ADA), (2, GRACE)))
    given = {"worksheet": sheet(tmp_path), "zone": UTC}
    take(course, old, monkeypatch, **given)
    later = {"worksheet": sheet(tmp_path, ada="Tuesday, 24 November 2026, 8:00 AM"), "zone": UTC}
    assert became(take(course, new, monkeypatch, **later)) == {("ada", START): "replaced"}
    assert became(take(course, old, monkeypatch, **later)) == {("ada", START): "kept"}
    assert submitted(course)[f"ada/{START}/{START}.ipynb"] == GRACE
    assert submitted(course)[f"ada/{START}/timestamp.txt"] == b"2026-11-24 08:00:00 UTC\n"


def test_two_notebooks_of_one_time_are_told_apart_as_without_it(course, tmp_path, monkeypatch):
    files = {f"{M_ADA}{START}.ipynb": GRACE, f"{M_ADA}{START}-old.ipynb": ADA}
    line = take(course, zipped(tmp_path / "a.zip", files), monkeypatch, worksheet=sheet(tmp_path))["ada", START]
    assert line.what == "taken" and f"not {START}-old.ipynb" in line.says
    assert submitted(course)[f"ada/{START}/{START}.ipynb"] == GRACE


def test_canvas_says_who_is_late_and_a_list_says_where_to_write_since_when(course, tmp_path, monkeypatch, capsys):
    path = zipped(
        tmp_path / "a.zip", {f"lovelaceada_901_5_{START}.ipynb": ADA, f"hoppergrace_LATE_902_6_{START}.ipynb": GRACE}
    )
    status, said = command(course, monkeypatch, capsys, path)
    assert status == 0 and f"grace/{START}: taken (late, says Canvas)" in said
    about = next(line for line in said.splitlines() if line.startswith("Late, says Canvas"))
    assert "grace" in about and "ada" not in about and "Nothing is taken off there until submitted/" in about
    tree(course.root / "submitted", {f"grace/{START}/timestamp.txt": b"2026-11-01 10:00:00 UTC"})
    assert "not since when" not in command(course, monkeypatch, capsys, path)[1], "once it is written"


JSON = (  # as a browser saves it: Canvas's guard first; and a second page
    'while(1);[{"user_id":901,"submitted_at":"2026-11-22T17:57:30Z","late":false,"attachments":[{"id":5}]},'
    '{"user_id":903,"submitted_at":null,"late":false,"missing":true}]\n'
    'while(1);[{"user_id":902,"submitted_at":"2026-11-23T09:00:00+01:00","late":true,"attachments":[{"id":6},{"id":7}]}]'
)


def test_canvas_list_of_submissions_says_when_each_upload_came(course, tmp_path, monkeypatch, capsys):
    (tmp_path / "submissions.json").write_text(JSON)
    given = "--worksheet", tmp_path / "submissions.json"
    files = {
        f"lovelaceada_901_5_{START}.ipynb": ADA,
        f"hoppergrace_LATE_902_6_{START}.ipynb": GRACE,
        f"müllerlüdenscheidtzoë_LATE_903_8_{START}.ipynb": ZOE,  # newer than the list
    }
    path = zipped(tmp_path / "a.zip", files)
    status, said = command(course, monkeypatch, capsys, path, *given)
    assert status == 0 and "No time that can be read: zoe (no such upload)." in said
    assert "not since when: zoe." in said
    found = {n.split("/")[0]: d for n, d in submitted(course).items() if n.endswith(".txt")}
    assert found == {"ada": b"2026-11-22 17:57:30 UTC\n", "grace": b"2026-11-23 08:00:00 UTC\n"}


def test_a_list_of_the_other_platform_or_of_none_is_refused(course, tmp_path, monkeypatch, capsys):
    canvas = zipped(tmp_path / "a.zip", {f"lovelaceada_901_5_{START}.ipynb": ADA})
    moodle = zipped(tmp_path / "b.zip", {f"{M_ADA}{START}.ipynb": ADA})
    given = tmp_path / "list.json"
    for text, path, says in (
        (JSON, moodle, "The download is Moodle's, and the worksheet is not"),
        (WORKSHEET, canvas, "The download is Canvas's, and the worksheet is not"),
        ('{"errors":[{"message":"user authorization required"}]}', canvas, "is not Canvas's list of submissions"),
        ("[1, 2]", canvas, "is not Canvas's list of submissions"),
    ):
        given.write_text(text, encoding="utf-8")
        status, said = command(course, monkeypatch, capsys, path, "--worksheet", given)
        assert status == 2 and says in said
    assert not (course.root / "submitted").exists()


def test_a_late_upload_without_a_name_is_known_as_one(course, tmp_path, monkeypatch):
    path = zipped(tmp_path / "a.zip", {f"LATE_anon_x1y2z_56_{START}.ipynb": ADA, f"anon_a1b2c_57_{START}.ipynb": ADA})
    lines = take(course, path, monkeypatch)
    assert len(lines) == 2 and all("let Canvas show the names" in line.says for line in lines.values())
