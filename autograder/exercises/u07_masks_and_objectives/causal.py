"""Causal masks: square, with a cache, and together with padding on either side."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import masks as ref
from autograder.reference.attention import scaled_dot_product_attention

UNIT = "07-masks-and-objectives"
INF = math.inf


# --- causal attention ----------------------------------------------------------------------------------------------
def causal_attention(q, k, v):
    """Self-attention in which query t sees keys 0 … t."""
    return scaled_dot_product_attention(q, k, v, ref.causal_mask(q.shape[-2], device=q.device))


def by_prefixes(q, k, v):
    """One query at a time, with a list of keys that ends at itself: nothing has to be masked."""
    out = []
    for t in range(q.shape[-2]):
        scores = q[..., t : t + 1, :] @ k[..., : t + 1, :].mT / math.sqrt(q.shape[-1])
        out.append(torch.softmax(scores, -1) @ v[..., : t + 1, :])
    return torch.cat(out, dim=-2)


def by_adding(q, k, v):
    """An additive mask of 0 and −∞."""
    T = q.shape[-2]
    bias = torch.full((T, T), -INF, dtype=q.dtype).triu(1)
    return torch.softmax(torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5 + bias, -1) @ v


def _scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


def _ones(q, offset=0):
    T = q.shape[-2]
    return torch.ones(T, T, dtype=torch.bool).tril(offset)


def _fill(may, fill=-INF, scores=_scores):
    def wrong(q, k, v):
        return torch.softmax(scores(q, k).masked_fill(~may(q), fill), -1) @ v

    return wrong


def after_softmax(q, k, v):
    return torch.softmax(_scores(q, k), -1) * _ones(q) @ v


def over_queries(q, k, v):
    return torch.softmax(_scores(q, k).masked_fill(~_ones(q), -INF), -2) @ v


def _row(g, row, *shape):
    """Cotangent that asks for one row of the output."""
    out = torch.zeros(*shape)
    out[row] = g.randn(shape[-1]) + 3
    return out


CAUSAL = Exercise(
    id="mask.causal",
    unit=UNIT,
    title="Attention that cannot see ahead",
    points=3,
    difficulty=2,
    minutes=12,
    signature="causal_attention(q, k, v)",
    reference=causal_attention,
    alternatives=[by_prefixes, by_adding],
    forbidden=("scaled_dot_product_attention", "multi_head_attention_forward"),
    forbidden_message="Build the mask yourself and put it between the scores and the softmax.",
    cases=[
        Case(
            "by hand",
            "three equal scores: word 0 gets 2, word 1 the mean of 2 and 4, word 2 the mean of all three",
            lambda g: call(torch.zeros(3, 2), torch.ones(3, 2), torch.tensor([[2.0], [4.0], [9.0]])),
        ),
        Case(
            "batch",
            "two sentences, three heads, five words, values of another size",
            lambda g: call(g.randn(2, 3, 5, 4), g.randn(2, 3, 5, 4), g.randn(2, 3, 5, 7)),
        ),
        Case(
            "loud future",
            "the last key scores 10000, the others −200, and the earlier queries do not notice",
            lambda g: call(
                torch.ones(4, 2), torch.cat([g.randn(3, 2) - 142, torch.full((1, 2), 7072.0)]), g.randn(4, 3)
            ),
        ),
        Case(
            "no leak",
            "the gradient of word 1's output is 0 at words 2 and 3: the upper triangle of the Jacobian",
            lambda g: call(g.randn(4, 2), g.randn(4, 2), g.randn(4, 3), grad=[0, 1, 2], cotangent=_row(g, 1, 4, 3)),
            weight=2,
        ),
        Case(
            "sees the past",
            "the gradient of the last word's output reaches all four words: the lower triangle",
            lambda g: call(g.randn(4, 2), g.randn(4, 2), g.randn(4, 3), grad=[1, 2], cotangent=_row(g, 3, 4, 3)),
        ),
    ],
    mutants=[
        Mutant(
            "no_mask",
            _fill(lambda q: _ones(q, 99)),
            "Every word sees every word. Fill the scores of later keys with -inf before the softmax.",
        ),
        Mutant(
            "sees_next",
            _fill(lambda q: _ones(q, 1)),
            "Each word also sees the next one, which is the word it will have to predict. The last allowed key is "
            "the word itself: tril with offset 0.",
        ),
        Mutant(
            "not_itself",
            _fill(lambda q: _ones(q, -1)),
            "A word does not see itself, so word 0 sees nothing and its softmax is 0/0. The diagonal belongs to the "
            "allowed half.",
        ),
        Mutant(
            "future_only",
            _fill(lambda q: _ones(q).mT),
            "This is the other triangle: each word sees itself and what comes after it. Rows are queries, so allow "
            "the lower triangle.",
        ),
        Mutant(
            "itself_only",
            _fill(lambda q: torch.eye(q.shape[-2], dtype=torch.bool)),
            "Nothing leaks, but nothing is read either: each word sees itself alone. Allow the whole lower "
            "triangle, not the diagonal.",
        ),
        Mutant(
            "after_softmax",
            after_softmax,
            "The mask comes after the softmax. The sum below the fraction has counted the future already, so its "
            "gradient leaks, and rows no longer sum to 1.",
        ),
        Mutant(
            "over_queries",
            over_queries,
            "The softmax runs over the queries, so the columns sum to 1. Each query shares its weight among the "
            "keys: use the last axis.",
        ),
        Mutant(
            "zero_fill",
            _fill(_ones, 0.0),
            "Later scores are set to 0, and exp(0) = 1 still gets weight. Set them to -inf.",
        ),
        Mutant(
            "finite_fill",
            _fill(_ones, -100.0),
            "Later scores are set to a number that an allowed score can fall below. Set them to -inf.",
        ),
        Mutant(
            "upside_down",
            _fill(lambda q: ~_ones(q)),
            "The mask is upside down: what is allowed was filled with -inf. masked_fill fills where its mask is "
            "True, so give it ~may.",
        ),
        Mutant(
            "no_scale",
            _fill(_ones, scores=lambda q, k: q @ k.mT),
            "The mask is right. The scores are not divided by √D.",
        ),
    ],
)


# --- rectangular ---------------------------------------------------------------------------------------------------
def by_tril(T, S=None):
    """torch.tril with an offset."""
    S = T if S is None else S
    if not 1 <= T <= S:
        raise ValueError("need 1 <= T <= S")
    return torch.ones(T, S).tril(diagonal=S - T) == 1


def last_rows(T, S=None):
    """The last T rows of the square mask."""
    S = T if S is None else S
    if S < T or T < 1:
        raise ValueError("fewer keys than queries")
    return torch.tensor([[s <= t for s in range(S)] for t in range(S)])[-T:]


def _tril(offset, S_of=lambda T, S: S):
    def wrong(T, S=None):
        S = T if S is None else S
        return torch.ones(T, S_of(T, S), dtype=torch.bool).tril(offset(T, S))

    return wrong


RECTANGULAR = Exercise(
    id="mask.rectangular",
    unit=UNIT,
    title="Fewer queries than keys",
    points=2,
    difficulty=2,
    minutes=10,
    signature="causal_mask(T, S=None)",
    reference=ref.causal_mask,
    alternatives=[by_tril, last_rows],
    cases=[
        Case(
            "two of four",
            "the two newest of four words: word 2 sees three keys, word 3 sees four",
            lambda g: call(2, 4),
        ),
        Case(
            "square",
            "without S there are as many keys as queries, and the mask is the lower triangle",
            lambda g: call(3),
        ),
        Case("one new word", "a single new word sees all six keys", lambda g: call(1, 6)),
        Case("random", "random sizes with T < S", lambda g: call(g.integer(3, 6), g.integer(8, 12)), weight=2),
        Case(
            "too few keys",
            "3 queries and 2 keys: query 0 would see nothing, so ValueError",
            lambda g: call(3, 2),
            weight=0.5,
        ),
        Case("no queries", "0 queries ask nothing: ValueError", lambda g: call(0, 3), weight=0.5),
    ],
    mutants=[
        Mutant(
            "no_offset",
            _tril(lambda T, S: 0),
            "The queries are taken for the first T words, so the newest sees only the oldest keys. Query i stands "
            "at place i + S - T.",
        ),
        Mutant(
            "wrong_way",
            _tril(lambda T, S: T - S),
            "The offset points the wrong way: T - S removes keys. Query i stands at place i + S - T.",
        ),
        Mutant(
            "one_too_few",
            _tril(lambda T, S: S - T - 1),
            "Each query misses its own key. Its last allowed key is its own place, i + S - T, included.",
        ),
        Mutant(
            "one_too_many",
            _tril(lambda T, S: S - T + 1),
            "Each query sees one key too many: the word after it. Its last allowed key is i + S - T.",
        ),
        Mutant(
            "always_square",
            _tril(lambda T, S: 0, lambda T, S: T),
            "S plays no part: the shape is (T, T). There is one column per key, S of them.",
        ),
        Mutant(
            "upside_down",
            lambda T, S=None: ~_tril(lambda T, S: S - T)(T, S),
            "The mask is upside down. True means may look: True at and before the query's own place.",
        ),
        Mutant(
            "as_floats",
            lambda T, S=None: _tril(lambda T, S: S - T)(T, S).float(),
            "The pattern is right, but these are numbers. Return booleans (a comparison, or dtype=torch.bool).",
        ),
        Mutant(
            "unchecked",
            _tril(lambda T, S: S - T),
            "The mask is right where it exists. Raise a ValueError for no query, and for fewer keys than queries.",
        ),
    ],
)


# --- causal and padding --------------------------------------------------------------------------------------------
def mask_by_loop(real, T=None):
    """Entry by entry."""
    B, S = real.shape
    T = S if T is None else T
    rows = [[[[bool(real[b, s]) and s <= t + S - T for s in range(S)] for t in range(T)]] for b in range(B)]
    return torch.tensor(rows)


def mask_by_places(real, T=None):
    """Places of queries and keys as two tensors, compared."""
    place = torch.arange(real.shape[1])
    queries = place if T is None else place[-T:]
    return ((place <= queries[:, None]) * real[:, None]).unsqueeze(1).bool()


def ids_by_loop(real):
    """A counter per sentence."""
    rows = []
    for row in real.tolist():
        count, ids = 0, []
        for r in row:
            count += r
            ids.append(max(count - 1, 0))
        rows.append(ids)
    return torch.tensor(rows)


def ids_by_matrix(real):
    """Each place counts the real words up to itself by a triangular product."""
    S = real.shape[1]
    counts = real.float() @ torch.ones(S, S).triu()
    return torch.relu(counts - 1).round().long()


def _combine(join=lambda pad, causal: pad & causal, causal=ref.causal_mask, shape=lambda m: m):
    def wrong(real, T=None):
        S = real.shape[1]
        T = S if T is None else T
        return shape(join(real[:, None, None, :], causal(T, S))).expand(-1, -1, T, S)

    return wrong


def queries_hidden(real, T=None):
    T = real.shape[1] if T is None else T
    return real[:, None, -T:, None] & ref.causal_mask(T, real.shape[1])


def no_head_axis(real, T=None):
    return ref.causal_padding_mask(real, T)[:, 0]


def first_queries(real, T=None):
    T = real.shape[1] if T is None else T
    return ref.causal_padding_mask(real)[:, :, :T]


MASK, IDS = ref.causal_padding_mask, ref.position_ids


def _lengths(g, B, S):
    """Between 2 and S − 2, so that every sentence has padding and more than one word."""
    return g.integers(2, S - 1, B)


PADDED = Exercise(
    id="mask.causal_padding",
    unit=UNIT,
    title="Causal, with padding on either side",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="causal_padding_mask(real, T=None)",
    targets=("causal_padding_mask", "position_ids"),
    reference=(MASK, IDS),
    alternatives=[(mask_by_loop, ids_by_loop), (mask_by_places, ids_by_matrix)],
    cases=[
        Case(
            "right by hand",
            "two words and one padding on the right: nobody sees the last column",
            lambda g: call(torch.tensor([[True, True, False]])),
        ),
        Case(
            "left by hand",
            "padding first: its own row is empty, and the words after it see each other only",
            lambda g: call(torch.tensor([[False, True, True]])),
        ),
        Case(
            "places by hand",
            "one padding, then three words: places 0, 0, 1, 2, so the first word stands at 0",
            lambda g: call(torch.tensor([[False, True, True, True]]), fn="position_ids"),
        ),
        Case(
            "right", "three sentences padded on the right to 6", lambda g: call(ref.right_padded(_lengths(g, 3, 6), 6))
        ),
        Case("left", "three sentences padded on the left to 7", lambda g: call(ref.left_padded(_lengths(g, 3, 7), 7))),
        Case(
            "cached",
            "two newest words against seven keys, padded on the left",
            lambda g: call(ref.left_padded(_lengths(g, 2, 7), 7), 2),
        ),
        Case(
            "places, left",
            "three sentences padded on the left to 8",
            lambda g: call(ref.left_padded(_lengths(g, 3, 8), 8), fn="position_ids"),
        ),
        Case(
            "places, right",
            "padding after the last word repeats the last word's place",
            lambda g: call(ref.right_padded(_lengths(g, 3, 8), 8), fn="position_ids"),
        ),
    ],
    mutants=[
        Mutant(
            "padding_only",
            (_combine(lambda pad, causal: pad), IDS),
            "Only the padding is hidden: every word still sees the future. Both conditions must hold, joined by &.",
        ),
        Mutant(
            "causal_only",
            (_combine(lambda pad, causal: causal.expand(len(pad), 1, *causal.shape)), IDS),
            "Only the future is hidden: padding can be seen. Both conditions must hold, joined by &.",
        ),
        Mutant(
            "either",
            (_combine(lambda pad, causal: pad | causal), IDS),
            "A key is allowed when one of the two conditions holds. Both must: use & in place of |.",
        ),
        Mutant(
            "queries_hidden",
            (queries_hidden, IDS),
            "Rows of padding are emptied, and padded keys can still be seen. real belongs to the keys, which are "
            "columns: real[:, None, None, :].",
        ),
        Mutant(
            "queries_too",
            (lambda real, T=None: MASK(real, T) & queries_hidden(real, T), IDS),
            "Padding's own rows are emptied as well. real speaks about keys only: what padding sees, nobody reads.",
        ),
        Mutant(
            "no_head_axis",
            (no_head_axis, IDS),
            "The shape is (B, T, S). Scores are (B, H, T, S), so the sentences would line up with the heads: add "
            "an axis of size 1.",
        ),
        Mutant(
            "first_queries",
            (first_queries, IDS),
            "With T given, these are the first T queries. In decoding the queries are the newest: the last T rows.",
        ),
        Mutant(
            "plain_places",
            (MASK, lambda real: torch.arange(real.shape[1]).expand(real.shape)),
            "The mask is right, but padding is counted as words: the same sentence gets other places when it is "
            "padded on the left. Count real words only (cumsum).",
        ),
        Mutant(
            "places_from_one",
            (MASK, lambda real: real.long().cumsum(-1)),
            "The mask is right, but the first word stands at place 1. Places count from 0.",
        ),
        Mutant(
            "padding_at_zero",
            (MASK, lambda real: (real.long().cumsum(-1) - 1) * real),
            "The words' places are right. Padding after the last word repeats that word's place here, it does not "
            "go back to 0: cumsum gives this by itself.",
        ),
        Mutant(
            "negative_places",
            (MASK, lambda real: real.long().cumsum(-1) - 1),
            "The mask is right, but padding on the left gets place -1, which indexes a table from its end. Clamp at 0.",
        ),
    ],
)

EXERCISES, PADDING = [CAUSAL, RECTANGULAR], [PADDED]
