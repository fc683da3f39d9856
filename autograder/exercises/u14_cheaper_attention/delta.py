"""The gated delta rule, token after token."""

import torch
from torch.nn import functional as F

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Ref, Source, call
from autograder.reference import linear_attention

from .shared import qkv


def corrected(q, k, v, decay, rate, state=None):
    """As in the solution."""
    k = k / k.norm(dim=-1, keepdim=True)
    if state is None:
        state = v.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    out = []
    for t in range(q.shape[2]):
        key, value = k[:, :, t, :, None], v[:, :, t, None, :]
        state = decay[:, :, t, None, None] * state
        change = value - key.mT @ state
        state = state + rate[:, :, t, None, None] * key @ change
        out.append(q[:, :, t, None, :] @ state)
    return torch.cat(out, dim=2), state


def by_matrices(q, k, v, decay, rate, state=None):
    """Multiplies the state by (1 − rate k kᵀ), then adds the new pair."""
    k, D = F.normalize(k, dim=-1), k.shape[-1]
    state = torch.zeros(*v.shape[:2], D, v.shape[-1], dtype=v.dtype) if state is None else state
    out = []
    for t in range(k.shape[2]):
        outer = torch.einsum("bhd,bhe->bhde", k[:, :, t], k[:, :, t])
        forget = decay[:, :, t, None, None] * (torch.eye(D) - rate[:, :, t, None, None] * outer).to(v.dtype)
        write = torch.einsum("bh,bhd,bhe->bhde", rate[:, :, t], k[:, :, t], v[:, :, t])
        state = forget @ state + write
        out.append(torch.einsum("bhd,bhde->bhe", q[:, :, t], state))
    return torch.stack(out, 2), state


MISTAKES = changes(
    corrected,
    """
added: value - key.mT @ state → value
    The value is added whole, as in linear attention. Write the difference: v minus what the state holds for the key.
not_normalized: k / k.norm(dim=-1, keepdim=True) → k
    The keys keep their lengths. Only a key of length 1 reads exactly what it wrote: divide by the length.
queries_too: k = k / k.norm(dim=-1, keepdim=True) → k, q = F.normalize(k, dim=-1), F.normalize(q, dim=-1)
    The queries are divided by their length as well. Only the keys are.
length_over_tokens: k.norm(dim=-1, keepdim=True) → k.norm(dim=-2, keepdim=True)
    The keys are divided by a norm over the tokens. Each key has a length of its own: the last axis.
root_of_size: k.norm(dim=-1, keepdim=True) → k.shape[-1] ** 0.5
    The keys are divided by √D. Divide each by its own length, the root of its squares' sum.
squared_length: k.norm(dim=-1, keepdim=True) → k.square().sum(-1, keepdim=True)
    The keys are divided by their squared length. Take the root.
raw_key_reads: value - key.mT @ state → value - length * key.mT @ state
; k = k / k.norm(dim=-1, keepdim=True) → norm = k.norm(dim=-1, keepdim=True); k = k / norm
; change = → length = norm[:, :, t, :, None]; change =
    What the state holds is read with the key as it came. Read with the key of length 1.
raw_key_written: * key @ change → * (norm[:, :, t, :, None] * key) @ change
; k = k / k.norm(dim=-1, keepdim=True) → norm = k.norm(dim=-1, keepdim=True); k = k / norm
    The difference is written with the key as it came. Write with the key of length 1, which also reads.
all_fade: change = value - key.mT @ state → change, state = value, (1 - rate[:, :, t, None, None]) * state
    The whole state shrinks by 1 − rate, so other keys lose as well. Take out only what this key reads.
decay_after_write: state = decay[:, :, t, None, None] * state → pass
; * key @ change → * key @ change; state = state * decay[:, :, t, None, None]
    The decay comes after the write, so the new pair shrinks at once. Decay first, then read and write.
decay_after_reading: change = value - key.mT @ state → change = value - key.mT @ before
; state = decay → before = state; state = decay
    What the key holds is read before the decay. Read the decayed state: what faded needn't be taken out.
no_decay: state = decay[:, :, t, None, None] * state → pass
    The decay is not used. Multiply the state by it at the beginning of each step.
no_rate: rate[:, :, t, None, None] * key → key
    The rate is not used. It says how much of the difference is written.
rate_on_value: value - key.mT @ state → rate[:, :, t, None, None] * value - key.mT @ state
; rate[:, :, t, None, None] * key → key
    The rate is on the value alone, so all that the key held is taken out. It belongs to the whole difference.
rate_for_decay: decay[:, :, t, None, None] * state → rate[:, :, t, None, None] * state
; rate[:, :, t, None, None] * key → decay[:, :, t, None, None] * key
    Decay and rate are exchanged. The decay multiplies the state, the rate the difference.
sign: value - key.mT @ state → value + key.mT @ state
    What the key holds is added to the value. Subtract it.
wrong_way: value - key.mT @ state → key.mT @ state - value
    The difference has the wrong sign: what is held minus the value. It is the value minus what is held.
read_first: out.append(q[:, :, t, None, :] @ state) →
; state = decay → out.append(q[:, :, t, None, :] @ state); state = decay
    The query reads before the write, so it does not see its own token's pair. Write, then read.
held_for_query: key.mT @ state → q[:, :, t, None, :] @ state
    What the state holds is read with the query. Read it with the key that is about to be written.
state_ignored: if state is None: → if True:
    The state that is handed in is not used. Begin with zeros only where it is None.
first_state: torch.cat(out, dim=2), state → torch.cat(out, dim=2), start
; out = [] → start = state; out = []
    The state returned is the first one. Return the one after the last token.
transposed: torch.cat(out, dim=2), state → torch.cat(out, dim=2), state.mT
    The state returned is (Dv, D). It is (D, Dv): the key is the column, the value the row.
written_in_place: state = decay[:, :, t, None, None] * state → state *= decay[:, :, t, None, None]
    The state that was handed in is changed, since *= writes into it. The caller may need it: make a new one.
scaled: out.append(q[:, :, t, None, :] @ state) → out.append(q[:, :, t, None, :] @ state / q.shape[-1] ** 0.5)
    The result is divided by √D. There is no root here.
""",
)


def _gates(
    g: Source, T: int, B: int = 2, H: int = 3, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor]:
    return g.uniform(B, H, T, low=0.5, dtype=dtype), g.uniform(B, H, T, dtype=dtype)


def _by_hand(g: Source) -> Program:
    """Key (3, 0), of length 3, is written with 10, then with 30; the query (1, 0) reads 10, then 30."""
    k = torch.tensor([[3.0, 0.0], [3.0, 0.0]])[None, None]
    one = torch.ones(1, 1, 2)
    return call(k / 3, k, torch.tensor([10.0, 30.0]).reshape(1, 1, 2, 1), one, one)


def _goes_on(g: Source) -> Program:
    program = call(*qkv(g, 3), *_gates(g, 3)).call(*qkv(g, 4), *_gates(g, 4), state=Ref(0, 1))
    return program.call(*qkv(g, 2), *_gates(g, 2), state=Ref(0, 1))


def _with_gradients(g: Source) -> Program:
    double = torch.float64
    state = g.randn(2, 3, 4, 5, dtype=double)
    inputs = (*qkv(g, 4, dtype=double), *_gates(g, 4, dtype=double))
    return call(*inputs, state=state, grad=[0, 1, 2, 3, 4, "state"])


EXERCISE = Exercise(
    id="state.delta",
    title="The gated delta rule",
    points=2,
    difficulty=3,
    minutes=10,
    reference=linear_attention.delta_rule,
    alternatives=[corrected, by_matrices],
    cases=[
        Case(
            "by hand",
            "one key of length 3 is written with 10 and then with 30: it reads 10, then 30",
            _by_hand,
            weight=0.5,
        ),
        Case("six tokens", "two sentences, three heads, Dv ≠ D", lambda g: call(*qkv(g, 6), *_gates(g, 6)), weight=2),
        Case(
            "no gate",
            "all decays are 1: the delta rule alone",
            lambda g: call(*qkv(g, 5, B=1), torch.ones(1, 3, 5), _gates(g, 5, B=1)[1]),
        ),
        Case(
            "one token",
            "T = 1, as in decoding, in float64",
            lambda g: call(*qkv(g, 1, dtype=torch.float64), *_gates(g, 1, dtype=torch.float64)),
        ),
        Case(
            "going on",
            "a text in pieces: the state of the first is handed to two others, unchanged",
            _goes_on,
            weight=2,
        ),
        Case("gradients", "in float64: gradients reach all inputs, the state included", _with_gradients),
    ],
    mutants=MISTAKES,
    equivalent="""
the zeros broadcast, and have their axes after the first token
    03c497ca4a solution, constant: 2 → 0 in :2
    b56d2c4b90 alternative corrected, constant: 2 → 0 in :2
    82f4d07fe4 alternative by_matrices, constant: 2 → 0 in :2
the key's product with itself is symmetric
    05b4e987b5 alternative by_matrices, einsum: output of 'bhd,bhe->bhde' transposed
float32 and float64 together make float64 anyway
    5ff8463829 alternative by_matrices, argument: (torch.eye(D) - rate[:, :, t, None, None] * outer).to(v.dtype) witho…
    63895f6c75 alternative by_matrices, call: (torch.eye(D) - rate[:, :, t, None, None] * outer).to(v.dtype) → torch.e…
""",
)
