"""Pages: how many, which slot, and the tokens gathered again."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call, several


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
    """One more block whenever the last is full."""
    return sum(1 for t in range(length) if t % block == 0)


def slot_by_divmod(table, t, block):
    """divmod."""
    column, place = divmod(t, block)
    return (table[column], place)


def gather_by_token(pool, table, length):
    """Token by token."""
    block = pool.shape[2]
    return torch.stack([pool[table[t // block], :, t % block] for t in range(length)], dim=1)


GA = gather


def _ordered(pool, table, length):
    return gather(pool, list(range(len(table))), length)


def _untransposed(pool, table, length):
    n, G, block, D = pool[table].shape
    return pool[table].reshape(G, n * block, D)[:, :length]


EXERCISE = Exercise(
    id="cache.paged",
    unit="08-kv-cache-and-gqa",
    title="Pages",
    points=3,
    difficulty=3,
    minutes=15,
    extension=True,
    signature="blocks_needed(length, block)",
    targets=("blocks_needed", "slot_of", "gather"),
    reference=(blocks_needed, slot_of, gather),
    alternatives=[(blocks_by_counting, slot_by_divmod, gather_by_token)],
    cases=[
        Case("blocks by hand", "5 tokens in blocks of 4: two blocks", lambda g: call(5, 4)),
        Case("blocks, exact", "8 tokens fill two blocks of 4", lambda g: call(8, 4)),
        Case(
            "blocks, random",
            "four long texts in blocks of 16",
            lambda g: several(4, lambda p: p.call(16 * g.integer(20, 90) + 3, 16)),
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
    ],
    mutants=[
        Mutant(
            "rounded_down",
            (lambda length, block: length // block, slot_of, GA),
            "blocks_needed rounds down, so the last tokens have no block. A started block is a whole block.",
        ),
        Mutant(
            "always_one_more",
            (lambda length, block: length // block + 1, slot_of, GA),
            "blocks_needed adds one even where the tokens fill their blocks exactly.",
        ),
        Mutant(
            "column",
            (blocks_needed, lambda table, t, block: (t // block, t % block), GA),
            "slot_of returns the column of the table. The block's number is what the table holds there.",
        ),
        Mutant(
            "swapped",
            (blocks_needed, lambda table, t, block: (table[t % len(table)], t // len(table)), GA),
            "slot_of deals tokens out block by block, like cards. Consecutive tokens share a block: t // block is "
            "the column, t % block the place.",
        ),
        Mutant(
            "fraction",
            (lambda length, block: length / block, slot_of, GA),
            "blocks_needed returns a fraction. A started block is a whole block: round up.",
        ),
        Mutant(
            "place_first",
            (blocks_needed, lambda table, t, block: (t % block, table[t // block]), GA),
            "slot_of returns (place, block). The block comes first.",
        ),
        Mutant(
            "no_table",
            (blocks_needed, slot_of, _ordered),
            "gather takes the first blocks of the pool. Take those that the table names, in its order.",
        ),
        Mutant(
            "untransposed",
            (blocks_needed, slot_of, _untransposed),
            "gather mixes heads and blocks. The heads stand between the blocks and their tokens: move them to the "
            "front before joining.",
        ),
        Mutant(
            "untrimmed",
            (blocks_needed, slot_of, lambda pool, table, length: pool[table].transpose(0, 1).flatten(1, 2)),
            "gather returns idle slots too. Cut the result to length tokens.",
        ),
        Mutant(
            "sorted",
            (blocks_needed, slot_of, lambda pool, table, length: gather(pool, sorted(table), length)),
            "gather sorts the table. Its order is the order of the text.",
        ),
    ],
)
