"""Rosters: the files that instructors have, and their effect on the gradebook."""

import io
import zipfile

import pytest
from nbgrader.api import Assignment, Student, SubmittedAssignment

from autograder.classes import roster
from autograder.classes.csvfile import UnreadableTable, parse_table
from autograder.classes.people import Person, Roster, opened, roster_of, students
from autograder.grading.book.course import load_course
from autograder.grading.book.database import GradebookError
from tests.grading import classroom

MOODLE = "First name,Last name,ID number,Email address,Groups\nAda,Lovelace,1815,ada@example.org,\n"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,06-rope (77)\n"
    "    Points Possible,,,,,20\n"
    '"Lovelace, Ada",901,S1815,ada,Group 1,\n'
    '"Student, Test",902,,deadbeef,Group 1,\n'
)


def read(text, encoding="utf-8"):
    return roster.read_roster(parse_table(text.encode(encoding), "students.csv"))


def packed(files):
    """Bytes of a zip."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for name, data in files.items():
            target.writestr(name, data)
    return made.getvalue()


@pytest.mark.parametrize(
    "text, person",
    [
        ("id,first_name,last_name,email\nada,Ada,Lovelace,a@b.c\n", Person("ada", "Ada", "Lovelace", "a@b.c")),
        (MOODLE, Person("1815", "Ada", "Lovelace", "ada@example.org", "1815")),
        (MOODLE.replace("1815", ""), Person("ada@example.org", "Ada", "Lovelace", "ada@example.org")),
        (CANVAS, Person("ada", "Ada", "Lovelace", "", "901")),
        ("sep=;\nUsername;Surname;First name\nada;Lovelace;Ada\n", Person("ada", "Ada", "Lovelace")),
        ('Username\tName\nada\t"Lovelace, Ada"\n', Person("ada", "Ada", "Lovelace")),
        (
            "Username,ID number,Full name\nada,1815,Ada King Lovelace\n",
            Person("ada", "Ada King", "Lovelace", "", "1815"),
        ),
        (
            "Identifier,Full name,Email address\nParticipant 7,Ada Lovelace,a@b.c\n",
            Person("a@b.c", "Ada", "Lovelace", "a@b.c"),
        ),
        (
            "LastName,FirstName,ID,SIS Login ID,Section\nLovelace,Ada,901,ada,1\n",
            Person("ada", "Ada", "Lovelace", "", "901"),
        ),
    ],
)
def test_the_usual_columns_are_recognized(text, person):
    assert read(text).people == {person.id: person}


def test_it_says_which_columns_were_taken_for_what():
    assert read(CANVAS).remarks == [
        "Taken: id from 'SIS Login ID', name from 'Student', number in the platform from 'ID'."
    ]
    assert "name from" not in read(MOODLE).remarks[0].replace("first name", "").replace("last name", "")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings(encoding):
    found = read("id;first_name;last_name\nzoe;Zoë;Müller\n", encoding)
    assert found.people["zoe"].full_name == "Zoë Müller"
    assert any("Windows-1252" in r for r in found.remarks) == (encoding == "cp1252"), "a guess is said"


def test_rows_that_cannot_be_taken_are_said_and_the_others_are_taken():
    rows = [
        "ada,Ada",
        "../etc,X",
        "a<b,X",
        ",Nobody",
        ".hidden,X",
        "2.02412E+11,X",
        "ada,Ada",
        "ada,Somebody",
        "x" * 101,
        "eve",
    ]
    found = read("id,first_name\n" + "\n".join(rows) + "\n")
    assert list(found.people) == ["ada", "eve"] and found.people["ada"].first_name == "Ada"
    lines = [int(s.split()[1].rstrip(":")) for s in found.left_out]
    assert lines == [3, 4, 5, 6, 7, 9, 10]
    assert found.left_out[0] == (
        "line 3: left out, '../etc' cannot be an id: it has a slash, a quotation mark or an angle bracket; "
        "change it in the list"
    )
    assert "rounded" in found.left_out[4] and "already Ada" in found.left_out[5]
    assert found.remarks[1:] == ["line 8: ada stands in the file more than once."]


def test_what_looks_like_one_person_twice_is_said():
    found = read("id,email\nada,a@b.c\nADA,A@b.c\n")
    assert len(found.people) == 2
    assert found.remarks[1:] == [
        "Several students have the address a@b.c: ada, ADA.",
        "These ids differ in capitals only: ada, ADA.",
    ]


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "is empty"),
        (packed({"[Content_Types].xml": b"x", "xl/workbook.xml": b"x"}), "is a spreadsheet"),
        (packed({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet"}), "is a spreadsheet"),
        (b"\xd0\xcf\x11\xe0rest", "is a spreadsheet"),
        (packed({"students.csv": b"id"}), "is an archive"),
        (packed({}), "is an archive"),
        (b"color,size\nred,1\n", "No column says who is who"),
        (b"id\n\0\n", "no text"),
        (b'id\n"' + b"x" * 200_000, "not a CSV table"),
    ],
    # An archive contains its packing time: as a test id, it would differ between the processes that share the tests.
    ids=["empty", "xlsx", "ods", "xls", "zip", "empty zip", "no id", "zeros", "open quote"],
)
def test_other_files_are_refused_in_one_sentence(data, words):
    with pytest.raises(UnreadableTable, match=words):
        roster.read_roster(parse_table(data, "students.csv"))


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return load_course(classroom.course(tmp_path_factory.mktemp("class")))


def test_the_gradebook_is_brought_up_to_date_and_nobody_is_removed(course, tmp_path):
    path = tmp_path / "students.csv"
    path.write_text("id,first_name,email\nada,Ada,a@b.c\nbob,Bob,\n")
    _, first = roster.load(path, course)
    assert (first.added, first.updated, first.same, first.strangers) == (["ada", "bob"], [], 0, [])
    with opened(course) as gradebook:
        unit = Assignment(name="00-start-here")
        gradebook.db.add(SubmittedAssignment(assignment=unit, student=gradebook.find_student("bob")))
        gradebook.db.add(Student(id="alan"))
        gradebook.db.commit()
    path.write_text("id,first_name,last_name,email\nada,,Lovelace,\neve,Eve,,\n")
    _, second = roster.load(path, course)
    assert (second.added, second.updated, second.strangers) == (["eve"], ["ada"], ["bob", "alan"])
    assert second.working == 1
    with opened(course) as gradebook:
        people = {p.id: p for p in students(gradebook)}
    assert people["ada"] == Person("ada", "Ada", "Lovelace", "a@b.c") and set(people) == {"ada", "bob", "alan", "eve"}
    _, third = roster.load(path, course)
    assert not third.added and not third.updated and third.same == 2


def test_a_fault_in_the_middle_leaves_the_gradebook_as_it_was(course, monkeypatch):
    with opened(course) as gradebook:
        before = students(gradebook)
        with pytest.raises(GradebookError):
            roster.store(gradebook, [Person("aaa"), Person("zzz", object())], course.db_url)
        assert students(gradebook) == before


def test_the_command_says_what_it_did(course, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(course.root)
    path = tmp_path / "students.csv"
    path.write_text("id\ngrace\n<b>\n")
    assert roster.main([str(path)]) == 1
    out, err = capsys.readouterr()
    assert "added: grace" in out and "1 row left out" in out and "line 3" in err
    assert roster.main([str(tmp_path / "none.csv")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_names_find_people():
    people = Roster(
        [
            Person("ada", "Ada", "Lovelace", "a@b.c", "901"),
            Person("zm", "Zoë", "Müller"),
            Person("zm2", "Zoe", "Muller"),
        ]
    )
    assert people.by_name("LOVELACE Ada") == {"ada"} == people.by_letters("lovelaceada") == people.by_number("901")
    assert people.by_name("Zoe Müller") == {"zm", "zm2"}, "who it is cannot be told"
    assert not people.by_name("") and not people.by_number("") and people.by_id("ADA") == {"ada"}
    assert Roster([Person("Ada Lovelace")]).by_name("Ada Lovelace") == {"Ada Lovelace"}


def test_without_a_gradebook_nobody_is_known_and_none_is_made(tmp_path):
    course = load_course(classroom.course(tmp_path / "empty"))
    assert not roster_of(course) and not (tmp_path / "empty" / "gradebook.db").exists()
