"""Every file under ``assets`` says how it was made, and no file made on a CPU mentions a GPU."""

import hashlib
import json
import re

import pytest
import torch

from autograder import ROOT
from autograder.recording import precision, references
from autograder.recording.__main__ import main as record_all

RECORDINGS = ROOT / "assets" / "recordings"
UNITS = json.loads((RECORDINGS / "manifest.json").read_text())
WIDGETS = {k: v for k, v in json.loads((RECORDINGS / "widgets" / "manifest.json").read_text()).items() if k != "files"}
ENTRIES = {**UNITS, "widgets": WIDGETS}
GPU = re.compile(r"gpu|cuda|nvidia|h100|h200|a100", re.I)


def paths(name):
    if name == "widgets":
        listed = json.loads((RECORDINGS / "widgets" / "manifest.json").read_text())["files"]
        return [RECORDINGS / "widgets" / file for file in listed]
    if name == "edits":
        return sorted((RECORDINGS / "edits").glob("*.safetensors"))
    return [RECORDINGS / f"{name}.{ending}" for ending in ("json", "safetensors")]


@pytest.mark.parametrize("name", ENTRIES)
def test_a_manifest_says_how_its_files_were_made(name):
    made = ENTRIES[name]
    assert made["device"].split(":")[0] in ("cpu", "cuda") and made["name"] and made["dtype"] and made["tf32"] is False
    assert isinstance(made["seed"], int) and re.fullmatch(r"\d{4}-\d\d-\d\d", made["date"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", made["torch"]) and made["command"] == f"make record DEVICE={made['device']}"
    if made["device"] == "cpu":
        assert not GPU.search(json.dumps(made))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths(name))).hexdigest()
    assert made["sha256"] == digest, "the files changed after their manifest was written: make record"


def test_every_recording_has_a_manifest():
    units = {p.stem for p in RECORDINGS.glob("*.safetensors")}
    assert set(UNITS) == units | {"edits"} and {p.stem for p in paths("edits")} == units


def test_the_date_stays_while_nothing_changes(tmp_path):
    file = tmp_path / "x"
    file.write_bytes(b"1")
    first = references.made(None, "cpu", "make record", 1, [file])
    old = {**first, "date": "2020-01-01"}
    assert references.made(old, "cpu", "make record", 1, [file]) == old
    file.write_bytes(b"2")
    assert references.made(old, "cpu", "make record", 1, [file])["date"] == first["date"]
    assert references.made(old, "cpu", "make record", 2, [file])["date"] == first["date"]


@pytest.mark.parametrize("main", [references.main, precision.main, record_all], ids=["record", "precision", "all"])
def test_no_gpu_no_recording(tmp_path, main):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit, match="No CUDA device here"):
        main(["--device", "cuda", "--out", str(tmp_path)])
    assert not list(tmp_path.iterdir())
