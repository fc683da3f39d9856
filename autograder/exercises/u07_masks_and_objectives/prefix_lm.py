"""A prefix that sees itself in full."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import masks as ref


def by_block(T, prefix):
    """A causal mask whose first columns are opened."""
    if not 0 <= prefix <= T:
        raise ValueError("prefix outside 0..T")
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    mask[:, :prefix] = True
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


def _checked(refused):
    def wrong(T, prefix):
        if refused(T, prefix):
            raise ValueError("no such prefix")
        i = torch.arange(T)
        return (i < prefix) | (i <= i[:, None])

    return wrong


EXERCISE = Exercise(
    id="mask.prefix_lm",
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
        Case(
            "first word",
            "four times a prefix of one word, which is the causal mask, and one that lacks the last word only",
            lambda g: several(4, lambda p: p.call(g.integer(6, 16), 1).call(*(lambda T: (T, T - 1))(g.integer(6, 16)))),
            weight=0.5,
        ),
        Case("single", "a text of one word: with a prefix of 0 and of 1", lambda g: call(1, 0).call(1, 1), weight=0.5),
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
            "one_too_few",
            _prefix(lambda q, k, p: (k < p - 1) | (k <= q)),
            "The prefix is one word too short. Places count from 0, so a prefix of p words has places 0 to p - 1: "
            "k < prefix.",
        ),
        Mutant(
            "last_words",
            _prefix(lambda q, k, p: (k >= len(k.T) - p) | (k <= q)),
            "The last words are open to all, not the first. The prefix is where the text begins: k < prefix.",
        ),
        Mutant(
            "wide_band",
            _prefix(lambda q, k, p: k <= q + p),
            "Every word sees `prefix` words ahead: tril with an offset moves the whole diagonal. Only the keys inside "
            "the prefix are open.",
        ),
        Mutant(
            "prefix_apart",
            _prefix(lambda q, k, p: ((q < p) & (k < p)) | ((q >= p) & (k >= p) & (k <= q))),
            "The words after the prefix do not see it. A key in the prefix is allowed for every query.",
        ),
        Mutant(
            "numbers",
            lambda T, prefix: ref.prefix_lm_mask(T, prefix).long(),
            "The pattern is right, but these are whole numbers. Return booleans (a comparison, or dtype=torch.bool).",
        ),
        Mutant(
            "empty_refused",
            _checked(lambda T, p: not 0 < p <= T),
            "A prefix of 0 is refused. It is allowed, and gives the causal mask.",
        ),
        Mutant(
            "full_refused",
            _checked(lambda T, p: not 0 <= p < T),
            "A prefix of T is refused. It is allowed, and lets every word see every word.",
        ),
        Mutant(
            "negative_allowed",
            _checked(lambda T, p: p > T),
            "One check is missing: a negative prefix. Raise a ValueError for it as well.",
        ),
        Mutant(
            "too_long_allowed",
            _checked(lambda T, p: p < 0),
            "One check is missing: a prefix longer than T. Raise a ValueError for it as well.",
        ),
        Mutant(
            "unchecked",
            _prefix(lambda q, k, p: (k < p) | (k <= q)),
            "The mask is right. Raise a ValueError when the prefix does not lie in 0 … T.",
        ),
        Mutant(
            "block_only",
            _prefix(lambda q, k, p: (q < p) & (k < p)),
            "Only the prefix sees anything. The words after it see the prefix and everything up to themselves.",
        ),
        Mutant(
            "transposed",
            _prefix(lambda q, k, p: (q < p) | (k >= q)),
            "Queries and keys are exchanged. Rows are queries, and a key is allowed when it lies in the prefix or not "
            "after the query.",
        ),
        Mutant(
            "not_itself",
            _prefix(lambda q, k, p: (k < p) | (k < q)),
            "A word after the prefix does not see itself. The key may be the query's own place: k <= q.",
        ),
        Mutant(
            "exactly_one",
            _prefix(lambda q, k, p: (k < p) ^ (k <= q)),
            "A key that fulfills both conditions is refused. At least one must hold: use |.",
        ),
        Mutant(
            "sees_next",
            _prefix(lambda q, k, p: (k < p) | (k <= q + 1)),
            "Each word also sees the next one, which it should predict. After the prefix the last allowed key is the "
            "word itself.",
        ),
        Mutant(
            "target_full",
            _prefix(lambda q, k, p: (k < p) | (q >= p)),
            "The words after the prefix see each other in both directions. After the prefix the mask is causal: k <= "
            "q.",
        ),
        Mutant(
            "all_open",
            _prefix(lambda q, k, p: (k >= 0) & (q >= 0)),
            "Every word sees every word. A key after the prefix is allowed only when it is not later than the query.",
        ),
    ],
)
