"""A gate on the heads' joined result."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import sinks


def gated(attended, x, w_gate):
    """As in the solution."""
    joined = attended.transpose(1, 2).flatten(2)
    return joined * torch.sigmoid(x @ w_gate.T)


def gated_per_head(attended, x, w_gate):
    """The gate is cut into heads, and they are joined at the end."""
    B, H, T, D = attended.shape
    gate = torch.nn.functional.linear(x, w_gate).sigmoid().view(B, T, H, D)
    return torch.einsum("bhtd,bthd->bthd", attended, gate).reshape(B, T, H * D)


MISTAKES = changes(
    gated,
    """
no_gate: joined * torch.sigmoid(x @ w_gate.T) → joined
    The gate is not applied. Multiply by the sigmoid of x @ w_gate.T.
no_sigmoid: torch.sigmoid(x @ w_gate.T) → (x @ w_gate.T)
    The gate's input is used as it is. It goes through a sigmoid, so that the gate lies between 0 and 1.
tanh: torch.sigmoid( → torch.tanh(
    The gate is a tanh, which may be negative. It is a sigmoid.
softmax: torch.sigmoid(x @ w_gate.T) → (x @ w_gate.T).softmax(-1)
    The gate is a softmax, so its numbers compete. Each number has a sigmoid of its own.
silu: torch.sigmoid( → torch.nn.functional.silu(
    The gate is SiLU, as in a gated feed-forward layer. Here it is the sigmoid alone.
from_result: torch.sigmoid(x @ w_gate.T) → torch.sigmoid(joined @ w_gate.T[: joined.shape[-1]])
    The gate is computed from the heads' result. It comes from the layer's input x.
added: joined * → joined +
    The gate is added. Multiply.
inverted: torch.sigmoid(x @ w_gate.T) → (1 - torch.sigmoid(x @ w_gate.T))
    The gate is upside down: a large input closes it. It is the sigmoid itself.
gated_twice: joined * torch.sigmoid(x @ w_gate.T) → joined * torch.sigmoid(x @ w_gate.T) ** 2
    The gate is applied twice. Once is enough.
inside: joined * torch.sigmoid(x @ w_gate.T) → torch.sigmoid(joined * (x @ w_gate.T))
    The sigmoid is taken of the product. It is taken of the gate's input, before it meets the result.
heads_not_swapped: attended.transpose(1, 2).flatten(2) → attended.reshape(x.shape[0], x.shape[1], -1)
    The heads are joined without a swap of axes 1 and 2, which mixes tokens. Swap first, then flatten.
dims_first: attended.transpose(1, 2).flatten(2) → attended.permute(0, 2, 3, 1).flatten(2)
    The joined numbers run over the heads first. The numbers of a head stay together: (B, T, H, D).
heads_reversed: attended.transpose(1, 2) → attended.flip(1).transpose(1, 2)
    The heads are joined in reverse order. Head 0 comes first.
one_gate: torch.sigmoid(x @ w_gate.T) → torch.sigmoid(x @ w_gate.T).mean(-1, keepdim=True)
    One gate serves all numbers of a token. Each of the H·D numbers has its own.
over_tokens: torch.sigmoid(x @ w_gate.T) → torch.sigmoid((x @ w_gate.T).mean(1, keepdim=True))
    One gate serves all tokens. Each token computes its own from x.
""",
)


def _inputs(
    g: Source, B: int, H: int, T: int, D: int, d_model: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return g.randn(B, H, T, D, dtype=dtype), g.randn(B, T, d_model, dtype=dtype), g.randn(H * D, d_model, dtype=dtype)


def _by_hand(g: Source) -> Program:
    return call(torch.tensor([[[[4.0]]]]), torch.tensor([[[1.0]]]), torch.tensor([[0.0]]))


EXERCISE = Exercise(
    id="gate.output",
    title="A gate on the result",
    points=1,
    difficulty=1,
    minutes=4,
    extension=True,
    reference=sinks.gated_output,
    alternatives=[gated, gated_per_head],
    cases=[
        Case("by hand", "a result of 4 and a gate's input of 0 make 2", _by_hand, weight=0.5),
        Case(
            "heads",
            "two sentences, three heads of 4 numbers, five tokens, d_model 6",
            lambda g: call(*_inputs(g, 2, 3, 5, 4, 6)),
            weight=2,
        ),
        Case(
            "as many tokens as heads",
            "three tokens, three heads, d_model = H·D",
            lambda g: call(*_inputs(g, 2, 3, 3, 4, 12)),
            weight=2,
        ),
        Case("one token", "T = 1, in float64", lambda g: call(*_inputs(g, 1, 4, 1, 2, 5, torch.float64))),
        Case(
            "gradients",
            "in float64: gradients reach the heads, the input and the gate's weights",
            lambda g: call(*_inputs(g, 2, 2, 3, 3, 4, torch.float64), grad=[0, 1, 2]),
        ),
    ],
    mutants=MISTAKES,
)
