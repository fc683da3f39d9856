"""The bias that is moved against the load."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference.routing import balanced_bias


def by_loop(bias, chosen, rate=0.001):
    """One expert after the other."""
    mean = chosen.numel() / len(bias)
    moved = bias.clone()
    for i in range(len(bias)):
        load = (chosen == i).sum()
        if load < mean:
            moved[i] = bias[i] + rate
        elif load > mean:
            moved[i] = bias[i] - rate
    return moved


def _twice(g: Source) -> Program:
    """The same tensor in two calls: an answer that changes it in place moves it twice."""
    bias = g.randn(4)
    return call(bias, g.integers(0, 4, 9, 2), rate=0.5).call(bias, g.integers(0, 4, 9, 2), rate=0.5)


def _skewed(g: Source, E: int, *shape: int) -> torch.Tensor:
    """Low numbers more often than high ones, and the last expert never: mean and median load differ."""
    return (g.uniform(*shape) ** 3 * (E - 1)).long()


def _idle(g: Source) -> torch.Tensor:
    """Forty choices with given loads: two lie between the mean of all experts and that of the chosen ones."""
    experts = g.uniform(6).argsort()
    queue = torch.repeat_interleave(torch.arange(6), torch.tensor([17, 9, 8, 6, 0, 0]))
    return experts[queue][g.uniform(40).argsort()].reshape(20, 2)


MISTAKES = changes(
    balanced_bias,
    """
wrong_way: (load.mean() - load) → (load - load.mean())
    The bias goes up for busy experts, which get even more tokens. It goes up where the load is below the mean.
by_how_much: (load.mean() - load).sign() → (load.mean() - load)
    The step grows with the imbalance. It is the same constant for all: take the sign.
by_share: (load.mean() - load).sign() → (load.mean() - load) / load.sum()
    The step is proportional to the share. It is the same constant for all: take the sign.
no_absent: minlength=len(bias) → minlength=1
; rate * (load.mean() - load).sign() → rate * F.pad((load.mean() - load).sign(), (0, len(bias) - len(load)))
    Experts behind the last one that was chosen are left out. They have load 0, below the mean: use
    minlength=len(bias).
too_short: minlength=len(bias) → minlength=1
    The counts are too short when nobody chose the last expert. Use minlength=len(bias).
tokens_over_experts: load.mean() → chosen[..., 0].numel() / len(bias)
    The load is compared with tokens over experts, but each token makes k choices. Compare it with its mean, choices
    over experts.
used_alone: load.mean() → load[load > 0].mean()
    The mean is taken over those experts alone that were chosen. All count, the idle ones with 0: load.mean().
idle_kept: (load.mean() - load).sign() → (load.mean() - load).sign() * (load > 0)
    The bias of an expert that nobody chose stays as it is. Its load of 0 is below the mean: raise it, too.
median: load.mean() → load.median()
    The load is compared with the median. Compare it with the mean, choices over experts.
even_up: (load.mean() - load).sign() → (2.0 * (load <= load.mean()) - 1).to(bias.dtype)
    An expert with exactly the mean load gets a higher bias. It stays where it is: sign gives 0.
even_down: (load.mean() - load).sign() → (2.0 * (load < load.mean()) - 1).to(bias.dtype)
    An expert with exactly the mean load gets a lower bias. It stays where it is: sign gives 0.
only_up: .sign() → .sign().clamp(min=0)
    Busy experts keep their bias. Lower it by the same constant.
only_down: .sign() → .sign().clamp(max=0)
    Idle experts keep their bias. Raise it by the same constant.
forgets: return bias + rate → return rate
    The old bias is forgotten. Add the step to it.
rate_lost: + rate * (load → + (load
    The step is 1. Multiply the sign by rate.
fixed_rate: + rate * (load → + 0.001 * (load
    The step is always 0.001. Use rate.
in_place: return bias + rate * (load.mean() - load).sign() → return bias.add_(rate * (load.mean() - load).sign())
    bias itself is changed. Return a new tensor.
last_token: chosen.flatten() → chosen[-1].flatten()
    Only the last row of chosen is counted. All choices are load: flatten chosen.
first_choice: chosen.flatten() → chosen[..., 0].flatten()
    Only the first choice of each token is counted. All of them are load.
in_float32: return bias + rate → return bias.float() + rate ; .sign() → .sign().float()
    The result is float32 whatever comes in. Keep the dtype of bias.
""",
)

EXERCISE = Exercise(
    id="experts.balance_bias",
    title="A bias for balance",
    points=1,
    difficulty=2,
    minutes=6,
    reference=balanced_bias,
    alternatives=[by_loop],
    cases=[
        Case(
            "by hand",
            "loads 4, 2 and 0 with a rate of 0.1: the biases become −0.1, 0 and 0.1",
            lambda g: call(torch.zeros(3), torch.tensor([[0, 1], [0, 1], [0, 0]]), rate=0.1),
        ),
        Case(
            "uneven",
            "twenty tokens, two of six experts, nobody chooses the last",
            lambda g: call(g.randn(6), _skewed(g, 6, 20, 2), rate=0.05),
            weight=2,
        ),
        Case(
            "idle",
            "loads 17, 9, 8, 6, 0 and 0 in some order, where the mean is 6.67",
            lambda g: call(g.randn(6), _idle(g), rate=0.2),
        ),
        Case(
            "texts",
            "two texts, and the rate that is given by default",
            lambda g: call(g.randn(5), _skewed(g, 5, 2, 9, 3)),
        ),
        Case("twice", "the same bias twice: it is not changed in place", _twice),
        Case(
            "in float64",
            "float64 stays float64",
            lambda g: call(g.randn(5, dtype=torch.float64), _skewed(g, 5, 12, 1), rate=g.number(0.01, 0.2)),
        ),
    ],
    mutants=MISTAKES,
    unasked="""
the bias is moved by hand, so nothing is trained through it
    gradient of balanced_bias
""",
    equivalent="""
moved by hand, from counts, or made of whole numbers: nothing is trained through it
    eec21f93ed solution, result: return bias + rate * (load.mean() - load).sign(): result detach
    05b3707904 alternative by_loop, result: return moved: result detach
the order of the loop changes nothing, since each turn is on its own or makes the same step
    2531058642 alternative by_loop, reversed: range(len(bias)) reversed
""",
)
