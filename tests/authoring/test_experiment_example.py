"""The example experiment, followed step by step as its page says: measured, drawn, cited in a unit, and tested."""

import json
import re

import pytest

from autograder import ROOT

from .clone import Clone

EXAMPLE = ROOT / "docs" / "examples" / "experiment"
SCRIPT = "autograder/recording/experiments/sum_order.py"
DRAWING = "autograder/recording/figures/sum_order.py"
UNIT, BEFORE = "00-start-here", "# %% [markdown]\n# ## The letters used in this course\n"
COMMAND = ("-m", "autograder.recording.experiments", "--only", "sum_order")

# All tests run in order in one process, so that the clone is made once.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("experiment-example")]


def line(start):
    """The line with this start that the example's page says to add."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    return next(row.removeprefix("   ") for row in text.splitlines() if row.strip().startswith(start))


def put(path, before, new):
    """Inserts ``new`` before ``before``, which has to occur exactly once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, path
    path.write_text(text.replace(before, new + before), encoding="utf-8")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    made = Clone(tmp_path_factory.mktemp("experiment"))
    made.take("experiment")
    made.said = made.python(*COMMAND)
    put(made / f"solutions/{UNIT}.py", BEFORE, (EXAMPLE / "text.py").read_text(encoding="utf-8") + "\n")
    made.python("-m", "autograder.build", "--unit", UNIT)
    return made


def test_one_command_measures_and_draws(clone):
    data = json.loads((clone / "assets/experiments/sum_order.json").read_text(encoding="utf-8"))
    assert len(data["rows"]) == 27 and data["made"]["seeds"] == [0, 1, 2] and data["made"]["device"] == "cpu"
    assert "sum_order [27/27]" in clone.said and "measured: sum_order\n" in clone.said
    alt = json.loads((clone / "assets/figures/alt.json").read_text(encoding="utf-8"))
    assert alt["sum_order"].startswith("Relative error of a sum of 64 and of 4,096 numbers")
    assert (
        b"Rounding errors of a sum (measured on a CPU, 3 seeds)"
        in (clone / "assets/figures/sum_order.svg").read_bytes()
    )
    for before in (ROOT / "assets" / "figures").glob("*.svg"):
        assert (clone / f"assets/figures/{before.name}").read_bytes() == before.read_bytes(), "no other figure changes"


def test_numbers_in_the_text_are_the_recordings(clone):
    errors = {}
    for row in json.loads((clone / "assets/experiments/sum_order.json").read_text(encoding="utf-8"))["rows"]:
        if row["n"] == 4096:
            errors.setdefault(row["way"], []).append(row["error"])
    times = sum(errors["forwards"]) / sum(errors["pairwise"])
    book = json.loads((clone / f"course/{UNIT}/{UNIT}.ipynb").read_text(encoding="utf-8"))
    (verdict,) = (text for c in book["cells"] if "long sums" in (text := "".join(c["source"])) and "Verdict" in text)
    assert "In three of three recorded seeds the loop's error on 4,096 numbers" in verdict and "{{" not in verdict
    assert f"on average {times:.1f} times that of the pairs" in verdict and times > 3
    assert "3 seeds per setting, control: dtype of the sum" in verdict


def test_what_is_forgotten_is_said_in_a_sentence(clone):
    """First without the page's last two steps; then without a drawing, without ABOUT, and without facts()."""
    complete = ("tests/recording/test_experiments.py", "-k", "complete and sum_order")
    said = clone.tests(*complete, fails=True)
    assert "sum_order has no row in autograder/recording/METHOD.md" in said
    assert "sum_order has no tiny setting in tests/recording/tiny.py" in said
    put(clone / "autograder/recording/METHOD.md", "| warmup |", line("| sum_order |") + "\n")
    put(clone / "tests/recording/tiny.py", '    "decode": ', line('"sum_order"') + "\n")

    drawing = (clone / DRAWING).read_text(encoding="utf-8")
    (clone / DRAWING).unlink()
    assert "sum_order has been measured, but nothing draws it: write sum_order(data)" in clone.python(
        *COMMAND, fails=True
    )
    (clone / DRAWING).write_text(drawing, encoding="utf-8")

    script = (clone / SCRIPT).read_text(encoding="utf-8")
    (clone / SCRIPT).write_text(re.sub(r"ABOUT = .*\n", "", script), encoding="utf-8")
    said = clone.python(*COMMAND, fails=True)
    assert "sum_order.py has a main, but does not say what kind of experiment it is" in said and "Traceback" not in said
    (clone / SCRIPT).write_text(script.replace("def facts(", "def told("), encoding="utf-8")
    said = clone.python("-m", "autograder.build", "--unit", UNIT, fails=True)
    assert "sum_order.py has no facts(data)" in said
    (clone / SCRIPT).write_text(script, encoding="utf-8")

    files = ("recording/test_experiments.py", "recording/test_large_figures.py", "evidence/test_again.py")
    said = clone.tests(*(f"tests/{file}" for file in files), "-k", "sum_order")
    passed = ("complete", "made", "CPU alone", "figure", "nothing large", "a pretended GPU", "numbers again")
    assert "failed" not in said and f"{len(passed)} passed" in said
