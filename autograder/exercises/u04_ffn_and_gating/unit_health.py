"""Units that are always 0, and gates that are stuck."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call, several
from autograder.reference import ffn as ref

from .shared import double, t


def hidden(g: Source) -> Program:
    x = g.randn(2, 3, 24).clamp(min=0) + 0.1 * g.mask(24, keep=0.5)  # every unit is always on, or dead now and then
    x[..., 4:] *= g.mask(20, keep=0.5)  # dead
    x[..., 1] = 0
    x[..., 2] = -x[..., 0] - 0.1  # always negative
    cancelling = 4 + torch.randperm(20, generator=g.generator)[:3]
    x[..., cancelling] = 0
    x[0, 1, cancelling], x[1, 0, cancelling] = 1.0, -1.0
    x[:, :2, 4 + g.integer(0, 20)] -= 0.2 * g.mask(2, 2, keep=0.5)  # never positive, or now and then
    x[0, :, 3], x[1, 0, 3] = 0, 0.7  # alive in the second sentence only
    return call(x)


def at_the_margin(g: Source) -> Program:
    def add(program: Program) -> None:
        margin = g.choice((0.125, 0.25))  # float32 numbers, and so is 1 − margin
        inside = [g.number(0.4, 0.6) for _ in range(g.integer(3, 60))]
        program.call(t(margin, 1 - margin, margin / 2, *inside), margin=margin, fn="gate_saturation")

    return several(5, add)


MISTAKES = changes(
    (ref.dead_units, ref.gate_saturation),
    """
any_zero: .all(dim=0) → .any(dim=0)
    A unit that is 0 once is not dead. It is dead when it is 0 for every token.
sum_is_zero: (hidden.reshape(-1, hidden.shape[-1]) == 0).all(dim=0) → hidden.flatten(0, -2).sum(0) == 0
    A sum or a mean of 0 can hide +1 and −1. Test every entry for 0.
nearly_zero: hidden.reshape(-1, hidden.shape[-1]) == 0 → hidden.reshape(-1, hidden.shape[-1]).abs() < 1e-6
    A very small value still passes a gradient. Dead means exactly 0.
not_positive: hidden.reshape(-1, hidden.shape[-1]) == 0 → hidden.reshape(-1, hidden.shape[-1]) <= 0
    A negative value passes a gradient too. Dead means exactly 0: compare with ==.
first_axis_only: hidden.reshape(-1, hidden.shape[-1]) → hidden
    Only the first axis is searched. Every axis but the last holds tokens.
share_of_tokens: .all(dim=0) → .float().mean(0)
    dead_units returns the share of zeros. It should say True or False for each unit.
alive: return (hidden → return ~(hidden
    dead_units is True for the units that live. Turn it round.
per_token: (hidden.reshape(-1, hidden.shape[-1]) == 0).all(dim=0) → (hidden == 0).all(dim=-1)
    dead_units looks at each token, along the last axis. That axis holds the units: every other one is to be
    searched.
numbers_of_units: .all(dim=0) → .all(dim=0).nonzero().flatten()
    dead_units returns the dead units' numbers. It should say True or False for each unit.
how_many: .all(dim=0) → .all(dim=0).sum()
    dead_units counts the dead units. It should say True or False for each unit.
as_numbers: .all(dim=0) → .all(dim=0).float()
    dead_units gives 0 and 1 as floats. It should give booleans: leave out the conversion.
edges_included: (gate < margin) | (gate > 1 - margin) → (gate <= margin) | (gate >= 1 - margin)
    Gates exactly at the margin are counted. Compare with < margin and > 1 − margin.
healthy_share: return ((gate → return 1 - ((gate
    This is the share of gates that are not stuck. Count those near 0 or near 1.
share_of_each: .mean() → .mean(0)
    There is a share for each unit. One number for all gates is asked for: mean() without an axis.
percent: return ((gate → return 100 * ((gate
    This is a percentage. A share lies between 0 and 1.
half_margin: (gate < margin) | (gate > 1 - margin) → (gate - 0.5).abs() > margin
    Gates are counted that are further than margin from 0.5. Count those within margin of 0 or of 1.
other_precision: .mean() → .mean().to(gate.dtype)
    The share is right in the wrong form: it takes the dtype of gate, or is a Python number. A float32 tensor is
    asked for: .float().mean(), without .item().
margin_fixed: (gate < margin) | (gate > 1 - margin) → (gate < 0.05) | (gate > 1 - 0.05)
    The margin is always 0.05. Use the argument margin.
both_ends_at_once: (gate < margin) | (gate > 1 - margin) → (gate < margin) & (gate > 1 - margin)
    No gate is near 0 and near 1 at once. One of the two is enough: use | in place of &.
closed_only: (gate < margin) | (gate > 1 - margin) → gate < margin
    Only closed gates are counted. A gate stuck near 1 has no slope either.
open_only: (gate < margin) | (gate > 1 - margin) → gate > 1 - margin
    Only open gates are counted. A gate stuck near 0 has no slope either.
count: .mean() → .sum()
    This counts the stuck gates. Divide by their number to get a share.
share_of_each_row: .mean() → .mean(-1)
    The mean runs over the last axis only. One number for all gates is asked for: mean() without an axis.
over_first_axis: .mean() → .sum() / gate.shape[0]
    The count is divided by the size of the first axis. Divide by the number of all gates: mean() does.
over_last_axis: .mean() → .sum() / gate.shape[-1]
    The count is divided by the size of the last axis. Divide by the number of all gates: mean() does.
parentheses_missing: (gate < margin) | (gate > 1 - margin) → gate < margin | gate > 1 - margin
    | binds tighter than < and >. Put each comparison into parentheses: (gate < margin) | (gate > 1 - margin).
python_or: (gate < margin) | (gate > 1 - margin) → (gate < margin) or (gate > 1 - margin)
    Python's or, and, if and chained comparisons ask a whole tensor for one yes or no. Combine entry by entry: (…) |
    (…).
mean_of_booleans: .to(torch.float32).mean() → .mean()
    Booleans have no mean in torch. Make numbers of them first: .float().mean().
one_edge_included: (gate < margin) | (gate > 1 - margin) → (gate <= margin) | (gate > 1 - margin)
    A gate exactly at one of the two ends is counted. Both comparisons are strict: < margin and > 1 − margin.
half_as_wide: (gate < margin) | (gate > 1 - margin) → (gate - 0.5).abs() > 0.5 - margin / 2
    Only gates within half the margin of an end are counted. Count below margin and above 1 − margin.
above_margin: (gate < margin) | (gate > 1 - margin) → (gate > margin) | (gate > 1 - margin)
    Gates above margin are counted, which most are. Stuck means below margin, or above 1 − margin.
one_answer: .all(dim=0) → .all()
    dead_units gives one answer for everything. It should give one for each unit: all(0) over the tokens.
two_axes: (hidden.reshape(-1, hidden.shape[-1]) == 0).all(dim=0) → (hidden == 0).all(dim=0).all(dim=0)
    Two axes are searched, whatever the shape. Every axis but the last holds tokens: flatten(0, -2).
largest_is_zero: (hidden.reshape(-1, hidden.shape[-1]) == 0).all(dim=0) → hidden.flatten(0, -2).amax(0) == 0
    A unit whose largest value is 0 may have negative ones, and lives. Every entry must be 0.
zeros_of_each: .all(dim=0) → .sum(0)
    dead_units counts the zeros of each unit. It should say whether all entries are 0: True or False.
joined_with_tokens: hidden.reshape(-1, hidden.shape[-1]) → hidden.flatten(1)
    The axes after the first are joined, so that (B, T, d_ff) gives T·d_ff answers. Join those before the last:
    flatten(0, -2).
""",
)

EXERCISE = Exercise(
    id="ffn.unit_health",
    title="Dead units and stuck gates",
    points=2,
    difficulty=2,
    minutes=12,
    extension=True,
    reference=(ref.dead_units, ref.gate_saturation),
    alternatives=[
        (
            lambda hidden: hidden.flatten(0, -2).abs().amax(0) == 0,
            lambda gate, margin=0.05: 1 - ((gate >= margin) & (gate <= 1 - margin)).float().mean(),
        ),
        (
            lambda hidden: ~(hidden != 0).flatten(0, -2).any(0),
            lambda gate, margin=0.05: ((gate - 0.5).abs() > 0.5 - margin).sum() / gate.numel(),
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
            "at the margin",
            "gates exactly at the margin are not stuck: below and above are asked for",
            at_the_margin,
            weight=0.5,
        ),
        Case(
            "float64",
            "gates in float64: their share is float32",
            lambda g: several(
                2, lambda p: p.call(torch.sigmoid(double(g, 5, 31, scale=9.0)), fn="gate_saturation", margin=0.1)
            ),
        ),
        Case(
            "dead float64",
            "10⁻⁶⁰ in float64 is not 0",
            lambda g: call(1e-60 * double(g, 4, 40) * g.mask(4, 40, keep=0.2)),
        ),
        Case(
            "random",
            "random gates of three axes, four times",
            lambda g: several(4, lambda p: p.call(torch.sigmoid(g.randn(3, 4, 41, scale=3.0)), fn="gate_saturation")),
        ),
    ],
    mutants=MISTAKES,
)
