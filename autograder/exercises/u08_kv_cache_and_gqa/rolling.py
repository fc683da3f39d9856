"""A cache that keeps a window."""

from collections.abc import Sequence

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, Source
from autograder.reference.kv_cache import RollingCache

from .shared import column


class Rolling(RollingCache):
    """The cache of the reference with the arguments of the exercise."""

    def __init__(self, B, G, window, D):
        super().__init__(B, G, window, D)


class TailCache:
    """Correct: keep the tail of what was seen."""

    def __init__(self, B, G, window, D):
        self.window, self.tail = window, torch.zeros(2, B, G, 0, D)

    def append(self, keys, values):
        """Joins, returns, cuts."""
        both = torch.cat([self.tail, torch.stack([keys, values])], dim=3)
        self.tail = both[:, :, :, max(0, both.shape[3] - self.window + 1) :]
        return both[0], both[1]


class _Shifting:
    """Shifts the old tokens to the front of one buffer, and hands that buffer out."""

    def __init__(self, B, G, window, D):
        self.both, self.window, self.length = torch.zeros(2, B, G, 2 * window, D), window, 0

    def append(self, keys, values):
        T, old = keys.shape[2], min(self.length, self.window - 1)
        if old + T > self.both.shape[3]:
            self.both = torch.cat([self.both, torch.zeros_like(self.both[:, :, :, :1]).repeat(1, 1, 1, T, 1)], dim=3)
        self.both[:, :, :, :old] = self.both[:, :, :, self.length - old : self.length].clone()
        self.length = old + T
        self.both[:, :, :, old : self.length] = torch.stack([keys, values])
        return self.both[0, :, :, : self.length], self.both[1, :, :, : self.length]


class _ShiftingOnes:
    """One buffer, filled from its end, shifted by each single token and handed out."""

    def __init__(self, B, G, window, D):
        self.window, self.n, self.buffer = window, 0, torch.zeros(2, B, G, window, D)

    def append(self, keys, values):
        new, old = torch.stack([keys, values]), min(self.n, self.window - 1)
        both = torch.cat([self.buffer[:, :, :, self.window - old :], new], dim=3)
        self.n = min(both.shape[3], self.window)
        self.buffer[:, :, :, self.window - self.n :] = both[:, :, :, -self.n :]
        out = self.buffer[:, :, :, self.window - self.n :] if keys.shape[2] == 1 else both
        return out[0], out[1]


def _handed_back(g: Source) -> Program:
    """What an earlier call returned comes in again after the cache has moved on."""
    program = _rolling(g, 2, [1, 1, 1])
    return program.call(Ref(2, 0), Ref(2, 1), method="append")


def _rolling(g: Source, window: int, plan: Sequence[int], B: int = 2, G: int = 2, D: int = 3) -> Program:
    program = Program().new("RollingCache", B, G, window, D)
    for T in plan:
        program.call(g.randn(B, G, T, D), g.randn(B, G, T, D), method="append")
    return program


def _counted(g: Source) -> Program:
    """Four tokens are 512 bytes, and right ways keep up to twice that; all 45 are 5,760."""
    return _rolling(g, 4, [40, 1, 1, 1, 1, 1], B=1, G=1, D=16).within(
        kept=2_048, because="the last 4 tokens, keys and values of 16 numbers, have 512"
    )


def _rolling_by_hand(g: Source) -> Program:
    program = Program().new("RollingCache", 1, 1, 2, 1)
    for n in (1.0, 2.0, 3.0):
        program.call(column(n), column(10 * n), method="append")
    return program


MISTAKES = [
    *changes(
        TailCache,
        """
keeps_all: max(0, both.shape[3] - self.window + 1) → 0
    Nothing is ever dropped. Before a new chunk only the last window − 1 tokens are still needed.
stores_all: max(0, both.shape[3] - self.window + 1) → 0
; both[0], both[1] → both[:, :, :, 1 - self.window - keys.shape[2] :].unbind()
    The right tokens come back, but all that ever came stay in memory. Keep the last window tokens, and nothing that
    they are a slice of.
one_too_many: self.window + 1 → self.window
    One token too many comes back. The window counts the newest token itself, so at most window − 1 old ones stand
    before the chunk.
one_too_few: both[0], both[1] → both[:, :, :, max(0, both.shape[3] - keys.shape[2] - self.window + 2) :].unbind()
    One old token is missing. A window of w reaches w − 1 tokens back.
negative_start: both[0], both[1] → both[:, :, :, both.shape[3] - keys.shape[2] - self.window + 1 :].unbind()
    Until the window is full, the first index of the slice is negative, which counts from the end. Take max(0, …) of
    it.
cuts_chunk: both[0], both[1] → both[:, :, :, -self.window :].unbind()
    Only the last window tokens come back. The first query of a chunk needs window − 1 tokens before itself: return
    the whole chunk and those before it.
""",
    ),
    *changes(
        RollingCache,
        """
slot_order: return all_keys, → return self.keys[:, :, : self.length].clone(),
; clone(), all_values → clone(), self.values[:, :, : self.length].clone()
    The tokens come back in the order of their slots. Put them in the order of their positions, oldest first:
    position p lies in slot p mod window.
all_slots: return all_keys, all_values → return self.keys.clone(), self.values.clone()
    All slots come back, even those that hold no token yet, and not in order. Return the tokens that are there,
    oldest first.
""",
    ),
    *changes(
        TailCache,
        """
keeps_first: max(0, both.shape[3] - self.window + 1) : → : self.window
; both[0], both[1] → both[:, :, :, 1 - self.window - keys.shape[2] :].unbind()
    The first tokens are kept and new ones dropped. Keep the last ones.
keeps_first_of_cut: max(0, both.shape[3] - self.window + 1) : → int(both.shape[3] >= self.window) : self.window
    Of all that is at hand the first window tokens are kept. Keep the last ones.
""",
    ),
    Mutant(
        "shifting",
        _Shifting,
        "The tensors that come back are slices of the cache's own buffer, so the next call writes over them. "
        "Return new ones: torch.cat or clone makes them.",
    ),
    *changes(
        TailCache,
        """
minus_zero: max(0, both.shape[3] - self.window + 1) → -(self.window - 1)
    The tokens are right for windows of 2 and more. For a window of 1 the slice [-(w - 1):] is [-0:], which is
    everything. Count from the front, or treat that window apart.
new_only: both[0], both[1] → keys, values
    Only the new tokens come back. Up to window − 1 old tokens stand before them.
""",
    ),
    *changes(
        RollingCache,
        """
old_by_slot: [: -T or None] % self.window → [: -T or None].remainder(self.window).sort().values
    Before the chunk the old tokens come back in the order of their slots. Put them in the order of their positions,
    oldest first: position p lies in slot p mod window.
""",
    ),
    *changes(
        TailCache,
        """
starts_with_zeros: torch.zeros(2, B, G, 0, D) → torch.zeros(2, B, G, window - 1, D)
    The cache starts full of zeros, which come back as tokens that never were. Start with none: torch.zeros(B, G, 0,
    D), or count what was stored.
""",
    ),
    Mutant(
        "shifting_ones",
        _ShiftingOnes,
        "What comes back is a slice of the cache's own buffer, which a later call writes over. Return new tensors: "
        "torch.cat or clone makes them.",
    ),
    *changes(
        TailCache,
        """
drops_one: max(0, both.shape[3] - self.window + 1) → int(both.shape[3] >= self.window)
    One old token is dropped per call, however many came before. Keep the last window − 1 of them before a new
    chunk.
chunk_kept: max(0, both.shape[3] - self.window + 1) → both.shape[3] - min(keys.shape[2], self.window - 1)
    After a short chunk the tokens before it are forgotten. Keep the last window tokens of old and new together.
""",
    ),
    *changes(
        RollingCache,
        """
long_chunk_refused: check_entry(keys, values, self.keys, self.values) → if keys.shape[2] > self.window: raise ValueError
    A chunk longer than the window is refused. It is allowed: all of it comes back, and its last window tokens are
    kept.
full_refused: check_entry(keys, values, self.keys, self.values) → T = values.shape[2]
; T = keys.shape[2] → if self.length + T > self.window: raise ValueError("too many tokens")
    A full window refuses new tokens. It forgets its oldest ones instead: there is no error here.
""",
    ),
    *changes(
        TailCache,
        """
long_chunk_cut: torch.stack([keys, values]) → torch.stack([keys, values])[:, :, :, -self.window :]
    Of a chunk longer than the window only the end comes back. Return the whole chunk, and keep its last window
    tokens.
keys_twice: both[0], both[1] → both[0], both[0]
    The values that come back are the keys. Store and return the second argument as well.
swapped: both[0], both[1] → both[1], both[0]
    Keys and values come back exchanged. Return (keys, values).
newest_first: both[0], both[1] → both.flip(3).unbind()
    The tokens come back newest first. Put them in the order of their positions, oldest first.
""",
    ),
]

EXERCISE = Exercise(
    id="cache.rolling",
    title="A rolling window",
    points=3,
    difficulty=4,
    minutes=15,
    extension=True,
    reference=Rolling,
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
        Case(
            "kept memory",
            "after 45 tokens a window of 4, whose tokens have 512 bytes, keeps at most 2,048",
            _counted,
            weight=6,
        ),
        Case(
            "not yet full",
            "window 5, chunks of 2, 1 and 1: nothing is lost before five tokens have come",
            lambda g: _rolling(g, 5, [2, 1, 1], B=1, G=3),
        ),
        Case(
            "handed back",
            "what the second of three calls returned goes in again: the third must not have changed it",
            _handed_back,
            weight=0.5,
        ),
        Case("wide window", "window 9 holds all of 4 tokens", lambda g: _rolling(g, 9, [1, 3]), weight=0.5),
        Case(
            "window of 1",
            "window 1: no old token stands before a chunk",
            lambda g: _rolling(g, 1, [1, 2], B=1),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    unasked="""
the constructor names no dtype, so a cache holds float32, as torch.zeros makes it
    precision
a cache serves decoding, where nothing is trained; whoever stores tokens detached is right
    gradient of RollingCache
""",
    equivalent="""
a cache serves decoding, where nothing is trained; whoever stores tokens detached is right
    68b59313be solution, result: return (keys, values): result detach
    0eedf96e14 alternative TailCache, result: return (both[0], both[1]): result detach
the tensor has no entry: its axis of tokens has length 0
    b5c3fe15bb solution, name: zeros → ones in torch.zeros(B, G, 0, D)
    1b9c787a26 solution, name: zeros → ones in torch.zeros(B, G, 0, D)
    e323668718 alternative TailCache, name: zeros → ones in torch.zeros(2, B, G, 0, D)
""",
)
