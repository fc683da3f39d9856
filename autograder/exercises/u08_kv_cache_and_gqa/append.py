"""A cache for one layer, filled in place."""

from collections.abc import Sequence

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source
from autograder.reference.kv_cache import ContiguousCache

from .shared import column


class ListCache:
    """Correct: pieces in a list, joined on demand."""

    def __init__(self, B, G, capacity, D):
        self.pieces, self.left = [], capacity

    def append(self, keys, values):
        """Joins all pieces."""
        if keys.shape[2] > self.left:
            raise ValueError("the cache is full")
        self.left -= keys.shape[2]
        self.pieces.append((keys, values))
        return tuple(torch.cat(side, dim=2) for side in zip(*self.pieces, strict=True))


class _Buffers:
    """A cache in steps that a mistake can replace; it returns views, and the capacity is not checked."""

    def __init__(self, B, G, capacity, D):
        self.keys, self.values = torch.zeros(2, B, G, capacity, D)
        self.length = 0

    def write(self, keys, values):
        end = self.length + keys.shape[2]
        self.keys[:, :, self.length : end], self.values[:, :, self.length : end] = keys, values
        self.length = end

    def read(self, keys, values):
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def append(self, keys, values):
        self.write(keys, values)
        return self.read(keys, values)


def _broken(base=_Buffers, **methods):
    return type("KVCache", (base,), methods)


def _write_at_zero(self, keys, values):
    T = keys.shape[2]
    self.keys[:, :, :T], self.values[:, :, :T] = keys, values
    self.length += T


def _write_after_last(self, keys, values):
    end = self.length + keys.shape[2]
    self.keys[:, :, self.length : end], self.values[:, :, self.length : end] = keys, values
    self.length = keys.shape[2]


def _write_around(self, keys, values):
    slots = (self.length + torch.arange(keys.shape[2])) % self.keys.shape[2]
    self.keys[:, :, slots], self.values[:, :, slots] = keys, values
    self.length += keys.shape[2]


def _never_counts(self, keys, values):
    T = keys.shape[2]
    self.keys[:, :, :T], self.values[:, :, :T] = keys, values
    return self.keys[:, :, :T], self.values[:, :, :T]


def _new_only(self, keys, values):
    # With the check of the room: without it nothing that comes back differs from _never_counts.
    if self.length + keys.shape[2] > self.keys.shape[2]:
        raise ValueError("no room")
    self.write(keys, values)
    return keys, values


def _write_keys_twice(self, keys, values):
    _Buffers.write(self, keys, keys)


def _grow(join):
    def append(self, keys, values):
        if self.length:
            keys, values = join(self.stored[0], keys), join(self.stored[1], values)
        self.stored, self.length = (keys, values), keys.shape[2]
        return keys, values

    return append


def _plan(g: Source, plan: Sequence[int], B: int = 2, G: int = 3, D: int = 4, capacity: int | None = None) -> Program:
    program = Program().new("KVCache", B, G, capacity or sum(plan), D)
    for T in plan:
        program.call(g.randn(B, G, T, D), g.randn(B, G, T, D), method="append")
    return program


EXERCISE = Exercise(
    id="cache.append",
    unit="08-kv-cache-and-gqa",
    title="A cache for one layer",
    points=2,
    difficulty=2,
    minutes=12,
    signature="KVCache(B, G, capacity, D)",
    reference=ContiguousCache,
    alternatives=[ListCache],
    cases=[
        Case(
            "two tokens",
            "key 1 with value 10, then key 2 with value 20: the second call returns both",
            lambda g: (
                Program()
                .new("KVCache", 1, 1, 3, 1)
                .call(column(1.0), column(10.0), method="append")
                .call(column(2.0), column(20.0), method="append")
            ),
        ),
        Case(
            "one chunk",
            "three tokens at once into room for five: three come back, not five",
            lambda g: _plan(g, [3], capacity=5),
        ),
        Case("chunks", "two sequences, three heads, tokens in chunks of 2, 3 and 1", lambda g: _plan(g, [2, 3, 1])),
        Case("one by one", "four single tokens fill the cache to its end", lambda g: _plan(g, [1, 1, 1, 1], B=1, G=2)),
        Case(
            "full",
            "a third token does not fit into room for two: ValueError",
            lambda g: _plan(g, [2, 1], B=1, G=1, D=2, capacity=2),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "starts_at_zero",
            _broken(write=_write_at_zero),
            "Each call writes from slot 0 again, so old tokens are overwritten. Write behind the tokens that are "
            "there, and remember the new length.",
        ),
        Mutant(
            "never_counts",
            _broken(append=_never_counts),
            "Each call returns its own tokens only: the old ones are overwritten, or left out. Add the chunk's size "
            "to self.length, and return all slots up to it.",
        ),
        Mutant(
            "length_of_chunk",
            _broken(write=_write_after_last),
            "The length is set to the size of the last chunk. Add the chunk's size to it.",
        ),
        Mutant(
            "new_only",
            _broken(append=_new_only),
            "Only the new tokens come back. Attention needs all stored keys and values, old and new.",
        ),
        Mutant(
            "whole_buffer",
            _broken(read=lambda self, keys, values: (self.keys, self.values)),
            "The whole buffer comes back, with zeros in slots that hold no token. Return the first length slots "
            "only: a zero key still gets weight in a softmax.",
        ),
        Mutant(
            "keys_twice",
            _broken(write=_write_keys_twice),
            "The values that come back are the keys. Store the second argument in the buffer of values.",
        ),
        Mutant(
            "newest_first",
            _broken(append=_grow(lambda old, new: torch.cat([new, old], dim=2))),
            "New tokens are put in front of the old ones. Append them behind, so that tokens stay in order.",
        ),
        Mutant(
            "starts_over",
            _broken(write=_write_around),
            "A full cache starts over at slot 0 and overwrites its oldest tokens. Only a window may forget: raise a "
            "ValueError when the tokens exceed the capacity.",
        ),
        Mutant(
            "unchecked",
            _broken(append=_grow(lambda old, new: torch.cat([old, new], dim=2))),
            "Storing is right. Raise a ValueError when the tokens exceed the capacity: memory was set aside for "
            "that many.",
        ),
    ],
)
