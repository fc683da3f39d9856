"""Longformer's window with global tokens."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several
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


MISTAKES = changes(
    global_by_membership,
    """
rows_only: raise ValueError(tokens) → pass ; | chosen[None, :] →
    The global tokens see all tokens, but the others do not see them. Open their columns as well as their rows.
columns_only: raise ValueError(tokens) → pass ; | chosen[:, None] →
    All tokens see the global ones, but these see only their window. Open their rows as well as their columns.
hubs_among_themselves: raise ValueError(tokens) → pass ; chosen[:, None] | chosen → chosen[:, None] & chosen
    Only pairs of two global tokens were added. One global partner is enough: use | in place of &.
either_not_both: raise ValueError(tokens) → pass ; chosen[:, None] | chosen → chosen[:, None] ^ chosen
    Pairs of two global tokens are closed: the row and the column are joined with ^, which is either, but not both.
    Use |.
last_refused: t < T → t < T - 1
    The last token is refused as a global one. Positions go from 0 to T − 1, that one included.
end_unchecked: t < T → t <= T ; torch.isin(torch.arange(T), torch.tensor(tokens)) → torch.zeros(T).bool()
; return → chosen[tokens] = True; return
    The mask is right, but position T is let through, and there is no such index. Positions end at T − 1: raise a
    ValueError from T on.
no_window: raise ValueError(tokens) → pass ; ((i - j).abs() * 2 < w) | →
    The window is missing: ordinary tokens see neither each other nor themselves.
needs_both: raise ValueError(tokens) → pass
; | chosen[:, None] | chosen[None, :] → & (chosen[:, None] | chosen[None, :])
    A pair must be near and have a global partner here. One of the two is enough: use | in place of &.
no_hubs: raise ValueError(tokens) → pass ; | chosen[:, None] | chosen[None, :] →
    The global tokens change nothing: this is the window alone.
causal_window: 0 <= t < T → t < T ; torch.tensor(tokens) → torch.tensor(tokens) % T
; (i - j).abs() * 2 < w → (j <= i) & (i - j < w)
    The window looks only back. Here it is symmetric: half of its keys lie after the query.
one_hub: 0 <= t < T → t < T ; torch.tensor(tokens) → torch.tensor(tokens[:1]) % T
    Only the first of the global tokens is used. Open the row and the column of each.
negative_unchecked: 0 <= t < T → t < T ; torch.tensor(tokens) → torch.tensor(tokens) % T
    Positions behind the end are refused, negative ones are not: index −1 quietly opens the last token. Raise a
    ValueError below 0, too.
unchecked: raise ValueError(tokens) → pass
    The mask is right. Raise a ValueError for a global token outside 0 … T − 1: index −1 would quietly open the last
    token.
last_hub: 0 <= t < T → t < T ; torch.tensor(tokens) → torch.tensor(tokens[-1:]) % T
    Only the last of the global tokens is open. Do not start again from the window for each of them: keep what is
    open, and add.
first_words: raise ValueError(tokens) → pass ; torch.tensor(tokens) → torch.arange(len(tokens))
    The first tokens of the text become global, as many as `tokens` has entries. These entries are positions: use them
    as indices.
empty_list_as_float: torch.isin(torch.arange(T), torch.tensor(tokens)) → torch.zeros(T).bool()
; return → chosen[torch.tensor(tokens)] = True; return
    An empty list becomes a float tensor, which is no index. Ask for dtype=torch.long, index with the list itself,
    or loop over it.
empty_list_refused: not all(0 <= t < T for t in tokens) → min(tokens) < 0 or max(tokens) >= T
    An empty list ends in a ValueError, as min() and max() of nothing do. It is allowed: then the window is left. Check
    with any(…), or position by position.
first_refused: 0 <= t → 0 < t
    The first token is refused as a global one. Positions count from 0, that one included.
wide_window: raise ValueError(tokens) → pass ; (i - j).abs() * 2 < w → (i - j).abs() < w
    The window reaches w − 1 keys to each side. It holds w keys in all: use local_symmetric_mask, or (w − 1)/2 to
    each side.
radius_w: raise ValueError(tokens) → pass ; (i - j).abs() * 2 < w → (i - j).abs() <= w
    The window reaches w keys to each side, 2w + 1 in all. It holds w: use local_symmetric_mask, or (w − 1)/2 to
    each side.
causal: 0 <= t < T → t < T ; torch.tensor(tokens) → torch.tensor(tokens) % T
; ((i - j).abs() * 2 < w) → (j <= i) & (((i - j).abs() * 2 < w) ; chosen[None, :] → chosen[None, :])
    Nothing after the query is visible. Here both the window and the global tokens work in both directions.
closed_hubs: raise ValueError(tokens) → pass
; | chosen[:, None] | chosen[None, :] → & ~(chosen[:, None] | chosen[None, :])
    The rows and columns of the global tokens are closed instead of opened. Set them to True, or join them with |.
unchecked_index: raise ValueError(tokens) → pass
; torch.isin(torch.arange(T), torch.tensor(tokens)) → torch.zeros(T).bool() ; return → chosen[tokens] = True; return
    The mask is right. A position that does not exist ends in an IndexError, and −1 quietly opens the last token: raise
    a ValueError outside 0 … T − 1 first.
only_negative_refused: 0 <= t < T → 0 <= t
    The mask is right, and negative positions are refused. Positions from T on quietly change nothing: raise a
    ValueError for them, too.
""",
)


EXERCISE = Exercise(
    id="sparse.global_local",
    title="A window and a few global tokens",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    reference=ref.longformer_mask,
    alternatives=[global_by_assignment, global_by_membership],
    cases=[
        Case(
            "one hub",
            "four tokens, window 1, token 0 global: it sees all and all see it",
            lambda g: call(4, 1, [0]),
            weight=2,
        ),
        Case("two hubs", "eight tokens, window 3, tokens 0 and 5 global", lambda g: call(8, 3, [0, 5]), weight=2),
        Case(
            "first and last",
            "three texts of random sizes, in each the first and the last token are global",
            lambda g: several(3, lambda p: p.call(T := g.integer(8, 20), 2 * g.integer(1, 3) + 1, [0, T - 1])),
        ),
        Case("no hub", "without global tokens the window is left", lambda g: call(5, 3, [])),
        Case(
            "random",
            "three times random sizes, one global token in the middle",
            lambda g: several(3, lambda p: p.call(g.integer(12, 22), 2 * g.integer(1, 4) + 1, [g.integer(2, 11)])),
            weight=2,
        ),
        Case("outside", "there is no token 5 in a text of five: ValueError", lambda g: call(5, 3, [5]), weight=0.5),
        Case(
            "negative",
            "position −1 is a ValueError, too, although Python would take the last token",
            lambda g: call(5, 3, [-1]),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    unasked="""
the learner's function has no device; only the reference, which other units use, has one
    longformer_mask(device)
""",
    equivalent="""
twice a distance is even and w is odd, so they are never equal
    c4b0b59603 alternative global_by_membership, compare: (i - j).abs() * 2 < w → (i - j).abs() * 2 <= w
twice a distance is even and w is odd, so none lies between
    b91e2d4f41 alternative global_by_membership, window: w + 1 in (i - j).abs() * 2 < w
""",
)
