"""Units that are always 0, and gates that are stuck."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference import ffn as ref

from .shared import double, t


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


EXERCISE = Exercise(
    id="ffn.unit_health",
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
    mutants=[
        Mutant(
            "any_zero",
            (lambda hidden: (hidden == 0).flatten(0, -2).any(0), ref.gate_saturation),
            "A unit that is 0 once is not dead. It is dead when it is 0 for every token.",
        ),
        Mutant(
            "sum_is_zero",
            (lambda hidden: hidden.flatten(0, -2).sum(0) == 0, ref.gate_saturation),
            "A sum or a mean of 0 can hide +1 and −1. Test every entry for 0.",
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
            "alive",
            (lambda hidden: ~ref.dead_units(hidden), ref.gate_saturation),
            "dead_units is True for the units that live. Turn it round.",
        ),
        Mutant(
            "per_token",
            (lambda hidden: (hidden == 0).all(-1), ref.gate_saturation),
            "dead_units looks at each token, along the last axis. That axis holds the units: every other one is to be "
            "searched.",
        ),
        Mutant(
            "numbers_of_units",
            (lambda hidden: ref.dead_units(hidden).nonzero().flatten(), ref.gate_saturation),
            "dead_units returns the dead units' numbers. It should say True or False for each unit.",
        ),
        Mutant(
            "how_many",
            (lambda hidden: ref.dead_units(hidden).sum(), ref.gate_saturation),
            "dead_units counts the dead units. It should say True or False for each unit.",
        ),
        Mutant(
            "as_numbers",
            (lambda hidden: ref.dead_units(hidden).float(), ref.gate_saturation),
            "dead_units gives 0 and 1 as floats. It should give booleans: leave out the conversion.",
        ),
        Mutant(
            "edges_included",
            (
                ref.dead_units,
                saturation(lambda gate, margin: gate <= margin, lambda gate, margin: gate >= 1 - margin),
            ),
            "Gates exactly at the margin are counted. Compare with < margin and > 1 − margin.",
        ),
        Mutant(
            "healthy_share",
            (ref.dead_units, lambda gate, margin=0.05: 1 - ref.gate_saturation(gate, margin)),
            "This is the share of gates that are not stuck. Count those near 0 or near 1.",
        ),
        Mutant(
            "share_of_each",
            (ref.dead_units, lambda gate, margin=0.05: (BELOW(gate, margin) | ABOVE(gate, margin)).float().mean(0)),
            "There is a share for each unit. One number for all gates is asked for: mean() without an axis.",
        ),
        Mutant(
            "percent",
            (ref.dead_units, lambda gate, margin=0.05: 100 * ref.gate_saturation(gate, margin)),
            "This is a percentage. A share lies between 0 and 1.",
        ),
        Mutant(
            "half_margin",
            (ref.dead_units, lambda gate, margin=0.05: ((gate - 0.5).abs() > margin).float().mean()),
            "Gates are counted that are further than margin from 0.5. Count those within margin of 0 or of 1.",
        ),
        Mutant(
            "other_precision",
            (ref.dead_units, lambda gate, margin=0.05: ref.gate_saturation(gate, margin).to(gate.dtype)),
            "The share is right in the wrong form: it takes the dtype of gate, or is a Python number. A float32 tensor "
            "is asked for: .float().mean(), without .item().",
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
        Mutant(
            "share_of_each_row",
            (ref.dead_units, lambda gate, margin=0.05: (BELOW(gate, margin) | ABOVE(gate, margin)).float().mean(-1)),
            "The mean runs over the last axis only. One number for all gates is asked for: mean() without an axis.",
        ),
        Mutant(
            "over_first_axis",
            (
                ref.dead_units,
                lambda gate, margin=0.05: (BELOW(gate, margin) | ABOVE(gate, margin)).float().sum() / gate.shape[0],
            ),
            "The count is divided by the size of the first axis. Divide by the number of all gates: mean() does.",
        ),
        Mutant(
            "over_last_axis",
            (
                ref.dead_units,
                lambda gate, margin=0.05: (BELOW(gate, margin) | ABOVE(gate, margin)).float().sum() / gate.shape[-1],
            ),
            "The count is divided by the size of the last axis. Divide by the number of all gates: mean() does.",
        ),
        Mutant(
            "parentheses_missing",
            (ref.dead_units, lambda gate, margin=0.05: (gate < margin | gate > 1 - margin).float().mean()),
            "| binds tighter than < and >. Put each comparison into parentheses: (gate < margin) | (gate > 1 "
            "- margin).",
        ),
        Mutant(
            "python_or",
            (ref.dead_units, lambda gate, margin=0.05: (BELOW(gate, margin) or ABOVE(gate, margin)).float().mean()),
            "Python's or, and, if and chained comparisons ask a whole tensor for one yes or no. Combine entry"
            " by entry: (…) | (…).",
        ),
        Mutant(
            "mean_of_booleans",
            (ref.dead_units, lambda gate, margin=0.05: (BELOW(gate, margin) | ABOVE(gate, margin)).mean()),
            "Booleans have no mean in torch. Make numbers of them first: .float().mean().",
        ),
        Mutant(
            "one_edge_included",
            (ref.dead_units, saturation(lambda gate, margin: gate <= margin, ABOVE)),
            "A gate exactly at one of the two ends is counted. Both comparisons are strict: < margin and > 1 − margin.",
        ),
        Mutant(
            "half_as_wide",
            (ref.dead_units, lambda gate, margin=0.05: ((gate - 0.5).abs() > 0.5 - margin / 2).float().mean()),
            "Only gates within half the margin of an end are counted. Count below margin and above 1 − margin.",
        ),
        Mutant(
            "above_margin",
            (ref.dead_units, saturation(lambda gate, margin: gate > margin, ABOVE)),
            "Gates above margin are counted, which most are. Stuck means below margin, or above 1 − margin.",
        ),
        Mutant(
            "one_answer",
            (lambda hidden: (hidden == 0).all(), ref.gate_saturation),
            "dead_units gives one answer for everything. It should give one for each unit: all(0) over the tokens.",
        ),
        Mutant(
            "two_axes",
            (lambda hidden: (hidden == 0).all(0).all(0), ref.gate_saturation),
            "Two axes are searched, whatever the shape. Every axis but the last holds tokens: flatten(0, -2).",
        ),
        Mutant(
            "largest_is_zero",
            (lambda hidden: hidden.flatten(0, -2).amax(0) == 0, ref.gate_saturation),
            "A unit whose largest value is 0 may have negative ones, and lives. Every entry must be 0.",
        ),
        Mutant(
            "zeros_of_each",
            (lambda hidden: (hidden == 0).flatten(0, -2).sum(0), ref.gate_saturation),
            "dead_units counts the zeros of each unit. It should say whether all entries are 0: True or False.",
        ),
        Mutant(
            "joined_with_tokens",
            (lambda hidden: (hidden == 0).flatten(1).all(0), ref.gate_saturation),
            "The axes after the first are joined, so that (B, T, d_ff) gives T·d_ff answers. Join those "
            "before the last: flatten(0, -2).",
        ),
    ],
)
