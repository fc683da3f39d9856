"""A choice of feed-forward layers for each token."""

from typing import Any

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Mutant, Program, Source
from autograder.reference.assembly.experts import Experts

from .shared import Config, llama, made, variant, weights


def experts(**changes: Any) -> Config:
    """A small Mixtral: two of five experts."""
    return llama(**{"n_experts": 5, "n_active": 2, **changes})


class ByRows(Experts):
    """Right: each expert's share of every token, and the tokens where it is not 0."""

    def forward(self, x):
        share, chosen = torch.topk(torch.softmax(self.router(x), -1), self.n_active)
        share = share / share.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            mine = (share * (chosen == i)).sum(-1)
            rows = mine > 0
            out[rows] += mine[rows][:, None] * expert(x[rows])
        return out


class ByIndexAdd(Experts):
    """Right: tokens in one row, and a softmax over the chosen scores alone, which makes the same shares."""

    def forward(self, x):
        tokens = x.flatten(0, 1)
        scores, chosen = self.router(tokens).topk(self.n_active)
        share, out = scores.softmax(-1), torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            token, place = (chosen == i).nonzero(as_tuple=True)
            out.index_add_(0, token, expert(tokens[token]) * share[token, place].unsqueeze(-1))
        return out.view_as(x)


class ByOrder(Experts):
    """Right: pairs of token and expert, sorted by expert, cut where the expert changes."""

    def forward(self, x):
        k, tokens = self.n_active, x.reshape(-1, x.shape[-1])
        p = self.router(tokens).softmax(-1)
        chosen = p.argsort(descending=True)[:, :k]
        share = p.gather(1, chosen)
        share = (share / share.sum(1, keepdim=True)).flatten()
        order = chosen.flatten().argsort()
        counts = chosen.flatten().bincount().tolist()
        parts = []
        for i, pairs in enumerate(order.split(counts)):
            parts.append(self.experts[i](tokens[pairs // k]) * share[pairs, None])
        out = torch.zeros_like(tokens)
        return out.index_add(0, order // k, torch.cat(parts)).view_as(x)


def _dense(self, x):
    """All experts on all tokens; the shares of those that were not chosen are 0."""
    p, chosen = self.router(x).softmax(-1).topk(self.n_active, dim=-1)
    shares = torch.zeros(*x.shape[:2], len(self.experts)).scatter(-1, chosen, p / p.sum(-1, keepdim=True))
    return sum(shares[..., i, None] * expert(x) for i, expert in enumerate(self.experts))


def _chosen_last(self, x):
    """All experts run, and of their results the chosen ones are picked."""
    p, chosen = self.router(x).softmax(-1).topk(self.n_active, dim=-1)
    every = torch.stack([expert(x) for expert in self.experts], dim=2)
    mine = every.gather(2, chosen[..., None].expand(-1, -1, -1, x.shape[-1]))
    return (mine * (p / p.sum(-1, keepdim=True))[..., None]).sum(2)


def _drawn(g: Source, c: Config, B: int, T: int) -> Program:
    return made(g, "Experts", Experts, c).call(g.randn(B, T, c["d_model"], scale=2.0))


def _unchosen(g: Source) -> Program:
    """An expert of NaN that the router never wants: 0 · NaN would show it."""
    c = experts()
    state = weights(g, Experts(c))
    state["router.weight"][1:4, 0] = state["router.weight"][1:4, 0].abs() + 5
    state["router.weight"][4, 0] = -50.0
    for part in ("gate_proj", "up_proj", "down_proj"):
        state[f"experts.4.{part}.weight"].fill_(float("nan"))
    x = g.randn(2, 4, c["d_model"])
    x[..., 0] = 2.0
    return Program().new("Experts", c, state=state).call(x)


def _double(g: Source) -> Program:
    c = experts()
    state = weights(g, Experts(c), torch.float64)
    return Program().new("Experts", c, state=state).call(g.randn(2, 3, c["d_model"], dtype=torch.float64))


def _by_hand(g: Source) -> Program:
    c = experts(d_model=1, d_ff=1, n_heads=1, n_kv_heads=1, n_experts=3, activation="relu")
    state = {"router.weight": torch.tensor([[2.0], [1.0], [0.0]]).log_().nan_to_num(neginf=-100.0)}
    for i, factor in enumerate((3.0, 6.0, 9.0)):
        for part, value in (("gate_proj", 1.0), ("up_proj", 1.0), ("down_proj", factor)):
            state[f"experts.{i}.{part}.weight"] = torch.full((1, 1), value)
    return Program().new("Experts", c, state=state).call(torch.ones(1, 1, 1))


def _one_and_all(g: Source) -> Program:
    one, every = experts(n_active=1), experts(n_experts=3, n_active=3)
    program = _drawn(g, one, 2, 4).new("Experts", every, state=weights(g, Experts(every)))
    return program.call(g.randn(1, 3, 12))


def _gradients(g: Source) -> Program:
    """So many tokens for three experts that none is left without any."""
    c = experts(n_experts=3)
    return made(g, "Experts", Experts, c).call(g.randn(2, 12, 12), grad=[0], params=True)


def _signs(g: Source, *shape: int) -> Tensor:
    """Numbers of -1 and 1: so few different tokens that no two scores of one lie as close as rounding."""
    return 2.0 * g.integers(0, 2, *shape) - 1


def _counted(g: Source) -> Program:
    """Right ways take up to 280,000 operations, all experts 1,800,000."""
    c = experts(d_model=8, n_experts=16, d_ff=32)
    program = made(g, "Experts", Experts, c).call(g.randn(2, 32, 8))
    return program.within(work=700_000, because="two of sixteen experts have to run for a token")


def _large(g: Source) -> Program:
    """Autograd keeps what every expert computed: some 60 MB for those that are chosen, 4 GB and more for all."""
    T, E = g.size(shown=24, graded=8_192), g.size(shown=6, graded=64)
    c = experts(d_model=8, d_ff=g.size(shown=10, graded=512), n_experts=E, n_active=1)
    return made(g, "Experts", Experts, c).call(_signs(g, 1, T, 8))


MISTAKES = [
    *changes(
        Experts,
        """
always_gated: make_ffn(c) for → make_ffn({**c, "gated": True}) for
    Every expert has a gate, whatever c["gated"] says. make_ffn(c) makes what the configuration asks for.
""",
    ),
    Mutant(
        "dense",
        variant(Experts, forward=_dense),
        "The numbers are right, but every expert runs on every token, and what nobody chose is multiplied by 0. "
        "Give each expert its own tokens only.",
    ),
    Mutant(
        "chosen_last",
        variant(Experts, forward=_chosen_last),
        "The numbers are right, but all experts run first, and the chosen results are picked afterwards. Pick the "
        "tokens first: x[chosen == i].",
    ),
    *changes(
        Experts,
        """
not_renormalized: share = share / share.sum(-1, keepdim=True) →
    The shares are probabilities among all experts and sum to less than 1. Divide them by the sum of those that were
    chosen.
equal_shares: share / share.sum(-1, keepdim=True) → torch.full_like(share, 1 / self.n_active)
    The chosen experts get equal shares. Weight each by its probability.
unweighted: share / share.sum(-1, keepdim=True) → torch.ones_like(share)
    The chosen experts' results are added without shares. Weight each by its probability.
all_mixed: topk(self.n_active → topk(len(self.experts)
    All experts are mixed by their probabilities. Only the n_active largest of a token count.
smallest: self.n_active, dim=-1 → self.n_active, dim=-1, largest=False
    The experts with the smallest probabilities are chosen. Take the largest.
first_expert: topk(self.n_active → topk(1
    Each token goes to one expert, whatever n_active says. Take the n_active largest.
always_two: topk(self.n_active → topk(2
    Each token goes to two experts, whatever n_active says. Take c["n_active"].
one_more: topk(self.n_active → topk(min(self.n_active + 1, len(self.experts))
    One expert too many runs for each token. Take n_active of them.
one_for_all: share, chosen = self.router → p = self.router ; .topk(self.n_active, dim=-1) →
; share = share / → _, chosen = p.mean(1, keepdim=True).topk(self.n_active); share = share /
; share = share / → chosen = chosen.expand(-1, x.shape[1], -1); share = p.gather(-1, chosen); share = share /
    All tokens of a text go to the same experts. Every token has scores, and a choice, of its own.
over_tokens: softmax(-1) → softmax(1)
    The softmax runs over the tokens. The probabilities of one token sum to 1 over the experts: dim=-1.
raw_scores: .softmax(-1) →
    The router's scores are divided by their sum as they are. They become shares through a softmax.
sigmoid: softmax(-1) → sigmoid()
    Scores go through a sigmoid. Mixtral takes a softmax, in which experts compete.
shares_exchanged: share / share.sum(-1, keepdim=True) → (share / share.sum(-1, keepdim=True)).flip(-1)
    The shares go to the wrong experts. share[..., j] belongs to the expert chosen[..., j].
input_weighted: expert(x[b, t]) * share[b, t, place][:, None] → expert(x[b, t] * share[b, t, place][:, None])
    A token is multiplied by its share before the expert. Experts are not linear: weight what they return.
overwritten: , accumulate=True →
    A token's second expert overwrites what the first one gave. Add the results.
in_turn: torch.zeros_like(x) → x ; expert(x[b, t]) → expert(out[b, t]) ; , accumulate=True →
    The second expert reads what the first one wrote. All chosen experts read the token itself, and their results
    are added.
with_residual: return out → return out + x
    The token itself is added. The block's residual does that: return the experts' part alone.
float32_alone: torch.zeros_like(x) → torch.zeros(x.shape)
; expert(x[b, t]) * share[b, t, place][:, None] → (expert(x[b, t]) * share[b, t, place][:, None]).float()
    The results are collected in a float32 tensor, whatever dtype the tokens have. Make it of x's dtype.
float32_refused: torch.zeros_like(x) → torch.zeros(x.shape)
    The tensor that collects the results is float32, so it refuses float64 ones. Make it of x's dtype.
router_detached: share / share.sum(-1, keepdim=True) → (share / share.sum(-1, keepdim=True)).detach()
    No gradient reaches the router: the shares are cut off. It learns through them alone.
other_weights: , bias=False →
    There are other weights than asked for. router leads from d_model to n_experts without a bias; experts holds
    n_experts layers from make_ffn(c).
""",
    ),
]

EXERCISE = Exercise(
    id="assembly.experts",
    title="A choice of experts",
    points=3,
    difficulty=4,
    minutes=18,
    extension=True,
    reference=Experts,
    alternatives=[ByRows, ByIndexAdd, ByOrder],
    cases=[
        Case("by hand", "probabilities 2/3 and 1/3, experts that make 3 and 6 of 1: the result is 4", _by_hand),
        Case("two of five", "two texts, two experts for each token", lambda g: _drawn(g, experts(), 2, 5), weight=2),
        Case(
            "other numbers",
            "three or four of six experts without a gate, another activation, one text",
            lambda g: _drawn(g, experts(n_experts=6, n_active=g.integer(3, 5), activation="gelu", gated=False), 1, 7),
        ),
        Case(
            "one and all",
            "one expert for each token, whose share is 1; then all of three",
            _one_and_all,
        ),
        Case("double", "weights and tokens in float64: the result is float64", _double),
        Case("unchosen", "an expert of NaN that no token is sent to: it does not run", _unchosen),
        Case(
            "gradients",
            "gradients reach the tokens, the chosen experts and, through the shares, the router",
            _gradients,
        ),
        Case("cost", "64 tokens, two of sixteen experts: at most 700,000 operations", _counted, weight=2),
        Case(
            "many",
            "so many tokens and experts, in grading, that all experts for all tokens find no room",
            _large,
            weight=2,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
topk looks along the last axis where none is named
    84528c145d solution, keyword: self.router(x).softmax(-1).topk(self.n_active, dim=-1) without dim=-1
the experts are made alike and get their weights by name
    fcf29e3f9f solution, reversed: range(c['n_experts']) reversed
""",
)
