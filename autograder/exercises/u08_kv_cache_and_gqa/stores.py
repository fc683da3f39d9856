"""A cache that grows, a decoding step on top of it, and RoPE's offset."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, call
from autograder.reference.attention import scaled_dot_product_attention
from autograder.reference.kv_cache import ContiguousCache

UNIT = "08-kv-cache-and-gqa"


# --- the cache -----------------------------------------------------------------------------------------------------
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


def _pair(*numbers):
    return torch.tensor(numbers).reshape(1, 1, -1, 1)


def _plan(g, plan, B=2, G=3, D=4, capacity=None):
    program = Program().new("KVCache", B, G, capacity or sum(plan), D)
    for T in plan:
        program.call(g.randn(B, G, T, D), g.randn(B, G, T, D), method="append")
    return program


APPEND = Exercise(
    id="cache.append",
    unit=UNIT,
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
                .call(_pair(1.0), _pair(10.0), method="append")
                .call(_pair(2.0), _pair(20.0), method="append")
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


# --- a decoding step -----------------------------------------------------------------------------------------------
def cached_attention(q, k, v, past=None):
    """Causal attention of the last T of S tokens; returns the result and all (keys, values)."""
    if past is not None:
        k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
    T, S = q.shape[-2], k.shape[-2]
    mask = torch.ones(T, S, dtype=torch.bool, device=q.device).tril(S - T)
    return scaled_dot_product_attention(q, k, v, mask), (k, v)


def row_by_row(q, k, v, past=None):
    """Each query with the slice of keys that it may see; no mask at all."""
    start = 0 if past is None else past[0].shape[-2]
    if past is not None:
        k, v = torch.cat([past[0], k], -2), torch.cat([past[1], v], -2)
    rows = []
    for t in range(q.shape[-2]):
        seen = slice(0, start + t + 1)
        weights = (q[..., t : t + 1, :] @ k[..., seen, :].mT / math.sqrt(q.shape[-1])).softmax(-1)
        rows.append(weights @ v[..., seen, :])
    return torch.cat(rows, -2), (k, v)


def by_positions(q, k, v, past=None):
    """The mask from a comparison of positions."""
    old = 0 if past is None else past[0].shape[-2]
    if old:
        k, v = (torch.cat(pair, dim=2) for pair in zip(past, (k, v), strict=True))
    key_at = torch.arange(k.shape[2])
    query_at = old + torch.arange(q.shape[2])
    hidden = key_at[None] > query_at[:, None]
    scores = torch.einsum("bhtd,bhsd->bhts", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhts,bhsd->bhtd", scores.masked_fill(hidden, -math.inf).softmax(-1), v), (k, v)


def _step(
    mask=lambda T, S: torch.ones(T, S).tril(S - T),
    join=lambda old, new: torch.cat([old, new], dim=-2),
    keep=lambda k, v, new: (k, v),
    scale=lambda q: math.sqrt(q.shape[-1]),
    dim=-1,
):
    def wrong(q, k, v, past=None):
        new = (k, v)
        if past is not None:
            k, v = join(past[0], k), join(past[1], v)
        scores = q @ k.mT / scale(q)
        scores = scores.masked_fill(mask(q.shape[-2], k.shape[-2]) == 0, -math.inf)
        return scores.softmax(dim) @ v, keep(k, v, new)

    return wrong


def _feed(g, plan, B=2, H=3, D=4, Dv=5):
    program = Program()
    for i, T in enumerate(plan):
        past = {} if i == 0 else {"past": Ref(i - 1, 1)}
        program.call(g.randn(B, H, T, D), g.randn(B, H, T, D), g.randn(B, H, T, Dv), **past)
    return program


def _second_token(g):
    first = call(_pair(0.0), _pair(0.0), _pair(10.0))
    return first.call(_pair(1.0), _pair(math.log(3)), _pair(30.0), past=Ref(0, 1))


def _hidden_zero(q, k, v, past=None):
    if past is not None:
        k, v = torch.cat([past[0], k], dim=-2), torch.cat([past[1], v], dim=-2)
    T, S = q.shape[-2], k.shape[-2]
    return (q @ k.mT / math.sqrt(q.shape[-1]) * torch.ones(T, S).tril(S - T)).softmax(-1) @ v, (k, v)


STEP = Exercise(
    id="cache.step",
    unit=UNIT,
    title="A chunk of tokens with a past",
    points=3,
    difficulty=3,
    minutes=15,
    signature="cached_attention(q, k, v, past=None)",
    reference=cached_attention,
    alternatives=[row_by_row, by_positions],
    forbidden=("scaled_dot_product_attention",),
    forbidden_message="Write scores, mask and softmax yourself; the softmax built in is welcome.",
    cases=[
        Case(
            "second token",
            "the first token returns its own value 10; the second gives weights 1/4 and 3/4 to the values 10 and 30",
            _second_token,
        ),
        Case("prefill", "five tokens at once, nothing in the past: causal attention", lambda g: _feed(g, [5])),
        Case("one by one", "four tokens, one at a time", lambda g: _feed(g, [1, 1, 1, 1])),
        Case(
            "chunk after prefill",
            "three tokens after two: the first of them sees three keys, not one",
            lambda g: _feed(g, [2, 3]),
            weight=2,
        ),
        Case("plan", "chunks of 2, 3 and 1 tokens, B = 1", lambda g: _feed(g, [2, 3, 1], B=1, H=2), weight=2),
        Case(
            "random plan",
            "three chunks of random sizes",
            lambda g: _feed(g, [g.integer(2, 5), g.integer(2, 5), g.integer(2, 5)]),
        ),
    ],
    mutants=[
        Mutant(
            "mask_top_left",
            _step(mask=lambda T, S: torch.ones(T, S).tril()),
            "The mask starts at the top left, as if the chunk stood at position 0. Query t of the chunk stands at "
            "position S − T + t: use tril with diagonal S − T.",
        ),
        Mutant(
            "no_mask",
            _step(mask=lambda T, S: torch.ones(T, S)),
            "Tokens of one chunk see tokens after them. Inside a chunk the causal mask is still needed.",
        ),
        Mutant(
            "one_ahead",
            _step(mask=lambda T, S: torch.ones(T, S).tril(S - T + 1)),
            "Each token of a chunk also sees the one after it. The diagonal is S − T, not S − T + 1: query 0 stands "
            "at position S − T.",
        ),
        Mutant(
            "mask_all_but_self",
            _step(mask=lambda T, S: torch.ones(T, S).tril(S - T - 1) + (S == 1)),
            "A token does not see itself here. The diagonal S − T belongs to what it may see.",
        ),
        Mutant(
            "hidden_zero",
            _hidden_zero,
            "Hidden scores are set to 0, and a score of 0 still gets weight. Fill them with −∞ before the softmax.",
        ),
        Mutant(
            "polarity",
            _step(mask=lambda T, S: 1 - torch.ones(T, S).tril(S - T)),
            "The mask is upside down: what may be seen is hidden, and rows without any key become NaN. True means "
            "may look, so fill where it is False.",
        ),
        Mutant(
            "forgets",
            _step(join=lambda old, new: new),
            "The past is not used. Put the past keys and values in front of the new ones.",
        ),
        Mutant(
            "keeps_new_only",
            _step(keep=lambda k, v, new: new),
            "The second result holds only this chunk's keys and values. Return all of them, so that the next call "
            "has the whole past.",
        ),
        Mutant(
            "newest_first",
            _step(join=lambda old, new: torch.cat([new, old], dim=-2)),
            "The new keys and values are put in front of the old ones, so the mask hides the wrong ones. Past "
            "first, then new.",
        ),
        Mutant(
            "swapped",
            _step(keep=lambda k, v, new: (v, k)),
            "The second result is (values, keys). Return (keys, values), as past is read.",
        ),
        Mutant("unscaled", _step(scale=lambda q: 1.0), "The scores are not divided by √D."),
        Mutant(
            "over_queries",
            _step(dim=-2),
            "The softmax runs over the queries. The weights of each query sum to 1 over its keys: the last axis.",
        ),
    ],
)


# --- RoPE's offset -------------------------------------------------------------------------------------------------
def rotate(x, positions):
    """Turns the pair of numbers x (..., T, 2) by positions (T,) radians, as the notebook's helper."""
    a, b, angle = x[..., 0], x[..., 1], positions.to(x.dtype)
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1)


def rotary_step(q, k, v, past=None):
    """Rotates queries and keys by absolute positions, then one cached step."""
    start = 0 if past is None else past[0].shape[-2]
    positions = start + torch.arange(q.shape[-2], device=q.device)
    return cached_attention(rotate(q, positions), rotate(k, positions), v, past)


def rotary_by_matrices(q, k, v, past=None):
    """One 2×2 matrix per token."""
    start = past[0].shape[2] if past else 0

    def turn(x):
        columns = []
        for t in range(x.shape[2]):
            a = torch.tensor(float(start + t))
            turned = torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
            columns.append(x[:, :, t] @ turned)
        return torch.stack(columns, 2)

    return row_by_row(turn(q), turn(k), v, past)


def _rotary(q_at=lambda start, at: start + at, k_at=lambda start, at: start + at, turn_v=False):
    def wrong(q, k, v, past=None):
        start, at = 0 if past is None else past[0].shape[-2], torch.arange(q.shape[-2])
        return cached_attention(
            rotate(q, q_at(start, at)), rotate(k, k_at(start, at)), rotate(v, start + at) if turn_v else v, past
        )

    return wrong


def _counting(length):
    def wrong(q, k, v, past=None):
        positions = (0 if past is None else length(past)) + torch.arange(q.shape[-2])
        return cached_attention(rotate(q, positions), rotate(k, positions), v, past)

    return wrong


def _rotated_again(q, k, v, past=None):
    start = 0 if past is None else past[0].shape[-2]
    if past is not None:
        k, v = torch.cat([past[0], k], -2), torch.cat([past[1], v], -2)
    k = rotate(k, torch.arange(k.shape[-2]))
    out, _ = _tail(rotate(q, start + torch.arange(q.shape[-2])), k, v)
    return out, (k, v)


def _stored_raw(q, k, v, past=None):
    start = 0 if past is None else past[0].shape[-2]
    if past is not None:
        k, v = torch.cat([past[0], k], -2), torch.cat([past[1], v], -2)
    out, _ = _tail(rotate(q, start + torch.arange(q.shape[-2])), rotate(k, torch.arange(k.shape[-2])), v)
    return out, (k, v)


def _tail(q, k, v):
    T, S = q.shape[-2], k.shape[-2]
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(torch.ones(T, S).tril(S - T) == 0, -math.inf)
    return scores.softmax(-1) @ v, (k, v)


ROTARY = Exercise(
    id="cache.rotary_offset",
    unit=UNIT,
    title="Rotated keys stay rotated",
    points=2,
    difficulty=3,
    minutes=12,
    signature="rotary_step(q, k, v, past=None)",
    reference=rotary_step,
    alternatives=[rotary_by_matrices],
    forbidden=("scaled_dot_product_attention",),
    forbidden_message="Your cached_attention does that part.",
    cases=[
        Case(
            "two steps",
            "token 0 is turned by 0, token 1 by 1 radian; the cache holds both keys as they were turned",
            lambda g: call(
                torch.tensor([1.0, 0.0]).reshape(1, 1, 1, 2), torch.tensor([1.0, 0.0]).reshape(1, 1, 1, 2), _pair(10.0)
            ).call(
                torch.tensor([1.0, 0.0]).reshape(1, 1, 1, 2),
                torch.tensor([2.0, 0.0]).reshape(1, 1, 1, 2),
                _pair(30.0),
                past=Ref(0, 1),
            ),
            weight=2,
        ),
        Case("prefill", "four tokens at positions 0 to 3", lambda g: _feed(g, [4], D=2, Dv=2)),
        Case(
            "chunk",
            "three tokens after two stand at positions 2, 3 and 4",
            lambda g: _feed(g, [2, 3], H=4, D=2, Dv=2),
            weight=2,
        ),
        Case(
            "plan",
            "chunks of 2, 3 and 1 tokens, one sentence, four heads",
            lambda g: _feed(g, [2, 3, 1], B=1, H=4, D=2, Dv=2),
        ),
    ],
    mutants=[
        Mutant(
            "restarts",
            _rotary(lambda start, at: at, lambda start, at: at),
            "Every chunk starts at position 0 again. Its first token stands behind the cached ones: start at the "
            "length of the past.",
        ),
        Mutant(
            "one_position",
            _rotary(lambda start, at: start + at * 0, lambda start, at: start + at * 0),
            "All tokens of a chunk stand at the position of its first. Add torch.arange(T) to it.",
        ),
        Mutant(
            "counts_heads",
            _counting(lambda past: past[0].shape[1]),
            "The past is measured along the wrong axis: shape[1] counts heads. Tokens are axis 2 of (B, H, S, D).",
        ),
        Mutant(
            "counts_sentences",
            _counting(lambda past: past[0].shape[0]),
            "The past is measured along the wrong axis: the first one counts sentences. Tokens are axis 2 of "
            "(B, H, S, D).",
        ),
        Mutant(
            "counts_pair",
            _counting(len),
            "len(past) is always 2, for it is a pair of tensors. Count the tokens in past[0], along axis 2.",
        ),
        Mutant(
            "queries_restart",
            _rotary(q_at=lambda start, at: at),
            "The keys' positions are right, the queries' start at 0 in every chunk. Both use the same positions.",
        ),
        Mutant(
            "keys_restart",
            _rotary(k_at=lambda start, at: at),
            "The queries' positions are right, the keys' start at 0 in every chunk. Both use the same positions.",
        ),
        Mutant(
            "rotated_again",
            _rotated_again,
            "Cached keys are turned once more at each step. They were stored turned: rotate only the new ones, "
            "before they join the past.",
        ),
        Mutant(
            "stored_raw",
            _stored_raw,
            "The result is right, but the keys are stored unturned, so each step must turn all of them. Store "
            "rotated keys: a cached key never changes again.",
        ),
        Mutant("values_too", _rotary(turn_v=True), "The values are rotated as well. Only queries and keys are."),
        Mutant(
            "one_too_far",
            _rotary(lambda start, at: start + at + 1, lambda start, at: start + at + 1),
            "All positions are one too large. The first token stands at position 0.",
        ),
        Mutant(
            "unrotated_queries",
            _rotary(q_at=lambda start, at: at * 0),
            "The queries are not rotated. Query and key both turn, so that their distance counts.",
        ),
    ],
)

EXERCISES = [APPEND, STEP, ROTARY]
