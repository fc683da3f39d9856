"""Recorder of ObjectiveLab: random draws of every example."""

import torch
from anatomy.widgets import ObjectiveLab, objective
from anatomy.widgets.tools.types import Inputs

from autograder.exercises.u07_masks_and_objectives.blank_infilling import blank_infilling
from autograder.recording.widgets.tools import Recorder
from autograder.reference import objectives


def objective_inputs(generator: torch.Generator) -> Inputs:
    """Draws of every example: which tokens BERT selects, which two spans T5 and GLM hide, GLM's order."""
    n, T = objective.DRAWS, objective.T
    spans: list[list[tuple[int, int]]] = []
    order: list[list[int]] = []
    while len(spans) < n:
        drawn, shuffled = objectives.sample_glm_spans(T, generator, ratio=0.36, mean_span=2.0)
        if len(drawn) == 2:  # one span has no order, three are too long for the page
            spans.append(drawn)
            order.append(shuffled)
    chosen = objectives.select_exact(torch.rand(n, T, generator=generator), torch.zeros(n, T).bool(), 0.3)
    low = len(objective.SPECIALS)
    return {
        "spans": torch.tensor(spans),
        "order": torch.tensor(order),
        "selected": chosen,
        "u": torch.rand(n, T, generator=generator),
        "random": torch.randint(low, low + len(objective.WORDS), (n, T), generator=generator),
    }


OBJECTIVES = {name: getattr(objectives, name) for name in ObjectiveLab.names} | {"blank_infilling": blank_infilling}

RECORDER = Recorder(ObjectiveLab, objective_inputs, OBJECTIVES)
