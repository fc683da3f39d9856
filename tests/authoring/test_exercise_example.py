"""make exercise: makes a new exercise in a copy of the repository, from the scaffold to the end, with every mistake."""

import hashlib
import re
from pathlib import Path

import pytest

from autograder import ROOT, exercises
from autograder.authoring import scaffold, trial
from autograder.authoring.templates import MARK
from tests.once import made_once

from .clone import Clone

ID, UNIT = "activation.hard_swish", "04-ffn-and-gating"
GIVEN = f'id="{ID}"'
EXAMPLE = ROOT / "docs" / "examples" / "exercise"
SPEC = "autograder/exercises/u04_ffn_and_gating/hard_swish.py"
TEXT = f"solutions/{UNIT}.py"
COMMAND = ("-m", "autograder.authoring", ID)


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path / "clone")


@pytest.fixture
def begun(tmp_path, tmp_path_factory):
    """A clone in which the exercise was begun; ``said`` is the command's output."""

    def begin(folder):
        (folder / "said").write_text(Clone(folder / "clone").python(*COMMAND, "--unit", UNIT), encoding="utf-8")

    made = made_once(tmp_path_factory, "exercise-begun", begin)
    clone = Clone(tmp_path / "clone", made / "clone")
    clone.said = (made / "said").read_text(encoding="utf-8")
    return clone


def fill_in(clone, spec=None, text=None):
    """Replaces the scaffold by the worked example (or an edited one)."""
    (clone / SPEC).write_text(spec or (EXAMPLE / "spec.py").read_text())
    source = (clone / TEXT).read_text()
    start = source.index("# %% [markdown]\n# ## 12. Extension: ")
    end = source.index("# %% [markdown]\n# ## Recap")
    (clone / TEXT).write_text(source[:start] + (text or (EXAMPLE / "text.py").read_text()) + source[end:])


def line_of(path, words, after=""):
    """Number of the first line with ``words``, below the first with ``after``."""
    lines = path.read_text().split("\n")
    start = next(n for n, line in enumerate(lines) if after in line)
    return next(n for n, line in enumerate(lines, 1) if n > start and words in line)


def state(clone):
    """dict path from the clone's root → digest, for every file but caches."""
    paths = (p for p in clone.folder.rglob("*") if p.is_file() and not {"__pycache__", ".pytest_cache"} & {*p.parts})
    return {str(p.relative_to(clone.folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}


def test_the_first_run_writes_spec_and_text_and_the_next_says_what_is_missing(begun, tmp_path):
    clone, said = begun, begun.said
    before, after = state(Clone(tmp_path / "untouched")), state(clone)
    assert {name for name in before | after if after.get(name) != before.get(name)} == {SPEC, TEXT}
    assert f"wrote {SPEC}" in said and f"added {ID} to {TEXT}" in said and f"make exercise ID={ID}" in said
    text = (clone / TEXT).read_text()
    assert re.findall(rf'^# %%.* (\w+)="{ID}"', text, re.M) == ["statement", "exercise", "hints", "worth"]
    assert text.index(f'worth="{ID}"') < text.index("## Recap")

    said = clone.python(*COMMAND, fails=True)
    assert state(clone) == after, "what is not finished is neither recorded nor built"
    for name in (SPEC, TEXT):
        marked = [n for n, line in enumerate((clone / name).read_text().split("\n"), 1) if MARK in line]
        assert len(marked) >= 9 and all(f"{name}:{n}: still to be written: " in said for n in marked)
    assert "nothing was recorded or built" in said


def test_everything_that_is_wrong_is_said_in_one_run(begun):
    clone = begun
    spec, text = (EXAMPLE / "spec.py").read_text(), (EXAMPLE / "text.py").read_text()
    gone = spec.index("not_shifted:"), spec.index('""",\n    ),')
    fill_in(
        clone,
        # three mistakes left: one changes nothing, one lacks its full stop, one changes code that isn't there
        (spec[: gone[0]] + spec[gone[1] :])
        .replace("gate_alone: x * (x + 3) → (x + 3)", "gate_alone: x.mul → x")
        .replace("not_divided: .clamp(0, 6) / 6 → .clamp(0, 6)", "not_divided: (x + 3) → (3 + x)")
        .replace("at 6 as well as at 0.", "at 6"),
        text.replace("    ### END SOLUTION\n", "").replace("# 3. `x *", "# `x *"),
    )
    before, said = state(clone), clone.python(*COMMAND, fails=True)
    spec, text = clone / SPEC, clone / TEXT
    begun = line_of(text, "### BEGIN SOLUTION", f'exercise="{ID}"')
    hints = line_of(text, f'hints="{ID}"')
    for sentence in (
        f"{SPEC}:{line_of(spec, 'gate_alone')}: gate_alone: 'x.mul' occurs 0 times in the answer",
        f"{SPEC}:{line_of(spec, 'no_upper_corner')}: no_upper_corner: a message has 20 to 260 characters and ends",
        f"{SPEC}:{line_of(spec, 'not_divided')}: not_divided: on public inputs this mistake passes",
        f"{TEXT}:{begun}: {ID}: this ### BEGIN SOLUTION needs its ### END SOLUTION below it",
        f"{TEXT}:{hints}: {ID}: hints need exactly three numbered items",
    ):
        assert sentence in said, said
    assert state(clone) == before


def test_a_stub_that_gives_the_answer_is_named_with_its_cases(tmp_path, monkeypatch):
    """Here the region that is cut out begins below the answer, so that learners would find the answer given."""
    exercise = exercises.get("start.weighted_average")
    text = (ROOT / "solutions/00-start-here.py").read_text()
    path = tmp_path / "text.py"
    path.write_text(re.sub(r"(    ### BEGIN SOLUTION\n)(    return weights @ .*\n)", r"\2\1", text))
    monkeypatch.setattr(trial, "source_path", lambda unit: path)
    assert [p.says for p in trial.problems(exercise)] == [
        f"case {c.name!r} gives points to the stub: let it need what the learner writes"
        for c in exercise.cases
        if c.weight
    ]


def test_an_id_of_two_specs_and_a_spec_that_python_cannot_read(begun):
    clone, second = begun, Path(SPEC).with_name("swish_again.py")
    (clone / second).write_text((clone / SPEC).read_text())
    sentence = f"{SPEC}:{line_of(clone / SPEC, GIVEN)}: {ID} is the id of two exercises"
    for module in ("build", "recording", "authoring"):
        arguments = [ID] if module == "authoring" else ["--unit", UNIT]
        said = clone.python("-m", f"autograder.{module}", *arguments, fails=True)
        assert sentence in said and "Traceback" not in said, said
    (clone / second).unlink()
    (clone / SPEC).write_text((EXAMPLE / "spec.py").read_text().replace("points=1,", "points=1 1,"))
    said = clone.python(*COMMAND, fails=True)
    assert f"{SPEC}:{line_of(clone / SPEC, 'points=')}: invalid syntax" in said and "Traceback" not in said
    assert f"{TEXT}:{line_of(clone / TEXT, 'a nudge.')}: still to be written" in said, "the text is looked at, too"


@pytest.mark.slow
def test_filled_in_it_is_recorded_built_and_tested(begun):
    clone = begun
    fill_in(clone)
    said = clone.python(*COMMAND)
    assert f"{ID}: nothing is missing. Recorded, built, tests passed" in said and f"make preview UNIT={UNIT}" in said
    assert f'check(\\"{ID}\\", hard_swish)' in (clone / f"course/{UNIT}/{UNIT}.ipynb").read_text()
    clone.python("-m", "autograder.build", "--check", "--unit", UNIT)


@pytest.mark.slow
def test_a_finished_exercise_is_well_and_nothing_is_written(clone):
    before = state(clone)
    said = clone.python("-m", "autograder.authoring", "start.weighted_average")
    assert "start.weighted_average: nothing is missing" in said and state(clone) == before


@pytest.mark.parametrize(
    "name, unit, after, says",
    [
        ("Activation.HardSwish", UNIT, None, "is no id: it is topic.name in lower case"),
        ("hard_swish", UNIT, None, "is no id: it is topic.name in lower case"),
        (ID, None, None, "is new: say where it belongs with UNIT=…: 00-start-here, 01-attention"),
        ("activation.gelu", "02-normalization", None, "activation.gelu is in use in unit 04-ffn-and-gating"),
        ("norm.softmax", "02-normalization", None, "asks for a function 'softmax' already"),
        ("norm.sum", "02-normalization", None, "Python has that name"),
        ("ffn.sigmoid", UNIT, None, f"{TEXT}:\\d+ uses the name 'sigmoid' already"),
        (ID, UNIT, "norm.rms", f"AFTER=norm.rms: {TEXT} has no such exercise; it has activation.family, "),
    ],
)
def test_what_cannot_be_begun_is_refused_in_a_sentence(name, unit, after, says):
    with pytest.raises(scaffold.Refused, match=says):
        scaffold.plan(name, scaffold.unit_of(name, unit), after)


def test_an_unknown_unit_is_told_the_known_ones():
    with pytest.raises(
        exercises.UnknownName, match="There is no unit '99-nothing'. Units: 00-start-here, 01-attention"
    ):
        scaffold.unit_of(ID, "99-nothing")


def test_after_another_exercise_it_stands_there():
    made = scaffold.plan(ID, UNIT, "activation.swish")
    text = made.changed[ROOT / TEXT]
    order = re.findall(r'^# %% exercise="(.*)"', text, re.M)
    assert order.index(ID) == order.index("activation.swish") + 1 and "Extension: TODO" not in text
    assert "extension=True" not in made.new[ROOT / SPEC]
    assert not (ROOT / SPEC).exists(), "a plan writes nothing"


def test_nothing_unfinished_is_left_in_the_course():
    places = [*(ROOT / "solutions").glob("*.py"), *Path(exercises.HERE).rglob("*.py")]
    assert [p.name for p in places if MARK in p.read_text()] == []
