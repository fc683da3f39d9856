"""UniLM's four masks."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import masks as ref


def by_rule(objective, source, target):
    """One comparison per objective, looked up in a dictionary."""
    T = source + target
    i = torch.arange(T)
    q, k = i[:, None], i[None, :]
    rules = {
        "bidirectional": k == k,
        "left-to-right": k <= q,
        "right-to-left": k >= q,
        "sequence-to-sequence": (k <= q) | (k < source),
    }
    if objective not in rules:
        raise ValueError(f"unknown objective {objective}")
    return rules[objective].expand(T, T)


def by_blocks(objective, source, target):
    """Four blocks, put together."""
    full = lambda a, b: torch.ones(a, b, dtype=torch.bool)
    if objective == "sequence-to-sequence":
        top = torch.hstack([full(source, source), ~full(source, target)])
        return torch.vstack([top, torch.hstack([full(target, source), full(target, target).tril()])])
    square = full(source + target, source + target)
    if objective == "bidirectional":
        return square
    if objective in ("left-to-right", "right-to-left"):
        return square.tril() if objective.startswith("left") else square.triu()
    raise ValueError(objective)


def by_names(objective, source, target):
    """A chain of ifs on the names, each mask by index."""
    row = torch.arange(source + target).repeat(source + target, 1)
    column = row.T
    if objective == "right-to-left":
        return row >= column
    if objective == "sequence-to-sequence":
        return torch.maximum(column, torch.tensor(source - 1)) >= row
    if objective not in ("bidirectional", "left-to-right"):
        raise ValueError(f"{objective}?")
    return (row <= column) | (objective == "bidirectional")


def _each(p: Program, g: Source) -> Program:
    """The three masks in which only the sum of the lengths counts."""
    for name in ("right-to-left", "left-to-right", "bidirectional"):
        p.call(name, g.integer(2, 9), g.integer(2, 9))
    return p


def no_else(objective, source, target):
    return _unilm()(objective, source, target) if objective in NAMES else None


def _unilm(**changed):
    """The right rules with some of them changed; like most first attempts it does not mind an unknown objective."""

    def wrong(objective, source, target):
        T = source + target
        i = torch.arange(T)
        q, k = i[:, None], i[None, :]
        rules = {
            "bidirectional": lambda q, k, s, t: k >= 0,
            "left_to_right": lambda q, k, s, t: k <= q,
            "right_to_left": lambda q, k, s, t: k >= q,
            "sequence_to_sequence": lambda q, k, s, t: (k <= q) | (k < s),
            **changed,
        }
        rule = rules.get(objective.replace("-", "_"), rules["sequence_to_sequence"])
        return rule(q, k, source, target).expand(T, T)

    return wrong


NAMES = ref.UNILM_OBJECTIVES

EXERCISE = Exercise(
    id="mask.unilm",
    title="UniLM's four masks",
    points=3,
    difficulty=2,
    minutes=12,
    extension=True,
    signature="unilm_mask(objective, source, target)",
    reference=ref.unilm_mask,
    alternatives=[by_rule, by_blocks, by_names],
    cases=[
        Case(
            "two and one",
            "sequence-to-sequence, 2 source words and 1 target word: the source never sees the target",
            lambda g: call("sequence-to-sequence", 2, 1),
        ),
        Case("bidirectional", "3 words in all: every word sees every word", lambda g: call("bidirectional", 2, 1)),
        Case("left to right", "the causal mask over both segments", lambda g: call("left-to-right", 2, 3)),
        Case("right to left", "each word sees itself and what follows", lambda g: call("right-to-left", 2, 3)),
        Case(
            "long source",
            "four times sequence-to-sequence with more source than target",
            lambda g: several(4, lambda p: p.call("sequence-to-sequence", g.integer(8, 15), g.integer(3, 8))),
            weight=2,
        ),
        Case(
            "long target",
            "four times sequence-to-sequence with more target than source",
            lambda g: several(4, lambda p: p.call("sequence-to-sequence", g.integer(2, 7), g.integer(7, 15))),
        ),
        Case(
            "other masks",
            "right to left, left to right and bidirectional for other lengths of the two segments",
            lambda g: several(2, lambda p: _each(p, g)),
        ),
        Case(
            "one side",
            "sequence-to-sequence without a source is causal, and without a target it is full",
            lambda g: several(
                4,
                lambda p: p.call("sequence-to-sequence", 0, g.integer(2, 15)).call(
                    "sequence-to-sequence", g.integer(2, 15), 0
                ),
            ),
            weight=0.5,
        ),
        Case("unknown", "'diagonal' is none of the four: ValueError", lambda g: call("diagonal", 2, 2), weight=0.5),
    ],
    mutants=[
        Mutant(
            "no_right_to_left",
            _unilm(right_to_left=lambda q, k, s, t: k <= q),
            "Right-to-left gives the left-to-right mask. It is the other triangle: a word sees itself and what "
            "follows it.",
        ),
        Mutant(
            "right_to_left_blind",
            _unilm(right_to_left=lambda q, k, s, t: k > q),
            "Right-to-left leaves the diagonal out, so the last word sees nothing. A word sees itself, too.",
        ),
        Mutant(
            "mirrored",
            _unilm(right_to_left=lambda q, k, s, t: k <= q.flip(0)),
            "Right-to-left is the causal mask with its rows reversed, in which word 0 sees everything and no "
            "diagonal is left. Use the transpose of the causal mask.",
        ),
        Mutant(
            "source_sees_target",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (q < s) | (k <= q)),
            "The source words see the target, which they must not: a key is allowed when it lies in the source, "
            "or not after the query.",
        ),
        Mutant(
            "source_causal",
            _unilm(sequence_to_sequence=lambda q, k, s, t: k <= q),
            "In sequence-to-sequence the source is read causally here. Source words see the whole source.",
        ),
        Mutant(
            "target_blind",
            _unilm(sequence_to_sequence=lambda q, k, s, t: torch.where(q < s, k < s, (k >= s) & (k <= q))),
            "The target words do not see the source. They see all of it, and the target up to themselves.",
        ),
        Mutant(
            "target_full",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (k < s) | (q >= s)),
            "The target words see each other in both directions, so each sees the word it should predict. Within "
            "the target the mask is causal.",
        ),
        Mutant(
            "lengths_swapped",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (k <= q) | (k < t)),
            "The open block is as long as the target. It is the source, which comes first, that everyone sees.",
        ),
        Mutant(
            "source_only",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (k < s) & (q >= 0)),
            "The target words see the source but not each other, nor themselves. They also see the target up to "
            "themselves.",
        ),
        Mutant(
            "source_too_long",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (k <= q) | (k <= s)),
            "The open block is one word too long: the first target word is open to all. The source has places 0 to "
            "source - 1.",
        ),
        Mutant(
            "directions_swapped",
            _unilm(left_to_right=lambda q, k, s, t: k >= q, right_to_left=lambda q, k, s, t: k <= q),
            "Left-to-right and right-to-left are exchanged. Rows are queries: left-to-right is the lower triangle.",
        ),
        Mutant(
            "diagonal_shared",
            _unilm(bidirectional=lambda q, k, s, t: k != q),
            "In the bidirectional mask a word does not see itself. Everything is allowed there.",
        ),
        Mutant(
            "no_else",
            no_else,
            "All four masks are right. Any other name falls through and gives None: end with a ValueError.",
        ),
        Mutant(
            "unchecked",
            _unilm(),
            "All four masks are right. Raise a ValueError for any other name: a typing error would otherwise train "
            "with the wrong mask.",
        ),
        Mutant(
            "segments_apart",
            _unilm(bidirectional=lambda q, k, s, t: (q < s) == (k < s)),
            "In the bidirectional mask each segment sees only itself. Every word sees every word there, over both "
            "segments.",
        ),
        Mutant(
            "bidirectional_empty",
            _unilm(bidirectional=lambda q, k, s, t: (k < 0) & (q < 0)),
            "The bidirectional mask hides everything. True means may look: it is all True.",
        ),
        Mutant(
            "bidirectional_causal",
            _unilm(bidirectional=lambda q, k, s, t: k <= q),
            "Bidirectional gives the causal mask. Every word sees every word there: all True.",
        ),
        Mutant(
            "sequence_open",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (k >= 0) & (q >= 0)),
            "In sequence-to-sequence every word sees every word. The target is causal, and hidden from the source: a "
            "prefix mask with the source as prefix.",
        ),
        Mutant(
            "source_too_short",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (k <= q) | (k < s - 1)),
            "The open block is one word too short. The source has places 0 to source - 1: k < source.",
        ),
        Mutant(
            "segments_causal",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (k <= q) & ((q < s) == (k < s))),
            "In sequence-to-sequence both segments are read causally, each for itself. The source is open to all "
            "words, the target causal.",
        ),
        Mutant(
            "two_blocks",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (q < s) == (k < s)),
            "In sequence-to-sequence each segment sees only itself, in both directions. The source is open to all "
            "words, the target causal.",
        ),
        Mutant(
            "sequence_transposed",
            _unilm(sequence_to_sequence=lambda q, k, s, t: (q <= k) | (q < s)),
            "The sequence-to-sequence mask is transposed. Rows are queries: a key is allowed when it lies in the "
            "source, or not after the query.",
        ),
        Mutant(
            "right_to_left_open",
            _unilm(right_to_left=lambda q, k, s, t: k >= 0),
            "Right-to-left lets every word see every word. A word sees itself and what follows it: the transposed "
            "causal mask.",
        ),
        Mutant(
            "right_to_left_past",
            _unilm(right_to_left=lambda q, k, s, t: k < q),
            "Right-to-left is turned over: each word sees only what comes before it. It sees itself and what follows.",
        ),
    ],
)
