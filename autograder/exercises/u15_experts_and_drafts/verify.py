"""Which drafted tokens may stay, and which token is added."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import drafting
from autograder.reference.drafting import pick


def in_a_loop(drafted, q, p, u):
    """As most people write it; mistakes are changes of this one."""
    for i, token in enumerate(drafted):
        if u[i] * q[i, token] >= p[i, token]:
            rest = (p[i] - q[i]).clamp(min=0)
            return torch.cat([drafted[:i], torch.tensor([pick(rest / rest.sum(), u[-1])])])
    return torch.cat([drafted, torch.tensor([pick(p[-1], u[-1])])])


def at_once(drafted, q, p, u):
    """All places at once: how many pass in a row."""
    K = drafted.numel()
    places = torch.arange(K)
    passes = u[:K] < p[places, drafted] / q[places, drafted]
    n = int(passes.long().cumprod(0).sum())
    padded = torch.cat([q, torch.zeros_like(p[:1])])
    rest = torch.relu(p[n] - padded[n])
    below = (rest / rest.sum()).cumsum(0)
    token = torch.searchsorted(below, u[K:], right=True).clamp(max=len(below) - 1)
    return torch.cat([drafted[:n], token])


def _laws(g: Source, K: int, V: int = 6, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    return g.randn(K, V, scale=1.2, dtype=dtype).softmax(-1), g.randn(K + 1, V, scale=1.2, dtype=dtype).softmax(-1)


def _drawn(g: Source, K: int, refused: int, dtype: torch.dtype = torch.float32) -> Program:
    """Six rounds whose first refused token stands at a given place; K: none is refused."""

    def add(program: Program) -> None:
        places = torch.arange(K)
        while True:
            q, p = _laws(g, K, dtype=dtype)
            drafted = torch.multinomial(q, 1, generator=g.generator)[:, 0] if K else places
            u = g.uniform(K + 1, dtype=dtype)
            passes = u[:K] < p[places, drafted] / q[places, drafted]
            if int(passes.long().cumprod(0).sum()) == refused:
                program.call(drafted, q, p, u)
                return

    return several(6, add)


def _many(g: Source, times: int, K: int) -> Program:
    def add(program: Program) -> None:
        q, p = _laws(g, K)
        drafted = torch.multinomial(q, 1, generator=g.generator)[:, 0]
        program.call(drafted, q, p, g.uniform(K + 1))

    return several(times, add)


def _by_hand(g: Source) -> Program:
    q, p = torch.tensor([[0.8, 0.2]]), torch.tensor([[0.5, 0.5], [0.25, 0.75]])
    program = call(torch.tensor([0]), q, p, torch.tensor([0.7, 0.1]))
    return program.call(torch.tensor([0]), q, p, torch.tensor([0.6, 0.1]))


def _sure(g: Source) -> Program:
    """Draft and model agree: every token stays, whatever the random numbers."""
    _, p = _laws(g, 3)
    drafted = torch.multinomial(p[:3], 1, generator=g.generator)[:, 0]
    return call(drafted, p[:3], p, g.uniform(4, high=0.99))


def _never(g: Source) -> Program:
    """Six times, the draft is sure of a token that the model never writes."""

    def add(program: Program) -> None:
        q = torch.zeros(2, 5)
        q[:, 1] = 1.0
        p = g.uniform(3, 5, low=0.1)
        p[:, 1] = 0.0
        program.call(torch.tensor([1, 1]), q, p / p.sum(-1, keepdim=True), g.uniform(3))

    return several(6, add)


BEHIND = changes(
    at_once,
    """
behind_refused: drafted[:n], token → drafted[passes], token
    Tokens behind a refused one are kept if they pass by themselves. They continue a text that no longer exists: return
    those before it, and the new token.
passes_counted: int(passes.long().cumprod(0).sum()) → int(passes.sum())
    All tokens that pass are counted, those behind a refused one, too. Count up to the first refusal.
""",
)
MISTAKES = BEHIND + changes(
    in_a_loop,
    """
all_kept: if u[i] * q[i, token] >= p[i, token]: → if False:
    Every drafted token is kept, so the text is the draft's. Keep a token only if u · q < p, and stop at the first that
    fails.
no_bonus: torch.cat([drafted, torch.tensor([pick(p[-1], u[-1])])]) → drafted
    If all drafted tokens pass, one more token is missing: the call has already given the law behind them. Draw it from
    p[-1].
unnormalized: rest / rest.sum() → rest
    The residual law is not divided by its sum, so its probabilities sum to less than 1 and the last token takes the
    rest. Divide by the sum.
from_model: rest = (p[i] - q[i]).clamp(min=0) → rest = p[i]
    After a refusal the new token is drawn from the model's law, so what the draft likes comes out too often. Draw from
    max(0, p − q), divided by its sum.
behind_all: pick(rest / rest.sum(), u[-1]) → pick(p[-1], u[-1])
    After a refusal the new token is drawn from p[-1], the law behind all drafted tokens. Draw it from max(0, p − q) at
    the refused place, divided by its sum.
without_refused: rest = (p[i] - q[i]).clamp(min=0) → rest = p[i].index_fill(0, token, 0)
    After a refusal the new token is drawn from the model's law without the refused token. Draw from max(0, p − q),
    divided by its sum.
softmax_rest: rest = (p[i] - q[i]).clamp(min=0) → rest = (p[i] - q[i]).softmax(-1)
    A softmax makes a law of p − q, so tokens come out of which nothing is missing. Set what is negative to 0, and
    divide by the sum.
next_random: pick(rest / rest.sum(), u[-1]) → pick(rest / rest.sum(), u[i + 1])
    The new token is drawn with the number of the next place. The added token always uses the last number, u[K].
bonus_too: pick(rest / rest.sum(), u[-1]) → pick(rest / rest.sum(), u[-1]), pick(p[-1], u[-1])
    Two tokens are added after a refusal. The bonus comes only if all pass: after a refusal, add the one from the
    residual law.
from_draft: rest = (p[i] - q[i]).clamp(min=0) → rest = q[i]
    After a refusal the new token is drawn from the draft's law. Draw from max(0, p − q), divided by its sum.
residual_reversed: (p[i] - q[i]) → (q[i] - p[i])
    The residual law is max(0, q − p), what the draft has too much of. Draw from what it has too little of: p − q.
residual_absolute: (p[i] - q[i]).clamp(min=0) → (p[i] - q[i]).abs()
    The residual law takes the absolute difference. Only where p exceeds q is something missing: set the rest to 0.
ratio_reversed: u[i] * q[i, token] >= p[i, token] → u[i] * p[i, token] >= q[i, token]
    The ratio is upside down. A token is kept with the chance p / q: where the draft draws it too often, p is smaller.
by_chance_p: u[i] * q[i, token] >= p[i, token] → u[i] >= p[i, token]
    A token is kept with the chance p. The draft has drawn it with q already: keep it with p / q.
by_threshold: u[i] * q[i, token] >= p[i, token] → q[i, token] >= p[i, token]
    A token is kept where p is larger than q, and never otherwise. Where p is smaller it is kept with the chance p / q,
    which is what u is for.
greedy: u[i] * q[i, token] >= p[i, token] → token != p[i].argmax()
    Only the model's likeliest token is kept. Keep a token with the chance p / q, which is what u is for.
one_random: u[i] * → u[0] *
    All places use the first random number. Place i has a number of its own, u[i].
reused_random: pick(rest / rest.sum(), u[-1]) → pick(rest / rest.sum(), u[i])
    The number that refused a token also draws the new one, so the two are not independent. The added token uses the
    last number, u[K].
goes_on: return torch.cat([drafted[:i], → drafted = torch.cat([drafted[:i],
; torch.tensor([pick(rest / rest.sum(), u[-1])])]) → torch.tensor([pick(rest / rest.sum(), u[-1])]), drafted[i + 1 :]])
    After a refusal the tokens behind it are kept. They continue a text that no longer exists: return what came before,
    and the new token.
refused_kept: drafted[:i], → drafted[: i + 1],
    The refused token is in the result. Keep the tokens before it: drafted[:i].
nothing_added: torch.cat([drafted[:i], torch.tensor([pick(rest / rest.sum(), u[-1])])]) → drafted[:i]
    After a refusal no token is added, so a round may give nothing. Draw one from the residual law.
shifted: p[i, token]: → p[i + 1, token]: ; (p[i] - → (p[i + 1] -
    The model's laws are one place too far. p[i] is the law of the place of drafted token i.
bonus_from_last: pick(p[-1], u[-1]) → pick(p[len(drafted) - 1], u[-1])
    The bonus token is drawn from the law of the last drafted place. Its own law is the one behind it, p[-1].
likeliest: pick(rest / rest.sum(), u[-1]) → int(rest.argmax())
    After a refusal the likeliest token of the residual law is taken. Draw it: pick with u[-1].
bonus_likeliest: pick(p[-1], u[-1]) → int(p[-1].argmax())
    The bonus token is the likeliest one. Draw it: pick with u[-1].
swapped_laws: u[i] * q[i, token] >= p[i, token] → u[i] * p[i, token] >= q[i, token] ; p[i] - q[i] → q[i] - p[i]
    The two laws are exchanged. q is the draft's, p the model's.
""",
)

EXERCISE = Exercise(
    id="draft.verify",
    title="Draft and verify",
    points=3,
    difficulty=4,
    minutes=16,
    reference=drafting.verify,
    alternatives=[in_a_loop, at_once],
    cases=[
        Case("by hand", "p = (0.5, 0.5), q = (0.8, 0.2): A is refused at u = 0.7 and kept at u = 0.6", _by_hand),
        Case(
            "all pass",
            "six rounds in which four tokens pass, and the bonus is drawn",
            lambda g: _drawn(g, 4, 4),
            weight=2,
        ),
        Case("first refused", "six rounds in which the first of four tokens is refused", lambda g: _drawn(g, 4, 0)),
        Case(
            "third refused",
            "six rounds in which two tokens pass and the third is refused, in float64",
            lambda g: _drawn(g, 4, 2, torch.float64),
        ),
        Case("rounds", "twelve rounds of three tokens", lambda g: _many(g, 12, 3), weight=3),
        Case("single", "six rounds of a single token", lambda g: _many(g, 6, 1)),
        Case("equal laws", "draft and model agree: all is kept", _sure),
        Case("never", "six drafts that are sure of what the model never writes: one token, and not that one", _never),
        Case("no draft", "nothing was drafted, six times: the model's own token", lambda g: _drawn(g, 0, 0)),
    ],
    mutants=MISTAKES,
    equivalent="""
a random number never lies as near to a border as float32 rounds
    15ff621db7 solution, precision: verify: computes in float32
    c0571be84a alternative in_a_loop, precision: in_a_loop: computes in float32
a random number never lies exactly on a border
    125ab8b637 solution, compare: u[i] * q[i, token] >= p[i, token] → u[i] * q[i, token] > p[i, token]
    b080582283 alternative in_a_loop, compare: u[i] * q[i, token] >= p[i, token] → u[i] * q[i, token] > p[i, token]
a random number never lies so near to a border, nor exactly on one, and shares sum to 1 within rounding
    ad0acc4d30 alternative at_once, precision: at_once: computes in float32
    0a754048e3 alternative at_once, compare: u[:K] < p[places, drafted] / q[places, drafted] → u[:K] <= p[places, draf…
    22c5fcbdb1 alternative at_once, call: torch.searchsorted(below, u[K:], right=True).clamp(max=len(below) - 1) → tor…
    f0c7fe8741 alternative at_once, keyword: torch.searchsorted(below, u[K:], right=True) without right=True
    6b55c231d7 alternative at_once, arithmetic: len(below) - 1 → len(below) + 1
    c0ac8d605b alternative at_once, operand: len(below) - 1 → len(below)
    edc00b4a78 alternative at_once, flag: True → False in right=True
one axis has the same name from both ends, and rows of zeros behind those needed are never read
    f1aea7ae9a alternative at_once, call: int(passes.long().cumprod(0).sum()) → its argument
    21366f6227 alternative at_once, constant: 0 → -1 in (rest / rest.sum()).cumsum(0)
    73d00df125 alternative at_once, constant: 0 → -1 in passes.long().cumprod(0)
    fc6ec7609a alternative at_once, slice: without 1 in p[:1]
    c99f3fb88a alternative at_once, call: passes.long() → passes
    faa64decda alternative at_once, constant: 1 → 2 in :1
""",
)
