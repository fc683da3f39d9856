"""Pairs for next-sentence prediction and sentence order."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Source, call
from autograder.reference import objectives as ref

NSP, SOP = ref.nsp_pair, ref.sop_pair


def nsp_by_index(documents, document, sentence, replacement):
    """The place of the second sentence first, then both sentences."""
    text = documents[document]
    if sentence + 1 >= len(text):
        raise ValueError("no successor")
    if replacement is not None and replacement[0] == document:
        raise ValueError("same document")
    d, s = replacement or (document, sentence + 1)
    return [list(text[sentence]), list(documents[d][s]), int(replacement is not None)]


def sop_by_slice(first, second, swap):
    """A list of two, reversed by a step of −1."""
    pair = [first, second][:: -1 if swap else 1]
    return pair[0], pair[1], int(swap)


# The mistakes leave the ValueErrors out, and take the first sentence again where there is no next one.
def _nsp(second=lambda docs, d, s, r: docs[r[0]][r[1]], label=lambda r: int(r is not None)):
    def wrong(documents, document, sentence, replacement):
        text = documents[document]
        following = text[(sentence + 1) % len(text)]
        other = following if replacement is None else second(documents, document, sentence, replacement)
        return text[sentence], other, label(replacement)

    return wrong


def same_document_allowed(documents, document, sentence, replacement):
    first, following, _ = NSP(documents, document, sentence, None)
    if replacement is None:
        return first, following, 0
    return first, documents[replacement[0]][replacement[1]], 1


def _documents(g: Source) -> list[list[list[int]]]:
    """Three documents of three sentences of two to four ids, all ids different, so that no two sentences agree."""
    ids = (torch.randperm(80, generator=g.generator) + 10).tolist()
    return [[[ids.pop() for _ in range(2 + (d + s) % 3)] for s in range(3)] for d in range(3)]


EXERCISE = Exercise(
    id="objective.sentence_pairs",
    unit="07-masks-and-objectives",
    title="Next sentence or sentence order",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="nsp_pair(documents, document, sentence, replacement)",
    targets=("nsp_pair", "sop_pair"),
    reference=(NSP, SOP),
    alternatives=[(nsp_by_index, sop_by_slice)],
    cases=[
        Case(
            "natural",
            "sentence 0 of document 0 with the sentence that follows it: label 0",
            lambda g: call([[[1, 2], [3, 4]], [[5], [6]]], 0, 0, None),
        ),
        Case(
            "replaced",
            "the same with sentence 0 of document 1 in place of the second: label 1",
            lambda g: call([[[1, 2], [3, 4]], [[5], [6]]], 0, 0, (1, 0)),
        ),
        Case("order", "two neighbors as they come: label 0", lambda g: call([1, 2], [3], False, fn="sop_pair")),
        Case("swapped", "the same two swapped: label 1", lambda g: call([1, 2], [3], True, fn="sop_pair")),
        Case(
            "random natural",
            "sentence 1 of three with its successor",
            lambda g: call(_documents(g), g.integer(0, 3), 1, None),
        ),
        Case(
            "random replaced",
            "a random sentence of another document",
            lambda g: call(_documents(g), 0, 1, g.choice([(1, 0), (1, 2), (2, 0), (2, 1)])),
        ),
        Case(
            "last sentence",
            "the last sentence has no successor: ValueError",
            lambda g: call(_documents(g), 1, 2, None),
            weight=0.5,
        ),
        Case(
            "same document",
            "a replacement from the same document could be the true successor: ValueError",
            lambda g: call(_documents(g), 1, 0, (1, 2)),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "nsp_labels",
            (_nsp(label=lambda r: int(r is None)), SOP),
            "The labels of nsp_pair are turned round. 0 is the natural pair, 1 the random one.",
        ),
        Mutant(
            "nsp_ignores",
            (_nsp(second=lambda docs, d, s, r: docs[d][(s + 1) % len(docs[d])]), SOP),
            "nsp_pair returns the true next sentence with label 1. With a replacement, the second sentence is "
            "documents[r[0]][r[1]].",
        ),
        Mutant(
            "same_document_allowed",
            (same_document_allowed, SOP),
            "Raise a ValueError when the replacement comes from the same document: it could be the true successor.",
        ),
        Mutant(
            "bool_labels",
            (
                _nsp(label=lambda r: r is not None),
                lambda first, second, swap: (second, first, True) if swap else (first, second, False),
            ),
            "The pairs are right, the labels are True and False. Return the numbers 1 and 0: int(…).",
        ),
        Mutant(
            "nsp_own_document",
            (_nsp(second=lambda docs, d, s, r: docs[d][r[1]]), SOP),
            "The replacement's document is ignored. It names a document and a sentence: documents[r[0]][r[1]].",
        ),
        Mutant(
            "nsp_swapped_index",
            (_nsp(second=lambda docs, d, s, r: docs[r[1] % len(docs)][r[0] % len(docs[0])]), SOP),
            "The replacement is read the wrong way round. It is (document, sentence).",
        ),
        Mutant(
            "sop_labels",
            (NSP, lambda first, second, swap: (second, first, 0) if swap else (first, second, 1)),
            "The labels of sop_pair are turned round. 0 is the natural order, 1 the swapped one.",
        ),
        Mutant(
            "sop_not_swapped",
            (NSP, lambda first, second, swap: (first, second, int(swap))),
            "sop_pair changes the label but not the order, so there is nothing to tell the classes apart.",
        ),
        Mutant(
            "sop_always",
            (NSP, lambda first, second, swap: (second, first, int(swap))),
            "sop_pair swaps every pair. Only swap=True does.",
        ),
        Mutant(
            "unchecked",
            (_nsp(), SOP),
            "The pairs are right. Raise a ValueError where the sentence has no successor, or the replacement comes "
            "from the same document.",
        ),
    ],
)
