"""Doing less work: gathered keys, windows in blocks of queries, and stacks of local and full layers."""

import math

import torch
import torch.nn.functional as F

from autograder.judge.spec import Case, Exercise, Mutant, Ref, call
from autograder.reference import sparse as ref
from autograder.reference import sparse_gather as gathered

from .patterns import UNIT

NI, GA = gathered.neighbor_index, gathered.gather_attention


def attend(q, k, v, mask, fill=-math.inf, scale=True, dim=-1):
    """Attention by steps, with room for mistakes."""
    scores = q @ k.mT / (math.sqrt(q.shape[-1]) if scale else 1.0)
    return scores.masked_fill(~mask, fill).softmax(dim) @ v


# --- gathered keys -------------------------------------------------------------------------------------------------
def index_by_rows(mask):
    """Lists of places, padded."""
    rows = [row.nonzero().flatten().tolist() for row in mask]
    n = max(len(r) for r in rows)
    index = torch.tensor([r + [0] * (n - len(r)) for r in rows])
    valid = torch.tensor([[True] * len(r) + [False] * (n - len(r)) for r in rows])
    return index, valid


def index_by_topk(mask):
    """topk on numbers that fall with the place."""
    n = int(mask.sum(-1).max())
    order = torch.arange(mask.shape[1], 0, -1) * mask
    values, index = order.topk(n, dim=-1)
    return torch.where(values > 0, index, 0), values > 0


def gather_by_queries(q, k, v, index, valid):
    """One query at a time, with its own short list."""
    out = []
    for t in range(q.shape[2]):
        keys = index[t][valid[t]]
        weights = (q[:, :, t : t + 1] @ k[:, :, keys].mT / math.sqrt(q.shape[-1])).softmax(-1)
        out.append(weights @ v[:, :, keys])
    return torch.cat(out, dim=2)


def gather_by_einsum(q, k, v, index, valid):
    """The same in letters."""
    scores = torch.einsum("bhtd,bhtnd->bhtn", q, k[:, :, index]) / q.shape[-1] ** 0.5
    weights = scores.masked_fill(~valid, -math.inf).softmax(-1)
    return torch.einsum("bhtn,bhtnd->bhtd", weights, v[:, :, index])


def _ragged(change):
    def wrong(mask):
        return change(*index_by_rows(mask), mask)

    return wrong


def _dense_gather(q, k, v, index, valid):
    allowed = torch.zeros(index.shape[0], k.shape[2]).bool()
    rows = torch.arange(index.shape[0])[:, None].expand_as(index)
    allowed[rows[valid], index[valid]] = True
    return attend(q, k, v, allowed)


def _gathered(valid=lambda valid: valid, keys=lambda x, index: x[:, :, index], values=None, **changed):
    def wrong(q, k, v, index, ok):
        chosen = attend(q.unsqueeze(3), keys(k, index), (values or keys)(v, index), valid(ok)[:, None, :], **changed)
        return chosen.squeeze(3)

    return wrong


def _hidden_late(q, k, v, index, ok):
    scores = (q.unsqueeze(3) @ k[:, :, index].mT).squeeze(3) / math.sqrt(q.shape[-1])
    return ((scores.softmax(-1) * ok).unsqueeze(3) @ v[:, :, index]).squeeze(3)


def _column(*numbers):
    return torch.tensor(numbers).reshape(1, 1, -1, 1)


def _tensors(g, T, B=2, H=3, D=4, Dv=5):
    return g.randn(B, H, T, D), g.randn(B, H, T, D), g.randn(B, H, T, Dv)


def _lists(g, T, n, avoid=None):
    """n different keys per query; ``avoid`` is a key that only the last query gets."""
    rows = []
    for t in range(T):
        keys = torch.randperm(T, generator=g.generator).tolist()
        if avoid is not None:
            keys.remove(avoid)
            keys = [avoid, *keys] if t == T - 1 else keys
        rows.append(sorted(keys[:n]))
    return torch.tensor(rows), torch.ones(T, n, dtype=torch.bool)


def _ragged_call(g, T):
    index, valid = index_by_rows(ref.longformer_mask(T, 3, [4]))
    return call(*_tensors(g, T), index, valid, fn="gather_attention")


def _poisoned(g):
    """Only the last query may look at key 3, whose value is not a number: 0 · NaN betrays a score that was computed."""
    q, k, v = _tensors(g, 8, B=1, H=2)
    v[:, :, 3] = math.nan
    return call(q, k, v, *_lists(g, 8, 3, avoid=3), fn="gather_attention")


GATHER = Exercise(
    id="sparse.gather",
    unit=UNIT,
    title="Gather the keys, then attend",
    points=3,
    difficulty=4,
    minutes=20,
    extension=True,
    signature="neighbor_index(mask)",
    targets=("neighbor_index", "gather_attention"),
    reference=(NI, GA),
    alternatives=[(index_by_rows, gather_by_queries), (index_by_topk, gather_by_einsum)],
    cases=[
        Case(
            "a window of 2",
            "three words: keys 0, then 0 and 1, then 1 and 2; the missing one is 0 and not valid",
            lambda g: call(ref.local_causal_mask(3, 2)),
            weight=2,
        ),
        Case("random mask", "seven queries on nine keys, at least one key each", lambda g: call(g.mask(7, 9))),
        Case(
            "two keys",
            "one query of 0 on keys 1 and 3 of four: the mean of their values 20 and 40",
            lambda g: call(
                _column(0.0),
                _column(1.0, 2.0, 3.0, 4.0),
                _column(10.0, 20.0, 30.0, 40.0),
                torch.tensor([[1, 3]]),
                torch.ones(1, 2).bool(),
                fn="gather_attention",
            ),
            weight=2,
        ),
        Case(
            "lists",
            "two sentences, three heads, six words with three keys each",
            lambda g: call(*_tensors(g, 6), *_lists(g, 6, 3), fn="gather_attention"),
        ),
        Case(
            "ragged lists",
            "window 3 and a global word: lists of different lengths, padded with key 0",
            lambda g: _ragged_call(g, 7),
            weight=2,
        ),
        Case(
            "less work",
            "key 3 has NaN for values and is in the last list alone: the other queries must not notice",
            _poisoned,
            weight=2,
        ),
        Case(
            "together",
            "the lists of a causal window of 3, straight from neighbor_index",
            lambda g: call(ref.local_causal_mask(9, 3)).call(
                *_tensors(g, 9, B=1), Ref(0, 0), Ref(0, 1), fn="gather_attention"
            ),
        ),
    ],
    mutants=[
        Mutant(
            "as_wide_as_the_mask",
            (
                _ragged(
                    lambda i, ok, mask: (
                        mask.int()
                        .argsort(dim=-1, descending=True, stable=True)
                        .masked_fill(~mask.int().sort(dim=-1, descending=True).values.bool(), 0),
                        mask.int().sort(dim=-1, descending=True).values.bool(),
                    )
                ),
                GA,
            ),
            "The lists are as long as the text, so nothing is saved. They should be as long as the longest list of "
            "allowed keys.",
        ),
        Mutant(
            "padding_valid",
            (_ragged(lambda i, ok, mask: (i, torch.ones_like(ok))), GA),
            "Padding is marked as valid. valid is True only where the list holds a real key.",
        ),
        Mutant(
            "padding_minus_one",
            (_ragged(lambda i, ok, mask: (i.masked_fill(~ok, -1), ok)), GA),
            "The padding points at key −1. Let it point at key 0: any key will do, since valid hides it.",
        ),
        Mutant(
            "descending",
            (
                _ragged(
                    lambda i, ok, mask: (torch.where(ok, mask.shape[1] - 1 - index_by_rows(mask.flip(-1))[0], 0), ok)
                ),
                GA,
            ),
            "The keys come in falling order. List them from the first to the last.",
        ),
        Mutant(
            "dense",
            (NI, _dense_gather),
            "Every pair is scored and most are thrown away: that is dense attention with a mask. Pick the listed "
            "keys first, k[:, :, index], and score only those.",
        ),
        Mutant(
            "padding_scored",
            (NI, _gathered(valid=torch.ones_like)),
            "Padding takes part: key 0 gets extra weight in short lists. Hide scores where valid is False.",
        ),
        Mutant(
            "padding_as_zero",
            (NI, _gathered(fill=0.0)),
            "Scores of the padding are set to 0, and a score of 0 still gets weight. Set them to −∞ before the "
            "softmax.",
        ),
        Mutant(
            "hidden_after_softmax",
            (NI, _hidden_late),
            "Padding is hidden after the softmax, so the weights that are left no longer sum to 1. Put −∞ in its "
            "place before the softmax.",
        ),
        Mutant(
            "values_not_gathered",
            (NI, _gathered(values=lambda x, index: x[:, :, : index.shape[1]].unsqueeze(2))),
            "The values are not picked with the keys: every query gets the first ones. Use the same index for both.",
        ),
        Mutant("unscaled", (NI, _gathered(scale=False)), "The scores are not divided by √D."),
    ],
)


# --- windows in blocks ---------------------------------------------------------------------------------------------
def local_by_unfold(q, k, v, w):
    """Exactly w keys per query, as overlapping views."""
    views = [F.pad(x, (0, 0, w - 1, 0)).unfold(2, w, 1).mT for x in (k, v)]  # (B, H, T, w, ·)
    real = torch.arange(q.shape[2])[:, None] - torch.arange(w - 1, -1, -1) >= 0
    return attend(q.unsqueeze(3), *views, real[:, None]).squeeze(3)


def local_by_loop(q, k, v, w):
    """A loop over blocks of queries, each with a slice of the keys."""
    T, out = q.shape[2], []
    for start in range(0, T, w):
        end, first = min(T, start + w), max(0, start - w + 1)
        i, j = torch.arange(start, end)[:, None], torch.arange(first, end)
        mask = (j <= i) & (i - j < w)
        out.append(attend(q[:, :, start:end], k[:, :, first:end], v[:, :, first:end], mask))
    return torch.cat(out, dim=2)


def _looped(rule=lambda i, j, w: (j <= i) & (i - j < w), first=lambda start, w: max(0, start - w), **changed):
    """As local_by_loop, with a mistake in it."""

    def wrong(q, k, v, w):
        T, out = q.shape[2], []
        for start in range(0, T, w):
            end, begin = min(T, start + w), first(start, w)
            i, j = torch.arange(start, end)[:, None], torch.arange(begin, end)
            out.append(attend(q[:, :, start:end], k[:, :, begin:end], v[:, :, begin:end], rule(i, j, w), **changed))
        return torch.cat(out, dim=2)

    return wrong


def _zeros_in_front(q, k, v, w):
    """The empty block before the first one takes part with scores of 0."""
    T, n = q.shape[2], -(-q.shape[2] // w)
    k, v = (F.pad(x, (0, 0, w, 0)) for x in (k, v))
    out = []
    for m in range(n):
        i, j = torch.arange(m * w, min(T, m * w + w))[:, None], torch.arange((m - 1) * w, min(T, m * w + w))
        rows, cols = slice(m * w, m * w + w), slice(m * w, m * w + 2 * w)
        out.append(attend(q[:, :, rows], k[:, :, cols], v[:, :, cols], (j <= i) & (i - j < w)))
    return torch.cat(out, dim=2)


def _local_call(g, T, w, **sizes):
    return call(*_tensors(g, T, **sizes), w)


def _poisoned_future(g):
    """Words from the third block on have NaN for values: no word before them may be touched by it."""
    q, k, v = _tensors(g, 12, B=1, H=2)
    v[:, :, 6:] = math.nan
    return call(q, k, v, 3)


LOCAL_ATTENTION = Exercise(
    id="sparse.local_attention",
    unit=UNIT,
    title="A window in blocks",
    points=4,
    difficulty=5,
    minutes=25,
    signature="local_attention(q, k, v, w)",
    reference=gathered.local_attention,
    alternatives=[local_by_unfold, local_by_loop],
    cases=[
        Case(
            "two back",
            "four words with equal scores and values 1, 3, 5, 9, a window of 2: 1, 2, 4, 7",
            lambda g: call(torch.zeros(1, 1, 4, 2), torch.ones(1, 1, 4, 2), _column(1.0, 3.0, 5.0, 9.0), 2),
            weight=2,
        ),
        Case(
            "whole blocks",
            "two sentences, three heads, twelve words in windows of 4",
            lambda g: _local_call(g, 12, 4),
            weight=2,
        ),
        Case(
            "short end",
            "eleven words in windows of 4: the last block is not full",
            lambda g: _local_call(g, 11, 4),
            weight=2,
        ),
        Case("own key", "a window of 1: every word gets its own value", lambda g: _local_call(g, 5, 1, B=1), weight=0),
        Case("wide", "a window of 9 on six words: causal attention", lambda g: _local_call(g, 6, 9, B=1)),
        Case(
            "less work",
            "words 6 to 11 have NaN for values, windows of 3: words 0 to 5 must not notice",
            _poisoned_future,
            weight=2,
        ),
        Case("random", "random sizes", lambda g: _local_call(g, g.integer(13, 19), g.integer(3, 6), B=1), weight=2),
    ],
    mutants=[
        Mutant(
            "dense",
            lambda q, k, v, w: attend(q, k, v, ref.local_causal_mask(q.shape[2], w)),
            "The numbers are right, but every pair is scored: that is dense attention with a mask. Cut the words "
            "into blocks, and score each block of queries against two blocks of keys.",
        ),
        Mutant(
            "own_block_only",
            _looped(first=lambda start, w: start),
            "Each block sees only itself, so the first word of a block has lost its window. Add the block of keys "
            "before it.",
        ),
        Mutant(
            "two_blocks",
            _looped(rule=lambda i, j, w: j <= i),
            "All keys of both blocks up to the query are used, up to 2w of them. Inside the two blocks the window "
            "still holds: i − j < w.",
        ),
        Mutant(
            "not_causal",
            _looped(rule=lambda i, j, w: i - j < w),
            "Words see the rest of their own block, which comes after them. Inside the two blocks the mask is also "
            "j <= i.",
        ),
        Mutant(
            "self_not_counted",
            _looped(rule=lambda i, j, w: (j <= i) & (i - j <= w)),
            "Most words have w + 1 keys. The window counts the own key: i − j < w.",
        ),
        Mutant(
            "zeros_in_front",
            _zeros_in_front,
            "The empty block in front of the first one takes part: keys of 0 get the score 0, which has weight. "
            "Hide places below 0.",
        ),
        Mutant(
            "scores_of_zero",
            _looped(fill=0.0),
            "Pairs outside the window get the score 0 instead of −∞, and a score of 0 still gets weight.",
        ),
        Mutant("unscaled", _looped(scale=False), "The scores are not divided by √D."),
    ],
)


# --- hybrid stacks -------------------------------------------------------------------------------------------------
def layers_by_pattern(n_layers, w, every=4):
    """One group repeated, then cut."""
    if every < 1:
        raise ValueError("every must be at least 1")
    group = [(w, True)] * (every - 1) + [(None, False)]
    return (group * n_layers)[:n_layers]


def tokens_by_counting(T, n_layers, w, every=4):
    """Full layers and the others."""
    if every < 1:
        raise ValueError(every)
    full = n_layers // every
    return full * T + (n_layers - full) * min(T, w)


HL, CT = ref.interleaved_layers, ref.interleaved_cache_tokens


def _stack_of(
    layer=lambda n, w, e: (None, False) if (n + 1) % e == 0 else (w, True),
    tokens=lambda T, full, local, w: full * T + local * min(T, w),
):
    def layers(n_layers, w, every=4):
        return [layer(n, w, every) for n in range(n_layers)]

    def cached(T, n_layers, w, every=4):
        full = n_layers // every
        return tokens(T, full, n_layers - full, w)

    return layers, cached


HYBRID = Exercise(
    id="sparse.hybrid",
    unit=UNIT,
    title="Three local layers, one full",
    points=3,
    difficulty=3,
    minutes=12,
    signature="hybrid_layers(n_layers, w, every=4)",
    targets=("hybrid_layers", "cached_tokens"),
    reference=(HL, CT),
    alternatives=[(layers_by_pattern, tokens_by_counting)],
    cases=[
        Case(
            "five layers",
            "five layers, window 8: three local ones, a full one, a local one again",
            lambda g: call(5, 8),
            weight=2,
        ),
        Case("every second", "six layers, every second one full, as in Gemma 2", lambda g: call(6, 16, every=2)),
        Case("random plan", "random sizes", lambda g: call(g.integer(9, 14), g.integer(20, 90), every=3), weight=2),
        Case(
            "tokens by hand",
            "ten tokens, four layers, window 3: 3 + 3 + 3 + 10 = 19 stored",
            lambda g: call(10, 4, 3, fn="cached_tokens"),
            weight=2,
        ),
        Case(
            "short text",
            "two tokens, four layers, window 3: the text is shorter than the window, 8 stored",
            lambda g: call(2, 4, 3, fn="cached_tokens"),
        ),
        Case(
            "long text",
            "131,072 tokens, 30 layers, windows of 4,096: 30 layers hold 7 full ones",
            lambda g: call(131_072, 30, 4096, fn="cached_tokens"),
        ),
        Case(
            "random tokens",
            "random sizes",
            lambda g: call(g.integer(500, 900), g.integer(9, 14), g.integer(20, 90), every=3, fn="cached_tokens"),
            weight=2,
        ),
        Case("never", "every 0th layer full: ValueError", lambda g: call(4, 8, every=0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "full_first",
            _stack_of(layer=lambda n, w, e: (None, False) if n % e == 0 else (w, True)),
            "The full layer comes first in each group. It is the last: three local layers, then the full one.",
        ),
        Mutant(
            "rope_everywhere",
            _stack_of(layer=lambda n, w, e: (None, True) if (n + 1) % e == 0 else (w, True)),
            "The full layers are rotated, too. In this design they have no positions (NoPE): (None, False).",
        ),
        Mutant(
            "positions_swapped",
            _stack_of(layer=lambda n, w, e: (None, True) if (n + 1) % e == 0 else (w, False)),
            "RoPE is in the full layers here. It belongs to the local ones; the full ones have no positions.",
        ),
        Mutant(
            "swapped",
            _stack_of(layer=lambda n, w, e: (w, True) if (n + 1) % e == 0 else (None, False)),
            "Most layers are full here. It is the other way round: one full layer in each group, the others local.",
        ),
        Mutant(
            "whole_groups",
            (
                lambda n_layers, w, every=4: (
                    ([(w, True)] * (every - 1) + [(None, False)]) * (n_layers // max(every, 1))
                ),
                CT,
            ),
            "Only whole groups are listed. The number of layers need not be a multiple of every: the last group may "
            "be cut short.",
        ),
        Mutant(
            "no_cap",
            _stack_of(tokens=lambda T, full, local, w: full * T + local * w),
            "A local layer is charged w tokens even when the text is shorter. It stores min(T, w).",
        ),
        Mutant(
            "all_full",
            _stack_of(tokens=lambda T, full, local, w: (full + local) * T),
            "Every layer is charged the whole text. A local layer never needs more than its last w tokens.",
        ),
        Mutant(
            "full_forgotten",
            _stack_of(tokens=lambda T, full, local, w: (full + local) * min(T, w)),
            "The full layers are charged a window only. They store all T tokens.",
        ),
        Mutant(
            "one_layer",
            _stack_of(tokens=lambda T, full, local, w: T + min(T, w)),
            "One full and one local layer are counted. Add up all n_layers of them.",
        ),
        Mutant(
            "unchecked",
            (
                lambda n_layers, w, every=4: [
                    (None, False) if (n + 1) % every == 0 else (w, True) for n in range(n_layers)
                ],
                CT,
            ),
            "Both are right. Raise a ValueError when every is below 1.",
        ),
    ],
)
