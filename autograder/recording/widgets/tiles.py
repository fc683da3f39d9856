"""Recorder of TilesExplorer: queries and keys whose scores are round numbers, and values."""

import torch
from anatomy.widgets import TilesExplorer
from anatomy.widgets.tiles.scenes import T
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder, normal
from autograder.reference import online_softmax

D = 16  # its root is 4
# Scores of the last query: block 3 has the largest one, so that what was kept before must shrink.
LAST = (1.0, 2.0, 0.5, 1.5, 0.5, 2.0, 4.0, 2.5, 3.0, 0.5, 2.0, 3.5)
VALUES = (3.0, 7.0, 1.0, 8.0, 2.0, 6.0, 9.0, 4.0, 5.0, 2.0, 8.0, 1.0)


def tiles_inputs(generator: torch.Generator) -> Inputs:
    """q (T, D): four times one-hot, so that q · k over the root of D is the entry of k; k (T, D): scores in halves; v
    (T, T + 1): one-hot, and the number that is mixed."""
    scores = (1.5 + 1.2 * normal(generator, T, T)).mul(2).round().div(2).clamp(-1, 4)
    scores[-1] = torch.tensor(LAST)
    q, k = torch.zeros(T, D, dtype=torch.float64), torch.zeros(T, D, dtype=torch.float64)
    q[:, :T], k[:, :T] = 4 * torch.eye(T), scores.T
    return {"q": q, "k": k, "v": torch.cat([torch.eye(T), torch.tensor(VALUES)[:, None]], -1)}


RECORDER = Recorder(
    TilesExplorer,
    tiles_inputs,
    {"attention_in_blocks": online_softmax.attention_in_blocks, "merge": online_softmax.merge},
)
