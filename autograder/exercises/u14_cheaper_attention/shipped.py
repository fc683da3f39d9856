"""DeepSeek-V3's attention, with its rotated shared key, computed on latents."""

import math
from typing import Any

import torch
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Ref, Source
from autograder.reference import latent_step
from autograder.reference.latent_step import rotate_pairs

SIZES = (10, 3, 9, 7, 5, 4, 6)  # d_model, H, q_rank, kv_rank, nope, rope, v_dim


class Absorbed(nn.Module):
    """As in the solution."""

    def __init__(self, d_model, H, q_rank, kv_rank, nope, rope, v_dim):
        super().__init__()
        self.H, self.kv_rank, self.nope, self.rope, self.v_dim = H, kv_rank, nope, rope, v_dim
        self.q_down, self.q_norm = nn.Linear(d_model, q_rank, bias=False), nn.RMSNorm(q_rank, eps=1e-6)
        self.q_up = nn.Linear(q_rank, H * (nope + rope), bias=False)
        self.kv_down, self.kv_norm = nn.Linear(d_model, kv_rank + rope, bias=False), nn.RMSNorm(kv_rank, eps=1e-6)
        self.kv_up = nn.Linear(kv_rank, H * (nope + v_dim), bias=False)
        self.o_proj = nn.Linear(H * v_dim, d_model, bias=False)

    def forward(self, x, past=None):
        start, T = 0 if past is None else past[0].shape[1], x.shape[1]
        at = start + torch.arange(T)
        q = self.q_up(self.q_norm(self.q_down(x))).unflatten(-1, (self.H, -1)).transpose(1, 2)
        q, q_rope = q.split([self.nope, self.rope], -1)
        c, k_rope = self.kv_down(x).split([self.kv_rank, self.rope], -1)
        c, k_rope = self.kv_norm(c), rotate_pairs(k_rope, at)
        if past is not None:
            c, k_rope = torch.cat([past[0], c], 1), torch.cat([past[1], k_rope], 1)
        w_uk, w_uv = self.kv_up.weight.unflatten(0, (self.H, -1)).split([self.nope, self.v_dim], 1)
        scores = (q @ w_uk) @ c[:, None].mT + rotate_pairs(q_rope, at) @ k_rope[:, None].mT
        mask = torch.ones(T, start + T).tril(start).bool()
        scores = (scores / math.sqrt(self.nope + self.rope)).masked_fill(~mask, -math.inf)
        heads = (scores.softmax(-1) @ c[:, None]) @ w_uv.mT
        return self.o_proj(heads.transpose(1, 2).flatten(2)), (c, k_rope)


class HeadByHead(Absorbed):
    """One head at a time, with that head's own matrices."""

    def forward(self, x, past=None):
        """Stores as the other does."""
        start = past[0].shape[1] if past is not None else 0
        at = torch.arange(start, start + x.shape[1])
        down = self.kv_down(x)
        c, k_rope = self.kv_norm(down[..., : self.kv_rank]), rotate_pairs(down[..., self.kv_rank :], at)
        if past is not None:
            c, k_rope = torch.cat([past[0], c], 1), torch.cat([past[1], k_rope], 1)
        queries = self.q_up(self.q_norm(self.q_down(x))).chunk(self.H, -1)
        hidden = torch.arange(c.shape[1]) > at[:, None]
        out = []
        for q, w in zip(queries, self.kv_up.weight.chunk(self.H, 0), strict=True):
            plain, turned = q[..., : self.nope], rotate_pairs(q[..., self.nope :], at)
            scores = (plain @ w[: self.nope]) @ c.mT + turned @ k_rope.mT
            weights = (scores / (self.nope + self.rope) ** 0.5).masked_fill(hidden, -math.inf).softmax(-1)
            out.append((weights @ c) @ w[self.nope :].T)
        return self.o_proj(torch.cat(out, -1)), (c, k_rope)


class _Expanded(Absorbed):
    """Writes out every head's keys and values; right numbers."""

    def forward(self, x, past=None):
        start, T = 0 if past is None else past[0].shape[1], x.shape[1]
        at = start + torch.arange(T)
        q = self.q_up(self.q_norm(self.q_down(x))).unflatten(-1, (self.H, -1)).transpose(1, 2)
        q, q_rope = q.split([self.nope, self.rope], -1)
        c, k_rope = self.kv_down(x).split([self.kv_rank, self.rope], -1)
        c, k_rope = self.kv_norm(c), rotate_pairs(k_rope, at)
        if past is not None:
            c, k_rope = torch.cat([past[0], c], 1), torch.cat([past[1], k_rope], 1)
        made = self.kv_up(c).unflatten(-1, (self.H, -1)).transpose(1, 2)
        keys, values = made.split([self.nope, self.v_dim], -1)
        scores = q @ keys.mT + rotate_pairs(q_rope, at) @ k_rope[:, None].mT
        mask = torch.ones(T, start + T).tril(start).bool()
        scores = (scores / math.sqrt(self.nope + self.rope)).masked_fill(~mask, -math.inf)
        return self.o_proj((scores.softmax(-1) @ values).transpose(1, 2).flatten(2)), (c, k_rope)


def turned_whole(x, positions):
    """The plain part rotated too, with a zero behind it where its size is odd."""
    return rotate_pairs(torch.nn.functional.pad(x, (0, x.shape[-1] % 2)), positions)[..., : x.shape[-1]]


def turned_halves(x, positions):
    """Pairs (i, i + D/2) instead of neighbors."""
    half = x.shape[-1] // 2
    swapped = torch.stack([x[..., :half], x[..., half:]], -1).flatten(-2)
    y = rotate_pairs(swapped, positions)
    return torch.cat([y[..., 0::2], y[..., 1::2]], -1)


MISTAKES = changes(
    Absorbed,
    """
key_not_rotated: self.kv_norm(c), rotate_pairs(k_rope, at) → self.kv_norm(c), k_rope
    The shared key is not rotated. Rotate it by its positions before it is stored.
query_not_rotated: rotate_pairs(q_rope, at) → q_rope
    The queries' rotary part is not rotated. It is turned by the query's position, as the shared key by its own.
halves: self.kv_norm(c), rotate_pairs(k_rope, at) → self.kv_norm(c), turned_halves(k_rope, at)
; rotate_pairs(q_rope, at) → turned_halves(q_rope, at)
    Numbers i and i + rope/2 are rotated as pairs. DeepSeek's weights expect neighbors, 0 and 1, 2 and 3: use
    rotate_pairs.
positions_restart: at = start + torch.arange(T) → at = torch.arange(T)
    Every chunk starts at position 0 again. Its first token stands behind the stored ones: start at their number.
plain_rotated: (q @ w_uk) @ → (turned_whole(q, at) @ w_uk) @
    The plain part of the query is rotated as well. Only its last rope numbers are.
no_rotary_part: + rotate_pairs(q_rope, at) @ k_rope[:, None].mT →
    The rotary part is left out, so the scores know no positions. Add the product of rotated query and shared key.
no_query_norm: self.q_norm(self.q_down(x)) → self.q_down(x)
    The queries' latent is not normed. q_norm comes between q_down and q_up.
no_latent_norm: self.kv_norm(c), → c,
    The latent is not normed. kv_norm comes before it is stored.
stored_before_norm: self.kv_norm(c), rotate_pairs(k_rope, at) → c, rotate_pairs(k_rope, at)
; w_uk, w_uv = self.kv_up.weight → raw, c = c, self.kv_norm(c); w_uk, w_uv = self.kv_up.weight
; flatten(2)), (c, k_rope) → flatten(2)), (raw, k_rope)
    The output is right, but latents are returned as they were before their norm. Norm them, then store.
query_restarts: rotate_pairs(q_rope, at) → rotate_pairs(q_rope, torch.arange(T))
    The queries of every chunk are rotated from position 0 on. They stand behind the stored tokens, as their keys do.
key_first: c, k_rope = self.kv_down(x) → k_rope, c = self.kv_down(x)
; split([self.kv_rank, self.rope], -1) → split([self.rope, self.kv_rank], -1)
    The shared key is taken from the front of what kv_down gives. The latent comes first, then the key.
scale_of_plain: math.sqrt(self.nope + self.rope) → math.sqrt(self.nope)
    The scores are divided by the root of nope. A head's query has nope + rope numbers.
scale_of_latent: math.sqrt(self.nope + self.rope) → math.sqrt(self.kv_rank + self.rope)
    The scores are divided by the root of the latent's size. They are the same numbers as q·k of the heads: √(nope +
    rope).
unscaled: (scores / math.sqrt(self.nope + self.rope)) → scores
    The scores are not divided. Divide by √(nope + rope).
no_mask: .masked_fill(~mask, -math.inf) →
    Nothing is masked, so tokens of one chunk see later ones. Query t of the chunk sees the past and the chunk up to
    itself.
mask_without_past: tril(start) → tril()
    The mask starts at the top left, as if there were no past. Its diagonal is the number of stored tokens.
past_rotated_again: torch.cat([past[1], k_rope], 1) → torch.cat([rotate_pairs(past[1], torch.arange(start)), k_rope], 1)
    The stored keys are rotated again with each chunk. They were rotated before they were stored.
heads_mixed: heads.transpose(1, 2).flatten(2) → heads.reshape(*x.shape[:2], -1)
    The heads are joined without a swap of their axis and that of the tokens. Swap axes 1 and 2, then flatten.
new_stored: flatten(2)), (c, k_rope) → flatten(2)), (c[:, start:], k_rope[:, start:])
    Only the chunk's own latents and keys are returned. Return all of them, so that the next call has the whole past.
parts_exchanged: w_uk, w_uv = self.kv_up.weight → w_uv, w_uk = self.kv_up.weight
; split([self.nope, self.v_dim], 1) → split([self.v_dim, self.nope], 1)
    The first rows of each head in kv_up are taken for W_UV. The keys' nope rows come first, the values' v_dim after
    them.
heads_last: self.kv_up.weight.unflatten(0, (self.H, -1)) → self.kv_up.weight.unflatten(0, (-1, self.H)).transpose(0, 1)
    kv_up's rows are cut as if neighboring rows belonged to different heads. Each head's rows lie together: unflatten(0,
    (H, −1)).
rotary_first: q, q_rope = q.split([self.nope, self.rope], -1) → q_rope, q = q.split([self.rope, self.nope], -1)
    The rotary part is taken from the front of the query. The plain nope numbers come first.
""",
)


def _layer(g: Source, sizes: tuple[int, ...] = SIZES, dtype: torch.dtype = torch.float32) -> tuple[Program, Any]:
    d_model, H, q_rank, kv_rank, nope, rope, v_dim = sizes
    shapes = {
        "q_down": (q_rank, d_model),
        "q_up": (H * (nope + rope), q_rank),
        "kv_down": (kv_rank + rope, d_model),
        "kv_up": (H * (nope + v_dim), kv_rank),
        "o_proj": (d_model, H * v_dim),
    }
    state = {f"{name}.weight": g.randn(*shape, scale=0.5, dtype=dtype) for name, shape in shapes.items()}
    for name, size in (("q_norm", q_rank), ("kv_norm", kv_rank)):
        state[f"{name}.weight"] = 1 + 0.3 * g.randn(size, dtype=dtype)
    draw = lambda T, B=2: g.randn(B, T, d_model, dtype=dtype)
    return Program().new("LatentAttention", *sizes, state=state), draw


def _feed(g: Source, plan: tuple[int, ...], sizes: tuple[int, ...] = SIZES, dtype: Any = torch.float32) -> Program:
    program, draw = _layer(g, sizes, dtype)
    for i, T in enumerate(plan):
        past: dict[str, Any] = {"past": Ref(i, 1)} if i else {}
        program.call(draw(T), **past)
    return program


def _with_gradients(g: Source) -> Program:
    program, draw = _layer(g, dtype=torch.float64)
    return program.call(draw(3)).call(draw(2), past=Ref(1, 1), grad=[0], params=True)


EXERCISE = Exercise(
    id="latent.shipped",
    title="MLA as it is shipped",
    points=4,
    difficulty=4,
    minutes=25,
    extension=True,
    reference=latent_step.LatentAttention,
    alternatives=[Absorbed, HeadByHead, _Expanded],
    cases=[
        Case("one chunk", "two sentences of five tokens, three heads", lambda g: _feed(g, (5,)), weight=2),
        Case("one token", "T = 1 and no past", lambda g: _feed(g, (1,), (6, 2, 5, 4, 3, 2, 3))),
        Case("one by one", "three tokens, one at a time", lambda g: _feed(g, (1, 1, 1)), weight=2),
        Case(
            "in chunks", "chunks of 3, 2 and 1 tokens", lambda g: _feed(g, (3, 2, 1), (8, 4, 6, 9, 4, 6, 2)), weight=2
        ),
        Case("float64", "chunks of 2 and 3, in float64", lambda g: _feed(g, (2, 3), dtype=torch.float64)),
        Case("gradients", "in float64, with a past: gradients reach the input and all weights", _with_gradients),
    ],
    mutants=MISTAKES,
    equivalent="""
latents and rotated keys are equally many, so either tells how many tokens are stored
    1ae170988d solution, constant: 0 → 1 in past[0]
    fdf1b75fe4 solution, constant: 0 → -1 in past[0]
    a8c167790a alternative Absorbed, constant: 0 → 1 in past[0]
    7a867adf81 alternative Absorbed, constant: 0 → -1 in past[0]
    c9895d3b66 alternative HeadByHead, constant: 0 → 1 in past[0]
    3d04de5ef1 alternative HeadByHead, constant: 0 → -1 in past[0]
    44785d1422 alternative _Expanded, constant: 0 → 1 in past[0]
    c3f8489baa alternative _Expanded, constant: 0 → -1 in past[0]
queries and matrices are cut into equally many heads
    8a9e8f0cd1 alternative HeadByHead, keyword: zip(queries, self.kv_up.weight.chunk(self.H, 0), strict=True) without …
chunk goes along the first axis by itself
    e35df3ba94 alternative HeadByHead, argument: self.kv_up.weight.chunk(self.H, 0) without its last argument
all parts are cut alike, so they are equally many
    7db3f9ffef alternative HeadByHead, flag: True → False in strict=True
""",
)
