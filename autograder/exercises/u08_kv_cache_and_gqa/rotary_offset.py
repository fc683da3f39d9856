"""A decoding step with RoPE, whose keys are stored rotated."""

import math

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Ref, call

from .shared import column, feed, row_by_row, trained
from .step import cached_attention


def rotate(x, positions):
    """Turns the pair of numbers x (..., T, 2) by positions (T,) radians, as the notebook's helper."""
    a, b, angle = x[..., 0], x[..., 1], positions.to(x.dtype)
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1)


def rotate_pairs(x, positions):
    """The notebook's helper itself, which refuses values that are no pairs."""
    turn = torch.polar(torch.ones(len(positions)), positions.float())
    return torch.view_as_real(torch.view_as_complex(x.contiguous()) * turn)


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
            a = torch.tensor(start + t)
            turned = torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
            columns.append(x[:, :, t] @ turned)
        return torch.stack(columns, 2)

    return row_by_row(turn(q), turn(k), v, past)


def _rotary(q_at=lambda start, at: start + at, k_at=lambda start, at: start + at, turn_v=False):
    def wrong(q, k, v, past=None):
        start, at = 0 if past is None else past[0].shape[-2], torch.arange(q.shape[-2])
        return cached_attention(
            rotate(q, q_at(start, at)), rotate(k, k_at(start, at)), rotate_pairs(v, start + at) if turn_v else v, past
        )

    return wrong


def _counting(length):
    def wrong(q, k, v, past=None):
        positions = (0 if past is None else length(past)) + torch.arange(q.shape[-2])
        return cached_attention(rotate(q, positions), rotate(k, positions), v, past)

    return wrong


def _from_chunk(q, k, v, past=None):
    positions = (0 if past is None else q.shape[-2]) + torch.arange(q.shape[-2])
    return cached_attention(rotate(q, positions), rotate(k, positions), v, past)


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


def _kept_raw(q, k, v, past=None):
    start = 0 if past is None else past[0].shape[-2]
    at = start + torch.arange(q.shape[-2])
    out, _ = cached_attention(rotate(q, at), rotate(k, at), v, past)
    return out, cached_attention(q, k, v, past)[1]


def _past_unpacked(q, k, v, past=None):
    at = past[0].shape[2] + torch.arange(q.shape[2])
    return cached_attention(rotate(q, at), rotate(k, at), v, past)


def _arange_to_chunk(q, k, v, past=None):
    at = torch.arange(0 if past is None else past[0].shape[2], q.shape[2])
    return cached_attention(rotate(q, at), rotate(k, at), v, past)


def _tail(q, k, v):
    T, S = q.shape[-2], k.shape[-2]
    scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(torch.ones(T, S).tril(S - T) == 0, -math.inf)
    return scores.softmax(-1) @ v, (k, v)


EXERCISE = Exercise(
    id="cache.rotary_offset",
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
                torch.tensor([1.0, 0.0]).reshape(1, 1, 1, 2), torch.tensor([1.0, 0.0]).reshape(1, 1, 1, 2), column(10.0)
            ).call(
                torch.tensor([1.0, 0.0]).reshape(1, 1, 1, 2),
                torch.tensor([2.0, 0.0]).reshape(1, 1, 1, 2),
                column(30.0),
                past=Ref(0, 1),
            ),
            weight=2,
        ),
        Case("prefill", "four tokens at positions 0 to 3", lambda g: feed(g, [4], D=2, Dv=2)),
        Case(
            "chunk",
            "three tokens after two stand at positions 2, 3 and 4",
            lambda g: feed(g, [2, 3], H=4, D=2, Dv=2),
            weight=2,
        ),
        Case(
            "plan",
            "chunks of 2, 3 and 1 tokens, one sentence, four heads",
            lambda g: feed(g, [2, 3, 1], B=1, H=4, D=2, Dv=2),
        ),
        Case(
            "gradients",
            "three tokens after two: gradients reach q, k and v, through the rotated keys returned as well",
            lambda g: trained(g, D=2, Dv=2, dtype=torch.float32),
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
            "After a past the positions always start at 2: len(past) counts a pair of tensors, and the last axis has "
            "D = 2 numbers. Count the tokens in past[0], along axis 2.",
        ),
        Mutant(
            "counts_chunk",
            _from_chunk,
            "The positions start at the length of the new chunk. They start behind the tokens of the past: its "
            "length is past[0].shape[2].",
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
        Mutant(
            "one_too_far_with_past",
            _counting(lambda past: past[0].shape[2] + 1),
            "After a past the positions are one too large. Positions count from 0, so the first token behind n others "
            "stands at n.",
        ),
        Mutant(
            "one_too_near_with_past",
            _counting(lambda past: past[0].shape[2] - 1),
            "After a past the positions are one too small, so a chunk starts where the past ends. The first token "
            "behind n others stands at n.",
        ),
        Mutant(
            "unrotated_keys",
            _rotary(k_at=lambda start, at: at * 0),
            "The keys are not rotated. Query and key both turn, so that their distance counts.",
        ),
        Mutant(
            "nothing_rotated",
            cached_attention,
            "Nothing is rotated. Turn queries and keys with rotate(x, positions) before cached_attention.",
        ),
        Mutant(
            "backwards",
            _rotary(lambda start, at: -(start + at), lambda start, at: -(start + at)),
            "Keys are turned the other way round. Hand the positions to rotate as they are, without a minus.",
        ),
        Mutant(
            "kept_raw",
            _kept_raw,
            "The cache holds the keys as they came, and later chunks compare with them unturned. Return what "
            "cached_attention returns: the rotated keys.",
        ),
        Mutant(
            "past_unpacked",
            _past_unpacked,
            "At the first call past is None, and None has no entries. The positions start at 0 then.",
        ),
        Mutant(
            "arange_to_chunk",
            _arange_to_chunk,
            "The positions end at T, the length of the chunk. They run from start to start + T: "
            "start + torch.arange(T).",
        ),
        Mutant(
            "queries_at_start",
            _rotary(q_at=lambda start, at: start + at * 0),
            "All queries of a chunk stand at the position of its first token. Query and key of a token have the same "
            "position.",
        ),
    ],
)
