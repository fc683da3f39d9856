"""UniLM's four masks."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
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


# Where a mask is wrong, an unknown objective is taken for the last one, as in most first attempts.
MISTAKES = changes(
    by_rule,
    """
no_right_to_left: k >= q → k <= q
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    Right-to-left gives the left-to-right mask. It is the other triangle: a token sees itself and what follows it.
right_to_left_blind: k >= q → k > q
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    Right-to-left leaves the diagonal out, so the last token sees nothing. A token sees itself, too.
mirrored: k >= q → k <= q.flip(0)
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    Right-to-left is the causal mask with its rows reversed, in which token 0 sees everything and no diagonal is
    left. Use the transpose of the causal mask.
source_sees_target: k < source → q < source
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    The source tokens see the target, which they must not: a key is allowed when it is in the source, or not after
    the query.
source_causal: | (k < source) →
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    In sequence-to-sequence the source is read causally here. Source tokens see the whole source.
target_blind: (k <= q) | (k < source) → torch.where(q < source, k < source, (k >= source) & (k <= q))
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    The target tokens do not see the source. They see all of it, and the target up to themselves.
target_full: (k <= q) → (q >= source)
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    The target tokens see each other in both directions, so each sees the token it should predict. Within the target
    the mask is causal.
lengths_swapped: k < source → k < target
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    The open block is as long as the target. It is the source, which comes first, that everyone sees.
source_only: (k <= q) | → ; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    The target tokens see the source but not each other, nor themselves. They also see the target up to themselves.
source_too_long: k < source → k <= source
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    The open block is one token too long: the first target token is open to all. The source has positions 0 to
    source - 1.
directions_swapped: "left-to-right": k <= q → "left-to-right": k >= q
; "right-to-left": k >= q → "right-to-left": k <= q
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    Left-to-right and right-to-left are exchanged. Rows are queries: left-to-right is the lower triangle.
diagonal_shared: k == k → k != q
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    In the bidirectional mask a token does not see itself. Everything is allowed there.
no_else: raise ValueError(f"unknown objective {objective}") → return None
    All four masks are right. Any other name falls through and gives None: end with a ValueError.
unchecked: raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    All four masks are right. Raise a ValueError for any other name: a typing error would otherwise train with the
    wrong mask.
segments_apart: k == k → (q < source) == (k < source)
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    In the bidirectional mask each segment sees only itself. Every token sees every token there, over both segments.
bidirectional_empty: k == k → k != k
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    The bidirectional mask hides everything. True means may look: it is all True.
bidirectional_causal: k == k → k <= q
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    Bidirectional gives the causal mask. Every token sees every token there: all True.
sequence_open: (k <= q) | (k < source) → k == k
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    In sequence-to-sequence every token sees every token. The target is causal, and hidden from the source: a prefix
    mask with the source as prefix.
source_too_short: k < source → k < source - 1
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    The open block is one token too short. The source has positions 0 to source - 1: k < source.
segments_causal: | (k < source) → & ((q < source) == (k < source))
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    In sequence-to-sequence both segments are read causally, each for itself. The source is open to all tokens, the
    target causal.
two_blocks: (k <= q) | (k < source) → (q < source) == (k < source)
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    In sequence-to-sequence each segment sees only itself, in both directions. The source is open to all tokens, the
    target causal.
sequence_transposed: (k <= q) | (k < source) → (q <= k) | (q < source)
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    The sequence-to-sequence mask is transposed. Rows are queries: a key is allowed when it lies in the source, or
    not after the query.
right_to_left_open: k >= q → k == k
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    Right-to-left lets every token see every token. A token sees itself and what follows it: the transposed causal
    mask.
right_to_left_past: k >= q → k < q
; raise ValueError(f"unknown objective {objective}") → objective = "sequence-to-sequence"
    Right-to-left is turned over: each token sees only what comes before it. It sees itself and what follows.
""",
)

EXERCISE = Exercise(
    id="mask.unilm",
    title="UniLM's four masks",
    points=3,
    difficulty=2,
    minutes=12,
    extension=True,
    reference=ref.unilm_mask,
    alternatives=[by_rule, by_blocks, by_names],
    cases=[
        Case(
            "two and one",
            "sequence-to-sequence, 2 source tokens and 1 target token: the source never sees the target",
            lambda g: call("sequence-to-sequence", 2, 1),
        ),
        Case("bidirectional", "3 tokens in all: every token sees every token", lambda g: call("bidirectional", 2, 1)),
        Case(
            "left to right",
            "the causal mask over both segments, which the stub gives",
            lambda g: call("left-to-right", 2, 3),
            weight=0,
        ),
        Case("right to left", "each token sees itself and what follows", lambda g: call("right-to-left", 2, 3)),
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
    mutants=MISTAKES,
    unasked="""
the learner's function has no device; only the reference, which other units use, has one
    unilm_mask(device)
""",
)
