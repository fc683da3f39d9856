"""A gated feed-forward layer for every activation."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Source
from autograder.reference import ffn as ref


class GatedFeedForward(nn.Module):
    """Both branches by name."""

    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.activation = activation
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        gate = self.activation(self.gate_proj(x))
        up = self.up_proj(x)
        return self.down_proj(gate * up)


class ByMatrices(nn.Module):
    """The same with the weights used as matrices."""

    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        for name in ("gate_proj", "up_proj"):
            self.add_module(name, nn.Linear(d_model, d_ff, bias=False))
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.activation = activation

    def forward(self, x):
        gate = self.activation(torch.einsum("...i,oi->...o", x, self.gate_proj.weight))
        return (gate * (x @ self.up_proj.weight.T)) @ self.down_proj.weight.T


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


MISTAKES = changes(
    GatedFeedForward,
    """
activates_up: self.activation(self.gate_proj(x)) → self.gate_proj(x)
; self.up_proj(x) → self.activation(self.up_proj(x))
    The activation sits on the up branch. In this course the gate is the branch that is activated.
activates_product: self.activation(self.gate_proj(x)) → self.gate_proj(x) ; gate * up → self.activation(gate * up)
    The activation is applied to the product. Activate the gate first, then multiply.
activates_both: self.up_proj(x) → self.activation(self.up_proj(x))
    Both branches are activated. The up branch stays linear.
adds: gate * up → gate + up
    The branches are added. A gate multiplies: activation(gate) * up.
gates_twice: gate * up → gate * up * up
    The up branch is multiplied in twice. activation(gate) * up is already the whole product.
extra_factor: gate * up → gate * up / 2**0.5
    There is an extra factor 1/√2. LLaMA and PaLM have none: the product goes into down_proj as it is.
gate_forgotten: self.activation(self.gate_proj(x)) → self.gate_proj(x) ; gate * up → self.activation(up)
    The gate branch is not used: this is the plain layer. Multiply by activation(gate_proj(x)).
activation_fixed: self.activation(self.gate_proj(x)) → nn.functional.silu(self.gate_proj(x))
    The activation is always SiLU. Use the one that was handed in: self.activation.
tied: self.up_proj = nn.Linear(d_model, d_ff, bias=False) → self.up_proj = self.gate_proj
    gate_proj and up_proj are one and the same layer. Make an nn.Linear of its own for each.
gate_detached: self.activation(self.gate_proj(x)) → self.activation(self.gate_proj(x)).detach()
    The numbers are right, but no gradient passes the gate, so gate_proj never learns: it was cut off (detach,
    .data, no_grad).
up_detached: self.up_proj(x) → self.up_proj(x).detach()
    The numbers are right, but no gradient passes the up branch, so up_proj never learns: it was cut off (detach,
    .data, no_grad).
gate_reversed: gate * up → (1 - gate) * up
    The gate is turned round: up is multiplied by activation(gate), not by 1 minus it.
with_residual: return self.down_proj(gate * up) → return x + self.down_proj(gate * up)
    x is added at the end. The residual belongs to the block around this layer.
activates_output: self.activation(self.gate_proj(x)) → self.gate_proj(x)
; self.down_proj(gate * up) → self.activation(self.down_proj(gate * up))
    The activation comes last, on the result. It belongs on the gate: activation(gate_proj(x)).
not_activated: self.activation(self.gate_proj(x)) → self.gate_proj(x)
    The activation is never used. It belongs on the gate: activation(gate_proj(x)) * up_proj(x).
up_forgotten: gate * up → gate
    The up branch is not used: this is the plain layer. Multiply by up_proj(x).
gate_of_up: self.activation(self.gate_proj(x)) → self.activation(self.up_proj(x))
    The up branch gates itself. The gate is activation(gate_proj(x)).
flattened: gate = → x = x.reshape(-1, x.shape[-1]); gate =
    The axes in front of d_model are flattened and not brought back. nn.Linear works on the last axis of any shape:
    hand x over as it is.
no_down: self.down_proj(gate * up) → gate * up
    down_proj is not used: bring the product back to d_model.
other_parameters: gate_proj = nn.Linear(d_model, d_ff, bias=False) → gate_proj = nn.Linear(d_model, d_ff)
; up_proj = nn.Linear(d_model, d_ff, bias=False) → up_proj = nn.Linear(d_model, d_ff)
; nn.Linear(d_ff, d_model, bias=False) → nn.Linear(d_ff, d_model)
    The weights do not load: the layers are gate_proj, up_proj and down_proj, each with bias=False.
sizes_exchanged: nn.Linear(d_ff, d_model, bias=False) → nn.Linear(d_model, d_ff, bias=False)
    A weight has the wrong shape. nn.Linear takes inputs first, then outputs: gate_proj and up_proj lead from
    d_model to d_ff, down_proj leads back.
sigmoid_fixed: self.activation(self.gate_proj(x)) → torch.sigmoid(self.gate_proj(x))
    The gate is always a sigmoid. Use the activation that was handed in: self.activation.
relu_fixed: self.activation(self.gate_proj(x)) → torch.relu(self.gate_proj(x))
    The activation is always ReLU. Use the one that was handed in: self.activation.
sigmoid_after_activation: gate * up → torch.sigmoid(gate) * up
    A sigmoid is applied on top of the activation. The gate is activation(gate_proj(x)), nothing more.
gate_times_itself: self.up_proj(x) → self.gate_proj(x)
    The gate branch gates itself: up_proj is not used. The value is up_proj(x).
activates_input: self.activation(self.gate_proj(x)) → self.gate_proj(self.activation(x))
    x is activated before gate_proj. First gate_proj, then the activation.
activates_result: self.down_proj(gate * up) → self.activation(self.down_proj(gate * up))
    The result of down_proj is activated as well. The activation belongs on the gate only.
activates_sum: self.activation(self.gate_proj(x)) → self.gate_proj(x) ; gate * up → self.activation(gate + up)
    The branches are added, then activated. Activate the gate alone, and multiply: activation(gate) * up.
adds_value_again: gate * up → gate * up + up
    The up branch is added once more. The product activation(gate) * up is all that goes into down_proj.
""",
)

EXERCISE = Exercise(
    id="ffn.gated",
    title="One gated layer for every activation",
    points=3,
    difficulty=3,
    minutes=18,
    reference=ref.GatedFeedForward,
    alternatives=[GatedFeedForward, ByMatrices],
    cases=[
        Case("by hand", "one unit with weights 1 (gate), 2 (up) and 3 (down): 2 gives 2·4·3 = 24, −2 gives 0", by_hand),
        Case("sigmoid", "GLU: the sigmoid gates, the other branch stays as it is", one_call("sigmoid")),
        Case(
            "silu",
            "SwiGLU, one token, an odd width, in float64",
            lambda g: one_call("silu", d_model=3, d_ff=7, shape=(1,))(g).double(),
        ),
        Case(
            "ones",
            "an activation that is always 1 leaves down(up(x)): twice the input, twice the output",
            twice_the_input("ones"),
        ),
        Case(
            "bilinear", "no activation at all: twice the input gives four times the output", twice_the_input("identity")
        ),
        Case("one vector", "a single vector, d_ff smaller than d_model", one_call("tanh", d_model=5, d_ff=2, shape=())),
        Case("gradients", "gradients reach the input and all three weights", gradients),
    ],
    mutants=MISTAKES,
    unasked="""
only the reference has this argument: the text asks for no biases
    GatedFeedForward(bias)
only the reference has the argument bias
    GatedFeedForward(activation, bias)
""",
)
