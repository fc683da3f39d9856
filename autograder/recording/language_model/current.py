"""Checks that the checkpoint in ``assets/models`` matches the current text and settings; else trains it again."""

import dataclasses
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from anatomy.language import corpus

from autograder import ROOT
from autograder.recording.language_model.training import Training

FOLDER = ROOT / "assets" / "models" / "austen"
RECORDED = ROOT / "assets" / "experiments" / "language_model.json"


def stale(folder: Path = FOLDER, recorded: Path = RECORDED) -> str | None:
    """What is wrong with the checkpoint, in a few words; None if it matches the recording."""
    if not (folder / "manifest.json").exists() or not recorded.exists():
        return "it is not there"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    data = json.loads(recorded.read_text(encoding="utf-8"))
    if not manifest.get("training") == data["setting"]["training"] == dataclasses.asdict(Training()):
        return "it was trained in another way"
    text = hashlib.sha256(corpus.training_text().encode()).hexdigest()
    if {manifest["text"]["train"]["sha256"], data["text"]["train"]["sha256"]} != {text}:
        return "it was trained on another text"
    for name, listed in manifest["files"].items():
        if not (folder / name).exists() or hashlib.sha256((folder / name).read_bytes()).hexdigest() != listed["sha256"]:
            return f"{name} is not the file that was written"
    for row in data["rows"][1:]:
        path, told = (folder / "seeds" / f"{row['seed']}.{end}" for end in ("safetensors", "json"))
        if not path.exists() or not told.exists():
            return f"seed {row['seed']} is not there"
        if hashlib.sha256(path.read_bytes()).hexdigest() != json.loads(told.read_text())["file"]["sha256"]:
            return f"{path.name} is not the file that was written"
    return None


def record(device: str) -> int:
    """Trains the model if it is stale, and says so. Returns an exit status.

    Its bytes depend on the processor, and training takes an hour, so a checkpoint that still matches is kept.
    """
    why = stale()
    if why is None:
        print("language model: as it was trained")
        return 0
    print(f"language model: trained anew, because {why}. About an hour; interrupted, the same command goes on.")
    module = "autograder.recording.experiments.language_model"
    return subprocess.run([sys.executable, "-m", module, "--device", device, "--setting", "small"]).returncode
