"""Linear attention with decay, as a recurrence and as a masked product."""

import math

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Ref, Source, call
from autograder.reference import linear_attention

from .shared import qkv


def recurrent(q, k, v, decay, state=None):
    """As in the solution."""
    if state is None:
        state = v.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    out = []
    for t in range(q.shape[2]):
        state = decay[:, :, t, None, None] * state + k[:, :, t, :, None] * v[:, :, t, None, :]
        out.append(q[:, :, t, None, :] @ state)
    return torch.cat(out, dim=2), state


def parallel(q, k, v, decay):
    """As in the solution."""
    passed = decay.log().cumsum(-1)
    T = q.shape[2]
    between = passed[..., :, None] - passed[..., None, :]
    between = between.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf).exp()
    return (q @ k.mT * between) @ v


def recurrent_by_einsum(q, k, v, decay, state=None):
    """The state starts as the number 0."""
    state, out = 0 if state is None else state, []
    for qt, kt, vt, a in zip(q.unbind(2), k.unbind(2), v.unbind(2), decay.unbind(2), strict=True):
        state = state * a[..., None, None] + torch.einsum("bhd,bhe->bhde", kt, vt)
        out.append(torch.einsum("bhd,bhde->bhe", qt, state))
    return torch.stack(out, 2), state


def parallel_by_products(q, k, v, decay):
    """The decays multiplied up row by row, no logarithm."""
    rows = [torch.ones_like(decay[..., :1])]
    for t in range(1, q.shape[2]):
        rows.append(torch.cat([rows[-1] * decay[..., t : t + 1], torch.ones_like(decay[..., :1])], -1))
    T = q.shape[2]
    between = torch.stack([torch.nn.functional.pad(r, (0, T - r.shape[-1])) for r in rows], -2)
    return torch.einsum("bhtd,bhsd,bhts,bhse->bhte", q, k, between, v)


MISTAKES = changes(
    (recurrent, parallel),
    """
no_decay: decay[:, :, t, None, None] * state → state
    linear_recurrent ignores the decay. Multiply the state by it before each write.
decay_after_write: decay[:, :, t, None, None] * state + k[:, :, t, :, None] * v[:, :, t, None, :] → write(t)
; out = [] → out = []; write = lambda t: decay[:, :, t, None, None] * (state + k[:, :, t, :, None] * v[:, :, t, None])
    linear_recurrent decays after the write, so the new pair shrinks at once. Decay what is there, then write.
decay_on_write: decay[:, :, t, None, None] * state + k → state + decay[:, :, t, None, None] * k
    linear_recurrent multiplies the new pair by the decay. The old state fades; the new pair is written whole.
read_before_write: out.append(q[:, :, t, None, :] @ state) →
; state = decay → out.append(q[:, :, t, None, :] @ state); state = decay
    linear_recurrent reads before it writes, so a query does not see its own token. Write, then read.
not_summed: decay[:, :, t, None, None] * state + k → k
    linear_recurrent forgets the old state: each token overwrites it. Add the new pair to the decayed state.
keys_and_values_exchanged: k[:, :, t, :, None] * v[:, :, t, None, :] → (v[:, :, t, :, None] * k[:, :, t, None, :])
; q[:, :, t, None, :] @ state → q[:, :, t, None, :] @ state.mT
; k.shape[-1], v.shape[-1] → v.shape[-1], k.shape[-1]
    The state is (Dv, D) here, the transpose of what is asked. Make it (D, Dv): the key is the column, the value the
    row.
state_ignored: if state is None: → if True:
    The state that is handed in is not used. Begin with zeros only where it is None.
first_state_returned: return torch.cat(out, dim=2), state → return torch.cat(out, dim=2), start
; out = [] → start = state; out = []
    The state returned is the first one. Return the one after the last token.
all_states: return torch.cat(out, dim=2), state → return torch.cat(out, dim=2)[:, :, -1:], state
    Only the last token's result is returned. Return one for each token.
scaled: q[:, :, t, None, :] @ state → q[:, :, t, None, :] @ state / math.sqrt(q.shape[-1])
    linear_recurrent divides by √D. There is no root here.
written_in_place: state = decay[:, :, t, None, None] * state + k → state *= decay[:, :, t, None, None]; state += k
    The state that was handed in is changed, since *= and += write into it. The caller may need it: make a new one.
normalized: q[:, :, t, None, :] @ state → (q[:, :, t, None, :] @ state) / (t + 1)
    linear_recurrent divides by the number of tokens. It is a sum, and no mean.
own_decay_too: passed[..., None, :] → torch.nn.functional.pad(passed, (1, -1))[..., None, :]
    linear_parallel also counts the decay of the token that is read. It comes before the write, so a pair shrinks by the
    decays after s.
one_decay_less: passed[..., :, None] → torch.nn.functional.pad(passed, (1, -1))[..., :, None]
    linear_parallel leaves out the decay of the token that reads. It comes before reading: the product goes from s + 1
    up to t.
decay_ignored: (q @ k.mT * between) → (q @ k.mT * (between > 0))
    linear_parallel ignores the decay. Multiply each score by the product of the decays after s up to t.
only_last_decay: decay.log().cumsum(-1) → decay.log()
    linear_parallel takes two single decays instead of products. Sum the logarithms from the start with cumsum.
no_mask: between.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf).exp() → between.exp()
    linear_parallel lets tokens see later ones. Set the factor to 0 where s > t.
past_hidden: triu(1) → tril(-1)
    linear_parallel hides the past and lets tokens see later ones. Set the factor to 0 where s > t.
quotient: decay.log().cumsum(-1) → decay.cumprod(-1)
; passed[..., :, None] - passed[..., None, :] → passed[..., :, None] / passed[..., None, :]
; between.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf).exp() → between.tril()
    linear_parallel divides one product of decays by another, and many small decays make both 0. Subtract the sums of
    their logarithms, and take exp at the end.
by_recurrence: (q @ k.mT * between) @ v → recurrent(q, k, v, decay)[0]
    linear_parallel makes a state for each token. Write it as one masked product of all pairs, without a state.
own_key_hidden: triu(1) → triu()
    In linear_parallel a token does not see its own pair. Hide only s > t: triu(1).
masked_too_late: between.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf).exp() → between.exp().tril()
    Above the diagonal e to the difference overflows before it is hidden, and backward makes NaN of it. Fill with −∞
    before exp.
softmax: (q @ k.mT * between) → (q @ k.mT).masked_fill(between == 0, -math.inf).softmax(-1) * between
    linear_parallel has a softmax. Linear attention multiplies the plain scores.
upside_down: passed[..., :, None] - passed[..., None, :] → passed[..., None, :] - passed[..., :, None]
    In linear_parallel the difference is upside down, so old pairs grow. It is the logarithm at t minus the one at s.
""",
)


def _decay(g: Source, *shape: int, low: float = 0.5, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return g.uniform(*shape, low=low, high=1.0, dtype=dtype)


def _both(g: Source, T: int, B: int = 2, H: int = 3, dtype: torch.dtype = torch.float32) -> Program:
    q, k, v = qkv(g, T, B=B, H=H, dtype=dtype)
    decay = _decay(g, B, H, T, dtype=dtype)
    return call(q, k, v, decay).call(q, k, v, decay, fn="linear_parallel")


def _by_hand(g: Source) -> Program:
    """The two pairs of the example, read with the first key; then the three tokens whose decays are 0.5 and 0.8."""
    k, v = torch.eye(2)[None, None], torch.tensor([10.0, 20.0]).reshape(1, 1, 2, 1)
    one = torch.ones(1, 1, 3, 1)
    value = torch.tensor([100.0, 0.0, 0.0]).reshape(1, 1, 3, 1)
    decay = torch.tensor([1.0, 0.5, 0.8]).reshape(1, 1, 3)
    return call(k[:, :, [0, 0]], k, v, torch.ones(1, 1, 2)).call(one, one, value, decay, fn="linear_parallel")


def _goes_on(g: Source) -> Program:
    """Two pieces of a text; the first state is read again by a third call, which sees whether it was changed."""
    first, second = qkv(g, 3), qkv(g, 4)
    program = call(*first, _decay(g, 2, 3, 3)).call(*second, _decay(g, 2, 3, 4), state=Ref(0, 1))
    return program.call(*qkv(g, 2), _decay(g, 2, 3, 2), state=Ref(0, 1))


def _faded(g: Source) -> Program:
    """Sixty decays near 1e-6: their product is far below the smallest float64."""
    q, k, v = qkv(g, 60, B=1, H=2, dtype=torch.float64)
    return call(q, k, v, 1e-6 * _decay(g, 1, 2, 60, dtype=torch.float64), fn="linear_parallel", grad=[0, 1, 2, 3])


def _counted(g: Source) -> Program:
    """All pairs are 16 numbers, a state has 9,216."""
    q, k, v = qkv(g, 4, B=1, H=1, D=96, Dv=96)
    program = call(q, k, v, _decay(g, 1, 1, 4), fn="linear_parallel")
    return program.within(largest=4_000, because="four tokens have 16 pairs and need no state")


def _wide(g: Source) -> Program:
    D = g.size(shown=24, graded=24_000)
    return call(*qkv(g, 3, B=1, H=1, D=D, Dv=D), _decay(g, 1, 1, 3), fn="linear_parallel")


def _with_gradients(g: Source) -> Program:
    q, k, v = qkv(g, 4, dtype=torch.float64)
    decay, state = _decay(g, 2, 3, 4, dtype=torch.float64), g.randn(2, 3, 4, 5, dtype=torch.float64)
    program = call(q, k, v, decay, state=state, grad=[0, 1, 2, 3, "state"])
    return program.call(q, k, v, decay, fn="linear_parallel", grad=[0, 1, 2, 3])


EXERCISE = Exercise(
    id="state.linear",
    title="A state with decay",
    points=2,
    difficulty=3,
    minutes=10,
    reference=(linear_attention.linear_recurrent, linear_attention.linear_parallel),
    alternatives=[(recurrent, parallel), (recurrent_by_einsum, parallel_by_products)],
    cases=[
        Case(
            "by hand",
            "two pairs are written and the first is read twice; then decays 0.5 and 0.8 leave 40 of 100",
            _by_hand,
        ),
        Case(
            "recurrent",
            "two sentences, three heads, six tokens, Dv ≠ D",
            lambda g: call(*qkv(g, 6), _decay(g, 2, 3, 6)),
            weight=2,
        ),
        Case(
            "parallel",
            "the same shapes as one masked product",
            lambda g: call(*qkv(g, 6), _decay(g, 2, 3, 6), fn="linear_parallel"),
            weight=2,
        ),
        Case("one token", "T = 1, both forms", lambda g: _both(g, 1, B=1)),
        Case("both forms", "in float64, seven tokens", lambda g: _both(g, 7, H=2, dtype=torch.float64)),
        Case(
            "going on",
            "a text in pieces: the state of the first is handed to two others, unchanged",
            _goes_on,
            weight=2,
        ),
        Case(
            "small decays",
            "sixty decays near 0.000001 in a row, in float64: results and gradients of linear_parallel stay finite",
            _faded,
            rounding=1e9,  # logarithms cancel before they are divided by such a decay
        ),
        Case("cost", "four tokens, D and Dv 96: linear_parallel makes no state of 9,216 numbers", _counted),
        Case("wide", "so large a D and Dv, in grading, that a state finds no room in memory", _wide),
        Case("gradients", "in float64: gradients reach all inputs, the state included", _with_gradients),
    ],
    mutants=MISTAKES,
    equivalent="""
all parts are as long as the text, so they are equally many
    b71232615a alternative (recurrent_by_einsum, parallel_by_products), keyword: zip(q.unbind(2), k.unbind(2), v.unbin…
    92f2e3e57d alternative (recurrent_by_einsum, parallel_by_products), flag: True → False in strict=True
the zeros broadcast, and have their axes after the first token
    4739ff5a2e solution, constant: 2 → 0 in :2
    e5919c02ef alternative (recurrent, parallel), constant: 2 → 0 in :2
""",
)
