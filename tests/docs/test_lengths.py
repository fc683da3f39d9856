"""How long the course takes: every page and the command say what the units' own first cells add up to."""

import re

import pytest
from anatomy import progress
from anatomy.progress.page import duration

from autograder import ROOT
from autograder.notebooks import facts
from autograder.site.pages import index
from autograder.site.pages import map as map_page

UNITS = [facts.unit(name) for name in facts.names()]
CORE, EXTENSIONS = sum(u.core_minutes for u in UNITS), sum(u.extension_minutes for u in UNITS)
INSTRUCTORS, LEARNERS, STUDENTS, README = (
    (ROOT / page).read_text(encoding="utf-8")
    for page in ("docs/instructors.md", "docs/learners.md", "docs/students.md", "README.md")
)
SYLLABUS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in INSTRUCTORS[INSTRUCTORS.index("| week |") :].split("\n\n")[0].splitlines()
]


def test_a_units_first_cell_says_its_length():
    for unit in UNITS:
        said = re.search(r"\*\*Time:\*\* about (\d+) minutes.*?(?:, (\d+) more for|$)", unit.cells[0].source, re.S)
        assert [int(n or 0) for n in said.groups()] == [unit.core_minutes, unit.extension_minutes], unit.name


def test_who_begins_is_told_the_same_as_the_pages_say():
    beginner = repr(progress()).splitlines()
    assert beginner[-1].endswith(f"about {duration(CORE)} left")
    for unit, line in zip(UNITS, beginner[2:], strict=False):
        assert line.startswith(unit.title) and line.endswith(f"about {duration(unit.core_minutes)} left")


def test_all_pages_say_one_length():
    hours = f"about {CORE / 60:.0f} hours", f"about {EXTENSIONS / 60:.0f} more"
    for page in (LEARNERS, INSTRUCTORS):
        assert f"All core paths together take {hours[0]}, and all extensions {hours[1]}." in page
    said = " ".join(map_page.pages()["map"].split())
    assert f"The core paths take {hours[0]}, all extensions {EXTENSIONS / 60:.0f} more." in said
    assert len(UNITS) == 16 and LEARNERS.split("\n\n")[1].startswith("Sixteen notebooks")


def test_about_two_hours_is_true_of_each_unit_but_the_first():
    first, *others = UNITS
    assert first.core_minutes == 30 and all(90 <= u.core_minutes <= 150 for u in others)
    said = " ".join(says for _, says in index.FACTS)
    assert all("about two hours" in page for page in (README, LEARNERS, INSTRUCTORS, said))
    assert "it takes half an hour" in LEARNERS and "Half an hour for unit 00" in said


@pytest.mark.parametrize("column", [1, 2, 3])
def test_a_syllabus_has_the_order_and_the_lengths_of_the_units(column):
    weeks = int(SYLLABUS[0][column].split()[0])
    cells = [row[column] for row in SYLLABUS[2:-1]]
    assert [row[0] for row in SYLLABUS[2:-1]] == [str(n) for n in range(1, 15)] and not any(cells[weeks:])
    by_number, done = {u.number: u for u in UNITS}, []
    for cell in cells[:weeks]:
        numbers, length = cell.split(": ")
        these = [by_number[number] for number in numbers.split(", ")]
        for unit in these:
            done.append(unit.name)
            assert set(unit.needs.core) <= set(done), f"{unit.name} before what it needs"
        assert length == duration(sum(u.core_minutes for u in these)) and sum(u.core_minutes for u in these) <= 270
    assert done == sorted(set(done))
    assert SYLLABUS[-1][column] == duration(sum(facts.unit(name).core_minutes for name in done))
    left = [u.number for u in UNITS if u.name not in done]
    assert {14: [], 10: ["09", "14", "15"], 6: ["09", "10", "12", "13", "14", "15"]}[weeks] == left


def test_students_find_their_way_by_what_they_have():
    """The table at the top of docs/students.md leads to every section on a place where one can work."""
    table = STUDENTS[STUDENTS.index("| you have | do |") : STUDENTS.index("\n## ")]
    assert STUDENTS.index("| you have | do |") < 400 and table.count("\n| ") >= 11
    headings = re.findall(r"^## (.+)$", STUDENTS, re.M)
    slugs = [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings]
    places = slugs[: slugs.index("your-own-parts-in-later-units")]
    assert set(places) - {"with-the-zip"} <= set(re.findall(r"\(#([\w-]+)\)", table))


def test_learners_page_asks_for_nothing_that_a_wheel_lacks():
    """Each command there is one of `anatomy`; `make` stands only where the page says what it is with the zip."""
    lines = [line for line in LEARNERS.splitlines() if "make " in re.sub(r"[^`]*(`[^`]*`|$)", r"\1", line)]
    assert len(lines) == 1 and "With the zip that is `make lab`" in lines[0]
    code = re.findall(r"^```sh\n(.*?)^```|`((?:anatomy|python) [^`]+)`", LEARNERS, re.M | re.S)
    assert {(a or b).split()[0] for a, b in code} == {"anatomy", "python"} and len(code) >= 5
