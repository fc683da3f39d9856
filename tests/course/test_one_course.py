"""The units form one course: each states what it needs and uses it, has the common form, and is about as hard."""

import re

import pytest

from autograder import course_table
from autograder.authoring import prose
from autograder.course_uses import REFERENCE, closure, uses, vocabulary
from autograder.notebooks import facts

UNITS = facts.names()
# Units named only for comparison, which learners need not know, with words from the cell that names the unit.
ONLY_MENTIONED = {
    ("11-assembly", "10-stability"): "a method each",  # the soft cap's code is given
}
MINUTES = {1: (2, 6), 2: (4, 12), 3: (8, 25), 4: (14, 25), 5: (25, 60)}  # difficulty of an exercise → (least, most)


# ---- prerequisites -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNITS)
def test_what_a_unit_uses_stands_in_its_prerequisites(name):
    missing = [
        use
        for use in uses(name)
        if use.unit not in closure(name, use.extension) and (name, use.unit) not in ONLY_MENTIONED
    ]
    assert not missing, missing


@pytest.mark.parametrize("name", UNITS[1:])
def test_what_stands_in_the_prerequisites_is_used(name):
    """The core path uses the words of each unit that it needs, or refers to it."""
    spoken, referred = vocabulary(name), {u.unit for u in uses(name) if not u.extension}
    for needed in facts.unit(name).needs.core:
        assert needed in referred or spoken[needed] >= (1 if needed == UNITS[0] else 2), f"{needed} is not used"
    for needed in facts.unit(name).needs.extensions:
        assert needed in {u.unit for u in uses(name) if u.extension}, f"{needed} is not used by an extension"


def test_exceptions_are_still_needed():
    for (name, other), words in ONLY_MENTIONED.items():
        cells = [c.source for c in facts.unit(name).cells if words in c.source]
        assert cells and other in {u.unit for u in uses(name)} - closure(name), (name, other)
        assert any(other[:2] in numbers for cell in cells for numbers in REFERENCE.findall(cell))


@pytest.mark.parametrize("name", UNITS)
def test_the_line_of_prerequisites_has_one_form(name):
    needs = facts.unit(name).needs
    assert needs.core == () or re.match(r"units? \d\d", needs.words), needs.words
    assert all(n < name for n in (*needs.core, *needs.extensions)), "a later unit"
    assert list(needs.core) == sorted(set(needs.core))


def test_a_need_that_is_not_stated_would_be_seen(monkeypatch):
    """Unit 12, with prerequisites that leave out unit 08 and every unit that needs it."""
    unit = facts.unit("12-language-model")
    forgetful = facts.Unit(unit.name, unit.text, unit.cells, facts.Needs("unit 01", ("01-attention",)))
    real = facts.unit
    monkeypatch.setattr(facts, "unit", lambda name: forgetful if name == unit.name else real(name))
    used = {u.unit for u in uses(unit.name)} - closure(unit.name)
    assert {"06-rope", "11-assembly"} <= used


# ---- beginnings and ends --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNITS)
def test_units_open_alike(name):
    first, second = [c for c in facts.unit(name).cells if c.id != "elsewhere"][:2]
    assert second.source.startswith("## A puzzle before anything else\n")
    if name != UNITS[0]:  # unit 00 has one aim, in one sentence
        aims = re.search(r"\*\*You will be able to\*\*\n\n((?:- .+\n)+)\n\*\*Prereq", first.source)
        assert aims, first.source
        lines = aims[1].strip().split("\n")
        assert 3 <= len(lines) <= 6 and all(x.endswith(";") for x in lines[:-1]) and lines[-1].endswith(".")


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_hands_over_to_the_next(name):
    last = [c for c in facts.unit(name).cells if c.markdown][-1].source
    assert last.startswith("## Where this lives in real models\n")
    ending = last.rsplit("\n\n", 1)[-1]
    if name == UNITS[-1]:
        assert "last unit" in ending and "anatomy certificate" in ending
    else:
        following = UNITS[UNITS.index(name) + 1]
        assert f"**{following}**" in ending and not ending.startswith("-"), ending
        assert len(ending.split()) >= 8, "say in a sentence what is still open"


# ---- difficulty -----------------------------------------------------------------------------------------------


def test_difficulty_goes_with_minutes():
    odd = [
        f"{i}: difficulty {e['difficulty']}, {e['minutes']} minutes"
        for i, (_, e) in facts.exercises().items()
        if not MINUTES[e["difficulty"]][0] <= e["minutes"] <= MINUTES[e["difficulty"]][1]
    ]
    assert not odd, odd


def test_points_go_by_minutes():
    odd = [
        f"{i}: {e['points']} points for {e['minutes']} minutes"
        for i, (_, e) in facts.exercises().items()
        if not (3.5 <= e["minutes"] / e["points"] <= 8.5 or (e["points"] == 1 and e["minutes"] < 8.5))
    ]
    assert not odd, odd


@pytest.mark.parametrize("name", UNITS[1:])
def test_a_unit_is_as_large_as_the_others(name):
    row = course_table.row(name)
    assert 11 <= row.points[0] <= 16 and 60 <= row.core <= 170 and 5 <= row.exercises[0] <= 10
    assert 3 <= row.median_lines <= 5 and row.widgets >= 1 and row.predictions >= 2 and row.claims >= 2
    assert 5 <= row.questions <= 6 and 3_000 <= row.words <= 8_000
    assert sum(row.hard) == sum(row.exercises)


def test_the_table_has_a_line_for_each_unit(capsys):
    assert course_table.main() == 0
    tables = capsys.readouterr().out.strip().split("\n\n")
    for shown, columns in zip(tables, (course_table.COLUMNS, course_table.PROSE), strict=True):
        lines = shown.split("\n")
        assert [line.split(" | ")[0][2:] for line in lines[2:]] == UNITS
        assert {line.count("|") for line in lines} == {len(columns) + 1}


@pytest.mark.parametrize("name", UNITS)
def test_sentences_are_joined(name):
    """Loose bounds: a text that leaves them has lost its joints, and one within them isn't good for that."""
    p = prose.prose(name)
    assert p.causal >= 3 and p.colons <= 16 and p.short <= 0.1 and p.example + p.contrast >= 2, p


def test_the_thermometers_tell_joined_prose_from_a_list_of_facts():
    joined = prose.of_text(
        "# A heading: no prose\n\nThe score is divided by √D, because it grows with D, so that the softmax stays soft. "
        "For example, $D = 64$ divides it by 8. However, a model can learn without it."
    )
    bare = prose.of_text(
        "The score: divided by √D. It grows. So divide: by 8. `softmax(x)`: soft. Or learn.\n\n| a: | b: |"
    )
    assert joined.causal > 50 and joined.example > 20 and joined.contrast > 20 and joined.colons == 0 == joined.short
    assert bare.causal == bare.example == bare.contrast == 0 and bare.colons > 100 and bare.short == 1
