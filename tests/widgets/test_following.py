"""Widgets follow the checks: the functions they take over, the mistake they name, what they leave alone. No browser."""

import functools
import gc
import html
import inspect
import io
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from anatomy.judge.verdict import Mistake, Verdict
from anatomy.notebook import checks
from anatomy.program import records
from anatomy.widgets import AttentionExplorer, MixExplorer, NormExplorer
from anatomy.widgets.tools import following
from anatomy.widgets.tools.base import NOTHING_GIVEN
from IPython.core.events import EventManager, available_events
from PIL import Image

from autograder import exercises

from .attention.learners import right_attention
from .cases import CASES
from .mix.learners import right_average

AVERAGE = "start.weighted_average"


@pytest.fixture(autouse=True)
def nobody_else():
    """Keeps the widgets of other tests, which ipywidgets keeps alive, from following."""
    following._live.clear()


def named(fn, name):
    """The function or class, renamed to the name that the exercise asks for, as in a learner's notebook."""
    if inspect.isclass(fn):
        return type(name, (fn,), {})

    @functools.wraps(fn)
    def copy(*args, **kwargs):
        return fn(*args, **kwargs)

    copy.__name__ = name
    return copy


def as_written(exercise, implementation):
    """target → function, each a new object."""
    return {t: named(fn, t) for t, fn in exercise.functions(implementation).items()}


def names_of(widget):
    """The names of functions that a class of widgets can show."""
    return widget.names if widget.keyed or hasattr(widget, "names") else (widget.function_name,)


def make(widget, functions):
    """A widget with those of the functions that it can show."""
    given = {k: v for k, v in functions.items() if k in names_of(widget)}
    if widget.__name__ == "CacheStepper":
        return widget(**given)
    return widget(given) if widget.keyed else widget(*given.values())


def checked(exercise, functions):
    """Does the same as ``check``, without its display."""
    verdict = checks.evaluate(exercise.id, *functions.values())
    following.after_check(verdict, functions)
    return verdict


def unwritten(*args, **kwargs):
    raise NotImplementedError("write me")


def average(body):
    return named(body, "weighted_average")


FEEDS = [
    (name, exercise)
    for name, case in CASES.items()
    for exercise in dict.fromkeys(following.exercise_for(case.widget, n) for n in names_of(case.widget))
    if exercise
]
TOLD = 3  # mistakes per exercise that a widget must name: the texts of all come from one place
EACH = pytest.mark.parametrize("name, task", FEEDS, ids=[f"{n}-{e}" for n, e in FEEDS])


def test_every_widget_has_exercises_that_feed_it():
    assert {name for name, _ in FEEDS} == set(CASES)


def test_a_name_that_two_exercises_ask_for_belongs_to_the_one_that_the_widget_means():
    """Unit 12 asks for a `merge` of tokens, unit 14 for one of partial results."""
    tokens, parts = exercises.get("bpe.train"), exercises.get("tiles.merge")
    made = make(CASES["TilesExplorer"].widget, {"merge": as_written(parts, parts.reference)["merge"]})
    checked(tokens, as_written(tokens, tokens.reference))
    assert made.notice == "" and made.own("merge")
    checked(parts, as_written(parts, parts.mutants[0].fn))
    assert parts.mutants[0].message[:60] in made.mistake


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_said_of_functions_that_pass(name):
    made = CASES[name].usual
    assert made.mistake == "" and following.what_checks_say(made) == {}
    assert made.alt == made.words


@EACH
def test_a_widget_names_the_mistake_until_the_check_passes(name, task):
    """With a stub it shows the reference; a mistake is described in words; a pass removes the description."""
    widget, exercise = CASES[name].widget, exercises.get(task)
    made = make(widget, {t: named(unwritten, t) for t in exercise.targets})
    assert "not written yet" in made.notice and made.mistake == ""
    right = as_written(exercise, exercise.reference)
    assert checked(exercise, right).passed
    assert made.notice == "" and made.mistake == "" and all(map(made.own, made.given()))
    fresh = make(widget, right)
    fresh.close()  # so that it stays as it is
    assert made.tables == fresh.tables and fresh.mistake == ""
    told = 0
    for mutant in exercise.mutants:
        if told == TOLD:
            break
        wrong = as_written(exercise, mutant.fn)
        verdict = checked(exercise, wrong)
        if not made.mistake:
            continue  # this widget does not show the wrong function, or cannot draw it
        told += verdict.mistakes[0].message[:100] in made.mistake
        assert made.alt.startswith(made.mistake.replace("\n", " ")) and made.mistake.startswith("Your ")
    assert told
    assert checked(exercise, right).passed
    assert made.tables == fresh.tables and (made.notice, made.mistake, made.alt) == ("", "", fresh.alt)


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_in_the_picture_and_on_the_page(name, tmp_path):
    """Uses one exercise per widget: the source of the text makes no difference to picture or page."""
    widget, exercise = CASES[name].widget, exercises.get(dict(FEEDS)[name])
    fresh = make(widget, as_written(exercise, exercise.reference))
    fresh.close()  # so that it stays as it is
    made = make(widget, as_written(exercise, exercise.reference))
    for mutant in exercise.mutants:
        checked(exercise, as_written(exercise, mutant.fn))
        if made.mistake:
            break
    page = made.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count(html.escape(made.alt)) == 1 and '"mistake": "Your ' in page
    picture, size = made.png(), lambda drawn: Image.open(io.BytesIO(drawn)).size
    assert picture == made.png()
    width, height = size(fresh.png())
    assert size(picture)[0] == width and size(picture)[1] >= height + 15


@EACH
def test_a_widget_made_of_a_wrong_function_says_so_at_once(name, task):
    """If it has all functions of the exercise; else it shows the result of their last check."""
    widget, exercise = CASES[name].widget, exercises.get(task)
    for mutant in exercise.mutants:
        wrong = as_written(exercise, mutant.fn)
        try:
            made = make(widget, wrong)
        except Exception:
            continue
        if not set(exercise.targets) <= set(names_of(widget)):
            assert made.mistake == ""
            checked(exercise, wrong)
            made = make(widget, wrong)
        if made.mistake:
            return
    pytest.fail("no mutant is named")


def test_no_try_is_counted(tmp_path):
    make(MixExplorer, {"weighted_average": average(lambda values, weights: values.mean(0))})
    assert not (tmp_path / "anatomy-home" / "progress.json").exists()


def test_the_widget_takes_the_function_that_was_checked_and_no_other():
    exercise = exercises.get("norm.rms_norm")
    right, wrong = (as_written(exercise, f) for f in (exercise.reference, exercise.mutants[0].fn))
    other = as_written(exercises.get("norm.layer_norm"), exercises.get("norm.layer_norm").mutants[0].fn)
    made = NormExplorer({**wrong, **other})
    assert made.mistake.count("Your ") == 2
    measured = []
    made.measure_one = lambda name, fn, inputs: measured.append(name) or NormExplorer.measure_one(name, fn, inputs)
    checked(exercise, right)
    assert made.given() == {**right, **other} and measured == ["rms_norm"]
    assert made.mistake.startswith("Your layer_norm,") and made.mistake.count("Your ") == 1
    made.refresh({"rms_norm": wrong["rms_norm"]})
    assert made.mistake.startswith("Your rms_norm,") and made.mistake.count("Your ") == 1


def test_a_function_that_is_right_is_not_blamed_for_another_one():
    exercise = exercises.get("activation.family")
    functions = as_written(exercise, exercise.reference)
    functions["relu"] = named(lambda x: x.abs(), "relu")
    made = make(CASES["ActivationExplorer"].widget, functions)
    assert made.mistake.startswith("Your relu,") and "\n" not in made.mistake
    functions["relu"] = named(unwritten, "relu")
    assert make(CASES["ActivationExplorer"].widget, functions).mistake == ""


def test_three_mistakes_are_spelled_out_and_the_others_named():
    said = following.in_words({name: "It is wrong." for name in "abcde"})
    assert said.splitlines() == [
        *(f"Your {n}, and what its check says: It is wrong." for n in "abc"),
        "Not right yet either: d, e.",
    ]


def test_a_verdict_without_a_failing_case_is_said_of_every_function():
    verdict = Verdict(AVERAGE, False, 0.0, 1.0, [Mistake("forbidden_builtin", "torch ran.")])
    made = MixExplorer(average(right_average))
    following.after_check(verdict, made.given())
    assert made.mistake == "Your weighted_average, and what its check says: torch ran."


def test_experiments_and_the_gallery_are_left_alone():
    def attention(q, k, v, mask=None):
        return right_attention(2 * q, k, v, mask)

    kept = [MixExplorer(), AttentionExplorer(attention), MixExplorer(lambda values, weights: values.sum(0))]
    before = [w.tables for w in kept]
    for exercise in map(exercises.get, (AVERAGE, "attention.scaled_dot_product")):
        checked(exercise, as_written(exercise, exercise.reference))
    assert [w.tables for w in kept] == before and [w.mistake for w in kept] == ["", "", ""]
    assert kept[0].notice == NOTHING_GIVEN


class Rude(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Ruder(BaseException):
    pass


def _raise(error):
    raise error


@pytest.mark.parametrize(
    "fn, says",
    [
        (lambda v, w: 1 / 0, "which raised ZeroDivisionError: division by zero."),
        (lambda v, w: None, "must return a floating-point tensor of shape (1,) here, and it returned None."),
        (lambda v, w: torch.zeros(3), "it returned shape (3,)."),
        (lambda v, w: _raise(SystemExit(1)), "which raised SystemExit: 1."),
        (lambda v, w: _raise(Rude()), "which raised Rude."),
        (lambda v, w: _raise(Ruder("go away")), "which raised Ruder: go away."),
        (lambda v, w: _raise(ValueError("a\nb " + 200 * "long ")), "which raised ValueError: a b long"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence_and_nothing_is_raised(fn, says, capsys):
    made = MixExplorer(average(right_average))
    state = torch.random.get_rng_state()
    loud = average(lambda v, w: (print("noise"), torch.rand(3), fn(v, w))[2])
    following.after_check(Verdict(AVERAGE, False, 0.0, 1.0, [Mistake("x", "Wrong.")]), {"weighted_average": loud})
    assert made.notice.startswith("Showing the reference for weighted_average") and says in made.notice
    assert "\n" not in made.notice and len(made.notice) < 320 and made.mistake == ""
    assert made.tables["out"] == made.tables["ref_out"]
    assert capsys.readouterr() == ("", "") and torch.equal(torch.random.get_rng_state(), state)
    exercise = exercises.get(AVERAGE)
    checked(exercise, as_written(exercise, exercise.reference))  # the corrected function is shown again
    assert made.notice == "" and made.own("weighted_average")


def test_of_several_functions_only_the_one_that_fails_is_replaced():
    norms = {
        "layer_norm": named(CASES["NormExplorer"].given[0]["layer_norm"], "layer_norm"),
        "rms_norm": named(CASES["NormExplorer"].given[0]["rms_norm"], "rms_norm"),
    }
    made = NormExplorer(norms)
    broken = {"rms_norm": named(lambda x, weight, eps=1e-6: 1 / 0, "rms_norm")}
    checked(exercises.get("norm.rms_norm"), broken)
    assert made.notice == "Showing the reference for rms_norm, which raised ZeroDivisionError: division by zero."
    assert made.own("layer_norm") and not made.own("rms_norm") and made.mistake == ""
    with pytest.raises(ZeroDivisionError):  # the learner runs this cell and sees why
        made.refresh()


@pytest.mark.parametrize(
    "verdict, functions",
    [
        (None, {}),
        (Verdict("no.such", False, 0.0, 1.0), {"weighted_average": right_average}),
        (Verdict(AVERAGE, False, 0.0, 1.0), {"weighted_average": 7}),
        (Verdict(AVERAGE, True, 1.0, 1.0), None),
    ],
)
def test_whatever_comes_nothing_is_raised(verdict, functions):
    MixExplorer(average(right_average))
    following.after_check(verdict, functions)


def test_without_recordings_of_exercises_a_widget_still_works(tmp_path, monkeypatch):
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings" / "widgets").symlink_to(records.assets_dir() / "recordings" / "widgets")
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    assert MixExplorer(average(lambda values, weights: values.mean(0))).mistake == ""


def test_closed_and_forgotten_widgets_leave_the_registry():
    made = MixExplorer(average(right_average))
    there = weakref.ref(made)
    assert made in following._live
    made.close()  # ipywidgets keeps every widget that is open
    del made
    gc.collect()
    assert there() is None
    closed = MixExplorer(average(right_average))
    closed.close()
    before = closed.tables
    following.after_check(Verdict(AVERAGE, False, 0.0, 1.0), {"weighted_average": average(lambda v, w: v.mean(0))})
    assert closed.tables == before and closed not in following._live


def test_verdicts_are_kept_as_long_as_the_function():
    fn = average(right_average)
    following.after_check(Verdict(AVERAGE, False, 0.0, 1.0, [Mistake("x", "Wrong.")]), {"weighted_average": fn})
    key = id(fn), "weighted_average"
    assert following.last_said("weighted_average", fn) == "Wrong." and key in following._verdicts
    del fn
    gc.collect()
    assert key not in following._verdicts


@pytest.fixture
def notebook(monkeypatch):
    """A shell as in a notebook's kernel; only its events are real."""
    shell = SimpleNamespace(kernel=object())
    shell.events = EventManager(shell, available_events)
    monkeypatch.setattr(following, "_shell", lambda: shell)
    return shell


def test_in_a_notebook_widgets_are_refreshed_when_the_cell_is_done(notebook):
    exercise = exercises.get(AVERAGE)
    made = make(MixExplorer, as_written(exercise, exercise.mutants[0].fn))
    assert made.mistake
    before, right = made.tables, as_written(exercise, exercise.reference)
    checked(exercise, right)
    checked(exercise, right)
    assert made.tables == before and len(notebook.events.callbacks["post_run_cell"]) == 1
    notebook.events.trigger("post_run_cell", None)
    assert made.mistake == "" and made.given() == right
    assert np.frombuffer(made.tables["gap"], "<f4") < 1e-5
    assert not notebook.events.callbacks["post_run_cell"] and not following._checked


def test_an_interrupt_ends_the_refreshing_quietly(notebook, capsys):
    made = MixExplorer(average(right_average))
    following.after_check(
        Verdict(AVERAGE, False, 0.0, 1.0), {"weighted_average": average(lambda v, w: _raise(KeyboardInterrupt))}
    )
    notebook.events.trigger("post_run_cell", None)
    assert capsys.readouterr() == ("", "") and made.own("weighted_average")


def test_graders_pay_for_no_picture(notebook, monkeypatch):
    monkeypatch.setattr(checks, "evaluate", lambda *a: pytest.fail("nobody reads it"))
    wrong = average(lambda values, weights: values.mean(0))
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    made = MixExplorer(wrong)
    following.after_check(Verdict(AVERAGE, False, 0.0, 1.0), {"weighted_average": wrong})
    monkeypatch.delenv("NBGRADER_EXECUTION")
    del notebook.kernel  # a shell without a front end
    assert made.mistake == "" and MixExplorer(wrong).mistake == ""
    following.after_check(Verdict(AVERAGE, False, 0.0, 1.0), {"weighted_average": wrong})
    assert not notebook.events.callbacks["post_run_cell"] and not following._checked


def test_a_cell_that_runs_again_leaves_its_old_widget_behind(monkeypatch):
    place = ("cell", "first run")
    monkeypatch.setattr(following, "_place", lambda: place)
    old, beside = MixExplorer(average(right_average)), MixExplorer(average(right_average))
    assert old in following._live and beside in following._live
    place = ("another cell", "second run")
    elsewhere = MixExplorer(average(right_average))
    place = ("cell", "third run")
    new = MixExplorer(average(right_average))
    assert [w in following._live for w in (old, beside, elsewhere, new)] == [False, False, True, True]
