"""Units that are always 0, and gates that are stuck."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import ffn as ref

from .shared import t


def saturation(low, high, summary=torch.Tensor.mean):
    """A gate_saturation whose two comparisons are given."""
    return lambda gate, margin=0.05: summary((low(gate, margin) | high(gate, margin)).float())


BELOW = lambda gate, margin: gate < margin
ABOVE = lambda gate, margin: gate > 1 - margin
NEVER = lambda gate, margin: torch.zeros_like(gate, dtype=torch.bool)


def hidden(g: Source) -> Program:
    x = g.randn(2, 3, 24).clamp(min=0) + 0.1 * g.mask(24, keep=0.5)  # every unit is always on, or dead now and then
    x[..., 4:] *= g.mask(20, keep=0.5)  # dead
    x[..., 1] = 0
    x[0, :, 3], x[1, 0, 3] = 0, 0.7  # alive in the second sentence only
    return call(x)


EXERCISE = Exercise(
    id="ffn.unit_health",
    unit="04-ffn-and-gating",
    title="Dead units and stuck gates",
    points=2,
    difficulty=2,
    minutes=12,
    extension=True,
    signature="dead_units(hidden)",
    targets=("dead_units", "gate_saturation"),
    reference=(ref.dead_units, ref.gate_saturation),
    alternatives=[
        (
            lambda hidden: hidden.flatten(0, -2).abs().amax(0) == 0,
            lambda gate, margin=0.05: 1 - ((gate >= margin) & (gate <= 1 - margin)).float().mean(),
        ),
        (
            lambda hidden: ~(hidden != 0).flatten(0, -2).any(0),
            lambda gate, margin=0.05: torch.as_tensor(((gate - 0.5).abs() > 0.5 - margin).sum() / gate.numel()),
        ),
    ],
    cases=[
        Case(
            "dead",
            "two tokens, three units: the first is dead, the second wakes once, the third is always on",
            lambda g: call(torch.tensor([[0.0, 0.0, 1.0], [0.0, 2.0, 3.0]])),
        ),
        Case(
            "cancels",
            "values that add up to 0 are not dead, nor are very small or negative ones",
            lambda g: call(torch.tensor([[1.0, 1e-9, 0.0, -0.2], [-1.0, 0.0, 0.0, -0.1]])),
        ),
        Case("batch", "sentences and tokens are both searched: (2, 3, 24) gives 24 answers", hidden),
        Case(
            "gates",
            "gates of 0.01, 0.5, 0.99 and 0.2: half of them are stuck",
            lambda g: Program().call(t(0.01, 0.5, 0.99, 0.2), fn="gate_saturation"),
        ),
        Case(
            "margin",
            "a wider margin counts more",
            lambda g: Program().call(t(0.01, 0.5, 0.87, 0.12), fn="gate_saturation", margin=0.15),
        ),
        Case(
            "random",
            "random gates of three axes, four times",
            lambda g: several(4, lambda p: p.call(torch.sigmoid(g.randn(3, 4, 41, scale=3.0)), fn="gate_saturation")),
        ),
    ],
    mutants=[
        Mutant(
            "any_zero",
            (lambda hidden: (hidden == 0).flatten(0, -2).any(0), ref.gate_saturation),
            "A unit that is 0 once is not dead. It is dead when it is 0 for every token.",
        ),
        Mutant(
            "sum_is_zero",
            (lambda hidden: hidden.flatten(0, -2).sum(0) == 0, ref.gate_saturation),
            "A sum of 0 can hide +1 and −1. Test every entry for 0.",
        ),
        Mutant(
            "nearly_zero",
            (lambda hidden: (hidden.abs() < 1e-6).flatten(0, -2).all(0), ref.gate_saturation),
            "A very small value still passes a gradient. Dead means exactly 0.",
        ),
        Mutant(
            "not_positive",
            (lambda hidden: (hidden <= 0).flatten(0, -2).all(0), ref.gate_saturation),
            "A negative value passes a gradient too. Dead means exactly 0: compare with ==.",
        ),
        Mutant(
            "first_axis_only",
            (lambda hidden: (hidden == 0).all(0), ref.gate_saturation),
            "Only the first axis is searched. Every axis but the last holds tokens.",
        ),
        Mutant(
            "share_of_tokens",
            (lambda hidden: (hidden == 0).flatten(0, -2).float().mean(0), ref.gate_saturation),
            "dead_units returns the share of zeros. It should say True or False for each unit.",
        ),
        Mutant(
            "margin_fixed",
            (ref.dead_units, lambda gate, margin=0.05: saturation(BELOW, ABOVE)(gate)),
            "The margin is always 0.05. Use the argument margin.",
        ),
        Mutant(
            "both_ends_at_once",
            (ref.dead_units, lambda gate, margin=0.05: (BELOW(gate, margin) & ABOVE(gate, margin)).float().mean()),
            "No gate is near 0 and near 1 at once. One of the two is enough: use | in place of &.",
        ),
        Mutant(
            "closed_only",
            (ref.dead_units, saturation(BELOW, NEVER)),
            "Only closed gates are counted. A gate stuck near 1 has no slope either.",
        ),
        Mutant(
            "open_only",
            (ref.dead_units, saturation(NEVER, ABOVE)),
            "Only open gates are counted. A gate stuck near 0 has no slope either.",
        ),
        Mutant(
            "count",
            (ref.dead_units, saturation(BELOW, ABOVE, torch.Tensor.sum)),
            "This counts the stuck gates. Divide by their number to get a share.",
        ),
    ],
)
