"""The whole answers: who may see one and when, that progress says so, and that the file holds all of them, whole."""

import json
import re

import pytest
from anatomy import CheckFailed, case, check, evaluate, progress, show_answer
from anatomy.app import doctor
from anatomy.notebook import answers, session
from anatomy.program import records
from anatomy.progress import certificate
from anatomy.progress.standing import note_looked_up
from anatomy.system import installation
from anatomy.system.store import read, update
from IPython.core.interactiveshell import InteractiveShell

from autograder import ROOT, exercises
from autograder.grading.source.signs import signs_of
from autograder.notebooks import answers as written
from tests.course.learners_folder import cell_of, released
from tests.course.units_folder import put

ID = "start.weighted_average"
MEAN = "def weighted_average(values, weights):\n    '''Mine.'''\n    total = values.mean(0)  # so\n    return total\n"


def wrong(values, weights):
    return values.mean(0)


def right(values, weights):
    return weights @ values / weights.sum()


@pytest.fixture(autouse=True)
def new_session(monkeypatch):
    monkeypatch.setattr(answers, "_pointed", set())


@pytest.fixture
def in_class(monkeypatch):
    monkeypatch.setattr(installation, "answers", lambda: None)


def fail(times, function=wrong):
    for _ in range(times):
        with pytest.raises(CheckFailed):
            check(ID, function)


def entry():
    return read("progress").get(ID, {})


# ---- when it is shown ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tries, left, hint",
    [(0, "5 more tries", "Hint 1"), (2, "3 more tries", "Hint 1"), (3, "2 more", "Hint 2"), (4, "one more", "Hint 3")],
)
def test_before_five_tries_it_says_what_is_left_and_names_the_next_hint(tries, left, hint, capsys):
    fail(tries)
    for _ in range(2):
        said = show_answer(ID)
        assert left in repr(said) and hint in repr(said) and "weights" not in repr(said)
        assert 'href="00-start-here.ipynb#cell-id=hint-start-weighted_average"' in said._repr_html_()
    assert "show_answer" not in capsys.readouterr().out and "looked_up_at" not in entry()


def test_after_five_tries_it_points_to_the_last_hint_once_and_then_shows_it(capsys):
    fail(5)
    first, *others = re.findall(r"✗.*?(?=✗|\Z)", capsys.readouterr().out, re.S)
    assert f'from anatomy import show_answer; show_answer("{ID}")' in others[-1] and "show_answer" not in first
    said = repr(show_answer(ID))
    assert "Hint 3: nearly code" in said and "your progress says that you looked it up" in said
    assert "weights @" not in said and "looked_up_at" not in entry()
    said = show_answer(ID)
    assert written.read()[ID] in repr(said) and ">def weighted_average" in said._repr_html_()
    assert entry()["looked_up_at"] > 0 and entry()["tries"] == 5
    answers._pointed.clear()  # the next day
    assert written.read()[ID] in repr(show_answer(ID)), "who has looked may look again"


def test_after_a_pass_it_is_shown_and_nothing_is_noted():
    check(ID, right)
    before = entry()
    assert written.read()[ID] in repr(show_answer(ID)) and "from memory" not in repr(show_answer(ID))
    note_looked_up(ID)  # another notebook's, which read the entry before this one passed
    assert entry() == before and "looked_up_at" not in before


def test_a_stub_that_was_left_as_it_came_brings_nobody_nearer():
    def blank(values, weights):
        raise NotImplementedError(f"{ID}: your code goes here")

    fail(6, blank)
    fail(1)
    assert entry()["tries"] == 7 and "4 more tries" in repr(show_answer(ID))


def test_a_class_package_says_that_it_holds_none(in_class, capsys):
    fail(6)
    for _ in range(2):
        assert repr(show_answer(ID)) == "This package was made for a class, so it holds no whole answers."
    assert "show_answer" not in capsys.readouterr().out and "looked_up_at" not in entry()
    assert "Made for a class: no whole answers are here" in [f.text for f in doctor.python()]


def test_the_doctor_says_which_package_it_is():
    assert any("Whole answers are here" in f.text for f in doctor.python())


def test_an_unknown_exercise_and_a_damaged_file_are_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(records.MissingRecording, match="Did you mean"):
        show_answer("start.weighted_averages")
    check(ID, right)
    for text in ("{broken", "[1]", "{}"):
        (tmp_path / "answers.json").write_text(text, encoding="utf-8")
        monkeypatch.setattr(installation, "answers", lambda: tmp_path / "answers.json")
        with pytest.raises(records.MissingRecording, match=r"answers\.json.*make build"):
            show_answer(ID)


# ---- what is remembered ----------------------------------------------------------------------------------------


def look():
    fail(5)
    show_answer(ID), show_answer(ID)


def test_progress_says_it_before_and_after_the_pass():
    look()
    assert "answer looked up, 5 tries so far" in repr(progress("00-start-here"))
    assert "1 answer looked up" in repr(progress()) and "1 answer looked up" in progress()._repr_html_()
    at, points = entry()["looked_up_at"], repr(progress()).count("1/203 points")
    check(ID, right)
    assert entry()["looked_up_at"] == at and entry()["passed_on_try"] == 6
    assert "✓ A weighted average: passed on try 6, after looking the answer up" in repr(progress("00-start-here"))
    assert points == 0 and "1/1 points, done" in repr(progress("00-start-here")), "points are what they were"


def test_the_certificate_says_it():
    check(ID, right)
    sheet, _ = certificate.collect("Ada")
    assert "looked up" not in certificate.page(sheet) + certificate.plain(sheet)
    update("progress", lambda data: data[ID].update(looked_up_at=1_764_072_000))
    sheet, _ = certificate.collect("Ada")
    for text in (certificate.page(sheet), certificate.plain(sheet)):
        assert "A weighted average (answer looked up first)" in text
        assert "In 1 of them a whole answer was looked up before the pass." in text


def test_a_store_of_another_release_keeps_what_it_has():
    """An earlier release knows no ``looked_up_at``, and keeps fields that it doesn't know; so does this one."""
    update("progress", lambda data: data.update({ID: {"tries": 4, "best": 0.5, "passed_on_try": None, "newer": 7}}))
    fail(1)
    show_answer(ID), show_answer(ID)
    assert entry() | {"looked_up_at": 0} == {
        **{"tries": 5, "best": 0.5, "passed_on_try": None, "newer": 7, "looked_up_at": 0}
    }


def test_a_damaged_count_of_stubs_is_left_out():
    put("progress", json.dumps({ID: {"tries": 5, "best": 0, "passed_on_try": None, "blank": "x"}}))
    assert entry() == {"tries": 5, "best": 0, "passed_on_try": None}
    assert "Hint 3" in repr(show_answer(ID)) and written.read()[ID] in repr(show_answer(ID))


# ---- beside the learner's own ----------------------------------------------------------------------------------


@pytest.fixture
def shell(monkeypatch):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    monkeypatch.setattr(session, "current", session.Session())
    session.install(shell, lambda name, source: None)
    yield shell
    InteractiveShell.clear_instance()


def compared(shell, source):
    shell.run_cell(source, store_history=True, cell_id="solve-start-weighted_average")
    return repr(show_answer(ID)).partition(written.read()[ID])[2]


def test_it_is_compared_with_the_cell_that_ran_without_its_comments(shell):
    look()
    assert "Compared" not in repr(show_answer(ID)), "no cell has defined it"
    half = written.read()[ID].replace("weights.sum()", "len(weights)") + "  # mine\n"
    said = compared(shell, half)
    assert "− " in said and "+ " in said and "len(weights)" in said and "mine" not in said
    assert '"""' in written.read()[ID]
    assert "yours is the same" in compared(shell, written.read()[ID].replace('"""', '"""Mine: ', 1) + "  # mine\n")
    assert "goes another way" in compared(shell, MEAN)
    assert "Compared" not in compared(shell, "weighted_average = lambda (")


def test_it_names_the_answers_that_it_calls():
    said = answers._needs(written.read()["rope.apply_rope_half"])
    assert said.startswith("It calls your answers to other exercises: ")
    assert "`rotate_half` (`rope.rotate_half`)" in said
    assert answers._needs(written.read()["rope.rotate_half"]) == ""
    assert answers._needs("def f(rotate_half):\n    softmax = rotate_half\n    return softmax\n") == ""


# ---- the file --------------------------------------------------------------------------------------------------


def test_it_holds_every_exercise_whole():
    found = written.read()
    assert list(found) == [e.id for e in exercises.all_exercises()]
    books = {unit: released(unit) for unit in exercises.units()}
    for spec in exercises.all_exercises():
        source = found[spec.id]
        assert "SOLUTION" not in source and "NotImplementedError" not in source, spec.id
        stub = cell_of(books[spec.unit], f"solve-{spec.id.replace('.', '-')}")["source"].splitlines()
        kept = {line.strip() for line in stub if not line.strip().startswith(("raise NotImpl", "parts.bring("))}
        assert kept <= {line.strip() for line in source.splitlines()} and len(source.splitlines()) > len(kept) - 1


@pytest.mark.parametrize("unit", ["00-start-here", "06-rope"])
def test_what_it_shows_passes_the_check(unit):
    book = json.loads((ROOT / "course" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"))
    space = {"__name__": "cells"}
    for cell in book["cells"]:
        if "setup" in cell["metadata"].get("tags", []):
            exec("".join(cell["source"]), space)
    found = written.read()
    for spec in exercises.of_unit(unit):
        exec(found[spec.id], space)
        verdict = evaluate(spec.id, *(space[name] for name in spec.targets))
        assert verdict.passed, verdict.text()
    assert case(ID, 1) is not None


def test_a_cell_that_looks_an_answer_up_is_no_sign_of_cheating():
    assert signs_of(f'from anatomy import show_answer; show_answer("{ID}")', "own-1") == []
