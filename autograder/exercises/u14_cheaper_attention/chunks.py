"""Linear attention with decay, chunk by chunk."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Ref, Source, call
from autograder.reference import linear_attention

from .linear import _decay, recurrent
from .linear import parallel as linear_parallel
from .shared import qkv


def in_chunks(q, k, v, decay, chunk, state=None):
    """As in the solution."""
    if state is None:
        state = v.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    out = []
    for start in range(0, q.shape[2], chunk):
        a, b, c, d = (x[:, :, start : start + chunk] for x in (q, k, v, decay))
        passed = d.log().cumsum(-1)
        out.append(linear_parallel(a, b, c, d) + passed.exp()[..., None] * (a @ state))
        left = (passed[..., -1:] - passed).exp()
        state = passed[..., -1, None, None].exp() * state + (left[..., None] * b).mT @ c
    return torch.cat(out, dim=2), state


def by_products(q, k, v, decay, chunk, state=None):
    """Products instead of logarithms; the state of a chunk alone, then joined."""
    state = torch.zeros(*k.shape[:2], k.shape[3], v.shape[3], dtype=v.dtype) if state is None else state
    out = []
    for a, b, c, d in zip(*(x.split(chunk, 2) for x in (q, k, v, decay)), strict=True):
        since = d.cumprod(-1)
        after = torch.cat([d[..., 1:], torch.ones_like(d[..., :1])], -1).flip(-1).cumprod(-1).flip(-1)
        out.append(linear_parallel(a, b, c, d) + (since[..., None] * a) @ state)
        state = since[..., -1:, None] * state + torch.einsum("bht,bhtd,bhte->bhde", after, b, c)
    return torch.cat(out, 2), state


def _token_by_token(q, k, v, decay, chunk, state=None):
    return recurrent(q, k, v, decay, state)


def _all_pairs(q, k, v, decay, chunk, state=None):
    """One chunk: right numbers, all T² pairs."""
    return in_chunks(q, k, v, decay, q.shape[2], state)


MISTAKES = [
    Mutant(
        "all_pairs",
        _all_pairs,
        "The numbers are right, but all T² pairs are computed at once. Use linear_parallel inside a chunk only, and "
        "carry the past in a state.",
    ),
    Mutant(
        "token_by_token",
        _token_by_token,
        "The numbers are right, but a state is made for every token. Use linear_parallel inside a chunk, and make one "
        "state for each chunk.",
    ),
    *changes(
        in_chunks,
        """
border_lost: + passed.exp()[..., None] * (a @ state) →
    The chunks don't see what came before the border. Add what their queries read from the state.
state_not_carried: state = passed[..., -1, None, None].exp() * state + (left[..., None] * b).mT @ c → pass
    The state is never updated, so only the first one is read. Add each chunk's pairs at its end.
old_state_lost: passed[..., -1, None, None].exp() * state + → +
    At each border the old state is replaced by the last chunk's pairs. Keep it, times all the chunk's decays.
read_undecayed: passed.exp()[..., None] * (a @ state) → (a @ state)
    The state at the border is read whole by every token. By then it has shrunk by the decays since the border, the own
    one included.
updated_too_early: out.append(linear_parallel(a, b, c, d) + passed.exp()[..., None] * (a @ state)) →
; .mT @ c → .mT @ c; out.append(linear_parallel(a, b, c, d) + passed.exp()[..., None] * (a @ state))
    The state is updated before the chunk reads it, so the chunk's own pairs count twice. Read first, then update.
read_with_last: passed.exp()[..., None] * (a @ state) → passed[..., -1:].exp()[..., None] * (a @ state)
    Every token reads the border's state times all decays of the chunk. Token t has seen only those up to its own.
own_decay_missing: passed.exp()[..., None] * (a @ state) → (passed - d.log()).exp()[..., None] * (a @ state)
    The border's state is read without the token's own decay. It comes before reading, so it belongs to the product.
state_undecayed: passed[..., -1, None, None].exp() * state → state
    The old state is carried over the chunk without decay. Multiply it by all decays of the chunk.
pairs_undecayed: (left[..., None] * b) → b
    The chunk's pairs enter the new state whole. Each has shrunk by the decays after it, up to the chunk's end.
own_decay_in_state: (passed[..., -1:] - passed).exp() → (passed[..., -1:] - passed + d.log()).exp()
    A pair in the new state has shrunk by its own decay as well. It is written after that: only later decays count.
upside_down: (passed[..., -1:] - passed).exp() → (passed - passed[..., -1:]).exp()
    The pairs grow with the decays after them. The exponent is the sum at the chunk's end minus that at the token.
since_start: d.log().cumsum(-1) → decay.log().cumsum(-1)[:, :, start : start + chunk]
    The decays are summed from the start of the text. Sum from the border: the state holds what came before it already.
last_chunk_lost: range(0, q.shape[2], chunk) → range(0, q.shape[2] - q.shape[2] % chunk, chunk)
    The last tokens are left out when T is no multiple of the chunk. The last chunk may be shorter.
state_ignored: if state is None: → if True:
    The state that is handed in is not used. Begin with zeros only where it is None.
values_read: (left[..., None] * b).mT @ c → (left[..., None] * c).mT @ b
    Keys and values are exchanged in the new state. It is (D, Dv): keys, transposed, times values.
""",
    ),
]


def _together(g: Source, T: int, chunk: int, B: int = 2, dtype: torch.dtype = torch.float32) -> Program:
    return call(*qkv(g, T, B=B, dtype=dtype), _decay(g, B, 3, T, dtype=dtype), chunk)


def _goes_on(g: Source) -> Program:
    program = call(*qkv(g, 5), _decay(g, 2, 3, 5), 2)
    return program.call(*qkv(g, 4), _decay(g, 2, 3, 4), 3, state=Ref(0, 1))


def _counted(g: Source) -> Program:
    """Chunks of 16 write about 0.13 million entries, a state for each token and all pairs 0.58 million or more."""
    return call(*qkv(g, 256, B=1, H=1, D=32, Dv=32), _decay(g, 1, 1, 256, low=0.8), 16).within(
        entries=330_000, because="16 chunks have 256 pairs and one state of 1,024 numbers each"
    )


def _long(g: Source) -> Program:
    T = g.size(shown=64, graded=24_000)
    return call(*qkv(g, T, B=1, H=1, D=2, Dv=2), _decay(g, 1, 1, T, low=0.9), 64)


def _with_gradients(g: Source) -> Program:
    double = torch.float64
    q, k, v = qkv(g, 5, dtype=double)
    state = g.randn(2, 3, 4, 5, dtype=double)
    return call(q, k, v, _decay(g, 2, 3, 5, dtype=double), 2, state=state, grad=[0, 1, 2, 3, "state"])


EXERCISE = Exercise(
    id="state.chunks",
    title="States from chunk to chunk",
    points=3,
    difficulty=4,
    minutes=18,
    extension=True,
    reference=linear_attention.linear_in_chunks,
    alternatives=[in_chunks, by_products],
    cases=[
        Case("three chunks", "six tokens in chunks of 2", lambda g: _together(g, 6, 2), weight=2),
        Case("a short last chunk", "seven tokens in chunks of 3", lambda g: _together(g, 7, 3), weight=2),
        Case(
            "one chunk", "a chunk longer than the text, in float64", lambda g: _together(g, 4, 9, dtype=torch.float64)
        ),
        Case("chunks of 1", "the recurrence itself", lambda g: _together(g, 4, 1, B=1)),
        Case("going on", "the state is handed to a second piece, with other chunks", _goes_on, weight=2),
        Case("cost", "256 tokens in chunks of 16 write at most 330,000 numbers", _counted, weight=3),
        Case("long text", "so many tokens, in grading, that all pairs find no room in memory", _long, weight=3),
        Case("gradients", "in float64: gradients reach all inputs, the state included", _with_gradients),
    ],
    mutants=MISTAKES,
    equivalent="""
the zeros broadcast, and have their axes after the first token
    48eacc7373 solution, constant: 2 → 0 in :2
    a5dded1563 alternative in_chunks, constant: 2 → 0 in :2
    5f382ed801 alternative by_products, constant: 2 → 0 in :2
all parts are cut alike, so they are equally many
    99baa32b87 alternative by_products, keyword: zip(*(x.split(chunk, 2) for x in (q, k, v, decay)), strict=True) with…
    0c78578a22 alternative by_products, flag: True → False in strict=True
""",
)
