"""Acceptance, tokens per call, and how much faster drafts make it."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call, several
from autograder.reference import drafting


def acceptance_by_chances(p, q):
    """Chance to be drawn times chance to pass."""
    return (q * (p / q).clamp(max=1)).sum(-1)


def tokens_in_closed_form(rate, K):
    """The geometric sum."""
    return (K + 1) * rate if rate == 1 else (1 - rate ** (K + 1)) / (1 - rate)


def speedup_in_closed_form(rate, K, cost):
    """Tokens over calls."""
    return tokens_in_closed_form(rate, K) / (K * cost + 1)


def _laws(g: Source, *shape: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    return g.randn(*shape, dtype=dtype).softmax(-1), g.randn(*shape, dtype=dtype).softmax(-1)


MISTAKES = changes(
    (drafting.acceptance, drafting.tokens_per_call, drafting.speedup),
    """
product: torch.minimum(p, q).sum(-1) → (p * q).sum(-1)
    The acceptance is the chance that both draw the same token. A drafted x passes with min(1, p/q), so sum min(p, q).
maximum: torch.minimum → torch.maximum
    The larger of p and q is summed, which is 1 or more. Sum the smaller one.
ratio: torch.minimum(p, q).sum(-1) → (p / q).clamp(max=1).mean(-1)
    The chances p / q are averaged over the tokens. The draft draws x with q(x): the sum of q · min(1, p/q).
one_number: torch.minimum(p, q).sum(-1) → torch.minimum(p, q).sum()
    All places are added together. Sum over the tokens alone, the last axis.
no_bonus: range(K + 1) → range(1, K + 1)
    The token that always comes out is missing: the sum begins with 1.
one_fewer: range(K + 1) → range(K)
    The last term is missing. With K drafted tokens and the bonus up to K + 1 come out.
simple: sum(rate**i for i in range(K + 1)) → 1 + rate * K
    The tokens are counted as if each could pass when one before it was refused. Token i comes out only if all before
    it pass: rate to the power i.
all_or_nothing: sum(rate**i for i in range(K + 1)) → 1 + K * rate**K
    Only the case that all pass is counted. Add the chances that one passes, two pass, and so on.
endless: sum(rate**i for i in range(K + 1)) → 1 / (1 - rate)
    The sum goes on without an end, as if drafting never stopped. It has K + 1 terms, since at most K + 1 tokens come
    out.
closed_form_fails: sum(rate**i for i in range(K + 1)) → (1 - rate ** (K + 1)) / (1 - rate)
    At a rate of 1 the formula divides by 0. There all tokens pass: K + 1.
cost_once: (1 + K * cost) → (1 + cost)
    Drafting is paid once a round. It is paid for each of K drafted tokens.
model_free: (1 + K * cost) → (K * cost)
    The call of the large model is missing in the cost. A round costs 1 + K · cost.
cost_per_token: (1 + K * cost) → ((1 + cost) * K)
    Every drafted token pays for a call of the large model. One call serves all of them: 1 + K · cost.
bonus_drafted: (1 + K * cost) → (1 + (K + 1) * cost)
    K + 1 drafted tokens are paid. The bonus comes from the large model's call: 1 + K · cost.
kept_paid: (1 + K * cost) → (1 + (tokens_per_call(rate, K) - 1) * cost)
    Only the tokens that are kept are paid. All K are drafted before the large model sees them: 1 + K · cost.
upside_down: tokens_per_call(rate, K) / (1 + K * cost) → (1 + K * cost) / tokens_per_call(rate, K)
    The quotient is upside down: tokens over calls.
no_cost: / (1 + K * cost) →
    The cost of drafting is left out. Divide by 1 + K · cost.
""",
)

EXERCISE = Exercise(
    id="draft.speed",
    title="How much faster",
    points=2,
    difficulty=2,
    minutes=7,
    reference=(drafting.acceptance, drafting.tokens_per_call, drafting.speedup),
    alternatives=[(acceptance_by_chances, tokens_in_closed_form, speedup_in_closed_form)],
    cases=[
        Case(
            "acceptance by hand",
            "p = (0.5, 0.5), q = (0.8, 0.2): 0.7",
            lambda g: call(torch.tensor([0.5, 0.5]), torch.tensor([0.8, 0.2])),
        ),
        Case(
            "tokens by hand",
            "rate 0.5 and two drafted tokens: 1.75, and 1.46 times faster at a tenth of a call each",
            lambda g: call(0.5, 2, fn="tokens_per_call").call(0.5, 2, 0.1, fn="speedup"),
        ),
        Case(
            "acceptance",
            "texts of three places, in both precisions, with gradients",
            lambda g: call(*_laws(g, 2, 3, 5)).call(*_laws(g, 3, 4, dtype=torch.float64), grad=[0, 1]),
        ),
        Case(
            "tokens",
            "four random rates and numbers of drafted tokens",
            lambda g: several(4, lambda p: p.call(g.number(0.2, 0.95), g.integer(1, 9), fn="tokens_per_call")),
        ),
        Case(
            "edges",
            "nothing drafted, all refused, all passing",
            lambda g: (
                call(0.6, 0, fn="tokens_per_call")
                .call(0.0, 4, fn="tokens_per_call")
                .call(1.0, g.integer(3, 60), fn="tokens_per_call")
                .call(1.0, g.integer(3, 60), fn="tokens_per_call")
            ),
            weight=0.5,
        ),
        Case(
            "speedup",
            "four random rates, numbers and costs",
            lambda g: several(
                4, lambda p: p.call(g.number(0.2, 0.95), g.integer(2, 9), g.number(0.02, 0.5), fn="speedup")
            ),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
the order of the loop changes nothing, since each turn is on its own or makes the same step
    ec5f7eb5bf solution, reversed: range(K + 1) reversed
in that branch the rate is 1
    1da4fb09d4 alternative 1, arithmetic: (K + 1) * rate → (K + 1) / rate
    fa85c0b28f alternative 1, operand: (K + 1) * rate → K + 1
""",
)
