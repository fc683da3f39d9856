"""A decoding step with RoPE, whose keys are stored rotated."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Ref, call

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


MISTAKES = changes(
    rotary_step,
    """
restarts: start + torch.arange → torch.arange
    Every chunk starts at position 0 again. Its first token stands behind the cached ones: start at the length of
    the past.
one_position: start + torch.arange → start + 0 * torch.arange
    All tokens of a chunk stand at the position of its first. Add torch.arange(T) to it.
counts_heads: past[0].shape[-2] → past[0].shape[1]
    The past is measured along the wrong axis: shape[1] counts heads. Tokens are axis 2 of (B, H, S, D).
counts_sentences: past[0].shape[-2] → past[0].shape[0]
    The past is measured along the wrong axis: the first one counts sentences. Tokens are axis 2 of (B, H, S, D).
counts_pair: past[0].shape[-2] → len(past)
    After a past the positions always start at 2: len(past) counts a pair of tensors, and the last axis has D = 2
    numbers. Count the tokens in past[0], along axis 2.
counts_chunk: past[0].shape[-2] → q.shape[-2]
    The positions start at the length of the new chunk. They start behind the tokens of the past: its length is
    past[0].shape[2].
queries_restart: rotate(q, positions) → rotate(q, positions - start)
    The keys' positions are right, the queries' start at 0 in every chunk. Both use the same positions.
keys_restart: rotate(k, positions) → rotate(k, positions - start)
    The queries' positions are right, the keys' start at 0 in every chunk. Both use the same positions.
rotated_again: v, past) → v, past and (rotate(past[0], torch.arange(start)), past[1]))
    Cached keys are turned once more at each step. They were stored turned: rotate only the new ones, before they
    join the past.
stored_raw: return → turned = past and (rotate(past[0], torch.arange(start)), past[1]); return
; v, past) → v, turned)[0], cached_attention(q, k, v, past)[1]
    The result is right, but the keys are stored unturned, so each step must turn all of them. Store rotated keys: a
    cached key never changes again.
values_too: v, past) → rotate_pairs(v, positions), past)
    The values are rotated as well. Only queries and keys are.
one_too_far: start + torch.arange → start + 1 + torch.arange
    All positions are one too large. The first token stands at position 0.
unrotated_queries: rotate(q, positions) → q
    The queries are not rotated. Query and key both turn, so that their distance counts.
one_too_far_with_past: past[0].shape[-2] → past[0].shape[-2] + 1
    After a past the positions are one too large. Positions count from 0, so the first token behind n others stands
    at n.
one_too_near_with_past: past[0].shape[-2] → past[0].shape[-2] - 1
    After a past the positions are one too small, so a chunk starts where the past ends. The first token behind n
    others stands at n.
unrotated_keys: rotate(k, positions) → k
    The keys are not rotated. Query and key both turn, so that their distance counts.
nothing_rotated: rotate(q, positions), rotate(k, positions) → q, k
    Nothing is rotated. Turn queries and keys with rotate(x, positions) before cached_attention.
backwards: start + torch.arange → -start - torch.arange
    Keys are turned the other way round. Hand the positions to rotate as they are, without a minus.
kept_raw: v, past) → v, past)[0], cached_attention(q, k, v, past)[1]
    The cache holds the keys as they came, and later chunks compare with them unturned. Return what cached_attention
    returns: the rotated keys.
past_unpacked: 0 if past is None else past[0].shape[-2] → past[0].shape[2]
    At the first call past is None, and None has no entries. The positions start at 0 then.
arange_to_chunk: start + torch.arange( → torch.arange(start,
    The positions end at T, the length of the chunk. They run from start to start + T: start + torch.arange(T).
queries_at_start: rotate(q, positions) → rotate(q, positions[:1])
    All queries of a chunk stand at the position of its first token. Query and key of a token have the same
    position.
""",
)

EXERCISE = Exercise(
    id="cache.rotary_offset",
    title="Rotated keys stay rotated",
    points=2,
    difficulty=3,
    minutes=12,
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
    mutants=MISTAKES,
    unasked="""
the notebook's rotate computes float32 angles, and turns written by hand may do so, too
    precision
""",
    equivalent="""
the past has as many keys as values, so either tells its length
    d91ce4401e solution, constant: 0 → 1 in past[0]
    fb39cc6617 solution, constant: 0 → -1 in past[0]
    06ca30c4e3 alternative rotary_by_matrices, constant: 0 → 1 in past[0]
    09289902dc alternative rotary_by_matrices, constant: 0 → -1 in past[0]
""",
)
