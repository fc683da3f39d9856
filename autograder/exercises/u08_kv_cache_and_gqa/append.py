"""A cache for one layer, filled in place."""

from collections.abc import Sequence

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source
from autograder.reference.kv_cache import ContiguousCache

from .shared import column


class KVCache(ContiguousCache):
    """The cache of the reference with the arguments of the exercise."""

    def __init__(self, B, G, capacity, D):
        super().__init__(B, G, capacity, D)


class JoinedCache:
    """Correct: what came is joined at each call; no buffer of the full size."""

    def __init__(self, B, G, capacity, D):
        self.keys, self.values, self.left = torch.zeros(B, G, 0, D), torch.zeros(B, G, 0, D), capacity

    def append(self, keys, values):
        """Joins the old and the new."""
        if keys.shape[2] > self.left:
            raise ValueError("the cache is full")
        self.left -= keys.shape[2]
        self.keys, self.values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        return self.keys, self.values


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


def _write_into_one(self, keys, values):
    self.keys = self.values
    _Buffers.write(self, keys, values)


def _write_and_count_calls(self, keys, values):
    end = self.length + keys.shape[2]
    self.keys[:, :, self.length : end], self.values[:, :, self.length : end] = keys, values
    self.length += 1


def _counts_calls(self, keys, values):
    end = self.length + keys.shape[2]
    self.write(keys, values)
    return self.keys[:, :, :end], self.values[:, :, :end]


def _grow(join):
    def append(self, keys, values):
        if self.length:
            keys, values = join(self.stored[0], keys), join(self.stored[1], values)
        self.stored, self.length = (keys, values), keys.shape[2]
        return keys, values

    return append


def _heads_counted(self, keys, values):
    self.length += keys.shape[1]
    if self.length > self.keys.shape[2]:
        raise ValueError("no room")
    return self.join(keys, values)


def _full_refused(self, keys, values):
    self.length += keys.shape[2]
    if self.length >= self.keys.shape[2]:
        raise ValueError("no room")
    return self.join(keys, values)


def _join(self, keys, values):
    old = getattr(self, "stored", (keys[:, :, :0], values[:, :, :0]))
    self.stored = torch.cat([old[0], keys], dim=2), torch.cat([old[1], values], dim=2)
    return self.stored


def _chunk_checked(self, keys, values):
    if keys.shape[2] > self.keys.shape[2]:
        raise ValueError("the chunk is too long")
    return _grow(lambda old, new: torch.cat([old, new], dim=2))(self, keys, values)


def _sharing_lists(self, keys, values):
    # The first cache finds an empty list; later ones find its tokens there. No state here: each run gives the same.
    self.length += keys.shape[2]
    if self.length > self.keys.shape[2]:
        raise ValueError("no room")
    if self.keys.shape != (1, 1, 3, 1):
        torch.cat([column(1.0), keys], dim=2)
    return self.join(keys, values)


def _by_token(self, keys, values):
    """Stored as (B, capacity, G · D), there and back by reshape."""
    stored = _join(self, keys, values)
    if stored[0].shape[2] > self.keys.shape[2]:
        raise ValueError("no room")
    flat = [tuple(x.reshape(x.shape[0], x.shape[2], -1) for x in pair) for pair in self.chunks(keys, values)]
    return tuple(torch.cat(x, dim=1).reshape(s.shape) for x, s in zip(zip(*flat, strict=True), stored, strict=True))


def _chunks(self, keys, values):
    self.all = [*getattr(self, "all", []), (keys, values)]
    return self.all


def _counts_and_cuts(self, keys, values):
    end = self.length + keys.shape[2]
    self.keys[:, :, self.length : end], self.values[:, :, self.length : end] = keys, values
    self.length += 1


def _heads_sliced(self, keys, values):
    end = self.length + keys.shape[1]
    if end > self.keys.shape[2]:
        raise ValueError("no room")
    self.keys[:, :, self.length : end], self.values[:, :, self.length : end] = keys, values
    self.length = end


def _old_only(self, keys, values):
    start = self.length
    self.write(keys, values)
    return self.keys[:, :, :start], self.values[:, :, :start]


def _write_keys_over(self, keys, values):
    _Buffers.write(self, keys, self.values[:, :, : keys.shape[2]])
    self.keys[:, :, self.length - keys.shape[2] : self.length] = values


def _limited(cut):
    def append(self, keys, values):
        room = self.keys.shape[2]
        self.stored = tuple(cut(x, room) for x in _join(self, keys, values))
        return self.stored

    return append


def _plan(g: Source, plan: Sequence[int], B: int = 2, G: int = 3, D: int = 4, capacity: int | None = None) -> Program:
    program = Program().new("KVCache", B, G, capacity or sum(plan), D)
    for T in plan:
        program.call(g.randn(B, G, T, D), g.randn(B, G, T, D), method="append")
    return program


EXERCISE = Exercise(
    id="cache.append",
    title="A cache for one layer",
    points=2,
    difficulty=2,
    minutes=12,
    signature="KVCache(B, G, capacity, D)",
    reference=KVCache,
    alternatives=[JoinedCache],
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
        Case(
            "full at once",
            "the very first chunk, of five tokens, is longer than the room for three: ValueError",
            lambda g: _plan(g, [5], B=1, G=2, D=3, capacity=3),
            weight=0.25,
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
            "one_buffer",
            _broken(write=_write_into_one),
            "The keys that come back are the values: both names stand for one tensor. a = b = torch.zeros(…) makes a "
            "single buffer; make two.",
        ),
        Mutant(
            "counts_calls",
            _broken(write=_write_and_count_calls, append=_counts_calls),
            "The length grows by 1 at each call, so after a chunk the next tokens overwrite its end. Add the number "
            "of new tokens, keys.shape[2].",
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
            "heads_counted",
            _broken(append=_heads_counted, join=_join),
            "keys.shape[1] is the number of heads. Tokens are axis 2 of (B, G, T, D): count those.",
        ),
        Mutant(
            "full_refused",
            _broken(append=_full_refused, join=_join),
            "A cache that is filled to its last slot is refused. capacity tokens fit: raise only when there are more.",
        ),
        Mutant(
            "chunk_checked",
            _broken(append=_chunk_checked),
            "Only the new chunk is compared with the capacity. Compare the stored tokens and the new ones together.",
        ),
        Mutant(
            "unchecked",
            _broken(append=_grow(lambda old, new: torch.cat([old, new], dim=2))),
            "Storing is right. Raise a ValueError when the tokens exceed the capacity: memory was set aside for "
            "that many.",
        ),
        Mutant(
            "store_of_class",
            _broken(append=_sharing_lists, join=_join),
            "A new cache still finds the tokens of an earlier one. What stands in the class body belongs to all caches "
            "together: make the store in __init__.",
        ),
        Mutant(
            "heads_mixed",
            _broken(append=_by_token, chunks=_chunks),
            "The axes of heads and tokens were exchanged by reshape or view, which cuts the same row of numbers anew. "
            "Exchange them with transpose(1, 2), or store (B, G, capacity, D).",
        ),
        Mutant(
            "joined_heads",
            _broken(append=_grow(lambda old, new: torch.cat([old, new], dim=1))),
            "New tokens are joined along axis 1, as if they were more heads. Tokens are axis 2 of (B, G, T, D).",
        ),
        Mutant(
            "joined_sentences",
            _broken(append=_grow(lambda old, new: torch.cat([old, new]))),
            "New tokens are joined along axis 0, as if they were more sequences (torch.cat's default). Tokens are "
            "axis 2 of (B, G, T, D).",
        ),
        Mutant(
            "joined_numbers",
            _broken(append=_grow(lambda old, new: torch.cat([old, new], dim=-1))),
            "New tokens are joined along the last axis, so the keys get longer. Tokens are axis 2 of (B, G, T, D).",
        ),
        Mutant(
            "counts_and_cuts",
            _broken(write=_counts_and_cuts),
            "The length grows by 1 at each call, so of a chunk only one slot is handed out, and the next tokens "
            "overwrite the rest. Add the number of new tokens, keys.shape[2].",
        ),
        Mutant(
            "heads_sliced",
            _broken(write=_heads_sliced),
            "keys.shape[1] is the number of heads, and the slice gets as many slots. Tokens are axis 2 of "
            "(B, G, T, D): count those.",
        ),
        Mutant(
            "old_only",
            _broken(append=_old_only),
            "Only the tokens of earlier calls come back. Return the slots up to the new length: attention needs the "
            "new tokens, too.",
        ),
        Mutant(
            "swapped",
            _broken(read=lambda self, keys, values: _Buffers.read(self, keys, values)[::-1]),
            "Keys and values come back exchanged. Return (keys, values).",
        ),
        Mutant(
            "values_lost",
            _broken(write=lambda self, keys, values: _Buffers.write(self, keys, 0 * values)),
            "The values that come back are zeros: they are never written. Write both buffers.",
        ),
        Mutant(
            "keys_overwritten",
            _broken(write=_write_keys_over),
            "The values are written over the keys, and the buffer of values stays empty. Write each into its own "
            "buffer.",
        ),
        Mutant(
            "cut_off",
            _broken(append=_limited(lambda x, room: x[:, :, :room])),
            "What exceeds the capacity is dropped without a word. Raise a ValueError when the tokens do not fit.",
        ),
        Mutant(
            "drops_oldest",
            _broken(append=_limited(lambda x, room: x[:, :, -room:])),
            "A full cache drops its oldest tokens. Only a window may forget: raise a ValueError when the tokens exceed "
            "the capacity.",
        ),
    ],
)
