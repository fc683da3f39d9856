"""Scores in the formats that Moodle's and Canvas's gradebooks import, and as one wide table."""

import csv

import pytest

from autograder.classes import export
from autograder.classes.csvfile import UnreadableTable, parse_table
from autograder.classes.people import Person
from autograder.classes.roster import read_roster
from autograder.classes.scores import exact, gather
from autograder.grading.book import tables
from autograder.grading.book.course import load_course, write_table
from autograder.grading.book.tables import Total
from tests.grading import classroom

START, ROPE = "00-start-here", "06-rope"
PEOPLE = [
    Person("ada", "Ada", "Lovelace", "ada@example.org", "901"),
    Person("+eve", "Eve", "=1+cmd|' /C calc'!A0", "eve@example.org", "902"),
    Person("@zoe", "Zoë", "Müller", "", "903"),
    Person("alan", "Alan", "Turing", "alan@example.org", "904"),
]


def total(student, unit, score, status="graded", most=20.0):
    return Total(student, unit, status, score, most, 0.0, 0.0)


TOTALS = [
    total("ada", START, 5.0, most=5.0),
    total("ada", ROPE, 21.123456),
    total("+eve", START, 0.0, most=5.0),
    total("+eve", ROPE, 0.0, "missing"),
    total("@zoe", START, 2.5, "waiting", most=5.0),
    total("@zoe", ROPE, 0.0, "unreadable"),
    total("guest", ROPE, 3.0, "stale"),
]


def scores(as_zero=False, units=()):
    return gather(TOTALS, PEOPLE, [START, "01-attention", ROPE], units, as_zero)


def written(tmp_path, form, found, template=None):
    """(rows of the file as dicts, the remarks)."""
    path = tmp_path / "out.csv"
    if template is not None:
        (tmp_path / "template.csv").write_bytes(template.encode())
    count, remarks = export.write(form, found, path, template and tmp_path / "template.csv")
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert count == len(rows)
    return rows, remarks


def test_what_is_missing_is_an_empty_cell_and_no_zero():
    found = scores()
    assert found.units == (START, ROPE), "a unit that nobody handed in has no column"
    assert [found.cell("+eve", u) for u in found.units] == ["0", ""], "a zero that somebody earned is one"
    assert [found.cell("@zoe", u) for u in found.units] == ["2.5", ""]
    assert found.cell("ada", ROPE) == "21.1235" and found.total("ada") == pytest.approx(26.123456)
    assert found.maximum == 25.0 and {p.id for p in found.people} == {"ada", "+eve", "@zoe", "alan", "guest"}
    said = " ".join(found.remarks)
    assert "wait for a person, written as they stand (`make held` lists points): 1." in said
    assert "earlier version of the exercises, written as they stand: 1." in said
    assert "Missing submissions (an empty cell; ARGS=--missing-as-zero writes 0): 4." in said
    assert "could not be read (an empty cell; `make report` lists them): 1." in said
    zero = scores(as_zero=True)
    assert zero.cell("alan", START) == "0" == zero.cell("@zoe", ROPE) and zero.cell("ada", START) == "5"
    assert scores(units=[ROPE]).units == (ROPE,)


def test_moodle(tmp_path):
    rows, remarks = written(tmp_path, "moodle", scores())
    by_id = {r["Username"]: r for r in rows}
    assert list(rows[0]) == ["First name", "Last name", "Username", "ID number", "Email address", START, ROPE]
    assert by_id["ada"] | {START: "5", ROPE: "21.1235"} == by_id["ada"]
    assert by_id["ada"]["Email address"] == "ada@example.org" and by_id["ada"]["ID number"] == "901"
    assert {"+eve", "@zoe"} <= by_id.keys(), "an honest id reaches Moodle as it is"
    assert by_id["+eve"]["Last name"].startswith("'="), "a name that a spreadsheet would run doesn't"
    assert by_id["alan"][START] == ""
    said = " ".join(remarks)
    assert (
        "Map Username, and each unit" in said
        and "without Email address in the roster: 2 of 5." in said
        and "more than a maximum, by extra credit: 1." in said
    )


@pytest.mark.parametrize(
    "table, columns",
    [
        ("First name,Last name,ID number,Email address\nA,L,1815,a@b.c\n", ("", "1815", "a@b.c")),
        ("First name,Last name,Email address\nA,L,a@b.c\n", ("", "", "a@b.c")),
        ("First name,Last name,Username,ID number,Email address\nA,L,ada,1815,a@b.c\n", ("ada", "1815", "a@b.c")),
    ],
    ids=["default", "address", "login"],
)
def test_moodle_finds_everybody_by_the_columns_of_its_own_list(table, columns, tmp_path):
    people = list(read_roster(parse_table(table.encode(), "x.csv")).people.values())
    found = gather([total(people[0].id, START, 5.0)], people, [START], (), False)
    rows, remarks = written(tmp_path, "moodle", found)
    names = ("Username", "ID number", "Email address")
    assert tuple(rows[0][n] for n in names) == columns
    full = " or ".join(n for n, c in zip(names, columns, strict=True) if c)
    assert f"Map {full}, and each unit" in remarks[0], "only columns by which it finds somebody"
    assert not [r for r in remarks if "without" in r], "nobody lacks what the class's list doesn't have"


SHEET = (
    '\ufeffIdentifier,"Full name","Email address",Status,Grade,"Maximum grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    'Participant 11,"Ada Lovelace",ada@example.org,"Submitted for grading",,{most},Yes,-,-,=mine\n'
    'Participant 12,"Zoë Müller",,"Submitted for grading",1.00,{most},Yes,-,"Sunday, 22 November 2026, 5:57 PM",\n'
    'Participant 13,"Alan Turing",alan@example.org,"No submission",3.00,{most},Yes,-,-,\n'
    'Participant 14,"Not Enrolled",,"No submission",,{most},Yes,-,-,\n'
)


def test_moodles_worksheet_is_filled_for_its_upload(tmp_path):
    rows, remarks = written(tmp_path, "moodle", scores(units=[START]), SHEET.format(most="5.00"))
    assert {r["Identifier"]: r["Grade"] for r in rows} == {
        "Participant 11": "5",
        "Participant 12": "2.5",
        "Participant 13": "3.00",  # nothing here: what Moodle has stays
        "Participant 14": "",
    }
    assert [r["Last modified (grade)"] for r in rows] == ["-", "Sunday, 22 November 2026, 5:57 PM", "-", "-"]
    assert "Feedback comments" not in rows[0], "so the upload leaves the instructor's comments alone"
    assert "Upload grading worksheet" in remarks[0] and remarks[1:] == ["Not in the worksheet, so not written: +eve."]


def test_what_moodle_would_pass_over_in_a_worksheet_is_said(tmp_path):
    _, remarks = written(tmp_path, "moodle", scores(units=[ROPE]), SHEET.format(most="10.00"))
    said = " ".join(remarks)
    assert "Moodle has 10.00 points, this course 20" in said and "passes over them: ada." in said
    with pytest.raises(UnreadableTable, match="say which unit"):
        written(tmp_path, "moodle", scores(), SHEET)
    with pytest.raises(UnreadableTable, match="not Moodle's grading worksheet"):
        written(tmp_path, "moodle", scores(units=[ROPE]), CANVAS)


CANVAS = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Essay (5),Unit 06-rope: rotations (77),06-rope Current Score\n"
    ",,,,,,Manual Posting,\n"
    "    Points Possible,,,,,10,18,(read only)\n"
    '"Lovelace, Ada",901,S1,ada@school.org,Group 1,7,,50\n'
    '"Muller, Zoe",7,903,unknown,Group 1,8,4,50\n'
    '"Hamilton, M.",901,,mh,Group 2,,2,50\n'  # Ada's number in another row
    '"Turing, Alan",8,S3,ALAN,Group 2,9,6.5,50\n'
    '"Student, Test",99,,x,Group 1,,1,\n'
    '"Guest, A",98,,guest,Group 1,,EX,\n'
)


def test_canvas_merges_into_its_own_export(tmp_path):
    rows, remarks = written(tmp_path, "canvas", scores(), CANVAS)
    assert list(rows[0]) == [
        *("Student", "ID", "SIS User ID", "SIS Login ID", "Section"),
        *(START, "Unit 06-rope: rotations (77)"),
    ], "what another assignment or Canvas itself has is not touched"
    cells = {r["Student"]: (r[START], r["Unit 06-rope: rotations (77)"]) for r in rows}
    assert cells == {
        "": ("", "Manual Posting"),
        "    Points Possible": ("5", "18"),
        "Lovelace, Ada": ("5", "21.1235"),
        "Muller, Zoe": ("2.5", "4"),  # found by the SIS User ID; no score here, so the one in Canvas stays
        "Hamilton, M.": ("", "2"),
        "Turing, Alan": ("", "6.5"),
        "Student, Test": ("", "1"),
        "Guest, A": ("", "EX"),
    }
    said = " ".join(remarks)
    assert f"no column for {START}" in said and "Canvas has 18 points, this course 20" in said
    assert "(not assigned) there: 1." in said and "Not in the template, so not written: +eve" in said


def test_canvas_without_an_export(tmp_path):
    rows, remarks = written(tmp_path, "canvas", scores())
    assert list(rows[0])[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"], (
        "Canvas asks for this order"
    )
    assert rows[0]["Student"].strip() == "Points Possible" and rows[0][ROPE] == "20"
    ada = next(r for r in rows if r["SIS Login ID"] == "ada")
    assert (ada["Student"], ada["ID"], ada[START]) == ("Lovelace, Ada", "", "5") and "TEMPLATE=" in remarks[0]


def test_canvas_refuses_what_it_cannot_tell(tmp_path):
    with pytest.raises(UnreadableTable, match="not what Canvas's gradebook exports"):
        written(tmp_path, "canvas", scores(), "a,b\n1,2\n")
    twice = CANVAS.replace("Essay (5)", "06-rope again (5)")
    with pytest.raises(UnreadableTable, match="Several columns"):
        written(tmp_path, "canvas", scores(), twice)


def test_wide(tmp_path):
    rows, _ = written(tmp_path, "wide", scores())
    assert list(rows[0])[5:] == [START, f"{START} max", ROPE, f"{ROPE} max", "total", "max_total", "missing", "waiting"]
    ada, zoe = (next(r for r in rows if r["student"] == s) for s in ("ada", "@zoe"))
    assert (ada["total"], ada["max_total"], ada["missing"], ada[f"{ROPE} max"]) == ("26.1235", "25", "0", "20")
    assert (zoe["total"], zoe["missing"], zoe["waiting"], zoe[ROPE]) == ("2.5", "1", "1", "")
    assert [r["last_name"] for r in rows][-3:] == ["Lovelace", "Müller", "Turing"]


@pytest.mark.parametrize("text", ["=cmd|'x'!A0", "+cmd|x", "@SUM(1)", "-1;=2", "=a", "-a b", "\uff1dx"])
def test_what_a_spreadsheet_would_run_keeps_its_quote(text, tmp_path):
    write_table(tmp_path / "a.csv", ["id"], [[exact(text)]])
    assert "'" in (tmp_path / "a.csv").read_text().splitlines()[1].replace("'x'", "")


def test_the_command(tmp_path, monkeypatch, capsys):
    course = load_course(classroom.course(tmp_path / "course"))
    monkeypatch.chdir(course.root)
    assert export.main(["wide"]) == 2
    assert "Nothing is graded yet" in capsys.readouterr().err
    monkeypatch.setattr(tables, "totals", lambda writer: TOTALS)
    assert export.main(["moodle", "--unit", ROPE]) == 0
    out = capsys.readouterr().out
    assert f"export-moodle.csv: 4 rows, {ROPE}." in out
    (tmp_path / "template.csv").write_text(CANVAS)
    assert export.main(["canvas", "--template", str(tmp_path / "template.csv"), "--unit", ROPE]) == 0
    assert f"export-canvas.csv: 8 rows, {ROPE}." in capsys.readouterr().out, "as many as the template has"
    assert (course.root / "export-moodle.csv").read_text().startswith("First name,")
    assert export.main(["wide", "--unit", "nope"]) == 2 and "There is no unit nope" in capsys.readouterr().err
    assert export.main(["wide", "--template", "x.csv"]) == 2
    assert export.main(["canvas", "--template", "x.csv"]) == 2 and "cannot be read" in capsys.readouterr().err


def test_a_template_with_semicolons_is_read():
    table = parse_table(CANVAS.replace(",", ";").replace('"Lovelace; Ada"', '"Lovelace, Ada"').encode(), "x.csv")
    assert table.header[1] == "ID" and len(table.rows) == 8
