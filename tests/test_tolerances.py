"""How far an answer may be off: measured against the same run in float64, of functions and of modules."""

import pytest
import torch

from autograder import exercises
from autograder.judge import drawing

MODULES = ("attention.multi_head", "placement.block", "cache.latent", "assembly.cross_block", "assembly.encoder")


@pytest.mark.parametrize("module", map(exercises.get, MODULES), ids=lambda e: e.id)
def test_a_module_has_a_twin_in_float64(module, monkeypatch):
    """One made in float32 cannot take float64 inputs: its run gives nothing, and the smallest tolerance is left, which
    one right answer in forty missed."""
    runs = []
    real = drawing._run

    def watched(*arguments):
        outcome, tensors = real(*arguments)
        floats = {name: t.dtype for name, t in tensors.items() if t.is_floating_point()}
        runs.append((torch.get_default_dtype(), floats))
        return outcome, tensors

    monkeypatch.setattr(drawing, "_run", watched)
    drawing.draw_record(module, with_mutants=False)
    twins = [(runs[i - 1][1], wide) for i, (default, wide) in enumerate(runs) if default is torch.float64]
    assert len(twins) == len(module.cases) and any(here for here, _ in twins)
    for here, wide in twins:
        assert here.keys() == wide.keys() and set(wide.values()) <= {torch.float64}
    assert torch.get_default_dtype() is torch.float32
