"""Every verdict of the course and its evidence: ``pytest tests/evidence -v`` lists them all."""

import json
import re

import pytest
from anatomy.experiments import recorded
from anatomy.program import units

from autograder import ROOT, exercises
from autograder.notebooks import evidence, numbers
from autograder.notebooks.cells import read_cells
from autograder.notebooks.source import source_path
from autograder.notebooks.unit_text import TextError

from ..selection import full_name
from .claims import CLAIMS, MISPRINTS

UNITS = exercises.units()


def told(unit, verdict):
    """The verdict as one line, for a test id."""
    parts = " + ".join(" ".join(str(v) for v in part.values()) for part in verdict["evidence"])
    return f"{unit[:2]} | {verdict['says']} | {parts}"


ALL = [
    pytest.param(unit, verdict, id=told(unit, verdict)) for unit in UNITS for verdict in units.load(unit)["verdicts"]
]


@pytest.mark.parametrize("unit, verdict", ALL)
def test_verdict(unit, verdict):
    """Its recordings have the seeds and the control that it claims; its text contains what it cites."""
    book = json.loads((ROOT / "course" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"))
    text = "".join(next(c for c in book["cells"] if c["id"] == verdict["cell"])["source"])
    assert text.endswith(evidence.line(verdict["evidence"]))
    for part in verdict["evidence"]:
        if part["kind"] == "recorded":
            data, script = recorded(part["experiment"]), numbers.script(part["experiment"])
            assert part["seeds"] == script.seeds(data) >= 3 and len(data["made"]["seeds"]) >= part["seeds"]
            assert part["values"] == script.controls(data)[part["control"]] >= 2
            assert part["device"] == data["made"]["device"]
        elif part["kind"] == "cited":
            assert part["source"] in text
        elif part["kind"] == "models":
            assert all(recorded("named_models")["models"][name]["source"] for name in part["models"])


@pytest.mark.parametrize("unit", UNITS)
def test_what_computes_a_verdict_trains_nothing(unit):
    """A verdict called exact has no training in the cells that decide it."""
    cells, _ = read_cells(source_path(unit))
    since, trained = [], []
    for cell in cells:
        if cell.code:
            since.append(cell.source)
        elif re.match(r"#{2,4} ", cell.source):
            since = []
        if (cell.evidence or "").split(" + ")[0] == "exact":
            assert since or "|" in cell.source, f"nothing is computed before: {cell.source[:60]}"
            # One step of an optimizer shows what it computes; only a loop of steps is a training. Functions named
            # training_flops or training_days don't train.
            loops = r"\btrain(?!ing_(?:flops|days)\()\w*\(|in range\(.*\.step\(\)"
            trained += [s for s in since if re.search(loops, s, re.S)]
    assert not trained, trained


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=pytest.mark.unit(full_name(unit))) for n, (unit, *_) in CLAIMS.items()]
)
def test_claim_is_tried(number):
    unit, words, kinds = CLAIMS[number]
    (name,) = (u for u in UNITS if u.startswith(unit))
    book = json.loads((ROOT / "course" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
    text = ["".join(c["source"]) for c in book["cells"]]
    evidence_of = {v["cell"]: {p["kind"] for p in v["evidence"]} for v in units.load(name)["verdicts"]}
    place = next((i for i, t in enumerate(text) if "on trial" in t and words in t), None)
    assert place is not None, f"claim {number} is not on trial in {name}: {words}"
    found = set()
    for cell in book["cells"][place:]:
        if cell["id"] in evidence_of:
            found |= evidence_of[cell["id"]]
            break
    assert found & kinds, f"claim {number} is decided by {found}, not by one of {kinds}"


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=pytest.mark.unit(full_name(unit))) for n, (unit, _) in MISPRINTS.items()]
)
def test_a_misprint_is_put_right_where_the_formula_is(number):
    unit, words = MISPRINTS[number]
    assert words in source_path(full_name(unit)).read_text(encoding="utf-8")


def test_every_claim_of_the_list_is_somewhere():
    assert sorted([*CLAIMS, *MISPRINTS]) == list(range(1, 43))


@pytest.fixture
def experiments(monkeypatch):
    """Recordings that a verdict may not use as evidence, and one that it may."""

    class Script:
        controls = staticmethod(lambda data: {"rate": 2, "depth": 1})
        seeds = staticmethod(lambda data: data["seeds"])

    data = {
        "good": {"seeds": 3, "made": {"device": "cpu"}},
        "few": {"seeds": 2, "made": {"device": "cpu"}},
        "named_models": {"models": {"bert-base": {}}},
    }
    monkeypatch.setattr(evidence, "recorded", lambda name: data[name])
    monkeypatch.setattr(evidence, "script", lambda name: Script if name in ("good", "few") else object())


def test_what_a_verdict_may_rest_on(experiments):
    parts = evidence.read(
        "exact + recorded: good, control: rate + models: bert-base + cited: 1706.03762 + argued",
        "**Verdict** (1706.03762)",
    )
    assert [p["kind"] for p in parts] == ["exact", "recorded", "models", "cited", "argued"]
    assert evidence.line(parts) == (
        "*Evidence: computed above; recorded runs on the CPU, 3 seeds per setting, control: rate; the published "
        "configuration of bert-base; the source cited; the argument above.*"
    )


@pytest.mark.parametrize(
    "text, says",
    [
        ("recorded: few, control: rate", "2 seeds"),
        ("recorded: good, control: depth", "no control 'depth'; it has: rate"),
        ("recorded: good", "WHAT WAS VARIED"),
        ("recorded: named_models, control: rate", "needs controls"),
        ("models: gpt-9", "does not know gpt-9"),
        ("cited: 2005.14165", "does not name it"),
        ("argued", "what tests the argument"),
        ("felt", "write one of"),
        ("exact: yes", "write one of"),
        ("cited", "write one of"),
    ],
)
def test_what_it_may_not_rest_on(experiments, text, says):
    with pytest.raises(TextError, match=says):
        evidence.read(text, "**Verdict**")
