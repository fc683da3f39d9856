"""Recorder of SoftmaxStabilityExplorer: a row of scores, a query and keys that give them, and a recorded run."""

import json
import math

import torch
from anatomy.widgets import SoftmaxStabilityExplorer, stability
from anatomy.widgets.tools.types import Inputs

from autograder import ROOT
from autograder.recording.widgets.tools import Recorder, normal
from autograder.reference import stability as stable

EVERY = 8  # show every eighth step


def stability_inputs(generator: torch.Generator) -> Inputs:
    """A row of readable scores; a query of length √D and keys that give exactly these scores. steps and growth: the
    largest score of a recorded run without a remedy, whose scores grow at almost every measured step."""
    data = json.loads((ROOT / "assets" / "experiments" / "loss_spike.json").read_text(encoding="utf-8"))
    run = next(r for r in data["rows"] if (r["remedy"], r["seed"]) == ("nothing", 0))
    growth = [float(v) for v in run["score"].split()][::EVERY]
    row = torch.tensor([2.0, 1.5, 1.0, 0.5, 0.0, -0.5, -1.0, -2.0], dtype=torch.float64)
    q, around = normal(generator, 1, stability.D), normal(generator, stability.KEYS, stability.D)
    q = q * math.sqrt(stability.D) / q.norm()
    across = around - (around @ q.T) * q / stability.D  # the part of each key orthogonal to the query
    return {
        "row": row,
        "q": q,
        "k": across + row[:, None] * q / math.sqrt(stability.D),
        "steps": torch.arange(len(growth), dtype=torch.float64) * EVERY,
        "growth": torch.tensor(growth),
    }


FUNCTIONS = {name: getattr(stable, name) for name in SoftmaxStabilityExplorer.names}

RECORDER = Recorder(SoftmaxStabilityExplorer, stability_inputs, FUNCTIONS)
