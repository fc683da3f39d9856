"""``anatomy drill`` over days, with a clock that the tests turn: what is due, what is picked, what is left alone."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from types import SimpleNamespace

import pytest
from anatomy import CheckFailed, check
from anatomy.app import lab, workspace
from anatomy.app.build_stamp import parse, text_of, to_bytes
from anatomy.drill import command, running, schedule
from anatomy.progress import drills
from anatomy.system import files, installation, store
from fsrs import Card, Rating, Scheduler

from autograder.classes import units as handed_in

from .learners_folder import answers, cell_of, released, save
from .test_never_lost import every_moment
from .toy import SECOND, UNIT, course
from .units_folder import put

START, HALF, TURN, NORM = "start.weighted_average", "rope.rotate_half", "rope.rotation_matrix_2d", "norm.rms_norm"
DAY = 86_400
RIGHT = """def rotate_half(x):
    if x.shape[-1] % 2:
        raise ValueError("odd")
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)"""
WRONG = RIGHT.replace("-b, a", "b, -a")


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands at noon, until a test turns it."""
    now = SimpleNamespace(at=datetime(2026, 3, 2, 12).timestamp())
    monkeypatch.setattr(time, "time", lambda: now.at)
    return now


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A learner's folder with the notebooks of units 00, 02 and 06, and a right answer to each exercise in them."""
    folder, right = tmp_path / "own", answers()
    for unit in ("00-start-here", "02-normalization", "06-rope"):
        book = released(unit)
        for cell in book["cells"]:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
            if name.startswith("solve-"):
                cell["source"] = right.get(name[6:].replace("-", ".", 1), cell["source"])
        save(folder, unit, book)
    monkeypatch.setattr(store, "_unsaved", {})
    return folder


def passed(exercise, at, tries=1):
    entry = {"tries": tries, "best": 1.0, "passed_on_try": tries, "passed_at": int(at)}
    store.update("progress", lambda data: data.update({exercise: entry}))


def drill(own, *words):
    """Runs ``anatomy drill`` without JupyterLab; returns the status and the notebooks that it wrote."""
    before = set(own.rglob("*.ipynb"))
    status = command.main([*words, "--no-lab", f"--folder={own}"])
    return status, sorted(set(own.rglob("*.ipynb")) - before)


def cells_of(path):
    return {c["id"]: text_of(c) for c in parse(path.read_bytes())["cells"]}


def play(path, *tries):
    """Runs a drill's code cells as a kernel would; each of ``tries`` is written into the stub, and checked."""
    cells, names = cells_of(path), {"__name__": "__main__"}
    for name in ("drill-begin", "drill-given"):
        exec(cells.get(name, ""), names)
    for source in tries:
        exec(source, names)
        try:
            exec(cells["drill-check"], names)
        except CheckFailed:
            pass
    return names


# ---- two weeks ------------------------------------------------------------------------------------------------


def test_two_weeks_of_drills(own, clock, capsys):
    monday = clock.at
    passed(TURN, clock.at)
    passed(HALF, clock.at, tries=7)
    before = store.read("progress")
    assert drill(own) == (0, [])
    assert f"Nothing is due today; next is {HALF} on 2026-03-03" in capsys.readouterr().out

    clock.at += DAY  # Tuesday: what took seven tries comes first, and is left undone
    status, (first,) = drill(own)
    assert status == 0 and first == own / "drill" / f"{HALF}.2026-03-03.ipynb"
    play(first, WRONG, WRONG)
    assert {i.id: i.due for i in schedule.items()} == {HALF: date(2026, 3, 4), TURN: date(2026, 3, 4)}

    clock.at += DAY  # Wednesday: both are due; the one that failed is done, quickly and at once
    status, (second,) = drill(own)
    assert second.name == f"{HALF}.2026-03-04.ipynb"
    clock.at += 60
    names = play(second, RIGHT)
    clock.at += 30
    assert drills.rating(store.read("drills")[second.stem], 6) == "easy" and "try 1" in repr(names["drill"])
    assert [i.id for i in schedule.due(schedule.items())] == [TURN]
    status, (third,) = drill(own)
    assert third.name == f"{TURN}.2026-03-04.ipynb"
    play(third)
    clock.at += 300
    play(third, answers()[TURN])  # too long for easy

    # The same by hand, with the library alone.
    card, model = Card(), Scheduler(learning_steps=(), relearning_steps=(), maximum_interval=365, enable_fuzzing=False)
    days = [(0, Rating.Again), (DAY, Rating.Again), (2 * DAY + 60, Rating.Easy)]
    for after, how in days:
        card, _log = model.review_card(card, how, datetime.fromtimestamp(monday + after, UTC))
    found = {i.id: i for i in schedule.items()}
    assert found[HALF].due == card.due.astimezone().date() > date(2026, 3, 4)
    assert found[TURN].due > found[HALF].due, "one that never failed waits longer"

    capsys.readouterr()
    assert command.main(["--list"]) == 0
    said = capsys.readouterr().out
    assert (
        "0 of 2 exercises are due today" in said and str(found[HALF].due) in said and "last done on 2026-03-04" in said
    )
    assert command.main(["--plan", "two weeks"]) == 0
    lines = [line.split()[:2] for line in capsys.readouterr().out.splitlines() if "rope." in line]
    assert [str(found[HALF].due), f"{HALF}:"] in lines and [str(found[TURN].due), f"{TURN}:"] in lines

    clock.at = monday + 60 * DAY  # all is due, and a second drill of a day gets a number
    assert len(schedule.due(schedule.items())) == 2
    names = [drill(own, HALF)[1][0].name for _ in range(3)]
    assert names == [f"{HALF}.2026-05-01{end}.ipynb" for end in ("", "-2", "-3")]
    assert store.read("progress") == before, "drills are no progress"


def test_a_drill_leaves_the_learners_answer_and_their_progress_alone(own, clock, capsys):
    passed(HALF, clock.at - 9 * DAY, tries=2)
    kept = {p: p.read_bytes() for p in [*own.rglob("*.ipynb"), store.home() / "progress.json"]}
    _status, (path,) = drill(own, HALF, "--timed")
    cells = cells_of(path)
    assert RIGHT.splitlines()[-1] not in path.read_text() and "NotImplementedError" in cells["drill-solve"]
    assert cells["drill-check"] == cell_of(released("06-rope"), "check-rope-rotate_half")["source"]
    assert "def rotation_matrix_2d" in cells["drill-given"] and "def rotate_half" not in cells["drill-given"]
    assert "Write the quarter turn" in cells["drill-say"] and "point" not in cells["drill-say"]
    capsys.readouterr()
    play(path, WRONG)
    in_drill = capsys.readouterr().out
    with pytest.raises(CheckFailed):
        check(HALF, play(path, WRONG)["rotate_half"])  # as in the unit
    assert "quarter turn clockwise" in in_drill and capsys.readouterr().out.count("quarter turn clockwise") == 2
    clock.at += 200
    play(path, RIGHT)
    said = capsys.readouterr().out
    assert "✓ rope.rotate_half: passed (1 point)" in said and "passed on try 3 after 3 min 20 s" in said
    assert "counts as hard, so it comes back on 2026-03-" in said
    done = store.read("drills")
    play(path, WRONG)
    assert store.read("drills") == done, "a pass is never taken back"
    assert {p: p.read_bytes() for p in kept} == kept


def test_a_helper_in_the_answers_own_cell_is_not_given_away(own, clock):
    book = released("06-rope")
    cell_of(book, "solve-rope-rotation_matrix_2d")["source"] = answers()[TURN]
    answer = cell_of(book, "solve-rope-rotate_half")
    answer["source"] = f"def halves(x):\n    return x.chunk(2, -1)\n\n\n{RIGHT.replace('x.chunk(2, -1)', 'halves(x)')}"
    save(own, "06-rope", book)
    _status, (path,) = drill(own, HALF)
    assert "halves" not in path.read_text() and "def rotation_matrix_2d" in cells_of(path)["drill-given"]


def test_no_drill_is_taken_for_a_units_notebook(own, clock):
    passed(HALF, clock.at)
    _status, (path,) = drill(own, HALF)
    assert not handed_in.by_marks(path.read_bytes()) and not handed_in.by_name(path.name)
    assert "nbgrader" not in path.read_text()
    assert installation.is_learners(own) and installation.language_of(own) == "en"


def test_an_update_passes_drills_by(tmp_path):
    place, lines = installation.place_in(course(tmp_path / "anatomy")), []
    assert workspace.start(place, lines.append) == 0
    path = place.own / "drill" / "x.1.2026-03-02.ipynb"
    files.write_new(path, b'{"cells": [')  # whatever it holds
    workspace.released(place, UNIT).write_bytes(to_bytes(SECOND))
    assert workspace.update(place, say=lines.append) == 0 and UNIT in lines[-2]
    assert path.read_bytes() == b'{"cells": [' and not installation.foreign(place)
    assert not any("drill/" in line for line in lines) and "drill" not in workspace.units(place)


# ---- choosing -------------------------------------------------------------------------------------------------


def test_mistakes_are_those_of_the_last_time(own, clock, capsys):
    passed(NORM, clock.at - 2 * DAY, tries=3)
    passed(HALF, clock.at - 9 * DAY, tries=4)
    passed(TURN, clock.at - 30 * DAY)
    _status, (path,) = drill(own, "--mistakes")
    assert path.name.startswith(HALF) and "It took 4 tries the last time." in capsys.readouterr().out
    play(path, RIGHT)
    _status, (path,) = drill(own, "--mistakes")
    assert path.name.startswith(NORM), "what went well since is no mistake any more"
    play(path, answers()[NORM])
    capsys.readouterr()
    assert drill(own, "--mistakes") == (1, []) and "no mistake to go back to" in capsys.readouterr().out


def test_by_name_even_before_it_passed(own, clock, capsys):
    status, (path,) = drill(own, START)
    assert status == 0 and "It has not passed yet" in capsys.readouterr().out
    play(path, answers()[START])
    assert not store.read("progress") and [i.id for i in schedule.items()] == [START]


@pytest.mark.parametrize(
    "words, said",
    [
        (["rope.rotat_half"], "There is no exercise 'rope.rotat_half'. Did you mean 'rope.rotate_half'"),
        (["§"], "There is no exercise '§'. Known: start.weighted_average"),
        (["gone.away"], "gone.away is no longer in the course"),
        (["--plan", "soon"], "'soon' is no length of time. Write \"10 days\""),
        (["--plan", ""], "'' is no length of time"),
    ],
)
def test_bad_words_are_one_sentence(own, clock, capsys, words, said):
    passed("gone.away", clock.at - 9 * DAY)
    passed(TURN, clock.at)
    assert drill(own, *words) == (2, []) and said in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        command.main([HALF, "--mistakes"])


def test_what_left_the_course_is_neither_due_nor_planned(own, clock, capsys):
    passed("gone.away", clock.at - 30 * DAY, tries=9)
    assert drill(own) == (1, []) and "Nothing has passed yet" in capsys.readouterr().out
    passed(TURN, clock.at - 30 * DAY)
    assert command.main(["--list"]) == 0 == command.main(["--plan", "10 days"])
    assert "gone" not in capsys.readouterr().out and drill(own)[1][0].name.startswith(TURN)


@pytest.mark.parametrize("words", [[], ["--mistakes"], ["--list"], ["--plan", "两周"]])
def test_with_nothing_passed_it_says_where_to_begin(own, capsys, words):
    assert drill(own, *words) == (1, [])
    assert "Begin with A weighted average in 00-start-here: `make lab`" in capsys.readouterr().out


def test_a_folder_without_notebooks_is_one_sentence(tmp_path, clock, capsys):
    passed(TURN, clock.at - 30 * DAY)
    assert drill(tmp_path / "none") == (2, [])
    assert "there are no notebooks of yours in" in capsys.readouterr().err and not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "text", ["{broken", json.dumps({"a": 3, "b": {"exercise": 1}}), json.dumps({"c": {"exercise": TURN, "tries": -1}})]
)
def test_a_broken_store_stops_no_drill_and_is_kept(own, clock, capsys, text):
    passed(TURN, clock.at - 30 * DAY)
    put("drills", text)
    status, (path,) = drill(own)
    play(path, answers()[TURN])
    assert status == 0 and store.read("drills")[path.stem]["passed_at"] == int(clock.at)
    assert [p.read_text() for p in store.home().glob("drills.damaged-*")] == [text]


def test_a_damaged_notebook_costs_the_helpers_and_not_the_drill(own, clock, capsys):
    passed(HALF, clock.at - 9 * DAY)
    notebook = own / "06-rope" / "06-rope.ipynb"
    notebook.write_text("{half")
    _status, (path,) = drill(own, HALF)
    assert "Earlier answers of yours are not in it: 06-rope.ipynb cannot be read" in capsys.readouterr().out
    assert "import torch" in cells_of(path)["drill-given"] and notebook.read_text() == "{half"
    play(path, RIGHT)
    assert store.read("drills")[path.stem]["passed_at"]


@pytest.mark.skipif(os.name == "nt" or getattr(os, "geteuid", lambda: 1)() == 0, reason="nothing is forbidden here")
def test_a_folder_that_may_not_be_written_is_one_sentence(own, clock, capsys):
    passed(HALF, clock.at - 9 * DAY)
    own.chmod(0o500)
    assert drill(own, HALF) == (1, []) and "the notebook was not written" in capsys.readouterr().out
    own.chmod(0o700)


# ---- how it went ----------------------------------------------------------------------------------------------


def test_hints_come_one_by_one_after_a_try_and_the_question_after_the_pass(own, clock, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(running, "_markdown", shown.append)
    passed(HALF, clock.at - 9 * DAY)
    _status, (path,) = drill(own, HALF)
    stub = cells_of(path)["drill-solve"]
    names = play(path, stub)
    assert not store.read("drills")[path.stem]["tries"], "the blank stub is no try"
    names["drill"].hint(), names["drill"].question()
    assert not shown and "Write something and check it first" in capsys.readouterr().out
    names = play(path, WRONG, WRONG)
    assert "Stuck? drill.hint() below shows one hint at a time." in capsys.readouterr().out
    for _ in range(4):
        names["drill"].hint()
    assert [text.count("**Hint ") for text in shown] == [1, 2, 3, 3] and "details" not in shown[-1]
    play(path, RIGHT)
    assert drills.rating(store.read("drills")[path.stem], 6) == "again", "the last hint is nearly code"
    names["drill"].hint(), names["drill"].question()
    assert "you need none" in capsys.readouterr().out
    assert "half-split layout" in shown[-1] and "<details><summary>To compare" in shown[-1]


def test_another_exercise_in_a_drill_counts_as_ever(own, clock):
    _status, (path,) = drill(own, HALF)
    names = play(path, RIGHT)
    names["check"](TURN, names["rotation_matrix_2d"])
    assert list(store.read("progress")) == [TURN] and store.read("drills")[path.stem]["tries"] == 1


# ---- around it ------------------------------------------------------------------------------------------------


def test_a_check_names_the_drill_from_the_next_day_on(clock, capsys):
    def again():
        check(START, lambda values, weights: weights @ values / weights.sum())
        return (
            "Again from blank, in a notebook of its own: anatomy drill start.weighted_average"
            in capsys.readouterr().out
        )

    assert not again() and not again()
    clock.at += DAY
    assert again()


def test_lists_need_no_torch(own, clock):
    passed(TURN, clock.at - 9 * DAY)
    code = """import sys
from anatomy.app import command
status = command.main(["drill", "--list"]) or command.main(["drill", "--plan", "10 days"])
print(status, {"torch", "numpy", "matplotlib", "IPython"} & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert done.stdout.splitlines()[-1] == "0 set()", done.stdout + done.stderr


def test_it_opens_in_the_server_that_runs_or_starts_one(own, clock, monkeypatch):
    passed(TURN, clock.at - 9 * DAY)
    seen = []
    monkeypatch.setattr(lab, "launch", lambda line, env: seen.append(line) or 0)
    monkeypatch.setattr(command.webbrowser, "open", lambda address: seen.append(address) or True)
    monkeypatch.setattr(command, "_running", lambda folder: None)
    assert command.main([TURN, f"--folder={own}"]) == 0
    assert f"--LabApp.default_url=/lab/tree/drill/{TURN}.2026-03-02.ipynb" in seen[0]
    assert store.read("drills")[f"{TURN}.2026-03-02"]["opened_at"] == int(clock.at), "its time runs from the opening"
    monkeypatch.setattr(command, "_running", lambda folder: ("http://localhost:1/", "abc"))
    assert command.main([TURN, f"--folder={own}"]) == 0
    assert seen[1] == f"http://localhost:1/lab/tree/drill/{TURN}.2026-03-02-2.ipynb?token=abc"


@pytest.mark.slow  # forks
def test_killed_at_every_write(tmp_path, monkeypatch):
    """Writing a drill, opening it, trying it and passing it: nothing of the learner is lost or half written."""
    count, earlier = iter(range(10_000)), {"exercise": START, "tries": 1, "passed_at": 7}
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def make():
        root = tmp_path / str(next(count))
        book = released("00-start-here")
        cell_of(book, "solve-start-weighted_average")["source"] = answers()[START]
        save(root / "own", "00-start-here", book)
        save(root / "own", "drill", book)  # an earlier drill
        (root / "home").mkdir()
        (root / "home" / "drills.json").write_text(json.dumps({"earlier": earlier}))
        (root / "home" / "progress.json").write_text('{"start.weighted_average": {"tries": 2, "passed_on_try": 2}}')
        return root

    def one(root):
        os.environ["ANATOMY_HOME"] = str(root / "home")
        _status, (path,) = drill(root / "own", START)
        drills.opened(path.stem, START, 1)
        drills.hinted(path.stem, START)
        for right in (False, True):
            drills.tried(path.stem, START, right)
        return 0

    before = make()
    one(make())  # what it reads is in memory before the forks
    kept = [p.relative_to(before) for p in before.rglob("*") if p.is_file() and p.name != "drills.json"]

    def look(root, finished=False):
        for name in kept:
            assert (root / name).read_bytes() == (before / name).read_bytes(), name
        books = [cells_of(p) for p in (root / "own" / "drill").glob(f"{START}.*.ipynb")]
        assert all("drill-check" in cells for cells in books), "a notebook is half written"
        entries = json.loads((root / "home" / "drills.json").read_text())
        assert entries.pop("earlier").items() >= earlier.items()
        assert all(e["tries"] in (0, 1, 2) and (e["passed_at"] is None or e["tries"] == 2) for e in entries.values())
        if finished:
            assert len(books) >= 1 and sum(e["passed_at"] is not None for e in entries.values()) >= 1

    assert every_moment(make, one, look) >= 20
