"""Causal attention in tiles, some of which are never touched."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import online_softmax

from .shared import qkv, row
from .stream import streamed as attention_in_blocks


def in_tiles(q, k, v, block):
    """As in the solution."""
    T, past, outs, lses = q.shape[-2], k.shape[-2] - q.shape[-2], [], []
    for start in range(0, T, block):
        end = min(start + block, T)
        mask = torch.ones(end - start, past + end).tril(past + start).bool()
        keys, values = k[..., : past + end, :], v[..., : past + end, :]
        out, lse = attention_in_blocks(q[..., start:end, :], keys, values, block, mask)
        outs.append(out)
        lses.append(lse)
    return torch.cat(outs, -2), torch.cat(lses, -1)


def by_positions(q, k, v, block):
    """The mask from a comparison of positions, tile by tile."""
    outs, lses, S = [], [], k.shape[-2]
    at = torch.arange(S - q.shape[-2], S)
    for rows, places in zip(q.split(block, -2), at.split(block), strict=True):
        seen = int(places[-1]) + 1
        mask = torch.arange(seen) <= places[:, None]
        out, lse = attention_in_blocks(rows, k[..., :seen, :], v[..., :seen, :], block, mask)
        outs, lses = [*outs, out], [*lses, lse]
    return torch.cat(outs, -2), torch.cat(lses, -1)


def _masked(q, k, v, block):
    mask = torch.ones(q.shape[-2], k.shape[-2]).tril(k.shape[-2] - q.shape[-2]).bool()
    return attention_in_blocks(q, k, v, block, mask)


MISTAKES = [
    Mutant(
        "no_tile_skipped",
        _masked,
        "The mask is right, but every tile is computed, also those that lie after their queries. Cut the queries into "
        "blocks too, and hand each only the keys up to its last query's.",
    ),
    *changes(
        in_tiles,
        """
no_mask: .tril(past + start).bool() → .bool()
    The tile on the diagonal is not masked, so queries see keys of their own block that come after them. Mask it.
one_tile_early: k[..., : past + end, :], v[..., : past + end, :] → k[..., : past + start, :], v[..., : past + start, :]
; block, mask) → block, mask[:, : past + start])
    The tiles stop one too early: the tile on the diagonal is left out, so no query sees itself. Keys go up to S − T +
    end.
tile_too_many: : past + end, :], v[..., : past + end, :] → : past + end + block, :], v[..., : past + end + block, :]
; torch.ones(end - start, past + end) → torch.ones(end - start, min(past + end + block, k.shape[-2]))
    Each block of queries also gets the tile after its own. The mask hides it, but it is computed. Keys go up to S − T +
    end.
rounded_up: : past + end, :], v[..., : past + end, :] → : -(-(past + end) // block) * block, :], v[..., : seen, :]
; mask = torch.ones(end - start, past + end) → seen = min(-(-(past + end) // block) * block, k.shape[-2])
; .tril(past →; mask = torch.ones(end - start, seen).tril(past
    The keys are rounded up to a multiple of block, so some come after the block's last query. The mask hides them, but
    they are computed. Cut the keys at S − T + end.
upper_triangle: .tril(past + start) → .triu(past + start + 1)
    The mask is True where keys come after the query. True means may look: the lower triangle, with diagonal S − T +
    start.
past_forgotten: tril(past + start) → tril(start)
    The mask's diagonal forgets the past. Query t stands at position S − T + t: the diagonal of a block's mask is S − T
    + start.
keys_without_past: k.shape[-2] - q.shape[-2], [], [] → 0, [], []
    The past is not counted, so only the first T of S keys are used, as if query 0 stood at position 0. It stands at S
    − T.
diagonal_of_the_block: tril(past + start) → tril(past)
    Each block's mask begins at the first query's diagonal. Its queries stand `start` further to the right: S − T +
    start.
one_ahead: tril(past + start) → tril(past + start + 1)
    Each query also sees the key after it. The diagonal is S − T + start, not one more.
self_hidden: tril(past + start) → tril(past + start - 1)
    A query does not see itself. The diagonal is S − T + start: its own key belongs to it.
short_block_lost: range(0, T, block) → range(0, T - T % block, block)
    The last queries are left out when T is no multiple of block. The last block may be shorter.
lse_of_last: torch.cat(lses, -1) → lse
    The lse of the last block alone is returned. Collect one for each query, and join them along the last axis.
lse_joined_wrongly: torch.cat(lses, -1) → torch.stack([x.mean(-1) for x in lses], -1)
    The lse has one entry per block. It has one per query, (..., T): join the blocks' lse along the last axis.
""",
    ),
]


def _poisoned(g: Source) -> Program:
    """Nine tokens in tiles of 4; the last one, alone in its tile, has NaN."""
    q, k, v = qkv(g, 9, B=1)
    k[..., 8, :], v[..., 8, :] = math.nan, math.nan
    return call(q, k, v, 4)


def _poisoned_past(g: Source) -> Program:
    """Five queries after three tokens, in tiles of 2; the last has NaN."""
    q, k, v = qkv(g, 5, 8, B=1, H=2)
    k[..., 7, :], v[..., 7, :] = math.nan, math.nan
    return call(q, k, v, 2)


def _with_gradients(g: Source) -> Program:
    return call(*qkv(g, 5, 7, B=1, H=2, dtype=torch.float64), 2, grad=[0, 1, 2])


EXERCISE = Exercise(
    id="tiles.causal",
    title="Tiles that nobody needs",
    points=2,
    difficulty=3,
    minutes=9,
    extension=True,
    reference=online_softmax.causal_in_tiles,
    alternatives=[in_tiles, by_positions],
    forbidden=("scaled_dot_product_attention",),
    forbidden_message="PyTorch's own kernel skips tiles inside; skip them yourself here.",
    cases=[
        Case(
            "by hand",
            "scores 0: the three queries read the means of 10, of 10 and 30, and of 10, 30 and 50",
            lambda g: call(row(0.0, 0.0, 0.0), row(1.0, 2.0, 3.0), row(10.0, 30.0, 50.0), 2),
            weight=0.5,
        ),
        Case("three tiles", "six tokens in blocks of 2", lambda g: call(*qkv(g, 6), 2), weight=2),
        Case("a short last tile", "seven tokens in blocks of 3", lambda g: call(*qkv(g, 7), 3)),
        Case("one tile", "blocks longer than the text", lambda g: call(*qkv(g, 4, B=1), 16)),
        Case(
            "past", "four queries are the last of nine tokens, blocks of 2", lambda g: call(*qkv(g, 4, 9), 2), weight=2
        ),
        Case("one query", "T = 1 after six tokens, as in decoding", lambda g: call(*qkv(g, 1, 7), 3)),
        Case("skipped", "token 8 of 9 has NaN; blocks of 4: no earlier query may notice", _poisoned, weight=3),
        Case(
            "skipped, with a past",
            "five queries of eight tokens, blocks of 2, NaN in the last",
            _poisoned_past,
            weight=3,
        ),
        Case("gradients", "in float64, with a past: gradients reach q, k and v", _with_gradients),
    ],
    mutants=MISTAKES,
    equivalent="""
tiles of one query are right too, and skip even more
    40c9736782 solution, ignored: causal_in_tiles: block is always ones
    38a2e58314 alternative in_tiles, ignored: in_tiles: block is always ones
    7eaa286c0c alternative by_positions, ignored: by_positions: block is always ones
the result has gone through a softmax: it holds no integers
    68a986bc51 solution, result: return (torch.cat(outs, -2), torch.cat(lses, -1)): result int_to_float
    9863340f5e alternative in_tiles, result: return (torch.cat(outs, -2), torch.cat(lses, -1)): result int_to_float
    ec88ad4e05 alternative by_positions, result: return (torch.cat(outs, -2), torch.cat(lses, -1)): result int_to_float
a block that starts behind the end has no queries
    00b071a888 solution, window: T + 1 in range(0, T, block)
    fc7f879ad1 alternative in_tiles, window: T + 1 in range(0, T, block)
all parts are cut alike, so they are equally many
    d532c0d3fc alternative by_positions, keyword: zip(q.split(block, -2), at.split(block), strict=True) without strict…
    f786e83cf9 alternative by_positions, flag: True → False in strict=True
a tensor of one integer cuts like the integer
    ccc58f7ace alternative by_positions, call: int(places[-1]) → its argument
""",
)
