"""A cache that keeps a window."""

from collections.abc import Sequence

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source
from autograder.reference.kv_cache import RollingCache

from .shared import column


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


def _rolling(g: Source, window: int, plan: Sequence[int], B: int = 2, G: int = 2, D: int = 3) -> Program:
    program = Program().new("RollingCache", B, G, window, D)
    for T in plan:
        program.call(g.randn(B, G, T, D), g.randn(B, G, T, D), method="append")
    return program


def _rolling_by_hand(g: Source) -> Program:
    program = Program().new("RollingCache", 1, 1, 2, 1)
    for n in (1.0, 2.0, 3.0):
        program.call(column(n), column(10 * n), method="append")
    return program


EXERCISE = Exercise(
    id="cache.rolling",
    unit="08-kv-cache-and-gqa",
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
