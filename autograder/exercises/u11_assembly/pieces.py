"""RMSNorm as a module, and the parts of a block that a configuration chooses."""

import torch
from anatomy.models import config
from torch import nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source
from autograder.reference.assembly import pieces as ref
from autograder.reference.ffn import FeedForward, GatedFeedForward
from autograder.reference.norms import RMSNorm

from .shared import made


class InItsOwnWords(nn.Module):
    """Correct: the norm written out, its weight by full."""

    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.full((d,), 1.0)))
        self.small = eps

    def forward(self, x):
        mean_square = (x * x).mean(-1, keepdim=True)
        return self.weight * x * (mean_square + self.small) ** -0.5


def norm_by_if(c):
    """Correct: no table."""
    if c["norm"] == "layer":
        return nn.LayerNorm(c["d_model"], eps=c["eps"])
    return InItsOwnWords(c["d_model"], eps=c["eps"])


def ffn_by_chance(c):
    """Correct: the plain layer first."""
    if not c["gated"]:
        return FeedForward(c["d_model"], c["d_ff"], ref.ACTIVATIONS[c["activation"]], bias=c["ffn_bias"])
    return GatedFeedForward(c["d_model"], c["d_ff"], ref.ACTIVATIONS[c["activation"]])


class FromTorch(nn.RMSNorm):
    """Correct: torch's own."""

    def __init__(self, d, eps=1e-6):
        super().__init__(d, eps)


class ByModules(nn.Module):
    """Correct: both kinds of layer in one class."""

    def __init__(self, c):
        super().__init__()
        self.f = ref.ACTIVATIONS[c["activation"]]
        self.bias = c["ffn_bias"] and not c["gated"]
        names = ("gate_proj", "up_proj") if c["gated"] else ("up_proj",)
        for name in names:
            self.add_module(name, nn.Linear(c["d_model"], c["d_ff"], bias=self.bias))
        self.down_proj = nn.Linear(c["d_ff"], c["d_model"], bias=self.bias)
        self.gated = c["gated"]

    def forward(self, x):
        inside = self.f(self.gate_proj(x)) * self.up_proj(x) if self.gated else self.f(self.up_proj(x))
        return self.down_proj(inside)


NORM, MAKE_NORM, MAKE_FFN = RMSNorm, ref.make_norm, ref.make_ffn


def _ffn(g: Source, activation: str, **changes: object) -> Program:
    c = config(d_model=4, d_ff=7, n_heads=2, activation=activation, **changes)
    return made(g, "make_ffn", MAKE_FFN, c).call(g.randn(2, 3, 4, scale=2.0))


def _norm(g: Source, kind: str, d: int, eps: float) -> Program:
    c = config(norm=kind, d_model=d, n_heads=1, d_ff=3, eps=eps)
    return made(g, "make_norm", MAKE_NORM, c).call(g.randn(2, 3, d) + 1)


def _gradients(g: Source) -> Program:
    x = g.randn(2, 3, 5)
    return made(g, "RMSNorm", RMSNorm, 5, eps=0.1).call(x, grad=[0], params=True, cotangent=g.randn(2, 3, 5))


def _layer_gradients(g: Source) -> Program:
    c = config(norm="layer", d_model=5, n_heads=1, eps=0.2)
    program = made(g, "make_norm", MAKE_NORM, c)
    return program.call(g.randn(2, 5), grad=[0], params=True, cotangent=g.randn(2, 5))


def _ffn_gradients(g: Source) -> Program:
    c = config(d_model=3, d_ff=5, n_heads=1, activation="gelu", gated=False, ffn_bias=True)
    return made(g, "make_ffn", MAKE_FFN, c).call(g.randn(2, 3), grad=[0], params=True, cotangent=g.randn(2, 3))


MISTAKES = changes(
    (InItsOwnWords, norm_by_if, ffn_by_chance),
    """
plain_tensor: self.register_parameter("weight", nn.Parameter(torch.full((d,), 1.0))) → self.weight = torch.ones(d)
    The weights do not load: RMSNorm has one parameter, named weight, an nn.Parameter of shape (d), and no bias.
begins_at_zero: torch.full((d,), 1.0) → torch.zeros(d)
    A new RMSNorm gives zeros: its weight begins at 0. It begins at 1, torch.ones(d).
begins_at_random: torch.full((d,), 1.0) → torch.arange(1.0, d + 1) / d
    A new RMSNorm has weights that are not 1. Begin with torch.ones(d).
one_number: torch.full((d,), 1.0) → torch.ones(1) ; self.small = eps → self.eps = eps
; self.weight * x * (mean_square + self.small) ** -0.5 → RMSNorm.forward(self, x)
    RMSNorm has one number for all entries. Its weight has one for each of the d: torch.ones(d).
eps_forgotten: self.small = eps → self.small = 1e-6
    RMSNorm's ε is always the default. Keep the argument in __init__, and hand it to rms_norm.
weight_unused: self.weight * x → x
    RMSNorm never uses its weight. Hand self.weight to rms_norm.
weight_detached: self.weight * x → self.weight.detach() * x
    RMSNorm's numbers are right, but no gradient reaches its weight, so it never learns: it was cut off (detach,
    .data).
layer_norm_inside: mean_square = → x = x - x.mean(-1, keepdim=True); mean_square =
    RMSNorm subtracts the mean. That is LayerNorm: call your rms_norm.
always_rms: c["norm"] == "layer" → False
    make_norm always gives RMSNorm. Where c["norm"] is "layer" it is nn.LayerNorm: NORMS[c["norm"]].
always_layer: c["norm"] == "layer" → True
    make_norm always gives LayerNorm. Where c["norm"] is "rms" it is your RMSNorm: NORMS[c["norm"]].
norm_default_eps: LayerNorm(c["d_model"], eps=c["eps"]) → LayerNorm(c["d_model"], eps=1e-5) ; eps=c["eps"] → eps=1e-5
    make_norm leaves ε at a default. Hand c["eps"] on.
norm_of_d_ff: LayerNorm(c["d_model"] → LayerNorm(c["d_ff"] ; InItsOwnWords(c["d_model"] → InItsOwnWords(c["d_ff"]
    make_norm's norm is c["d_ff"] wide. It normalizes the stream: c["d_model"].
always_gated: not c["gated"] → False
    make_ffn always makes a gate. Where c["gated"] is false it is a FeedForward.
never_gated: not c["gated"] → True ; bias=c["ffn_bias"] → bias=c["ffn_bias"] and not c["gated"]
    make_ffn never makes a gate. Where c["gated"] is true it is a GatedFeedForward.
gate_inverted: not c["gated"] → c["gated"]
    make_ffn makes a gate exactly where none is wanted. Turn the condition on c["gated"] round.
always_bias: bias=c["ffn_bias"] → bias=True
    make_ffn always gives FeedForward biases. It has them only where c["ffn_bias"] is true.
never_bias: bias=c["ffn_bias"] → bias=False
    make_ffn never gives FeedForward biases. It has them where c["ffn_bias"] is true.
always_silu: c["activation"]], bias → "silu"], bias ; c["activation"] → "silu"
    make_ffn always takes SiLU. Look the function up: ACTIVATIONS[c["activation"]].
always_gelu: c["activation"]], bias → "gelu"], bias ; c["activation"] → "gelu"
    make_ffn always takes GELU. Look the function up: ACTIVATIONS[c["activation"]].
activation_name: ref.ACTIVATIONS[c["activation"]], bias → c["activation"], bias
; ref.ACTIVATIONS[c["activation"]] → c["activation"]
    make_ffn hands on the name of the activation, not the function: ACTIVATIONS[c["activation"]].
no_activation: ref.ACTIVATIONS[c["activation"]], bias → nn.Identity(), bias
; ref.ACTIVATIONS[c["activation"]] → nn.Identity()
    make_ffn's layers have no activation. Look the function up: ACTIVATIONS[c["activation"]].
widths_exchanged: return FeedForward(c["d_model"], c["d_ff"] → return FeedForward(c["d_ff"], c["d_model"]
; GatedFeedForward(c["d_model"], c["d_ff"] → GatedFeedForward(c["d_ff"], c["d_model"]
    make_ffn exchanges the two widths. The layer leads from d_model to d_ff and back.
""",
)

EXERCISE = Exercise(
    id="assembly.pieces",
    title="Parts that a configuration chooses",
    points=1,
    difficulty=2,
    minutes=6,
    reference=(NORM, MAKE_NORM, MAKE_FFN),
    alternatives=[(InItsOwnWords, norm_by_if, ffn_by_chance), (FromTorch, MAKE_NORM, ByModules)],
    cases=[
        Case(
            "by hand",
            "weights 1 and 10: (3, 4) becomes 0.849 and 11.31",
            lambda g: (
                Program()
                .new("RMSNorm", 2, state={"weight": torch.tensor([1.0, 10.0])})
                .call(torch.tensor([[3.0, 4.0]]))
            ),
        ),
        Case(
            "new",
            "a new norm multiplies by 1, and ε is 0.000001 if nobody says otherwise",
            lambda g: Program().new("RMSNorm", 6).call(g.randn(2, 3, 6, scale=1e-3)),
        ),
        Case(
            "own weight",
            "weights of its own, another ε, in float64",
            lambda g: made(g, "RMSNorm", RMSNorm, 5, eps=0.4).call(g.randn(2, 3, 5)).double(),
        ),
        Case("rms", "norm is rms: d_model 5, ε 0.3", lambda g: _norm(g, "rms", 5, 0.3)),
        Case("layer", "norm is layer: d_model 6, ε 0.2, a weight and a bias", lambda g: _norm(g, "layer", 6, 0.2)),
        Case("gated", "LLaMA's layer: a gate with SiLU, three matrices", lambda g: _ffn(g, "silu")),
        Case(
            "gated gelu",
            "a gate with the tanh form of GELU; biases are asked for, but no gated layer has any",
            lambda g: _ffn(g, "gelu_tanh", ffn_bias=True),
        ),
        Case(
            "plain",
            "no gate, ReLU, biases, in float64",
            lambda g: _ffn(g, "relu", gated=False, ffn_bias=True).double(),
        ),
        Case("plain without bias", "no gate, GELU, no biases", lambda g: _ffn(g, "gelu", gated=False)),
        Case("gradients", "gradients of x and of RMSNorm's weight", _gradients, weight=0.5),
        Case("layer gradients", "gradients of x, weight and bias of make_norm's LayerNorm", _layer_gradients, 0.5),
        Case("ffn gradients", "gradients of x and of all four weights of a plain layer", _ffn_gradients, 0.5),
    ],
    mutants=MISTAKES,
)
