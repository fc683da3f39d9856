"""A different processor changes no bytes of a recording; a changed reference, spec or device does."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load, save

from autograder import ROOT, exercises
from autograder.judge.spec import Mutant
from autograder.recording import keep, precision, references
from autograder.recording.__main__ import main as record_all

UNIT = "00-start-here"
OTHERS = ("default", "avx2")  # sets of CPU kernels, as on other processors
RANDOM = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))


def files(folder):
    """dict name → bytes."""
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


@pytest.fixture
def recorded(tmp_path):
    """A folder with a new recording of the smallest unit."""
    references.main(["--unit", UNIT, "--out", str(tmp_path), "--fresh"])
    return tmp_path


@pytest.mark.parametrize("kernels", OTHERS)
def test_another_processor_changes_no_bytes(kernels, recorded):
    """Unit 00 uses randn, whose last bits differ; unit 06 measures angles. Includes the distances to float64."""
    units = [UNIT, "06-rope"]
    command = [a for u in units for a in ("--unit", u)] + ["--out", str(recorded)]
    record_all([*command, "--fresh"])
    before = files(recorded)
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": kernels, "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, "-m", "autograder.recording", *command],
        env=environment,
        check=True,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    assert files(recorded) == before


def test_fresh_writes_what_differs_by_rounding(recorded):
    path, command = recorded / f"{UNIT}.safetensors", ["--unit", UNIT, "--out", str(recorded)]
    here = path.read_bytes()
    elsewhere = save(
        {n: t * (1 + torch.finfo(t.dtype).eps) if t.is_floating_point() else t for n, t in load(here).items()}
    )
    path.write_bytes(elsewhere)
    references.main(command)
    assert path.read_bytes() == elsewhere != here
    references.main([*command, "--fresh"])
    assert path.read_bytes() == here


def exercise_of(unit, change):
    """The unit's exercises, with the first one changed."""
    first, *rest = exercises.of_unit(unit)
    return [dataclasses.replace(first, **change(first)), *rest]


def one_more(mistake):
    return Mutant(mistake.name, lambda *a: mistake.fn(*a) + 1, mistake.message)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: {"reference": lambda values, weights: e.reference(values, weights) * (1 + 1e-4)},
        lambda e: {"mutants": [one_more(e.mutants[0]), *e.mutants[1:]]},
        lambda e: {"mutants": e.mutants[1:]},
    ],
    ids=["reference", "mutant", "fewer mutants"],
)
def test_a_real_change_is_written(change, recorded):
    before = keep.Before(recorded / UNIT)
    changed = exercise_of(UNIT, change)
    old, new = ([*references.record_unit(UNIT, chosen=c, before=before)] for c in (None, changed))
    stays = json.loads((recorded / f"{UNIT}.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(old[0])) == stays, "nothing changed"
    fresh = references.record_unit(UNIT, chosen=changed)
    one = changed[0].id
    for name, t in new[1].items():
        if name.startswith(one):
            assert keep.identical(t, fresh[1][name]), "one machine: kept inputs are the drawn ones"
        else:
            assert keep.identical(t, before.tensors[name]), "the other exercises stay as they were"
    told = lambda data: json.loads(json.dumps(data))["exercises"][0]["cases"]
    assert told(new[0]) == told(fresh[0])
    assert told(new[0]) != told(old[0]) or any(not keep.identical(t, new[1][n]) for n, t in old[1].items())


def test_outcomes_are_of_the_inputs_beside_them(recorded):
    """Inputs drawn on another machine differ by rounding, so even a changed reference runs on the recorded inputs."""
    before = keep.Before(recorded / UNIT)
    first = exercises.of_unit(UNIT)[0]
    shifted = {n: t * (1 + 2e-7) if "/in/" in n and t.is_floating_point() else t for n, t in before.tensors.items()}
    before.tensors = shifted
    doubled = dataclasses.replace(first, reference=lambda *a: first.reference(*a) * 2, mutants=[])
    data, tensors = references.record_unit(UNIT, chosen=[doubled], before=before)
    for case in data["exercises"][0]["cases"]:
        inputs = before.of(first.id, case, "in")
        for n, t in inputs.items():
            assert keep.identical(tensors[f"{first.id}/{case['slug']}/in/{n}"], t)
        if "value" in case["outcomes"]["expected"]["outcome"]["results"][0]:
            want = first.reference(*inputs.values()) * 2
            assert torch.equal(tensors[f"{first.id}/{case['slug']}/expected/o0"], want)


def test_words_are_always_those_of_the_spec(recorded):
    changed = exercise_of(
        UNIT,
        lambda e: {
            "title": "Another title",
            "cases": [dataclasses.replace(c, shows="another sentence") for c in e.cases],
        },
    )
    before = keep.Before(recorded / UNIT)
    data, tensors = references.record_unit(UNIT, chosen=changed, before=before)
    assert data["exercises"][0]["title"] == "Another title"
    assert {c["shows"] for c in data["exercises"][0]["cases"]} == {"another sentence"}
    assert all(keep.identical(t, before.tensors[n]) for n, t in tensors.items())


def test_a_recording_of_another_device_is_not_kept(recorded, monkeypatch):
    path = recorded / "manifest.json"
    made = json.loads(path.read_text())
    path.write_text(json.dumps({UNIT: {**made[UNIT], "device": "cuda", "name": "Some Card"}}))
    seen = []
    monkeypatch.setattr(references, "write_unit", lambda unit, out, device, before: seen.append(before) or (1, 1))
    references.main(["--unit", UNIT, "--out", str(recorded)])
    path.write_text(json.dumps(made))
    references.main(["--unit", UNIT, "--out", str(recorded)])
    references.main(["--unit", UNIT, "--out", str(recorded), "--fresh"])
    assert [b is None for b in seen] == [True, False, True]


def test_an_entry_is_of_the_run_that_made_the_bytes(recorded):
    """A different day, Python, torch or CPU doesn't change it if the bytes are equal; different bytes or a GPU do."""
    file = recorded / f"{UNIT}.json"
    entry = references.made(None, "cpu", "make record", 1, [file])
    elsewhere = {**entry, "date": "2020-01-01", "python": "3.12.1", "torch": "2.9.0", "name": "aarch64"}
    again = lambda before: references.made(before, "cpu", "make record", 1, [file])
    assert again(elsewhere) == elsewhere
    assert again({**elsewhere, "sha256": "0"}) == entry and again({**elsewhere, "device": "cuda"}) == entry
    card = {"device": "cuda", "name": "Some Card"}
    assert keep.same_device(card, card) and not keep.same_device(card, {**card, "name": "Another"})
    assert keep.same_device({"device": "cpu", "name": "a"}, {"device": "cpu", "name": "b"})


def test_draws_are_the_same_up_to_rounding_of_a_middle_entry():
    same = lambda a, b: keep.same_draw({"x": a}, {"x": b})
    assert same(RANDOM, RANDOM * (1 + 1e-6)) and same(RANDOM.double(), RANDOM.double() + 1e-7)
    assert not same(RANDOM, RANDOM * (1 + 1e-4)) and not same(RANDOM, RANDOM.double())
    assert not same(torch.tensor([1e6, 1e-3, 1e-3]), torch.tensor([1e6, 2e-3, 1e-3])), "small entries count too"
    assert same(torch.tensor([1, 2]), torch.tensor([1, 2])) and not same(torch.tensor([1, 2]), torch.tensor([1, 3]))
    assert same(torch.tensor([float("-inf"), 0.0]), torch.tensor([float("-inf"), 0.0]))
    assert not keep.same_draw({"x": RANDOM}, {"y": RANDOM})


def test_trees_are_alike_but_for_the_last_digits():
    assert keep.alike({"a": [1, 2.0, "x", None]}, {"a": [1, 2.0 + 1e-8, "x", None]})
    for other in ({"a": [1, 2.001, "x", None]}, {"a": [2, 2.0, "x", None]}, {"a": [1, 2.0, "y", None]}, {"a": [1.0]}):
        assert not keep.alike({"a": [1, 2.0, "x", None]}, other)


def test_distances_stay_within_the_noise_of_their_measurement(tmp_path):
    first = precision.record(tmp_path, units=[UNIT])["cpu"]
    before = (tmp_path / "precision.json").read_bytes()
    data = json.loads(before)
    one = next(iter(data["cpu"]["distances"]))
    data["cpu"]["distances"][one]["bfloat16"]["absolute"] *= 2
    data["cpu"]["made"] |= {"date": "2020-01-01", "python": "3.12.1"}
    text = json.dumps(data, indent=1, sort_keys=True) + "\n"
    (tmp_path / "precision.json").write_text(text)
    precision.record(tmp_path, units=[UNIT])
    assert (tmp_path / "precision.json").read_text() == text, "also who measured it, and when"
    data["cpu"]["distances"][one]["bfloat16"]["absolute"] *= 4
    (tmp_path / "precision.json").write_text(json.dumps(data))
    assert precision.record(tmp_path, units=[UNIT])["cpu"] == first


def test_a_widgets_file_stays_where_it_differs_by_rounding_only(tmp_path, monkeypatch):
    from autograder.recording import widgets

    monkeypatch.setattr(widgets, "WIDGETS", {n: widgets.WIDGETS[n] for n in ("mix", "rope")})
    widgets.record(tmp_path)
    path = tmp_path / "rope.safetensors"
    fresh = path.read_bytes()
    rounded = save({k: v * (1 + 2e-7) if v.is_floating_point() else v for k, v in load(fresh).items()})
    path.write_bytes(rounded)
    shutil.copy(tmp_path / "manifest.json", tmp_path / "kept.json")
    widgets.record(tmp_path)
    assert path.read_bytes() == rounded != fresh
    path.write_bytes(save({k: v * 1.001 for k, v in load(fresh).items()}))
    widgets.record(tmp_path)
    assert (
        path.read_bytes() == fresh
        and (tmp_path / "manifest.json").read_bytes() == (tmp_path / "kept.json").read_bytes()
    )
    path.write_bytes(rounded)
    widgets.record(tmp_path, fresh=True)
    assert path.read_bytes() == fresh
