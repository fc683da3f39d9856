"""Three caches that save memory: a rolling window, pages, and integers."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, call
from autograder.reference.kv_cache import RollingCache
from autograder.reference.quantized_cache import dequantize, quantize

UNIT = "08-kv-cache-and-gqa"


# --- rolling window ------------------------------------------------------------------------------------------------
class TailCache:
    """Correct: keep the tail of what was seen."""

    def __init__(self, B, G, window, D):
        self.window, self.tail = window, None

    def append(self, keys, values):
        """Joins, returns, cuts."""
        both = torch.stack([keys, values])
        if self.tail is not None:
            old = self.tail[:, :, :, max(0, self.tail.shape[3] - self.window + 1) :]
            both = torch.cat([old, both], dim=3)
        self.tail = both[:, :, :, -self.window :]
        return both[0], both[1]


def _tail(
    returned=lambda both, T, w: both[:, :, :, max(0, both.shape[3] - T - (w - 1)) :],
    kept=lambda both, T, w: both[:, :, :, -w:],
):
    def init(self, B, G, window, D):
        self.window, self.tail = window, torch.zeros(2, B, G, 0, D)

    def append(self, keys, values):
        both, T = torch.cat([self.tail, torch.stack([keys, values])], dim=3), keys.shape[2]
        self.tail = kept(both, T, self.window)
        out = returned(both, T, self.window)
        return out[0].clone(), out[1].clone()

    return type("RollingCache", (), {"__init__": init, "append": append})


class _SlotOrder:
    """Returns the slots as they lie in memory."""

    def __init__(self, B, G, window, D):
        self.both, self.window, self.length = torch.zeros(2, B, G, window, D), window, 0

    def append(self, keys, values):
        for t in range(keys.shape[2]):
            self.both[0, :, :, self.length % self.window] = keys[:, :, t]
            self.both[1, :, :, self.length % self.window] = values[:, :, t]
            self.length += 1
        out = self.both[:, :, :, : min(self.length, self.window)].clone()
        return out[0], out[1]


class _AllSlots(_SlotOrder):
    """Returns all slots, used or not."""

    def append(self, keys, values):
        super().append(keys, values)
        out = self.both.clone()
        return out[0], out[1]


def _numbers(*numbers):
    return torch.tensor(numbers).reshape(1, 1, -1, 1)


def _rolling(g, window, plan, B=2, G=2, D=3):
    program = Program().new("RollingCache", B, G, window, D)
    for T in plan:
        program.call(g.randn(B, G, T, D), g.randn(B, G, T, D), method="append")
    return program


def _rolling_by_hand(g):
    program = Program().new("RollingCache", 1, 1, 2, 1)
    for n in (1.0, 2.0, 3.0):
        program.call(_numbers(n), _numbers(10 * n), method="append")
    return program


ROLLING = Exercise(
    id="cache.rolling",
    unit=UNIT,
    title="A rolling window",
    points=3,
    difficulty=4,
    minutes=15,
    extension=True,
    signature="RollingCache(B, G, window, D)",
    reference=RollingCache,
    alternatives=[TailCache],
    cases=[
        Case(
            "by hand", "window 2, tokens 1, 2, 3 one by one: the third call returns 2 and 3", _rolling_by_hand, weight=2
        ),
        Case("one by one", "window 3, seven single tokens", lambda g: _rolling(g, 3, [1] * 7), weight=2),
        Case(
            "chunks",
            "window 3, chunks of 2, 3 and 1: up to 2 old tokens stand before each chunk",
            lambda g: _rolling(g, 3, [2, 3, 1]),
            weight=2,
        ),
        Case(
            "long chunk",
            "window 2 and a chunk of 5: all five come back, two are kept",
            lambda g: _rolling(g, 2, [5, 1, 1], B=1),
        ),
        Case("wide window", "window 9 holds all of 4 tokens", lambda g: _rolling(g, 9, [1, 3]), weight=0.5),
        Case(
            "window of 1",
            "window 1: no old token stands before a chunk",
            lambda g: _rolling(g, 1, [1, 2], B=1),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "keeps_all",
            _tail(lambda both, T, w: both, lambda both, T, w: both),
            "Nothing is ever dropped. Before a new chunk only the last window − 1 tokens are still needed.",
        ),
        Mutant(
            "one_too_many",
            _tail(
                lambda both, T, w: both[:, :, :, max(0, both.shape[3] - T - w) :],
                lambda both, T, w: both[:, :, :, -w - 1 :],
            ),
            "One token too many comes back. The window counts the newest token itself, so at most window − 1 old "
            "ones stand before the chunk.",
        ),
        Mutant(
            "one_too_few",
            _tail(lambda both, T, w: both[:, :, :, max(0, both.shape[3] - T - (w - 2)) :]),
            "One old token is missing. A window of w reaches w − 1 tokens back.",
        ),
        Mutant(
            "cuts_chunk",
            _tail(lambda both, T, w: both[:, :, :, -w:]),
            "Only the last window tokens come back. The first query of a chunk needs window − 1 tokens before "
            "itself: return the whole chunk and those before it.",
        ),
        Mutant(
            "slot_order",
            _SlotOrder,
            "The tokens come back in the order of their slots. Put them in the order of their positions, oldest "
            "first: position p lies in slot p mod window.",
        ),
        Mutant(
            "all_slots",
            _AllSlots,
            "All slots come back, even those that hold no token yet, and not in order. Return the tokens that are "
            "there, oldest first.",
        ),
        Mutant(
            "keeps_first",
            _tail(kept=lambda both, T, w: both[:, :, :, :w]),
            "The first tokens are kept and new ones dropped. Keep the last ones.",
        ),
        Mutant(
            "minus_zero",
            _tail(lambda both, T, w: both, lambda both, T, w: both[:, :, :, -(w - 1) :]),
            "Right for windows of 2 and more. For a window of 1 the slice [-(w - 1):] is [-0:], which is "
            "everything. Count from the front, or treat that window apart.",
        ),
        Mutant(
            "new_only",
            _tail(lambda both, T, w: both[:, :, :, -T:]),
            "Only the new tokens come back. Up to window − 1 old tokens stand before them.",
        ),
    ],
)


# --- pages ---------------------------------------------------------------------------------------------------------
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


PAGED = Exercise(
    id="cache.paged",
    unit=UNIT,
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
        Case("blocks, random", "a long text in blocks of 16", lambda g: call(16 * g.integer(20, 90) + 3, 16)),
        Case(
            "slot by hand",
            "table 7, 2 and blocks of 4: token 5 lies in block 2 at place 1",
            lambda g: call([7, 2], 5, 4, fn="slot_of"),
        ),
        Case(
            "slot, first of a block",
            "token 6 opens the third block of 3",
            lambda g: call([g.integer(1, 9), 11, g.integer(20, 30)], 6, 3, fn="slot_of"),
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


# --- integers ------------------------------------------------------------------------------------------------------
def quantize_by_slices(x, dim, bits=8):
    """One slice at a time."""
    if bits < 2 or bits > 8:
        raise ValueError("bits must lie in 2 to 8")
    top = 2 ** (bits - 1) - 1
    moved = x.movedim(dim, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    scales = torch.stack([r.abs().max() / top for r in rows])
    codes = torch.stack([r if s == 0 else torch.round(r / s) for r, s in zip(rows, scales, strict=True)])
    codes = codes.reshape(moved.shape).movedim(-1, dim).to(torch.int8)
    return codes, scales.reshape(*moved.shape[:-1], 1).movedim(-1, dim)


def dequantize_by_cast(codes, scale):
    """Cast, then multiply."""
    return torch.mul(codes.float(), scale)


def _quantize(
    amax=lambda x, dim: x.abs().amax(dim=dim, keepdim=True),
    top=lambda bits: 2 ** (bits - 1) - 1,
    rounding=torch.round,
    dtype=torch.int8,
):
    def wrong(x, dim, bits=8):
        scale = amax(x, dim) / top(bits)
        codes = rounding(x / torch.where(scale == 0, torch.ones_like(scale), scale))
        # Without a clamp, a code that int8 cannot hold wraps around.
        return codes.to(torch.int32).to(torch.int8) if dtype is None else codes.clamp(-128, 127).to(dtype), scale

    return wrong


def _with_scale(change):
    def wrong(x, dim, bits=8):
        scale = change(x.abs().amax(dim=dim, keepdim=True) / (2 ** (bits - 1) - 1))
        return torch.round(x / scale).to(torch.int8), scale

    return wrong


def many_bits_checked(x, dim, bits=8):
    if bits > 8:
        raise ValueError("int8 holds 8 bits")
    return _quantize()(x, dim, bits)


def dequantize_float(codes, scale):
    """The reference, with its usual dtype."""
    return dequantize(codes, scale)


DQ = dequantize_float

QUANTIZE = Exercise(
    id="cache.quantize",
    unit=UNIT,
    title="A cache in integers",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="quantize(x, dim, bits=8)",
    targets=("quantize", "dequantize"),
    reference=(quantize, DQ),
    alternatives=[(quantize_by_slices, dequantize_by_cast)],
    cases=[
        Case(
            "by hand",
            "0.2, 0.85 and −1.5 in 3 bits: the scale is 0.5, the codes are 0, 2 and −3",
            lambda g: call(torch.tensor([[0.2, 0.85, -1.5]]), -1, bits=3),
        ),
        Case(
            "back by hand",
            "codes 0, 2 and −3 with scale 0.5 come back as 0, 1 and −1.5",
            lambda g: call(torch.tensor([[0, 2, -3]], dtype=torch.int8), torch.tensor([[0.5]]), fn="dequantize"),
        ),
        Case(
            "per token",
            "a cache (2, 3, 5, 4) with one scale per token and head",
            lambda g: call(g.randn(2, 3, 5, 4), -1),
            weight=2,
        ),
        Case(
            "per channel",
            "the same with one scale per channel: dim = −2",
            lambda g: call(g.randn(2, 3, 5, 4), -2),
            weight=2,
        ),
        Case(
            "there and back",
            "quantized and restored: at most half a scale away",
            lambda g: call(g.randn(1, 2, 4, 6), -1).call(Ref(0, 0), Ref(0, 1), fn="dequantize"),
        ),
        Case("four bits", "codes from −7 to 7", lambda g: call(g.randn(1, 2, 6, 8), -1, bits=4)),
        Case(
            "zeros",
            "a slice of zeros has scale 0 and codes 0",
            lambda g: call(torch.stack([torch.zeros(4), 1 + g.uniform(4)]), -1),
            weight=0.5,
        ),
        Case(
            "small",
            "0.2, 0.85 and −1.5, all a hundred million times smaller, in 3 bits: still 0, 2 and −3",
            lambda g: call(torch.tensor([[0.2e-8, 0.85e-8, -1.5e-8]]), -1, bits=3),
            weight=0.5,
        ),
        Case(
            "one bit", "1 bit leaves no code but 0: ValueError", lambda g: call(g.randn(2, 3), -1, bits=1), weight=0.5
        ),
        Case(
            "nine bits",
            "more than 8 bits do not fit into int8: ValueError",
            lambda g: call(g.randn(2, 3), -1, bits=9),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "one_scale",
            (_quantize(amax=lambda x, dim: x.abs().amax().reshape([1] * x.dim())), DQ),
            "One scale serves the whole tensor. Take the largest magnitude along dim, with keepdim=True.",
        ),
        Mutant(
            "last_axis",
            (_quantize(amax=lambda x, dim: x.abs().amax(dim=-1, keepdim=True)), DQ),
            "The scales always run along the last axis. Use dim.",
        ),
        Mutant(
            "signed_max",
            (_quantize(amax=lambda x, dim: x.amax(dim=dim, keepdim=True)), DQ),
            "The largest value is taken, but the largest magnitude may be negative. Use abs first.",
        ),
        Mutant(
            "signed_max_wrapped",
            (_quantize(amax=lambda x, dim: x.amax(dim=dim, keepdim=True), dtype=None), DQ),
            "The largest value is taken, so a larger negative entry gets a code that int8 cannot hold. Take the "
            "largest magnitude: abs first.",
        ),
        Mutant(
            "one_level_more",
            (_quantize(top=lambda bits: 2 ** (bits - 1)), DQ),
            "The scale divides by 2^(bits−1). The largest code is one less, 2^(bits−1) − 1: 127 for 8 bits.",
        ),
        Mutant(
            "unsigned",
            (_quantize(top=lambda bits: 2**bits - 1), DQ),
            "The scale divides by 2^bits − 1, as for codes without a sign. With a sign the largest is 2^(bits−1) − 1.",
        ),
        Mutant(
            "truncated",
            (_quantize(rounding=torch.trunc), DQ),
            "The codes are cut off towards zero. Round to the nearest integer, so that the error is at most half a "
            "scale.",
        ),
        Mutant(
            "not_integers",
            (_quantize(dtype=torch.float32), DQ),
            "The codes are whole numbers in a float tensor, so nothing is saved. Convert them to torch.int8.",
        ),
        Mutant(
            "scale_plus_eps",
            (_with_scale(lambda scale: scale + 1e-8), DQ),
            "A small number is added to every scale, so small slices lose their codes. Only a scale of 0 needs "
            "another divisor.",
        ),
        Mutant(
            "scale_clamped",
            (_with_scale(lambda scale: scale.clamp(min=1e-8)), DQ),
            "Scales below 1e-8 are raised to it, so small slices lose their codes. Only a scale of 0 needs another "
            "divisor.",
        ),
        Mutant(
            "many_bits_checked",
            (many_bits_checked, DQ),
            "More than 8 bits are refused, fewer than 2 are not. Raise a ValueError there, too: with 1 bit the "
            "largest code would be 0.",
        ),
        Mutant(
            "unchecked", (_quantize(), DQ), "The codes are right. Raise a ValueError when bits does not lie in 2 to 8."
        ),
    ],
)

EXERCISES = [ROLLING, PAGED, QUANTIZE]
