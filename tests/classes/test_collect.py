"""Downloads of Moodle, Canvas and nbgrader's exchange, and plain trees, become submitted/student/unit/unit.ipynb."""

import io
import unicodedata
import zipfile

import pytest
from anatomy.system import files

from autograder.classes import archive, collect, moodle
from autograder.classes.csvfile import parse_table
from autograder.classes.people import Person, Roster
from autograder.grading.book.course import load_course
from autograder.grading.intake import collect as grading
from tests.grading import classroom

from .downloads import PEOPLE, ROPE, ROSTER, START, became, book, submitted, take, tree, zipped


@pytest.fixture
def course(tmp_path):
    return load_course(classroom.course(tmp_path / "course"))


ADA, GRACE, ZOE = book(mark="ada"), book(mark="grace"), book(mark="zoe")
EXPECTED = {f"{s}/{START}/{START}.ipynb": data for s, data in (("ada", ADA), ("grace", GRACE), ("zoe", ZOE))}
MOODLE = {
    f"Ada Lovelace_4711_assignsubmission_file_/{START}.ipynb": ADA,
    f"Grace Hopper_4712_assignsubmission_file/answers/{START} (1).ipynb": GRACE,  # newer: no underscore; a folder
    "Grace Hopper_4712_assignsubmission_onlinetext/onlinetext.html": b"<p>hello</p>",
    "Zoë Müller-Lüdenscheidt_4713_assignsubmission_file_/unnamed.ipynb": ZOE,
}
LAYOUTS = {
    "moodle": MOODLE,
    "moodle, not in folders": {
        f"Ada Lovelace_4711_assignsubmission_file_{START}.ipynb": ADA,
        "Ada Lovelace_4711_assignsubmission_onlinetext_onlinetext.html": b"x",
        "Grace Hopper_4712_assignsubmission_file_my_own_name.ipynb": GRACE,
        "Zoë Müller-Lüdenscheidt_4713_assignsubmission_file_x.ipynb": ZOE,
    },
    "canvas": {
        f"lovelaceada_901_55001_{START}.ipynb": ADA,
        f"hoppergrace_LATE_902_55002_{START}-2.ipynb": GRACE,
        "müllerlüdenscheidtzoë_903_55003_some_12_name.ipynb": ZOE,
        "hoppergrace_902_text.html": b"x",
    },
    "exchange": {
        f"ada+{START}+2026-03-01 10:00:00.000001 UTC+cmFuZG9t/{START}.ipynb": book(mark="ada, a first try"),
        f"ada+{START}+2026-03-02 10:00:00 UTC+cmFuZG8t/{START}.ipynb": ADA,
        f"grace+{START}+2026-03-02 11:00:00 UTC/{START}.ipynb": GRACE,
        f"zoe+{START}+2026-03-02 12:00:00 UTC+x/{START}.ipynb": ZOE,
    },
    "tree": {name: data for name, data in EXPECTED.items()} | {"grades.csv": b"x", "ada/notes.txt": b"x"},
}


@pytest.mark.parametrize("above", ["", "downloaded/"])
@pytest.mark.parametrize("as_folder", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout, as_folder, above, course, tmp_path, monkeypatch):
    files = {above + name: data for name, data in LAYOUTS[layout].items()}
    path = tree(tmp_path / "folder", files) if as_folder else zipped(tmp_path / "download.zip", files)
    lines = take(course, path, monkeypatch)
    assert became(lines) == {
        (s, START): "replaced" if (s, layout) == ("ada", "exchange") else "taken" for s in ("ada", "grace", "zoe")
    }
    found = submitted(course)
    assert {n: d for n, d in found.items() if n.endswith(".ipynb")} == EXPECTED
    stamps = {n: d.decode() for n, d in found.items() if not n.endswith(".ipynb")}
    if layout == "exchange":
        assert stamps[f"ada/{START}/timestamp.txt"] == "2026-03-02 10:00:00 UTC\n" and len(stamps) == 3
    else:
        assert not stamps
    assert became(take(course, path, monkeypatch)) == {(s, START): "same" for s in ("ada", "grace", "zoe")}
    assert submitted(course) == found, "doing it again changes nothing"
    assert [(s.student, s.unit, s.problem) for s in grading.find(course.root / "submitted")] == [
        (s, START, None) for s in ("ada", "grace", "zoe")
    ]


def test_a_resubmission_takes_the_place_and_the_older_one_is_kept(course, tmp_path, monkeypatch):
    first = zipped(tmp_path / "1.zip", {f"lovelaceada_901_1_{START}.ipynb": ADA})
    second = zipped(tmp_path / "2.zip", {f"lovelaceada_901_2_{START}-1.ipynb": GRACE})
    take(course, first, monkeypatch)
    (course.root / "submitted" / "ada" / START / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC")
    assert became(take(course, second, monkeypatch)) == {("ada", START): "replaced"}
    assert submitted(course) == {f"ada/{START}/{START}.ipynb": GRACE}, "the time was the first one's"
    kept = sorted((course.root / "earlier" / "ada" / START).iterdir())
    assert [p.read_bytes() for p in kept if p.suffix == ".ipynb"] == [ADA]
    assert [p.read_text() for p in kept if p.suffix == ".txt"] == ["2026-03-01 10:00:00 UTC\n"]
    again = take(course, first, monkeypatch)
    assert became(again) == {("ada", START): "kept"} and "was replaced since" in again["ada", START].says
    assert submitted(course)[f"ada/{START}/{START}.ipynb"] == GRACE, "an old download undoes nothing"
    assert len(list((course.root / "earlier").rglob("*.ipynb"))) == 1


def test_a_student_who_went_back_is_taken_on_request(course, tmp_path, monkeypatch):
    """These platforms export only the newest file, so an earlier one that reappears may be intended."""
    first, second = (
        zipped(tmp_path / f"{n}.zip", {f"lovelaceada_901_{n}_{START}.ipynb": data})
        for n, data in ((1, ADA), (2, GRACE))
    )
    for path in (first, second):
        take(course, path, monkeypatch)
    for _ in range(2):  # an old download does not replace the new one
        line = take(course, first, monkeypatch)["ada", START]
        assert line.what == "kept" and "`ARGS=--take` takes it again" in line.says
        assert take(course, second, monkeypatch)["ada", START].what == "same"
    assert take(course, first, monkeypatch, take=True)["ada", START].what == "replaced"
    assert submitted(course) == {f"ada/{START}/{START}.ipynb": ADA}
    assert {p.read_bytes() for p in (course.root / "earlier").rglob("*.ipynb")} == {ADA, GRACE}, "nothing is lost"
    assert take(course, first, monkeypatch, take=True)["ada", START].what == "same"
    assert take(course, second, monkeypatch)["ada", START].what == "kept"


def test_take_is_an_option_and_times_count_all_the_same(course, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    monkeypatch.setattr(collect, "roster_of", lambda course: ROSTER)
    paths = [
        zipped(tmp_path / f"{n}.zip", {f"lovelaceada_901_{n}_{START}.ipynb": d}) for n, d in ((1, ADA), (2, GRACE))
    ]
    assert [collect.main([str(p)]) for p in (*paths, paths[0])] == [0, 0, 0]
    assert "1 kept as it was" in capsys.readouterr().out
    assert collect.main([str(paths[0]), "--take"]) == 0 and "1 replaced" in capsys.readouterr().out
    entry = f"zoe+{START}+2026-03-0{{}} 10:00:00 UTC/{START}.ipynb"
    new, old = (zipped(tmp_path / f"{n}.zip", {entry.format(n): d}) for n, d in ((4, ADA), (3, GRACE)))
    take(course, new, monkeypatch)
    assert take(course, old, monkeypatch, take=True)["zoe", START].what == "kept"


def test_an_older_attempt_of_the_exchange_is_kept_beside(course, tmp_path, monkeypatch):
    new = {f"ada+{START}+2026-03-02 10:00:00 UTC/{START}.ipynb": ADA}
    old = {f"ada+{START}+2026-03-01 10:00:00 UTC/{START}.ipynb": GRACE}
    take(course, zipped(tmp_path / "new.zip", new), monkeypatch)
    assert became(take(course, zipped(tmp_path / "old.zip", old), monkeypatch)) == {("ada", START): "kept"}
    assert submitted(course)[f"ada/{START}/{START}.ipynb"] == ADA
    assert [p.read_bytes() for p in (course.root / "earlier").rglob("20260301T100000-*.ipynb")] == [GRACE]


def test_times_that_students_write_are_not_taken_from_a_platform(course, tmp_path, monkeypatch):
    files = {
        f"Ada Lovelace_1_assignsubmission_file_/{n}": d
        for n, d in ((f"{START}.ipynb", ADA), ("timestamp.txt", b"2001-01-01 00:00:00 UTC"))
    }
    take(course, zipped(tmp_path / "a.zip", files), monkeypatch)
    assert list(submitted(course)) == [f"ada/{START}/{START}.ipynb"]
    files = {f"ada/{START}/{START}.ipynb": ADA, f"ada/{START}/timestamp.txt": b"2026-03-01 10:00:00 UTC"}
    take(course, zipped(tmp_path / "b.zip", files), monkeypatch)
    assert submitted(course)[f"ada/{START}/timestamp.txt"] == b"2026-03-01 10:00:00 UTC\n"


def test_a_time_that_the_instructor_wrote_stays(course, tmp_path, monkeypatch):
    tree(course.root / "submitted", {f"ada/{START}/timestamp.txt": b"2026-03-01 10:00:00 UTC"})
    path = zipped(tmp_path / "a.zip", {f"Ada Lovelace_1_assignsubmission_file_/{START}.ipynb": ADA})
    for _ in range(2):
        take(course, path, monkeypatch)
        assert submitted(course)[f"ada/{START}/timestamp.txt"] == b"2026-03-01 10:00:00 UTC"


@pytest.mark.parametrize("broken", ["timestamp.txt", f"{START}.ipynb"])
def test_who_is_stopped_in_between_collects_again(broken, course, tmp_path, monkeypatch):
    """Whatever was not yet written: after collecting again, the result is complete and nothing is lost."""
    entry = "ada+{}+2026-03-0{} 10:00:00 UTC/{}.ipynb"
    take(course, zipped(tmp_path / "1.zip", {entry.format(START, 1, START): ADA}), monkeypatch)
    second = zipped(tmp_path / "2.zip", {entry.format(START, 2, START): GRACE})
    write = files.replace

    def stopped(path, data):
        if path.name == broken and "earlier" not in path.parts:
            raise KeyboardInterrupt
        write(path, data)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(files, "replace", stopped)
        take(course, second, monkeypatch)
    take(course, second, monkeypatch)
    assert submitted(course) == {
        f"ada/{START}/{START}.ipynb": GRACE,
        f"ada/{START}/timestamp.txt": b"2026-03-02 10:00:00 UTC\n",
    }
    assert [p.read_bytes() for p in (course.root / "earlier").rglob("*.ipynb")] == [ADA]


# ---- which unit ----------------------------------------------------------------------------------------------------
def test_the_unit_comes_from_the_cells_then_from_the_name_then_from_the_command(course, tmp_path, monkeypatch):
    plain = b'{"cells": [], "nbformat": 4}'
    before = "Ada Lovelace_1_assignsubmission_file_/"
    path = zipped(
        tmp_path / "a.zip",
        {before + "final.ipynb": book(ROPE), "Grace Hopper_2_assignsubmission_file_/06_rope Copy.ipynb": plain},
    )
    assert became(take(course, path, monkeypatch)) == {("ada", ROPE): "taken", ("grace", ROPE): "taken"}
    path = zipped(tmp_path / "b.zip", {before + "final.ipynb": plain})
    assert "UNIT=" in take(course, path, monkeypatch)["ada", ""].says
    assert became(take(course, path, monkeypatch, unit=START)) == {("ada", START): "taken"}


def test_a_slip_in_the_unit_replaces_nothing(course, tmp_path, monkeypatch):
    path = zipped(tmp_path / "a.zip", LAYOUTS["canvas"])
    take(course, path, monkeypatch)
    before = submitted(course)
    path = zipped(tmp_path / "b.zip", {n.replace(START, "x"): book(ROPE) for n in LAYOUTS["canvas"] if "ipynb" in n})
    lines = take(course, path, monkeypatch, unit=START)
    assert became(lines) == {(s, START): "not taken" for s in ("ada", "grace", "zoe")}, "one line for each"
    assert str(lines["ada", START]) == (
        f"ada/{START}: not taken (its cells are those of {ROPE}, not of {START}: leave UNIT out, or say UNIT={ROPE})"
    )
    assert submitted(course) == before and not (course.root / "earlier").exists()
    assert became(take(course, path, monkeypatch, unit=ROPE)) == {(s, ROPE): "taken" for s in ("ada", "grace", "zoe")}


def test_of_a_unit_its_notebook_is_taken_beside_those_of_others(course, tmp_path, monkeypatch):
    before = "Ada Lovelace_1_assignsubmission_file_/"
    files = {before + "b.ipynb": ADA, before + "a.ipynb": book(ROPE), before + f"{ROPE}.ipynb": book(ROPE, "more")}
    lines = take(course, zipped(tmp_path / "a.zip", files), monkeypatch, unit=START)
    assert became(lines) == {("ada", START): "taken"} and lines["ada", START].says == f"not a.ipynb, {ROPE}.ipynb"
    assert submitted(course) == {f"ada/{START}/{START}.ipynb": ADA}
    folder = {f"grace/{START}/{START}.ipynb": book(ROPE)}
    line = take(course, zipped(tmp_path / "b.zip", folder), monkeypatch, unit=START)["grace", START]
    assert line.what == "taken" and line.says == f"its cells are those of {ROPE}", "here the folder says the unit"


def test_of_several_notebooks_the_units_own_counts(course, tmp_path, monkeypatch):
    before = "Ada Lovelace_1_assignsubmission_file_/"
    path = zipped(
        tmp_path / "a.zip",
        {before + f"{START}.ipynb": ADA, before + f"{ROPE}.ipynb": book(ROPE), before + f"{START} (1).ipynb": ADA},
    )
    assert became(take(course, path, monkeypatch)) == {("ada", START): "taken", ("ada", ROPE): "taken"}
    path = zipped(tmp_path / "b.zip", {before + f"{START}.ipynb": GRACE, before + f"{START}-old.ipynb": ADA})
    line = take(course, path, monkeypatch)["ada", START]
    assert line.what == "replaced" and f"not {START}-old.ipynb" in line.says
    path = zipped(tmp_path / "c.zip", {before + f"{START}-a.ipynb": GRACE, before + f"{START}-b.ipynb": ADA})
    line = take(course, path, monkeypatch)["ada", START]
    assert line.what == "not taken" and "cannot be told" in line.says
    newest = book(mark="newest")
    files = {f"lovelaceada_901_7_{START}-a.ipynb": ZOE, f"lovelaceada_901_8_{START}-b.ipynb": newest}
    take(course, zipped(tmp_path / "d.zip", files), monkeypatch)
    assert submitted(course)[f"ada/{START}/{START}.ipynb"] == newest, "Canvas numbers uploads as they come"


# ---- which student -------------------------------------------------------------------------------------------------
def test_moodles_worksheet_says_whose_number_it_is(course, tmp_path, monkeypatch):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(
        "Identifier,Full name,ID number,Email address\nParticipant 7,,,ada@example.org\nTeilnehmer/in8,Grace Hopper,,\n"
    )
    path = zipped(
        tmp_path / "a.zip",
        {f"Participant_{n}_assignsubmission_file_/{START}.ipynb": d for n, d in ((7, ADA), (8, GRACE), (9, ZOE))},
    )
    lines = take(course, path, monkeypatch)
    assert len(lines) == 3 and all("WORKSHEET=" in line.says for line in lines.values())
    lines = take(course, path, monkeypatch, worksheet=sheet)
    assert became(lines) == {("ada", START): "taken", ("grace", START): "taken", ("Participant (9)", ""): "not taken"}


def test_two_people_of_one_name_are_not_mixed_up(course, tmp_path, monkeypatch):
    twins = [*PEOPLE, Person("ada2", "Ada", "Lovelace")]
    files = {f"Ada Lovelace_{n}_assignsubmission_file_/{START}.ipynb": d for n, d in ((1, ADA), (2, GRACE))}
    path = zipped(tmp_path / "a.zip", files)
    lines = take(course, path, monkeypatch, Roster(twins))
    assert len(lines) == 2 and all("can be ada, ada2" in line.says for line in lines.values())
    lines = take(course, path, monkeypatch)
    assert became(lines) == {("ada", ""): "not taken"} and "are both found as this student" in lines["ada", ""].says
    assert not submitted(course)


def test_without_a_roster_the_name_or_canvas_number_is_the_id(course, tmp_path, monkeypatch):
    nobody = Roster(())
    take(
        course,
        zipped(tmp_path / "a.zip", {f"Ada Lovelace_1_assignsubmission_file_/{START}.ipynb": ADA}),
        monkeypatch,
        nobody,
    )
    take(course, zipped(tmp_path / "b.zip", {f"hoppergrace_902_7_{START}.ipynb": GRACE}), monkeypatch, nobody)
    assert list(submitted(course)) == [f"902/{START}/{START}.ipynb", f"Ada Lovelace/{START}/{START}.ipynb"]


@pytest.mark.parametrize(
    "name",
    [
        f"lovelaceada_3_902_55_{START}.ipynb",  # ada calls herself "Ada_3"
        f"lovelaceada_901_55_my_902_77_{START}.ipynb",  # or her file
    ],
)
def test_digits_in_a_name_are_no_other_students_number(name, course, tmp_path, monkeypatch):
    roster = Roster([Person("victim", "Vic", "Tim", "", "902"), Person("three", "T", "Three", "", "3"), PEOPLE[0]])
    lines = take(course, zipped(tmp_path / "a.zip", {name: ADA}), monkeypatch, roster)
    assert not {s for s, _ in lines if lines[s, _].what != "not taken"} - {"ada"}, lines


def test_canvas_number_counts_where_a_part_of_the_name_agrees(course, tmp_path, monkeypatch):
    files = {f"kingada_901_1_{START}.ipynb": ADA, f"hamiltonmargaret_902_2_{START}.ipynb": GRACE}
    lines = take(course, zipped(tmp_path / "a.zip", files), monkeypatch)
    assert lines["ada", START].what == "taken" and lines["hamiltonmargaret (902)", ""].what == "not taken"


def test_what_students_name_their_files_never_reaches_another_student(course, tmp_path, monkeypatch):
    mine = "Ada Lovelace_1_assignsubmission_file_/"
    files = {
        f"{mine}Grace Hopper_2_assignsubmission_file_/{START}.ipynb": ADA,
        f"{mine}grace/{START}/{START}-2.ipynb": ADA,
        f"{mine}grace+{START}+2026-03-02 10:00:00 UTC/{START}-3.ipynb": ADA,
        f"Zoë Müller-Lüdenscheidt_3_assignsubmission_file_hoppergrace_902_1_{START}.ipynb": ADA,
    }
    for prefix in ("", "download/"):
        lines = take(course, zipped(tmp_path / "a.zip", {prefix + n: d for n, d in files.items()}), monkeypatch)
        assert {s for s, _ in lines} == {"ada", "zoe"}
    tricky = {f"grace/{START}/{START}.ipynb": GRACE, f"ada/Grace Hopper_2_assignsubmission_file_/{START}.ipynb": ADA}
    take(course, zipped(tmp_path / "b.zip", tricky), monkeypatch)
    assert submitted(course)[f"grace/{START}/{START}.ipynb"] == GRACE


@pytest.mark.parametrize("above", ["", "class/"])
def test_students_stand_at_one_depth_of_a_tree(above, course, tmp_path, monkeypatch):
    files = {f"ada/{START}/{START}.ipynb": ADA, f"ada/grace/{START}/{START}.ipynb": ZOE, "grace/answers.ipynb": GRACE}
    path = zipped(tmp_path / "a.zip", {above + n: d for n, d in files.items()})
    lines = take(course, path, monkeypatch)
    assert became(lines) == {("ada", START): "taken", ("grace", START): "taken", ("", ""): "not taken"}
    assert submitted(course) == {f"ada/{START}/{START}.ipynb": ADA, f"grace/{START}/{START}.ipynb": GRACE}
    lines = take(course, path, monkeypatch, Roster(()))
    assert "with a roster" in lines["grace", ""].says, "a folder is not taken for a student for its name alone"


def test_a_folder_in_another_spelling_stays_the_students(course, tmp_path, monkeypatch):
    apart = unicodedata.normalize("NFD", "zoë")
    tree(course.root / "submitted", {f"{apart}/{START}/{START}.ipynb": ADA})
    roster = Roster([Person("zoë", "Zoë", "Müller")])
    path = zipped(tmp_path / "a.zip", {f"{apart}/{START}/{START}.ipynb": ZOE})
    assert became(take(course, path, monkeypatch, roster)) == {("zoë", START): "replaced"}
    assert submitted(course) == {f"{apart}/{START}/{START}.ipynb": ZOE}


# ---- the command ---------------------------------------------------------------------------------------------------
def test_the_command_says_what_became_of_everybody(course, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    monkeypatch.setattr(collect, "roster_of", lambda course: ROSTER)
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as target:
        target.writestr(f"work/{START}.ipynb", GRACE)
    files = {
        f"Ada Lovelace_1_assignsubmission_file_/{START}.ipynb": ADA,
        "Grace Hopper_2_assignsubmission_file_/all.zip": inner.getvalue(),
        "Alan Turing_3_assignsubmission_file_/x.ipynb": ADA,
    }
    path = zipped(tmp_path / "a.zip", files)
    assert collect.main([str(path)]) == 1
    out, err = capsys.readouterr()
    assert f"ada/{START}: taken" in out and f"grace/{START}: taken" in out and "2 taken" in out
    assert f"{START}: nothing from 1 of the roster: zoe" in out
    assert "Alan Turing (3): not taken (nobody in the roster is 'Alan Turing'" in err
    assert collect.main([str(path), "--unit", "x"]) == 2 and "There is no unit x" in capsys.readouterr().err
    assert collect.main([str(course.root / "submitted")]) == 2
    assert "make grade" in capsys.readouterr().err


def test_a_worksheet_without_numbers_is_refused():
    with pytest.raises(ValueError, match="no column Identifier"):
        moodle.read_worksheet(parse_table(b"a,b\n1,2\n", "sheet.csv"))


@pytest.mark.parametrize(
    "files, why",
    [
        ({}, "it has no notebook"),
        ({"readme.txt": b"x"}, "it has no notebook"),
        ({"lonely.ipynb": ADA}, r"whose files these are cannot be told \(for example lonely.ipynb\)"),
        ({"moodle.zip": b"x"}, "it holds archives, which are collected one by one; name one of them"),
    ],
)
def test_where_nothing_is_anybodys_the_reason_comes_first_and_the_layouts_are_named(
    files, why, course, tmp_path, monkeypatch
):
    with pytest.raises(collect.Refused, match=rf"nothing to collect in .*a\.zip: {why}\. .*student/unit/unit.ipynb"):
        take(course, zipped(tmp_path / "a.zip", files), monkeypatch)
    with pytest.raises(archive.BadArchive, match="cannot be read"):
        take(course, tmp_path / "none.zip", monkeypatch)
