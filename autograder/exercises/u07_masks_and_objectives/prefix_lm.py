"""A prefix that sees itself in full."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import masks as ref


def by_block(T, prefix):
    """A causal mask whose first block is opened."""
    if not 0 <= prefix <= T:
        raise ValueError("prefix outside 0..T")
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    mask[:prefix, :prefix] = True
    return mask


def by_last_key(T, prefix):
    """Every query has a last allowed key: its own place, or the end of the prefix."""
    if prefix < 0 or prefix > T:
        raise ValueError("prefix outside 0..T")
    last = torch.tensor([max(t, prefix - 1) for t in range(T)])
    return torch.arange(T)[None, :] <= last[:, None]


# The mistakes leave the ValueError out: it comes with the last point, and would hide which mistake it is.
def _prefix(rule):
    def wrong(T, prefix):
        i = torch.arange(T)
        return rule(i[:, None], i[None, :], prefix).expand(T, T)

    return wrong


EXERCISE = Exercise(
    id="mask.prefix_lm",
    unit="07-masks-and-objectives",
    title="A prefix that sees itself in full",
    points=2,
    difficulty=2,
    minutes=8,
    extension=True,
    signature="prefix_lm_mask(T, prefix)",
    reference=ref.prefix_lm_mask,
    alternatives=[by_block, by_last_key],
    cases=[
        Case(
            "two of four",
            "a prefix of 2 in 4 words: words 0 and 1 see each other, words 2 and 3 are causal",
            lambda g: call(4, 2),
        ),
        Case("no prefix", "prefix 0 leaves the causal mask", lambda g: call(5, 0)),
        Case("all prefix", "prefix T lets every word see every word", lambda g: call(5, 5)),
        Case(
            "random",
            "four times random sizes, with words before and after the end of the prefix",
            lambda g: several(4, lambda p: p.call(g.integer(8, 16), g.integer(2, 7))),
            weight=2,
        ),
        Case("too long", "a prefix of 5 does not fit 4 words: ValueError", lambda g: call(4, 5), weight=0.5),
        Case("negative", "a prefix of −1 words does not exist: ValueError", lambda g: call(4, -1), weight=0.5),
    ],
    mutants=[
        Mutant(
            "causal_only",
            _prefix(lambda q, k, p: k <= q),
            "The prefix changes nothing: this is the causal mask. A key inside the prefix is allowed for every query.",
        ),
        Mutant(
            "prefix_only",
            _prefix(lambda q, k, p: (k < p) & (q >= 0)),
            "The words after the prefix see the prefix but not each other, nor themselves. Allow a key when it is "
            "in the prefix or not later than the query.",
        ),
        Mutant(
            "both_needed",
            _prefix(lambda q, k, p: (k < p) & (k <= q)),
            "A key must be in the prefix and in the past here. One of the two is enough: use | in place of &.",
        ),
        Mutant(
            "prefix_sees_all",
            _prefix(lambda q, k, p: (q < p) | (k <= q)),
            "The prefix's own words see everything, the text to be predicted included. It is the key that must lie "
            "in the prefix, not the query.",
        ),
        Mutant(
            "one_too_many",
            _prefix(lambda q, k, p: (k <= p) | (k <= q)),
            "The prefix is one word too long. Places count from 0, so a prefix of p words has places 0 to p - 1.",
        ),
        Mutant(
            "upside_down",
            _prefix(lambda q, k, p: ~((k < p) | (k <= q))),
            "The mask is upside down: True means may look.",
        ),
        Mutant(
            "unchecked",
            _prefix(lambda q, k, p: (k < p) | (k <= q)),
            "The mask is right. Raise a ValueError when the prefix does not lie in 0 … T.",
        ),
    ],
)
