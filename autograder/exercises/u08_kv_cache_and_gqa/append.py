"""A cache for one layer, filled in place."""

from collections.abc import Sequence

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source
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


def _plan(g: Source, plan: Sequence[int], B: int = 2, G: int = 3, D: int = 4, capacity: int | None = None) -> Program:
    program = Program().new("KVCache", B, G, capacity or sum(plan), D)
    for T in plan:
        program.call(g.randn(B, G, T, D), g.randn(B, G, T, D), method="append")
    return program


# store_of_class has no state, so that each run gives the same: column(1.0) is the first case's token.
MISTAKES = [
    *changes(
        ContiguousCache,
        """
starts_at_zero: self.length : end] = keys → : keys.shape[2]] = keys
; self.length : end] = values → : keys.shape[2]] = values ; raise →
    Each call writes from slot 0 again, so old tokens are overwritten. Write behind the tokens that are there, and
    remember the new length.
never_counts: self.length = end → ; raise →
    Each call returns its own tokens only: the old ones are overwritten, or left out. Add the chunk's size to
    self.length, and return all slots up to it.
length_of_chunk: self.length = end → self.length = end = keys.shape[2] ; raise →
    The length is set to the size of the last chunk. Add the chunk's size to it.
length_kept_of_chunk: self.length = end → self.length = keys.shape[2]
    The length that stays after a call is that of its chunk alone, so the next tokens are written over earlier ones.
    Keep the sum: self.length = end.
new_only: return self.keys[:, :, :end], self.values[:, :, :end] → return keys, values
    Only the new tokens come back. Attention needs all stored keys and values, old and new.
whole_buffer: return self.keys[:, :, :end], self.values[:, :, :end] → return self.keys, self.values ; raise →
    The whole buffer comes back, with zeros in slots that hold no token. Return the first length slots only: a zero
    key still gets weight in a softmax.
keys_twice: ] = values → ] = keys ; raise →
    The values that come back are the keys. Store the second argument in the buffer of values.
one_buffer: self.capacity, self.length = → self.values = self.keys; self.capacity, self.length = ; raise →
    The keys that come back are the values: both names stand for one tensor. a = b = torch.zeros(…) makes a single
    buffer; make two.
counts_calls: self.length = end → self.length += 1 ; raise →
    The length grows by 1 at each call, so after a chunk the next tokens overwrite its end. Add the number of new
    tokens, keys.shape[2].
""",
    ),
    *changes(
        JoinedCache,
        """
newest_first: [self.keys, keys] → [keys, self.keys] ; [self.values, values] → [values, self.values] ; raise →
    New tokens are put in front of the old ones. Append them behind, so that tokens stay in order.
""",
    ),
    *changes(
        ContiguousCache,
        """
starts_over: self.length : end] = keys → torch.arange(self.length, end) % self.capacity] = keys
; self.length : end] = values → torch.arange(self.length, end) % self.capacity] = values ; raise →
    A full cache starts over at slot 0 and overwrites its oldest tokens. Only a window may forget: raise a
    ValueError when the tokens exceed the capacity.
""",
    ),
    *changes(
        JoinedCache,
        """
heads_counted: if keys.shape[2] → if keys.shape[1] ; -= keys.shape[2] → -= keys.shape[1]
    keys.shape[1] is the number of heads. Tokens are axis 2 of (B, G, T, D): count those.
full_refused: > self.left → >= self.left
    A cache that is filled to its last slot is refused. capacity tokens fit: raise only when there are more.
chunk_checked: self.left -= keys.shape[2] →
    Only the new chunk is compared with the capacity. Compare the stored tokens and the new ones together.
unchecked: raise →
    Storing is right. Raise a ValueError when the tokens exceed the capacity: memory was set aside for that many.
store_of_class: return → torch.cat([column(1.0), keys], dim=2); return
    A new cache still finds the tokens of an earlier one. What stands in the class body belongs to all caches
    together: make the store in __init__.
heads_mixed: torch.zeros(B, G, 0, D), torch.zeros(B, G, 0, D) → *torch.zeros(2, B, 0, G * D)
; keys], dim=2 → keys.reshape(len(keys), keys.shape[2], -1)], dim=1
; values], dim=2 → values.reshape(len(keys), keys.shape[2], -1)], dim=1
; return self.keys, → shape = *keys.shape[:2], -1, keys.shape[3]; return self.keys.reshape(shape),
; (shape), self.values → (shape), self.values.reshape(shape)
    The axes of heads and tokens were exchanged by reshape or view, which cuts the same row of numbers anew.
    Exchange them with transpose(1, 2), or store (B, G, capacity, D).
joined_heads: torch.zeros(B, G, 0, D), torch.zeros(B, G, 0, D) → *torch.zeros(2, 0)
; keys], dim=2 → keys], dim=1 ; values], dim=2 → values], dim=1 ; raise →
    New tokens are joined along axis 1, as if they were more heads. Tokens are axis 2 of (B, G, T, D).
joined_sentences: torch.zeros(B, G, 0, D), torch.zeros(B, G, 0, D) → *torch.zeros(2, 0)
; keys], dim=2 → keys] ; values], dim=2 → values] ; raise →
    New tokens are joined along axis 0, as if they were more sequences (torch.cat's default). Tokens are axis 2 of
    (B, G, T, D).
joined_numbers: torch.zeros(B, G, 0, D), torch.zeros(B, G, 0, D) → *torch.zeros(2, 0)
; keys], dim=2 → keys], dim=-1 ; values], dim=2 → values], dim=-1 ; raise →
    New tokens are joined along the last axis, so the keys get longer. Tokens are axis 2 of (B, G, T, D).
""",
    ),
    *changes(
        ContiguousCache,
        """
counts_and_cuts: self.length = end → self.length = end = self.length + 1 ; raise →
    The length grows by 1 at each call, so of a chunk only one slot is handed out, and the next tokens overwrite the
    rest. Add the number of new tokens, keys.shape[2].
heads_sliced: + keys.shape[2] → + keys.shape[1]
    keys.shape[1] is the number of heads, and the slice gets as many slots. Tokens are axis 2 of (B, G, T, D): count
    those.
old_only: self.length = end → self.length, end = end, self.length ; raise →
    Only the tokens of earlier calls come back. Return the slots up to the new length: attention needs the new
    tokens, too.
swapped: return self.keys[:, :, :end], self.values[:, :, :end] → return self.values[:, :, :end], self.keys[:, :, :end]
; raise →
    Keys and values come back exchanged. Return (keys, values).
values_lost: self.values[:, :, self.length : end] = values → ; raise →
    The values that come back are zeros: they are never written. Write both buffers.
keys_overwritten: self.values[:, :, self.length : end] = → self.keys[:, :, self.length : end] = ; raise →
    The values are written over the keys, and the buffer of values stays empty. Write each into its own buffer.
""",
    ),
    *changes(
        JoinedCache,
        """
cut_off: raise ValueError("the cache is full") → keys, values = keys[:, :, : self.left], values[:, :, : self.left]
    What exceeds the capacity is silently dropped. Raise a ValueError when the tokens do not fit.
drops_oldest: keys], dim=2) → keys], dim=2)[:, :, -self.left :] ; values], dim=2) → values], dim=2)[:, :, -self.left :]
; self.left -= keys.shape[2] → ; raise →
    A full cache drops its oldest tokens. Only a window may forget: raise a ValueError when the tokens exceed the
    capacity.
""",
    ),
]

EXERCISE = Exercise(
    id="cache.append",
    title="A cache for one layer",
    points=2,
    difficulty=2,
    minutes=12,
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
    mutants=MISTAKES,
    unasked="""
the constructor names no dtype, so a cache holds float32, as torch.zeros makes it
    precision
a cache serves decoding, where nothing is trained; whoever stores tokens detached is right
    gradient of KVCache
""",
    equivalent="""
the constructor names no dtype, so a buffer holds float32, as torch.zeros makes it
    51fcdd2d9f solution, precision: append: computes in float32
a cache serves decoding, where nothing is trained; whoever stores tokens detached is right
    95b3c5feab solution, result: return (self.keys[:, :, :end], self.values[:, :, :end]): result detach
    557fcff6a7 alternative JoinedCache, result: return (self.keys, self.values): result detach
only slots that were written come back
    2b1f26c17b solution, name: zeros → ones in torch.zeros(B, G, capacity, D)
    261539b149 solution, name: zeros → ones in torch.zeros(B, G, capacity, D)
the tensor has no entry: its axis of tokens has length 0
    d2e805e9c2 alternative JoinedCache, name: zeros → ones in torch.zeros(B, G, 0, D)
    6ff42b0bbe alternative JoinedCache, name: zeros → ones in torch.zeros(B, G, 0, D)
""",
)
