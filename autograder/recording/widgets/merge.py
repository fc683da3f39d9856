"""Recorder of MergeExplorer: the merges of the trained language model's tokenizer, and where they change each word."""

import json

import torch
from anatomy.language import shipped
from anatomy.widgets import MergeExplorer, merge
from anatomy.widgets.merge.story import WORDS
from anatomy.widgets.tools.types import Inputs

from autograder.exercises.u12_language_model.encode import encode
from autograder.recording.widgets.tools import Recorder
from autograder.reference.language.bpe import IDS_OF_BYTES, Pair, byte_ids, merged


def learned() -> list[Pair]:
    """The tokenizer's merges as pairs of ids. Raises ValueError if its ids are not those of ``byte_ids``."""
    tokenizer = shipped.tokenizer()
    vocabulary = tokenizer.get_vocab()
    pairs = [(a, b) for a, b in json.loads(tokenizer.to_str())["model"]["merges"]]
    if any(vocabulary[a + b] != merge.BASE + i for i, (a, b) in enumerate(pairs)):
        raise ValueError("the tokenizer's merges do not make the ids from 256 on, one after another")
    return [(vocabulary[a], vocabulary[b]) for a, b in pairs]


def cuts(merges: list[Pair]) -> torch.Tensor:
    """(words, states) number of the merge that changes each state; all merges in the last state, then -1.

    Raises ValueError if the last state is not the tokenizer's own result.
    """
    rows = []
    for word in WORDS:
        ids, row = byte_ids(word), []
        for rank, pair in enumerate(merges):
            joined = merged(ids, pair, merge.BASE + rank)
            row += [rank] * (joined != ids)
            ids = joined
        if ids != shipped.tokenizer().encode(word).ids:
            raise ValueError(f"the tokenizer's ids of {word!r} differ")
        rows.append([*row, len(merges)])
    width = max(map(len, rows))
    return torch.tensor([row + [merge.NOTHING] * (width - len(row)) for row in rows])


def merge_inputs(generator: torch.Generator) -> Inputs:
    """Nothing is drawn."""
    merges = learned()
    byte_of = torch.tensor(IDS_OF_BYTES).argsort()
    return {"merges": torch.tensor(merges), "byte_of": byte_of, "cuts": cuts(merges)}


RECORDER = Recorder(MergeExplorer, merge_inputs, encode)
