"""From a folder of solved notebooks to models of 2024 to 2026: the learner's own functions run in them."""

import re

import pytest
import torch
from anatomy import parts
from anatomy.models.newer import NEWER
from anatomy.parts import bringing
from anatomy.parts.judged import look
from anatomy.program import records

from autograder import ROOT, exercises
from tests.course.learners_folder import COMPLETE, answers, write_unit

UNIT = "15-experts-and-drafts"
RENAME = "assembly.names"
PLACEMENT = ["placement.post_and_pre", "placement.variants"]  # for unit 11's blocks
NEEDED = sorted({RENAME, *(e for family in NEWER.values() for e in family.parts.values())})


def solved_cell(exercise):
    """The answer cell of a unit's source, without the marks around the solution."""
    text = (ROOT / "solutions" / f"{exercises.get(exercise).unit}.py").read_text(encoding="utf-8")
    cell = re.search(rf'^# %% exercise="{re.escape(exercise)}".*?\n(.*?)(?=^# %%)', text, re.S | re.M)[1]
    return re.sub(r"^ *### (BEGIN|END) SOLUTION\n", "", cell, flags=re.M)


def brought(exercise):
    """What ``parts.bring`` puts into an answer cell of unit 11, from the notebooks that are there."""
    text = (ROOT / "solutions" / "11-assembly.py").read_text(encoding="utf-8")
    ids = re.search(rf'exercise="{re.escape(exercise)}" bring="(.*?)"', text)[1].split()
    return bringing.code_of([look(i) for i in ids])


def write_folder(folder, take, **changed):
    """Notebooks with the answers that families need: hand-written ones, and the course's own of units 14 and 15."""
    written = answers(take)
    sources = {e: written.get(e) or solved_cell(e) for e in [*NEEDED, *PLACEMENT]}
    units = sorted({exercises.get(e).unit for e in sources})
    # Answers call other answers of their unit.
    sources = {e: s for e, s in written.items() if exercises.get(e).unit in units} | sources | changed
    for unit in units:
        mine = {e: s for e, s in sources.items() if exercises.get(e).unit == unit and s is not None}
        if unit == "11-assembly":
            mine |= {e: brought(e) for e in ("assembly.parts", "assembly.wirings")}
        write_unit(folder, unit, mine)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ANATOMY_NOTEBOOKS", str(tmp_path / "mine"))
    return tmp_path / "mine"


@pytest.mark.parametrize("take", COMPLETE)
def test_own_parts_assemble_to_models_of_today(folder, take):
    write_folder(folder, take)
    table = parts.compare_newer()
    print(table)
    assert [row.family for row in table.rows] == [family.title for family in NEWER.values()]
    assert all(row.equal and row.same_tokens for row in table.rows)


def test_a_part_that_is_still_to_do_is_named_in_its_rows(folder):
    write_folder(folder, COMPLETE[0], **{"gate.sink": None})
    sinks, states = parts.compare_newer("gpt_oss", "olmo_hybrid").rows
    assert sinks[0] == "gpt-oss" and "gate.sink in " in sinks[1] and "still to do" in sinks[1]
    assert states.equal
    shown = {part.id: part.why for part in parts.show(*parts.needed_by("gpt_oss")).parts}
    assert set(shown) == set(NEWER["gpt_oss"].parts.values()) and [e for e, why in shown.items() if why] == [
        "gate.sink"
    ]


def test_one_wrong_number_on_purpose(folder):
    write_folder(folder, COMPLETE[0])
    (row,) = parts.compare_newer("gpt_oss", window=5).rows
    assert not row.equal and row.difference > 1e-3 * row.scale
    ((title, why),) = parts.compare_newer("gpt_oss", widow=5).rows
    assert title == "gpt-oss" and "window" in why and why.endswith("no widow")


def test_without_a_folder_every_row_says_what_is_missing(folder):
    rows = parts.compare_newer().rows
    assert len(rows) == len(NEWER) and all("there is no such notebook" in why for _, why in rows)


@torch.no_grad()
def test_the_learners_function_is_what_runs(folder, monkeypatch):
    """Its calls are counted where it was defined: in the module of its notebook."""
    write_folder(folder, COMPLETE[0])
    calls, own = [], parts.mine("gate.sink")
    from anatomy.parts import newer_models

    def counted(name, exercise):
        part = own_value(name, exercise)
        return (lambda *a: calls.append(part.__module__) or part(*a)) if name == "sink_attention" else part

    own_value = newer_models._own
    monkeypatch.setattr(newer_models, "_own", counted)
    assert parts.compare_newer("gpt_oss").rows[0].equal
    assert set(calls) == {own.__module__} and "gate.sink" in own.__module__ and len(calls) >= 3


def test_every_exercise_that_a_family_names_asks_for_that_name():
    for family in NEWER.values():
        for name, exercise in family.parts.items():
            assert name in records.calls_of(exercise)[0], (name, exercise)
