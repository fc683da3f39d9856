"""Recorder of PositionExplorer: tables, projections and words for every scheme."""

import math

import torch
from anatomy.widgets import PositionExplorer, position
from anatomy.widgets.tools.types import Functions, Inputs

from autograder.recording.widgets.tools import Recorder, normal
from autograder.reference.positions.alibi import alibi_bias
from autograder.reference.positions.deberta import deberta_scores
from autograder.reference.positions.learned import LearnedPositions
from autograder.reference.positions.shaw import shaw_index
from autograder.reference.positions.sinusoidal import shift_matrix, sinusoid, sinusoid_half
from autograder.reference.positions.t5_buckets import t5_relative_bucket
from autograder.reference.positions.transformer_xl import transformer_xl_scores


def _walk(generator, rows, width):
    """A random walk from row to row, so that neighboring distances have similar vectors, as trained tables do."""
    return normal(generator, rows, width).cumsum(0) / math.sqrt(rows)


def position_inputs(generator: torch.Generator) -> Inputs:
    """Tables, projections and words for every scheme; ``look`` is W_Q of a head that looks 3 back."""
    T, width, D = position.T, position.WIDTH, position.D
    fresh = normal(generator, T, width)
    near = torch.softmax(-((torch.arange(T)[:, None] - torch.arange(T)).double() ** 2) / 16, -1)
    smooth = near @ fresh
    distances = sinusoid_half(torch.arange(T - 1, -T, -1).double(), width)
    return {
        "w_q": normal(generator, width, width) / math.sqrt(width),
        "look": shift_matrix(3, width),
        "w_k": normal(generator, width, width) / math.sqrt(width),
        "fresh": fresh / math.sqrt(width),
        "smooth": smooth / smooth.norm(dim=-1).mean(),
        "word": normal(generator, D),
        "v": normal(generator, 1, D),
        "shaw_table": _walk(generator, 2 * position.LARGEST_CLIP + 1, D),
        "r": distances @ normal(generator, width, D) / math.sqrt(width),
        "t5_s": _walk(generator, position.BUCKETS, 4),
        "t5_c": _walk(generator, position.BUCKETS, 4),
        "kr": _walk(generator, 2 * position.DEBERTA_K, D),
        "qr": _walk(generator, 2 * position.DEBERTA_K, D),
    }


POSITIONS: Functions = {
    "sinusoid": sinusoid,
    "LearnedPositions": LearnedPositions,
    "shaw_index": shaw_index,
    "transformer_xl_scores": transformer_xl_scores,
    "t5_relative_bucket": t5_relative_bucket,
    "deberta_scores": deberta_scores,
    "alibi_bias": alibi_bias,
}

RECORDER = Recorder(PositionExplorer, position_inputs, POSITIONS)
