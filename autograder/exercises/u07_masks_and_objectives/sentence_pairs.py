"""Pairs for next-sentence prediction and sentence order."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import objectives as ref

NSP, SOP = ref.nsp_pair, ref.sop_pair


def nsp_by_index(documents, document, sentence, replacement):
    """The place of the second sentence first, then both sentences."""
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


# Without any check; a sentence without a successor ends in whatever Python says.
def _checked(no_successor=lambda text, s, r: s + 1 >= len(text), refused=lambda docs, d, r: r[0] == d):
    def wrong(documents, document, sentence, replacement):
        text = documents[document]
        if no_successor(text, sentence, replacement):
            raise ValueError("no successor")
        if replacement is None:
            return text[sentence], text[sentence + 1], 0
        if refused(documents, document, replacement):
            raise ValueError("same document")
        return text[sentence], documents[replacement[0]][replacement[1]], 1

    return wrong


def document_zero_ignored(documents, document, sentence, replacement):
    return NSP(documents, document, sentence, replacement if replacement and replacement[0] else None)


def counts_documents(documents, document, sentence, replacement):
    return _checked(no_successor=lambda text, s, r: s + 1 >= len(documents))(documents, document, sentence, replacement)


def successor_first(documents, document, sentence, replacement):
    first, second, label = NSP(documents, document, sentence, replacement)
    return (second, first, label) if label == 0 else (first, second, label)


def previous(documents, document, sentence, replacement):
    first, second, label = NSP(documents, document, sentence, replacement)
    return first, documents[document][sentence - 1] if label == 0 else second, label


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


def first_replaced(documents, document, sentence, replacement):
    first, second, label = NSP(documents, document, sentence, replacement)
    return (second, documents[document][sentence + 1], 1) if label else (first, second, 0)


def _nsp_follow(step):
    """The natural pair with another sentence as second."""

    def wrong(documents, document, sentence, replacement):
        first, second, label = NSP(documents, document, sentence, replacement)
        text = documents[document]
        return first, second if label else text[(sentence + step) % len(text)], label

    return wrong


EXERCISE = Exercise(
    id="objective.sentence_pairs",
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
            "last_may_be_replaced",
            (_checked(no_successor=lambda text, s, r: r is None and s + 1 >= len(text)), SOP),
            "The last sentence is accepted when there is a replacement. It has no successor, and is left out in both "
            "cases: check before you look at replacement.",
        ),
        Mutant(
            "end_off_by_one",
            (_checked(no_successor=lambda text, s, r: s + 1 > len(text)), SOP),
            "The last sentence is not refused, and the index fails after it. It has no successor: raise a ValueError "
            "when sentence + 1 >= len(text).",
        ),
        Mutant(
            "last_but_one_refused",
            (_checked(no_successor=lambda text, s, r: s + 2 >= len(text)), SOP),
            "The last sentence but one is refused. It has a successor; only the last has none.",
        ),
        Mutant(
            "counts_documents",
            (counts_documents, SOP),
            "The end is looked for in the number of documents. A sentence's successor lies in the same document: "
            "len(documents[document]).",
        ),
        Mutant(
            "compares_sentences",
            (_checked(refused=lambda docs, d, r: docs[r[0]] == docs[d]), SOP),
            "Documents are compared by what they say, so a copy counts as the same. Compare their numbers: "
            "replacement[0] == document.",
        ),
        Mutant(
            "document_zero_ignored",
            (document_zero_ignored, SOP),
            "Document 0 never replaces: a truth test takes its number for nothing. Ask `replacement is None`.",
        ),
        Mutant(
            "other_order",
            (successor_first, SOP),
            "The natural pair comes in the wrong order. The sentence comes first, then its successor.",
        ),
        Mutant(
            "previous",
            (previous, SOP),
            "The second sentence is the one before, not the one after: sentence + 1.",
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
        Mutant(
            "first_replaced",
            (first_replaced, SOP),
            "The first sentence is replaced. It stays, and its successor is the one that is replaced: text[sentence], "
            "documents[r[0]][r[1]].",
        ),
        Mutant(
            "whole_document",
            (_nsp(second=lambda docs, d, s, r: docs[r[0]]), SOP),
            "The whole other document comes second. The replacement names one of its sentences: documents[r[0]][r[1]].",
        ),
        Mutant(
            "after_replacement",
            (_nsp(second=lambda docs, d, s, r: docs[r[0]][(r[1] + 1) % len(docs[r[0]])]), SOP),
            "The sentence after the replacement comes second. replacement names the sentence itself: "
            "documents[r[0]][r[1]].",
        ),
        Mutant(
            "first_of_document",
            (_nsp(second=lambda docs, d, s, r: docs[r[0]][0]), SOP),
            "The second sentence is always the first of the other document. The replacement names which one: "
            "documents[r[0]][r[1]].",
        ),
        Mutant(
            "always_natural",
            (_nsp(label=lambda r: 0), SOP),
            "nsp_pair gives label 0 to every pair. A replaced sentence has label 1.",
        ),
        Mutant(
            "always_random",
            (_nsp(label=lambda r: 1), SOP),
            "nsp_pair gives label 1 to every pair. A sentence with its own successor has label 0.",
        ),
        Mutant(
            "same_sentence",
            (_nsp_follow(0), SOP),
            "The natural pair holds the same sentence twice. The second is its successor: text[sentence + 1].",
        ),
        Mutant(
            "one_further",
            (_nsp_follow(2), SOP),
            "The natural pair skips a sentence. The second is the one that follows: text[sentence + 1].",
        ),
        Mutant(
            "sop_turned",
            (NSP, lambda first, second, swap: (first, second, 1) if swap else (second, first, 0)),
            "sop_pair swaps when swap is False, and not when it is True. swap=True gives (second, first, 1).",
        ),
        Mutant(
            "sop_same_label",
            (NSP, lambda first, second, swap: (second, first, 0) if swap else (first, second, 0)),
            "sop_pair gives label 0 to every pair. The swapped one has label 1.",
        ),
        Mutant(
            "joined",
            (NSP, lambda first, second, swap: (second + first, 1) if swap else (first + second, 0)),
            "sop_pair puts both sentences in one list. Return three things: the first, the second and the label.",
        ),
    ],
)
