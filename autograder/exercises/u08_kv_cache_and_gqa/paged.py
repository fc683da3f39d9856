"""Pages: how many, which slot, and the tokens gathered again."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call, several


def blocks_needed(length, block):
    """Blocks for ``length`` tokens, rounded up."""
    return -(-length // block)


def slot_of(table, t, block):
    """(block in the pool, place in it) of token t."""
    return table[t // block], t % block


def gather(pool, table, length):
    """pool (n_blocks, G, block, D) → (G, length, D), as PagedCache.gather."""
    return pool[table].transpose(0, 1).flatten(1, 2)[:, :length]


def blocks_by_counting(length, block):
    """One for each token that opens a block."""
    return len(range(0, length, block))


def slot_by_divmod(table, t, block):
    """divmod."""
    column, place = divmod(t, block)
    return (table[column], place)


def gather_by_token(pool, table, length):
    """Token by token."""
    block = pool.shape[2]
    return torch.stack([pool[table[t // block], :, t % block] for t in range(length)], dim=1)


MISTAKES = changes(
    (blocks_needed, slot_of, gather),
    """
rounded_down: -(-length // block) → length // block
    blocks_needed rounds down, so the last tokens have no block. A started block is a whole block.
always_one_more: -(-length // block) → length // block + 1
    blocks_needed adds one even where the tokens fill their blocks exactly.
column: table[t // block], → t // block,
    slot_of returns the column of the table. The block's number is what the table holds there.
swapped: table[t // block], t % block → table[t % len(table)], t // len(table)
    slot_of deals tokens out block by block, like cards. Consecutive tokens share a block: t // block is the column,
    t % block the place.
fraction: -(-length // block) → length / block
    blocks_needed returns a fraction. A started block is a whole block: round up.
from_one: table[t // block], t % block → table[(t - 1) // block], (t - 1) % block
    slot_of counts tokens from 1. Token 0 lies at place 0 of the first block: use t, not t − 1.
place_first: table[t // block], t % block → t % block, table[t // block]
    slot_of returns (place, block). The block comes first.
no_table: pool[table] → pool[: len(table)]
    gather takes the first blocks of the pool. Take those that the table names, in its order.
untransposed: transpose(0, 1).flatten(1, 2) → reshape(pool.shape[1], -1, pool.shape[3])
    gather mixes heads and blocks. The heads stand between the blocks and their tokens: move them to the front
    before joining.
untrimmed: [:, :length] →
    gather returns idle slots too. Cut the result to length tokens.
full_blocks: [:, :length] → [:, : length // pool.shape[2] * pool.shape[2]]
    gather leaves out the last block where it is not full. Join all blocks, then cut to length tokens.
sorted: pool[table] → pool[sorted(table)]
    gather sorts the table. Its order is the order of the text.
at_least_one_down: -(-length // block) → max(1, length // block)
    blocks_needed rounds down, so the last tokens have no block, and an empty text gets one. A started block is a
    whole block: round up.
at_least_one: -(-length // block) → max(1, -(-length // block))
    blocks_needed hands a block to a text without tokens. No token needs none: 0.
nearest: -(-length // block) → round(length / block)
    blocks_needed rounds to the nearest number. A started block is a whole block, however few tokens it holds: round
    up.
as_float: -(-length // block) → float(-(-length // block))
    blocks_needed gives the right number as a float. Return an int: -(-length // block) or math.ceil.
idle_slots: -(-length // block) → length % block
    blocks_needed returns the rest of the division, the tokens in the last block. Divide and round up.
exchanged: table[t // block], t % block → table[t % block % len(table)], t // block
    slot_of exchanges // and %. t // block is the column of the table, t % block the place inside the block.
address: table[t // block], t % block → table[t // block] * block + t % block
    slot_of returns one number, the slot counted through the whole pool. Return the pair (block, place).
place_uncut: t % block → t
    The place is counted from the start of the text. Inside the block it is t % block.
place_from_one: t % block → t % block + 1
    The place inside the block is one too large. It counts from 0: t % block.
tokens_first: transpose(0, 1).flatten(1, 2)[:, :length] → transpose(1, 2).flatten(0, 1)[:length]
    gather returns (length, G, D). Heads come first: swap the first two axes.
places_first: transpose(0, 1) → permute(1, 2, 0, 3)
    gather joins places and blocks in the wrong order: first the first tokens of all blocks, then the second ones.
    Blocks stand before places: (G, blocks, block, D), then join.
blocks_as_heads: transpose(0, 1).flatten(1, 2) → flatten(0, 1)
    gather joins the blocks along the axis of heads. They follow each other along the tokens: put the heads first,
    then join blocks and places.
not_joined: .flatten(1, 2)[:, :length] →
    gather leaves blocks and places as two axes. Join them into one axis of tokens, and cut it to length.
one_short: [:, :length] → [:, : length - 1]
    gather returns one token too few. A slice ends before its second number: [:, :length].
first_block: pool[table].transpose(0, 1).flatten(1, 2) → pool[table[0]]
    gather returns the first block alone. Join all blocks of the table, then cut to length tokens.
""",
)

EXERCISE = Exercise(
    id="cache.paged",
    title="Pages",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    reference=(blocks_needed, slot_of, gather),
    alternatives=[(blocks_by_counting, slot_by_divmod, gather_by_token)],
    cases=[
        Case("blocks by hand", "5 tokens in blocks of 4: two blocks", lambda g: call(5, 4)),
        Case("blocks, exact", "8 tokens fill two blocks of 4", lambda g: call(8, 4)),
        Case(
            "blocks, random",
            "four long texts in blocks of 16",
            lambda g: several(
                2, lambda p: p.call(16 * g.integer(20, 90) + 3, 16).call(16 * g.integer(20, 90) + 13, 16)
            ),
        ),
        Case(
            "blocks, random and exact",
            "three texts that fill their blocks of 8, 3 or 5 to the last slot, and one token more",
            lambda g: several(
                3,
                lambda p: p.call((n := g.integer(20, 900)) * (b := g.choice([8, 3, 5])), b).call(n * b + 1, b),
            ),
        ),
        Case(
            "blocks of nothing",
            "no token needs no block, of 4 or of 16; a few tokens need one of 16",
            lambda g: call(0, 4).call(0, 16).call(g.integer(2, 16), 16),
            weight=0.5,
        ),
        Case(
            "slot by hand",
            "table 7, 2 and blocks of 4: token 5 lies in block 2 at place 1",
            lambda g: call([7, 2], 5, 4, fn="slot_of"),
        ),
        Case(
            "slot, first of a block",
            "token 6 opens the third block of 3, in two tables",
            lambda g: several(2, lambda p: p.call([g.integer(1, 9), 11, g.integer(20, 2000)], 6, 3, fn="slot_of")),
        ),
        Case(
            "gather by hand",
            "blocks of 2 hold 0, 1 and 2, 3 and 4, 5; table 2, 0 and length 3: 4, 5, 0",
            lambda g: call(torch.arange(6.0).reshape(3, 1, 2, 1), [2, 0], 3, fn="gather"),
        ),
        Case(
            "gather",
            "5 blocks of 4 tokens, 3 heads of 2 numbers, table 4, 1, 3, length 10",
            lambda g: call(g.randn(5, 3, 4, 2), [4, 1, 3], 10, fn="gather"),
            weight=2,
        ),
        Case(
            "gather, exact",
            "float64, blocks of 3 filled to the last slot; a user of one block, then one of all four",
            lambda g: call(g.randn(4, 2, 3, 5, dtype=torch.float64), [2], 3, fn="gather").call(
                g.randn(4, 2, 3, 5, dtype=torch.float64), [3, 0, 2, 1], 12, fn="gather"
            ),
        ),
    ],
    mutants=MISTAKES,
    unasked="""
a cache serves decoding, where nothing is trained; whoever stores tokens detached is right
    gradient of gather
""",
    equivalent="""
a cache serves decoding, where nothing is trained; whoever stores tokens detached is right
    a30063c5f4 solution, result: return blocks.transpose(0, 1).flatten(1, 2)[:, :length]: result detach
    b53097c911 alternative (blocks_by_counting, slot_by_divmod, gather_by_token), result: return torch.stack([pool[tab…
""",
)
