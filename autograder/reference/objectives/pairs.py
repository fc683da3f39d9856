"""Sentence-pair objectives: BERT's next sentence prediction and ALBERT's sentence order prediction.

Label 0 is the natural pair in both. NSP replaces the second sentence with one from a different document,
which the topic can reveal; SOP swaps two neighbors, which only their order reveals.

Sources: Devlin et al. 2018, arXiv:1810.04805; Lan et al. 2019, arXiv:1909.11942.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

Sentence = Sequence[int]
Document = Sequence[Sentence]


class SentencePair(NamedTuple):
    """Token ids of two sentences; label 0 = natural, 1 = random next (NSP) or swapped (SOP)."""

    first: list[int]
    second: list[int]
    label: int


def nsp_pair(
    documents: Sequence[Document], document: int, sentence: int, replacement: tuple[int, int] | None
) -> SentencePair:
    """The pair that starts at a sentence: with its successor, or with ``replacement``.

    Args: replacement, (document, sentence) of the random second sentence, or None for the real one.
    Raises: ValueError when the sentence has no successor, or the replacement is in the same document.
    """
    if not 0 <= sentence < len(documents[document]) - 1:
        raise ValueError(f"sentence {sentence} of document {document} has no successor")
    first = list(documents[document][sentence])
    if replacement is None:
        return SentencePair(first, list(documents[document][sentence + 1]), 0)
    if replacement[0] == document:
        raise ValueError("the random sentence must come from another document")
    return SentencePair(first, list(documents[replacement[0]][replacement[1]]), 1)


def sop_pair(first: Sentence, second: Sentence, swap: bool) -> SentencePair:
    """Two neighbors in their order (label 0) or swapped (label 1)."""
    return SentencePair(list(second), list(first), 1) if swap else SentencePair(list(first), list(second), 0)


def sample_nsp(documents: Sequence[Document], generator: torch.Generator) -> list[SentencePair]:
    """One pair for every sentence with a successor; about half have a random second sentence.

    Raises: ValueError with fewer than two non-empty documents.
    """
    filled = [d for d, document in enumerate(documents) if len(document)]
    if len(filled) < 2:
        raise ValueError("next sentence prediction needs at least two non-empty documents")
    pairs = []
    for d, document in enumerate(documents):
        others = [o for o in filled if o != d]
        for s in range(len(document) - 1):
            replacement = None
            if _coin(generator):
                other = others[_draw(len(others), generator)]
                replacement = (other, _draw(len(documents[other]), generator))
            pairs.append(nsp_pair(documents, d, s, replacement))
    return pairs


def sample_sop(documents: Sequence[Document], generator: torch.Generator) -> list[SentencePair]:
    """One pair for every two neighbors; about half are swapped."""
    return [
        sop_pair(first, second, _coin(generator))
        for document in documents
        for first, second in zip(document[:-1], document[1:], strict=True)
    ]


def _draw(n: int, generator: torch.Generator) -> int:
    return int(torch.randint(n, (), generator=generator))


def _coin(generator: torch.Generator) -> bool:
    return _draw(2, generator) == 1


class PackedPair(NamedTuple):
    """[CLS] first [SEP] second [SEP] padding: ids and segments (T,) int64, real (T,) boolean.

    Segment 0 covers [CLS] first [SEP] (and padding), segment 1 covers second [SEP].
    """

    ids: Tensor
    segments: Tensor
    real: Tensor


def pack_pair(first: Sentence, second: Sentence, T: int, cls_id: int, sep_id: int, pad_id: int = 0) -> PackedPair:
    """Pack two sentences as BERT reads them; the longer one loses tokens at its end until both fit.

    Raises: ValueError when T < 5, which has no room for one token of each.
    """
    if T < 5:
        raise ValueError(f"[CLS] a [SEP] b [SEP] needs T >= 5, got {T}")
    a, b = list(first), list(second)
    while len(a) + len(b) > T - 3:
        (a if len(a) > len(b) else b).pop()
    ids = [cls_id, *a, sep_id, *b, sep_id]
    segments = [0] * (len(a) + 2) + [1] * (len(b) + 1)
    padding = T - len(ids)
    return PackedPair(
        torch.tensor(ids + [pad_id] * padding),
        torch.tensor(segments + [0] * padding),
        torch.arange(T) < len(ids),
    )
