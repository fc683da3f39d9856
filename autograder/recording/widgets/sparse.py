"""Recorder of SparseExplorer: random numbers and masks from which the patterns are built."""

import torch
from anatomy.widgets import SparseExplorer, sparse
from anatomy.widgets.tools.types import Inputs

from autograder.recording.widgets.tools import Recorder
from autograder.reference import indexer
from autograder.reference import sparse as patterns


def sparse_inputs(generator: torch.Generator) -> Inputs:
    """draws: a number for each pair; base: BigBird's window and global word; band: the hybrid's windows; queries and
    keys, (LAYERS, T, 4): random vectors by which each layer chooses."""
    T = sparse.T
    return {
        "draws": torch.rand(T, T, generator=generator),
        "base": patterns.longformer_mask(T, 3, [0]),
        "band": torch.stack([patterns.local_causal_mask(T, w) for w in sparse.WINDOWS]),
        "queries": torch.randn(sparse.LAYERS, T, 4, generator=generator),
        "keys": torch.randn(sparse.LAYERS, T, 4, generator=generator),
    }


PATTERNS = {name: getattr(patterns, name) for name in SparseExplorer.names if hasattr(patterns, name)} | {
    "random_mask": patterns.smallest_draws,
    "hybrid_layers": patterns.interleaved_layers,
    "best_visible": indexer.best_visible,
    "block_choice": indexer.block_choice,
}

RECORDER = Recorder(SparseExplorer, sparse_inputs, PATTERNS)
