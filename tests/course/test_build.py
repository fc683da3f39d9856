"""make build: the same bytes every time, stale files found, authors' mistakes named."""

import json

import pytest

from autograder import exercises
from autograder.build import __main__ as build
from autograder.build import source

UNITS = exercises.units()


@pytest.mark.parametrize("unit", UNITS)
def test_committed_notebooks_are_what_build_writes(unit):
    for path, content in build.outputs(unit).items():
        assert path.exists() and path.read_bytes() == content, f"{path.name} is stale: run `make build`"


def test_two_builds_give_the_same_bytes():
    assert build.outputs(UNITS[0]) == build.outputs(UNITS[0])


def test_check_mode_reports_a_stale_file(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(build, "all_outputs", lambda: {build.ROOT / "course" / "x" / "x.ipynb": b"new"})
    assert build.main(["--check"]) == 1
    assert "stale: course/x/x.ipynb" in capsys.readouterr().out


def test_unknown_unit_is_one_sentence(capsys):
    assert build.main(["--unit", "99-nothing"]) == 2
    assert "There is no unit '99-nothing'. Units: 00-start-here" in capsys.readouterr().err


@pytest.fixture
def edit(monkeypatch, tmp_path):
    """Builds unit 00 from an edited copy of its source."""

    def build_edited(old, new):
        text = source.source_path("00-start-here").read_text()
        assert old in text
        path = tmp_path / "00-start-here.py"
        path.write_text(text.replace(old, new))
        monkeypatch.setattr(source, "source_path", lambda unit: path)
        return source.source_notebook("00-start-here")

    return build_edited


@pytest.mark.parametrize(
    "old, new, says",
    [
        ('statement="start.weighted_average"', 'statement="start.nothing"', "has no spec"),
        ("### BEGIN SOLUTION", "", "no ### BEGIN SOLUTION"),
        ("### END SOLUTION", "", "needs its ### END SOLUTION"),
        ('worth="start.weighted_average"', 'worth="start.nothing"', "has no spec"),
        ('# %% [markdown] worth="start.weighted_average"', "# %% [markdown]", "exactly one worth cell"),
        ('predict("start.p1",', 'print(1)\npredict("start.p1",', "begins a cell of its own"),
        ('["is 10 times larger",', '["stays the same",', "two options are the same"),
        ('reveal("start.p1",', 'reveal("start.p2",', "needs exactly one predict"),
        (
            '"the smallest case that fails": (True,',
            '"the smallest case that fails": (False,',
            "exactly one right choice",
        ),
        ("**Verdict: not as stated.**", "Not as stated.", "has no \\*\\*Verdict"),
        ("def weighted_average(", "def average(", "does not define weighted_average"),
        ("# 3. `return", "# `return", "exactly three"),
        ('# %% [markdown] hints="start.weighted_average"', "# %% [markdown]", "exactly one hints cell"),
    ],
)
def test_an_authors_mistake_is_named(edit, old, new, says):
    with pytest.raises(source.SourceError, match=says):
        edit(old, new)


def test_an_edit_changes_only_its_own_cell_id(edit):
    before = [c["id"] for c in source.source_notebook("00-start-here").cells]
    after = [c["id"] for c in edit("## Recap", "## Recap, once more").cells]
    assert len(before) == len(after) and sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_stub_names_the_exercise():
    made = build.outputs("00-start-here")
    released = json.loads(next(b for p, b in made.items() if "course" in p.parts))
    stubs = [c for c in released["cells"] if c["id"] == "solve-start-weighted_average"]
    text = "".join(stubs[0]["source"])
    assert 'raise NotImplementedError("start.weighted_average: your code goes here")' in text
    assert "weights @ values" not in text
