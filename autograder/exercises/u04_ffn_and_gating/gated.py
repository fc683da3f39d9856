"""A gated feed-forward layer for every activation."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source
from autograder.reference import ffn as ref


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


def weights(g: Source, d_model: int, d_ff: int) -> dict[str, Tensor]:
    shapes = {"gate_proj": (d_ff, d_model), "up_proj": (d_ff, d_model), "down_proj": (d_model, d_ff)}
    return {f"{name}.weight": g.randn(*shape) for name, shape in shapes.items()}


def layer(
    g: Source, activation: str, d_model: int = 4, d_ff: int = 6, shape: tuple[int, ...] = (2, 3)
) -> tuple[Program, Tensor]:
    new = Program().new("GatedFeedForward", d_model, d_ff, Fn(activation), state=weights(g, d_model, d_ff))
    return new, g.randn(*shape, d_model)


def by_hand(g: Source) -> Program:
    state = {
        "gate_proj.weight": torch.tensor([[1.0]]),
        "up_proj.weight": torch.tensor([[2.0]]),
        "down_proj.weight": torch.tensor([[3.0]]),
    }
    return Program().new("GatedFeedForward", 1, 1, Fn("relu"), state=state).call(torch.tensor([[2.0], [-2.0]]))


def one_call(activation: str, **sizes: Any) -> Callable[[Source], Program]:
    def build(g):
        new, x = layer(g, activation, **sizes)
        return new.call(x)

    return build


def twice_the_input(activation: str) -> Callable[[Source], Program]:
    def build(g):
        new, x = layer(g, activation)
        return new.call(x).call(2 * x)

    return build


def gradients(g: Source) -> Program:
    new, x = layer(g, "sigmoid", d_model=3, d_ff=5)
    return new.call(x, params=True, grad=[0], cotangent=g.randn(2, 3, 3))


EXERCISE = Exercise(
    id="ffn.gated",
    unit="04-ffn-and-gating",
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
