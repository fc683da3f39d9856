"""make build: writes the same bytes every time, finds stale files, names authors' mistakes."""

import json
import re

import pytest
from anatomy.program import records

from autograder import exercises
from autograder.build import __main__ as build
from autograder.notebooks import cells, source

UNITS = exercises.units()


@pytest.mark.parametrize("unit", UNITS)
def test_committed_notebooks_are_what_build_writes(unit):
    for path, content in build.outputs(unit).items():
        assert path.exists() and path.read_bytes() == content, f"{path.name} is stale: run `make build`"


def test_two_builds_give_the_same_bytes():
    first = build.outputs(UNITS[0])
    cells._read.cache_clear()
    assert build.outputs(UNITS[0]) == first


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
        ("**Verdict: the weights", "**The weights", "has no \\*\\*Verdict"),
        ("def weighted_average(", "def average(", "does not define weighted_average"),
        ("# 3. `return", "# `return", "exactly three"),
        ('# %% [markdown] hints="start.weighted_average"', "# %% [markdown]", "exactly one hints cell"),
        ("### END SOLUTION", "", r"00-start-here.py:\d+: start.weighted_average: this ### BEGIN SOLUTION needs its"),
        ('# %% [markdown] hints="start', '# %% [markdown] hint="start', "does not exist; did you mean hints?"),
        ('# %% [markdown] hints="start', '# %% hints="start', r'hints is text: # %% \[markdown\] hints="start'),
        ("# ## Recap", "# ## Recap\n# %%\n### BEGIN SOLUTION", "a solution stands in a cell that begins with"),
    ],
)
def test_an_authors_mistake_is_named(edit, old, new, says):
    with pytest.raises(source.SourceError, match=says):
        edit(old, new)


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("return weights @ values /", "return weights @ values / (", r":(\d+): start.weighted_average: SyntaxError: "),
        (
            "### BEGIN SOLUTION",
            "    ### BEGIN SOLUTION\n  x = 1",
            r":(\d+): start.weighted_average: IndentationError: ",
        ),
        ("import torch", "import torch\nif True", r":(\d+): SyntaxError: expected ':', in `if True`"),
    ],
)
def test_code_that_does_not_parse_is_named_with_its_line(edit, old, new, says):
    with pytest.raises(source.SourceError, match=says) as raised:
        edit(old, new)
    (problem,) = raised.value.problems
    lines = problem.path.read_text().split("\n")
    assert any(new.split("\n")[-1].strip() in line for line in lines[problem.line - 1 : problem.line + 1])


def test_magics_and_await_are_code_of_a_notebook(edit):
    made = edit("# ## Recap", "# ## Recap\n\n# %%\n%time 1 + 1\n!true\nawait anything\n\n# %% [markdown]\n# More.")
    assert "%time 1 + 1\n!true\nawait anything" in [c.source for c in made.cells]


def test_exercises_come_in_the_order_of_the_text_and_say_their_unit():
    for unit in exercises.units():
        text = source.source_path(unit).read_text()
        found = exercises.of_unit(unit)
        assert [e.id for e in found] == re.findall(r'^# %% exercise="([^"]+)"', text, re.M)
        assert {e.unit for e in found} == {unit}


def test_everything_is_told_at_once_and_each_line_with_its_place(edit):
    with pytest.raises(source.SourceError) as raised:
        edit("start.weighted_average", "start.nothing")
    says = [p.says for p in raised.value.problems]
    assert "start.nothing has no spec in autograder/exercises for unit 00-start-here" in says and len(says) == 2
    assert any(s.startswith("start.weighted_average has a spec and no text here") for s in says)


def test_a_spec_that_no_recording_holds_is_told_by_build_and_by_the_check(monkeypatch, tmp_path, capsys):
    for name in ("recordings", "experiments"):
        (tmp_path / name).symlink_to(build.ROOT / "assets" / name)
    texts = json.loads((build.ROOT / "assets" / "units" / "00-start-here.json").read_text())
    texts["exercises"].append({**texts["exercises"][0], "id": "start.new"})
    (tmp_path / "units").mkdir()
    (tmp_path / "units" / "00-start-here.json").write_text(json.dumps(texts))
    monkeypatch.setenv("ANATOMY_ASSETS", str(tmp_path))
    with pytest.raises(
        records.MissingRecording, match="start.new has no recording yet: run `make record UNIT=00-start"
    ):
        records.load("start.new")
    monkeypatch.undo()
    monkeypatch.setattr(records, "known_exercises", lambda: ["rope.apply_rope"])
    assert build.main(["--check", "--unit", "00-start-here"]) == 1
    said = capsys.readouterr().out
    assert said.endswith("start.weighted_average has no recording yet: run `make record UNIT=00-start-here`\n")


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
