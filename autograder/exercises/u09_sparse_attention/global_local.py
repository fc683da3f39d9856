"""Longformer's window with global tokens."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import sparse as ref

from .shared import places


def global_by_assignment(T, w, tokens):
    """Opens rows and columns in a band."""
    if any(t < 0 or t >= T for t in tokens):
        raise ValueError("token outside the text")
    mask = torch.ones(T, T, dtype=torch.bool).tril(w // 2).triu(-(w // 2))
    for t in tokens:
        mask[t] = True
        mask[:, t] = True
    return mask


def global_by_membership(T, w, tokens):
    """isin on the places."""
    if not all(0 <= t < T for t in tokens):
        raise ValueError(tokens)
    i, j = places(T)
    chosen = torch.isin(torch.arange(T), torch.tensor(tokens))
    return ((i - j).abs() * 2 < w) | chosen[:, None] | chosen[None, :]


def longformer(T, w, tokens):
    """Refuses places behind the end, and no negative ones."""
    if any(t >= T for t in tokens):
        raise ValueError(tokens)
    return ref.longformer_mask(T, w, [t % T for t in tokens])


def _end_unchecked(T, w, tokens):
    """Lets the place after the last one through; the index then fails."""
    if tokens and (min(tokens) < 0 or max(tokens) > T):
        raise ValueError(tokens)
    mask = ref.local_symmetric_mask(T, w)
    mask[tokens, :] = True
    mask[:, tokens] = True
    return mask


def _last_refused(T, w, tokens):
    """Refuses the last place, too."""
    if any(t >= T - 1 for t in tokens):
        raise ValueError(tokens)
    return ref.longformer_mask(T, w, tokens)


def _global(rule, radius=lambda w: w // 2):
    def wrong(T, w, tokens):
        i, j = places(T)
        chosen = torch.zeros(T, dtype=torch.bool)
        chosen[[t for t in tokens if 0 <= t < T]] = True
        return rule((i - j).abs() <= radius(w), chosen[:, None], chosen[None, :]).expand(T, T)

    return wrong


def _empty_as_float(T, w, tokens):
    index = torch.tensor(tokens)
    mask = longformer(T, w, [])
    if ((index < 0) | (index >= T)).any():
        raise ValueError(tokens)
    mask[index] = True
    mask[:, index] = True
    return mask


def _by_extremes(T, w, tokens):
    if min(tokens) < 0 or max(tokens) >= T:
        raise ValueError(tokens)
    return ref.longformer_mask(T, w, tokens)


def _first_refused(T, w, tokens):
    if any(not 0 < t < T for t in tokens):
        raise ValueError(tokens)
    return ref.longformer_mask(T, w, tokens)


def _any_index(T, w, tokens):
    mask = ref.local_symmetric_mask(T, w)
    mask[tokens, :] = True
    mask[:, tokens] = True
    return mask


def _only_negative_refused(T, w, tokens):
    if any(t < 0 for t in tokens):
        raise ValueError(tokens)
    return ref.longformer_mask(T, w, [t for t in tokens if t < T])


EXERCISE = Exercise(
    id="sparse.global_local",
    title="A window and a few global tokens",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="longformer_mask(T, w, tokens)",
    reference=ref.longformer_mask,
    alternatives=[global_by_assignment, global_by_membership],
    cases=[
        Case(
            "one hub",
            "four words, window 1, word 0 global: it sees all and all see it",
            lambda g: call(4, 1, [0]),
            weight=2,
        ),
        Case("two hubs", "eight words, window 3, words 0 and 5 global", lambda g: call(8, 3, [0, 5]), weight=2),
        Case(
            "first and last",
            "three texts of random sizes, in each the first and the last word are global",
            lambda g: several(3, lambda p: p.call(T := g.integer(8, 20), 2 * g.integer(1, 3) + 1, [0, T - 1])),
        ),
        Case("no hub", "without global tokens the window is left", lambda g: call(5, 3, [])),
        Case(
            "random",
            "three times random sizes, one global word in the middle",
            lambda g: several(3, lambda p: p.call(g.integer(12, 22), 2 * g.integer(1, 4) + 1, [g.integer(2, 11)])),
            weight=2,
        ),
        Case("outside", "there is no word 5 in a text of five: ValueError", lambda g: call(5, 3, [5]), weight=0.5),
        Case(
            "negative",
            "place −1 is a ValueError, too, although Python would take the last word",
            lambda g: call(5, 3, [-1]),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "rows_only",
            _global(lambda near, row, column: near | row),
            "The global tokens see all words, but the others do not see them. Open their columns as well as their "
            "rows.",
        ),
        Mutant(
            "columns_only",
            _global(lambda near, row, column: near | column),
            "All words see the global tokens, but these see only their window. Open their rows as well as their "
            "columns.",
        ),
        Mutant(
            "hubs_among_themselves",
            _global(lambda near, row, column: near | (row & column)),
            "Only pairs of two global tokens were added. One global partner is enough: use | in place of &.",
        ),
        Mutant(
            "either_not_both",
            _global(lambda near, row, column: near | (row ^ column)),
            "Pairs of two global tokens are closed: the row and the column are joined with ^, which is either, but not "
            "both. Use |.",
        ),
        Mutant(
            "last_refused",
            _last_refused,
            "The last word is refused as a global token. The places go from 0 to T − 1, that one included.",
        ),
        Mutant(
            "end_unchecked",
            _end_unchecked,
            "The mask is right. Place T is let through, and then there is no such index: raise a ValueError from T on, "
            "places end at T − 1.",
        ),
        Mutant(
            "no_window",
            _global(lambda near, row, column: row | column),
            "The window is missing: two ordinary words never see each other, nor a word itself.",
        ),
        Mutant(
            "needs_both",
            _global(lambda near, row, column: near & (row | column)),
            "A pair must be near and have a global partner here. One of the two is enough: use | in place of &.",
        ),
        Mutant(
            "no_hubs",
            _global(lambda near, row, column: near & (row | True)),
            "The global tokens change nothing: this is the window alone.",
        ),
        Mutant(
            "causal_window",
            lambda T, w, tokens: ref.local_causal_mask(T, w) | longformer(T, 1, tokens),
            "The window looks only back. Here it is symmetric: half of its keys lie after the query.",
        ),
        Mutant(
            "one_hub",
            lambda T, w, tokens: longformer(T, w, tokens[:1]),
            "Only the first of the global tokens is used. Open the row and the column of each.",
        ),
        Mutant(
            "negative_unchecked",
            longformer,
            "Places behind the end are refused, negative ones are not: index −1 quietly opens the last word. Raise "
            "a ValueError below 0, too.",
        ),
        Mutant(
            "unchecked",
            _global(lambda near, row, column: near | row | column),
            "The mask is right. Raise a ValueError for a global token outside 0 … T − 1: index −1 would quietly "
            "open the last word.",
        ),
        Mutant(
            "last_hub",
            lambda T, w, tokens: longformer(T, w, tokens[-1:]),
            "Only the last of the global tokens is open. Do not start again from the window for each of them: keep "
            "what is open, and add.",
        ),
        Mutant(
            "first_words",
            lambda T, w, tokens: longformer(T, w, range(len(tokens))),
            "The first words of the text become global, as many as there are tokens. `tokens` holds their places: use "
            "these as indices.",
        ),
        Mutant(
            "empty_list_as_float",
            _empty_as_float,
            "An empty list becomes a float tensor, which is no index. Ask for dtype=torch.long, index with the list "
            "itself, or loop over it.",
        ),
        Mutant(
            "empty_list_refused",
            _by_extremes,
            "An empty list ends in a ValueError, as min() and max() of nothing do. It is allowed: then the window is "
            "left. Check with any(…), or place by place.",
        ),
        Mutant(
            "first_refused",
            _first_refused,
            "The first word is refused as a global token. Places count from 0, that one included.",
        ),
        Mutant(
            "wide_window",
            _global(lambda near, row, column: near | row | column, radius=lambda w: w - 1),
            "The window reaches w − 1 keys to each side. It holds w keys in all: use local_symmetric_mask, or (w − "
            "1)/2 to each side.",
        ),
        Mutant(
            "radius_w",
            _global(lambda near, row, column: near | row | column, radius=lambda w: w),
            "The window reaches w keys to each side, 2w + 1 in all. It holds w: use local_symmetric_mask, or (w − "
            "1)/2 to each side.",
        ),
        Mutant(
            "causal",
            lambda T, w, tokens: longformer(T, w, tokens).tril(),
            "Nothing after the query is visible. Here both the window and the global tokens work in both directions.",
        ),
        Mutant(
            "closed_hubs",
            _global(lambda near, row, column: near & ~(row | column)),
            "The rows and columns of the global tokens are closed instead of opened. Set them to True, or join them "
            "with |.",
        ),
        Mutant(
            "unchecked_index",
            _any_index,
            "The mask is right. A place that is not there ends in an IndexError, and −1 quietly opens the last word: "
            "raise a ValueError outside 0 … T − 1 first.",
        ),
        Mutant(
            "only_negative_refused",
            _only_negative_refused,
            "The mask is right, and negative places are refused. Places from T on quietly change nothing: raise a "
            "ValueError for them, too.",
        ),
    ],
)
