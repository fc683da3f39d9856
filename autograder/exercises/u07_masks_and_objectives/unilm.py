"""UniLM's four masks."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import masks as ref


def by_rule(objective, source, target):
    """One comparison per objective, looked up in a dictionary."""
    T = source + target
    i = torch.arange(T)
    q, k = i[:, None], i[None, :]
    rules = {
        "bidirectional": k >= 0,
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
        top = torch.cat([full(source, source), ~full(source, target)], 1)
        return torch.cat([top, torch.cat([full(target, source), full(target, target).tril()], 1)], 0)
    square = full(source + target, source + target)
    if objective == "bidirectional":
        return square
    if objective in ("left-to-right", "right-to-left"):
        return square.tril() if objective.startswith("left") else square.triu()
    raise ValueError(objective)


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


EXERCISE = Exercise(
    id="mask.unilm",
    unit="07-masks-and-objectives",
    title="UniLM's four masks",
    points=3,
    difficulty=2,
    minutes=12,
    extension=True,
    signature="unilm_mask(objective, source, target)",
    reference=ref.unilm_mask,
    alternatives=[by_rule, by_blocks],
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
            "unchecked",
            _unilm(),
            "All four masks are right. Raise a ValueError for any other name: a typing error would otherwise train "
            "with the wrong mask.",
        ),
    ],
)
