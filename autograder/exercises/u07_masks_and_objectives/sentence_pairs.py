"""Pairs for next-sentence prediction and sentence order."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import objectives as ref


def nsp_by_index(documents, document, sentence, replacement):
    """Where the second sentence is, then both sentences."""
    text = documents[document]
    if sentence + 1 >= len(text):
        raise ValueError("no successor")
    if replacement is not None and replacement[0] == document:
        raise ValueError("same document")
    d, s = (document, sentence + 1) if replacement is None else replacement
    return [text[sentence], documents[d][s], 0 if d == document else 1]


def sop_by_slice(first, second, swap):
    """A list of two, reversed by a step of −1."""
    pair = [first, second][:: -1 if swap else 1]
    return *pair, 1 if swap else 0


def nsp_pair(documents, document, sentence, replacement):
    """Each kind of pair is returned where it is known."""
    text = documents[document]
    if sentence + 1 >= len(text):
        raise ValueError("no successor")
    if replacement is None:
        return text[sentence], text[sentence + 1], 0
    d, s = replacement
    if d == document:
        raise ValueError("same document")
    return text[sentence], documents[d][s], 1


def sop_pair(first, second, swap):
    """Both orders, written out."""
    return (second, first, 1) if swap else (first, second, 0)


def _documents(g: Source) -> list[list[list[int]]]:
    """Documents of three, two and four sentences of two to four ids, all different, so that no two sentences agree."""
    ids = (torch.randperm(80, generator=g.generator) + 10).tolist()
    return [[[ids.pop() for _ in range(2 + (d + s) % 3)] for s in range(n)] for d, n in enumerate((3, 2, 4))]


def _twins(g: Source) -> Program:
    """The second document is a copy of the first."""
    text = _documents(g)[0]
    return call([text, [list(s) for s in text]], 0, 1, (1, g.integer(0, 2)))


def _orders(g: Source) -> Program:
    """Two pairs of neighbors for sop_pair, one of them swapped."""
    first, second, *_ = _documents(g)[2]
    return call(first, second, False, fn="sop_pair").call(second, first, True, fn="sop_pair")


# Where the ValueErrors are left out, the last sentence is followed by the first one.
MISTAKES = changes(
    (nsp_pair, sop_pair),
    """
nsp_labels: text[sentence + 1], 0 → text[sentence + 1], 1 ; documents[d][s], 1 → documents[d][s], 0
; raise ValueError("no successor") → sentence -= len(text) ; d == document → False
    The labels of nsp_pair are turned round. 0 is the natural pair, 1 the random one.
nsp_ignores: documents[d][s], 1 → text[sentence + 1], 1 ; raise ValueError("no successor") → sentence -= len(text)
; d == document → False
    nsp_pair returns the true next sentence with label 1. With a replacement, the second sentence is
    documents[r[0]][r[1]].
same_document_allowed: d == document → False
    Raise a ValueError when the replacement comes from the same document: it could be the true successor.
last_may_be_replaced: if sentence + 1 → if replacement is None and sentence + 1
    The last sentence is accepted when there is a replacement. It has no successor, and is left out in both cases:
    check before you look at replacement.
end_off_by_one: sentence + 1 >= len → sentence + 1 > len
    The last sentence is not refused, and the index fails after it. It has no successor: raise a ValueError when
    sentence + 1 >= len(text).
last_but_one_refused: sentence + 1 >= len → sentence + 2 >= len
    The last sentence but one is refused. It has a successor; only the last has none.
counts_documents: len(text) → len(documents)
    The end is looked for in the number of documents. A sentence's successor lies in the same document:
    len(documents[document]).
compares_sentences: d == document → documents[d] == text
    Documents are compared by what they say, so a copy counts as the same. Compare their numbers: replacement[0] ==
    document.
document_zero_ignored: replacement is None → not replacement or not replacement[0]
    Document 0 never replaces: a truth test takes its number for nothing. Ask `replacement is None`.
other_order: text[sentence], text[sentence + 1], 0 → text[sentence + 1], text[sentence], 0
    The natural pair comes in the wrong order. The sentence comes first, then its successor.
previous: text[sentence + 1], 0 → text[sentence - 1], 0
    The second sentence is the one before, not the one after: sentence + 1.
bool_labels: text[sentence + 1], 0 → text[sentence + 1], False ; documents[d][s], 1 → documents[d][s], True
; second, first, 1 → second, first, True ; first, second, 0 → first, second, False
; raise ValueError("no successor") → sentence -= len(text) ; d == document → False
    The pairs are right, the labels are True and False. Return the numbers 1 and 0: int(…).
nsp_own_document: documents[d][s] → text[s] ; raise ValueError("no successor") → sentence -= len(text)
; d == document → False
    The replacement's document is ignored. It names a document and a sentence: documents[r[0]][r[1]].
nsp_swapped_index: documents[d][s] → documents[s % len(documents)][d % len(documents[0])]
; raise ValueError("no successor") → sentence -= len(text) ; d == document → False
    The replacement is read the wrong way round. It is (document, sentence).
sop_labels: second, first, 1 → second, first, 0 ; first, second, 0 → first, second, 1
    The labels of sop_pair are turned round. 0 is the natural order, 1 the swapped one.
sop_not_swapped: second, first, 1 → first, second, 1
    sop_pair changes the label but not the order, so there is nothing to tell the classes apart.
sop_always: first, second, 0 → second, first, 0
    sop_pair swaps every pair. Only swap=True does.
unchecked: raise ValueError("no successor") → sentence -= len(text) ; d == document → False
    The pairs are right. Raise a ValueError where the sentence has no successor, or the replacement comes from the
    same document.
first_replaced: text[sentence], documents[d][s] → documents[d][s], text[sentence + 1]
    The first sentence is replaced. It stays, and its successor is the one that is replaced: text[sentence],
    documents[r[0]][r[1]].
whole_document: documents[d][s] → documents[d] ; raise ValueError("no successor") → sentence -= len(text)
; d == document → False
    The whole other document comes second. The replacement names one of its sentences: documents[r[0]][r[1]].
after_replacement: documents[d][s] → documents[d][(s + 1) % len(documents[d])]
; raise ValueError("no successor") → sentence -= len(text) ; d == document → False
    The sentence after the replacement comes second. replacement names the sentence itself: documents[r[0]][r[1]].
first_of_document: documents[d][s] → documents[d][0] ; raise ValueError("no successor") → sentence -= len(text)
; d == document → False
    The second sentence is always the first of the other document. The replacement names which one:
    documents[r[0]][r[1]].
always_natural: documents[d][s], 1 → documents[d][s], 0 ; raise ValueError("no successor") → sentence -= len(text)
; d == document → False
    nsp_pair gives label 0 to every pair. A replaced sentence has label 1.
always_random: text[sentence + 1], 0 → text[sentence + 1], 1 ; raise ValueError("no successor") → sentence -= len(text)
; d == document → False
    nsp_pair gives label 1 to every pair. A sentence with its own successor has label 0.
same_sentence: text[sentence + 1], 0 → text[sentence], 0
    The natural pair holds the same sentence twice. The second is its successor: text[sentence + 1].
one_further: text[sentence + 1], 0 → text[(sentence + 2) % len(text)], 0
    The natural pair skips a sentence. The second is the one that follows: text[sentence + 1].
sop_turned: second, first, 1 → first, second, 1 ; first, second, 0 → second, first, 0
    sop_pair swaps when swap is False, and not when it is True. swap=True gives (second, first, 1).
sop_same_label: second, first, 1 → second, first, 0
    sop_pair gives label 0 to every pair. The swapped one has label 1.
joined: second, first, 1 → second + first, 1 ; first, second, 0 → first + second, 0
    sop_pair puts both sentences in one list. Return three things: the first, the second and the label.
""",
)

EXERCISE = Exercise(
    id="objective.sentence_pairs",
    title="Next sentence or sentence order",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    reference=(ref.nsp_pair, ref.sop_pair),
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
            "a random sentence of a random document with its successor",
            lambda g: call(_documents(g), *g.choice([(0, 0), (0, 1), (2, 0), (2, 1)]), None),
        ),
        Case(
            "random replaced",
            "a random sentence of another document",
            lambda g: call(_documents(g), 0, 1, g.choice([(1, 0), (1, 1), (2, 0), (2, 2), (2, 3)])),
        ),
        Case(
            "last but one",
            "the last sentence but one of documents of two, three and four sentences: it has a successor",
            lambda g: call(_documents(g), 1, 0, None).call(_documents(g), 2, 2, None).call(_documents(g), 0, 1, (2, 3)),
        ),
        Case(
            "document 0",
            "sentences of documents 1 and 2 with a random one of document 0, which is a document like the others",
            lambda g: call(_documents(g), 1, 0, (0, g.integer(0, 3))).call(_documents(g), 2, 1, (0, g.integer(0, 3))),
        ),
        Case(
            "twins",
            "two documents with the same sentences: the replacement lies in the other one, so it is allowed",
            _twins,
            weight=0.5,
        ),
        Case("random order", "two neighbors for sop_pair, once as they come and once swapped", _orders),
        Case(
            "last sentence",
            "the last sentence has no successor: ValueError",
            lambda g: call(_documents(g), 1, 1, None),
            weight=0.5,
        ),
        Case(
            "last, replaced",
            "the last sentence has no successor, with a replacement neither: ValueError",
            lambda g: call(_documents(g), 0, 2, (2, 1)),
            weight=0.5,
        ),
        Case(
            "same document",
            "a replacement from the same document could be the true successor: ValueError",
            lambda g: call(_documents(g), 2, 0, (2, 2)),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
)
