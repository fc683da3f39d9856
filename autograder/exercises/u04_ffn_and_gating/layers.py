"""Unit 04, second half: gated layers, their width, the health of their units, and comparing them fairly."""

import math

import torch
from torch import nn

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, call
from autograder.reference import ffn as ref

UNIT = "04-ffn-and-gating"

# ---- gated layer ------------------------------------------------------------------------------------------


class Base(nn.Module):
    """Three weights by name; a subclass says how the branches meet."""

    bias = False

    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.activation = activation
        self.gate_proj = nn.Linear(d_model, d_ff, bias=self.bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=self.bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=self.bias)

    def mix(self, gate, up):
        return self.activation(gate) * up

    def forward(self, x):
        return self.down_proj(self.mix(self.gate_proj(x), self.up_proj(x)))


def meeting(mix):
    """A class whose branches meet as ``mix(activation, gate, up)`` says."""
    return type("GatedFeedForward", (Base,), {"mix": lambda self, gate, up: mix(self.activation, gate, up)})


class ByMatrices(Base):
    """The same with the weights used as matrices."""

    def forward(self, x):
        gate = self.activation(torch.einsum("...i,oi->...o", x, self.gate_proj.weight))
        return (gate * (x @ self.up_proj.weight.T)) @ self.down_proj.weight.T


class WithBias(Base):
    """Linear layers as torch makes them, with biases."""

    bias = True


def weights(g, d_model, d_ff):
    shapes = {"gate_proj": (d_ff, d_model), "up_proj": (d_ff, d_model), "down_proj": (d_model, d_ff)}
    return {f"{name}.weight": g.randn(*shape) for name, shape in shapes.items()}


def layer(g, activation, d_model=4, d_ff=6, shape=(2, 3)):
    new = Program().new("GatedFeedForward", d_model, d_ff, Fn(activation), state=weights(g, d_model, d_ff))
    return new, g.randn(*shape, d_model)


def by_hand(g):
    state = {
        "gate_proj.weight": torch.tensor([[1.0]]),
        "up_proj.weight": torch.tensor([[2.0]]),
        "down_proj.weight": torch.tensor([[3.0]]),
    }
    return Program().new("GatedFeedForward", 1, 1, Fn("relu"), state=state).call(torch.tensor([[2.0], [-2.0]]))


def one_call(activation, **sizes):
    def build(g):
        new, x = layer(g, activation, **sizes)
        return new.call(x)

    return build


def twice_the_input(activation):
    def build(g):
        new, x = layer(g, activation)
        return new.call(x).call(2 * x)

    return build


def gradients(g):
    new, x = layer(g, "sigmoid", d_model=3, d_ff=5)
    return new.call(x, params=True, grad=[0], cotangent=g.randn(2, 3, 3))


gated = Exercise(
    id="ffn.gated",
    unit=UNIT,
    title="One gated layer for every activation",
    points=3,
    difficulty=3,
    minutes=18,
    signature="GatedFeedForward(d_model, d_ff, activation)",
    reference=ref.GatedFeedForward,
    alternatives=[Base, ByMatrices],
    cases=[
        Case("by hand", "one unit with weights 1 (gate), 2 (up) and 3 (down): 2 gives 2·4·3 = 24, −2 gives 0", by_hand),
        Case("sigmoid", "GLU: the sigmoid gates, the other branch stays as it is", one_call("sigmoid")),
        Case("silu", "SwiGLU, one token, an odd width", one_call("silu", d_model=3, d_ff=7, shape=(1,))),
        Case(
            "ones",
            "an activation that is always 1 leaves down(up(x)): twice the input, twice the output",
            twice_the_input("ones"),
        ),
        Case(
            "bilinear", "no activation at all: twice the input gives four times the output", twice_the_input("identity")
        ),
        Case("gradients", "gradients reach the input and all three weights", gradients),
    ],
    mutants=[
        Mutant(
            "activates_up",
            meeting(lambda f, gate, up: gate * f(up)),
            "The activation sits on the up branch. In this course the gate is the branch that is activated.",
        ),
        Mutant(
            "activates_product",
            meeting(lambda f, gate, up: f(gate * up)),
            "The activation is applied to the product. Activate the gate first, then multiply.",
        ),
        Mutant(
            "activates_both",
            meeting(lambda f, gate, up: f(gate) * f(up)),
            "Both branches are activated. The up branch stays linear.",
        ),
        Mutant(
            "adds",
            meeting(lambda f, gate, up: f(gate) + up),
            "The branches are added. A gate multiplies: activation(gate) * up.",
        ),
        Mutant(
            "gates_twice",
            meeting(lambda f, gate, up: f(gate) * up * up),
            "The up branch is multiplied in twice. activation(gate) * up is already the whole product.",
        ),
        Mutant(
            "extra_factor",
            meeting(lambda f, gate, up: f(gate) * up / math.sqrt(2)),
            "There is an extra factor 1/√2. LLaMA and PaLM have none: the product goes into down_proj as it is.",
        ),
        Mutant(
            "gate_forgotten",
            meeting(lambda f, gate, up: f(up)),
            "The gate branch is not used: this is the plain layer. Multiply by activation(gate_proj(x)).",
        ),
        Mutant(
            "activation_fixed",
            meeting(lambda f, gate, up: torch.nn.functional.silu(gate) * up),
            "The activation is always SiLU. Use the one that was handed in: self.activation.",
        ),
        Mutant(
            "no_down",
            type(
                "GatedFeedForward", (Base,), {"forward": lambda self, x: self.mix(self.gate_proj(x), self.up_proj(x))}
            ),
            "down_proj is not used: bring the product back to d_model.",
        ),
        Mutant(
            "other_parameters",
            WithBias,
            "The weights do not load: the layers are gate_proj, up_proj and down_proj, each with bias=False.",
        ),
    ],
)

# ---- width ------------------------------------------------------------------------------------------------


def checked(width):
    """A width rule with the error for sizes that are not positive."""

    def matched_width(d_model, multiple_of=1):
        if d_model < 1 or multiple_of < 1:
            raise ValueError("sizes must be positive")
        return width(d_model, multiple_of)

    return matched_width


def unchecked(width):
    """A wrong width rule without the error: a learner who errs here may or may not have written it."""
    return lambda d_model, multiple_of=1: width(d_model, multiple_of)


matched_width = Exercise(
    id="ffn.matched_width",
    unit=UNIT,
    title="Where 11008 comes from",
    points=2,
    difficulty=2,
    minutes=12,
    signature="matched_width(d_model, multiple_of=1)",
    reference=ref.matched_hidden_size,
    alternatives=[
        checked(lambda d, m: math.ceil((2 * 4 * d // 3) / m) * m),
        checked(lambda d, m: (w := int(2 * (4 * d) / 3)) + (-w) % m),
    ],
    cases=[
        Case("six", "d_model 6: three matrices of 6·16 weigh as much as two of 6·24", lambda g: call(6)),
        Case("rounded down", "d_model 4096: 10922.67 becomes 10922", lambda g: call(4096)),
        Case("seven billion", "LLaMA-7B: 4096 and multiples of 256", lambda g: call(4096, 256)),
        Case(
            "thirteen billion",
            "LLaMA-13B: 5120 and multiples of 256, rounded up although 53.3 is nearer to 53",
            lambda g: call(5120, 256),
        ),
        Case("fits already", "768: 2048 is a multiple of 256 already and stays", lambda g: call(768, 256)),
        Case(
            "random", "a random d_model and multiple", lambda g: call(3 * g.integer(400, 900) + 1, g.choice((96, 112)))
        ),
        Case("error", "a d_model of 0 is refused with a ValueError", lambda g: call(0, 256), weight=0.5),
        Case("no multiple", "multiples of 0 are refused with a ValueError", lambda g: call(64, 0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "four_times",
            unchecked(lambda d, m: -(-4 * d // m) * m),
            "This keeps the width 4·d_model. With three matrices instead of two it must shrink to 2/3 of that.",
        ),
        Mutant(
            "nearest",
            unchecked(lambda d, m: round(8 * d / 3 / m) * m),
            "Rounded to the nearest. The rule rounds 8/3·d_model down to an int, and that up to a multiple.",
        ),
        Mutant(
            "down",
            unchecked(lambda d, m: 8 * d // 3 // m * m),
            "Rounded down to a multiple. The published rule rounds up: 10922 becomes 11008, not 10752.",
        ),
        Mutant(
            "ceiling_first",
            unchecked(lambda d, m: math.ceil(math.ceil(8 * d / 3) / m) * m),
            "8/3·d_model is rounded up here: 10923. Round that down, to 10922, and only then up to a multiple.",
        ),
        Mutant(
            "always_one_more",
            unchecked(lambda d, m: (8 * d // 3 // m + 1) * m),
            "A width that is a multiple already gets one multiple too many.",
        ),
        Mutant(
            "unchecked", unchecked(lambda d, m: -(-(8 * d // 3) // m) * m), "Sizes below 1 should raise a ValueError."
        ),
    ],
)

# ---- health of the units ----------------------------------------------------------------------------------


def saturation(low, high, summary=torch.Tensor.mean):
    """A gate_saturation whose two comparisons are given."""
    return lambda gate, margin=0.05: summary((low(gate, margin) | high(gate, margin)).float())


BELOW = lambda gate, margin: gate < margin
ABOVE = lambda gate, margin: gate > 1 - margin
NEVER = lambda gate, margin: torch.zeros_like(gate, dtype=torch.bool)


def hidden(g):
    x = g.randn(2, 3, 5).clamp(min=0)
    x[..., 1] = 0  # dead
    x[0, :, 3], x[1, 0, 3] = 0, 0.7  # alive in the second sentence only
    x[..., 0] = x[..., 0] + 0.1
    return call(x)


unit_health = Exercise(
    id="ffn.unit_health",
    unit=UNIT,
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
        Case("batch", "sentences and tokens are both searched: (2, 3, 5) gives five answers", hidden),
        Case(
            "gates",
            "gates of 0.01, 0.5, 0.99 and 0.2: half of them are stuck",
            lambda g: Program().call(t_gates(0.01, 0.5, 0.99, 0.2), fn="gate_saturation"),
        ),
        Case(
            "margin",
            "a wider margin counts more",
            lambda g: Program().call(t_gates(0.01, 0.5, 0.87, 0.12), fn="gate_saturation", margin=0.15),
        ),
        Case(
            "random",
            "random gates of three axes",
            lambda g: Program().call(torch.sigmoid(g.randn(3, 4, 41, scale=3.0)), fn="gate_saturation"),
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


def t_gates(*values):
    return torch.tensor(values, dtype=torch.float32)


# ---- a fair comparison ------------------------------------------------------------------------------------


def paired_difference(a, b):
    """Mean of a − b and its standard error, both floats; a, b (n,) with the same seed in the same place."""
    d = a.double() - b.double()
    return float(d.mean()), float(d.std() / math.sqrt(len(d)))


def paired_by_sums(a, b):
    """The same from sums."""
    d = [float(x) - float(y) for x, y in zip(a, b, strict=True)]
    n, mean = len(d), sum(d) / len(d)
    return mean, math.sqrt(sum((x - mean) ** 2 for x in d) / (n - 1) / n)


def losses(g, n):
    shared = g.randn(n, scale=0.5) + 3
    return call(shared + g.randn(n, scale=0.1) + 0.2, shared + g.randn(n, scale=0.1))


def from_differences(summary):
    return lambda a, b: summary((a - b).double())


paired = Exercise(
    id="ffn.paired_difference",
    unit=UNIT,
    title="A difference with its error bar",
    points=2,
    difficulty=2,
    minutes=10,
    signature="paired_difference(a, b)",
    reference=paired_difference,
    alternatives=[paired_by_sums, from_differences(lambda d: (d.mean(), (d.var() / len(d)).sqrt()))],
    cases=[
        Case(
            "three seeds",
            "differences 2, 3 and 1: mean 2, standard error 1/√3 = 0.577",
            lambda g: call(torch.tensor([3.0, 5.0, 4.0]), torch.tensor([1.0, 2.0, 3.0])),
            rtol=1e-4,
        ),
        Case(
            "always the same",
            "one model is better by 0.5 at every seed: no doubt left, error 0",
            lambda g: call(torch.tensor([1.5, 3.5, 2.5, 9.5]), torch.tensor([1.0, 3.0, 2.0, 9.0])),
            rtol=1e-4,
        ),
        Case(
            "either way",
            "now one model is better and now the other: differences −1, −2 and 4.5, mean 0.5",
            lambda g: call(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([2.0, 4.0, 1.5])),
            rtol=1e-4,
        ),
        Case("random", "six seeds whose losses rise and fall together", lambda g: losses(g, 6), rtol=1e-3, weight=2),
    ],
    mutants=[
        Mutant(
            "sign",
            from_differences(lambda d: (-d.mean(), d.std() / math.sqrt(len(d)))),
            "The sign is turned: the mean of a − b is asked for.",
        ),
        Mutant(
            "absolute",
            from_differences(lambda d: (d.abs().mean(), d.std() / math.sqrt(len(d)))),
            "The mean is taken of |a − b|. Keep the signs: differences both ways should cancel.",
        ),
        Mutant(
            "variance",
            from_differences(lambda d: (d.mean(), d.var() / math.sqrt(len(d)))),
            "The variance is divided by √n. The error of the mean is the standard deviation divided by √n.",
        ),
        Mutant(
            "spread",
            from_differences(lambda d: (d.mean(), d.std())),
            "This is the spread of single runs. The error of their mean is smaller by √n.",
        ),
        Mutant(
            "divides_by_n",
            from_differences(lambda d: (d.mean(), d.std() / len(d))),
            "The spread is divided by n. The error of a mean shrinks with √n only.",
        ),
        Mutant(
            "biased",
            from_differences(lambda d: (d.mean(), d.std(correction=0) / math.sqrt(len(d)))),
            "The spread divides by n. With few seeds use n − 1, as torch.std does by default.",
        ),
        Mutant(
            "not_paired",
            lambda a, b: (float((a - b).mean()), float((a.double().var() / len(a) + b.double().var() / len(b)).sqrt())),
            "The seeds are not paired: what both models share at a seed cancels only in a − b, seed by seed.",
        ),
    ],
)

EXERCISES = [gated, matched_width, unit_health, paired]
