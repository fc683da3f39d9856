"""RMSNorm as a module, and the parts of a block that a configuration chooses."""

import torch
from anatomy.models import config
from torch import nn
from torch.nn import functional as F

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source
from autograder.reference.assembly import pieces as ref
from autograder.reference.ffn import FeedForward, GatedFeedForward
from autograder.reference.norms import RMSNorm

from .shared import made, variant


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


def norm_of(**methods):
    """RMSNorm with some methods exchanged, and make_norm that uses it."""
    kind = variant(RMSNorm, **methods)
    return kind, lambda c: kind(c["d_model"], c["eps"]) if c["norm"] == "rms" else MAKE_NORM(c), MAKE_FFN


def _plain_tensor(self, d, eps=1e-6):
    nn.Module.__init__(self)
    self.eps, self.weight = eps, torch.ones(d)


def _begins_at(value):
    def start(self, d, eps=1e-6):
        RMSNorm.__init__(self, d, eps)
        self.weight = nn.Parameter(value(d))

    return start


def _fixed_eps(self, d, eps=1e-6):
    RMSNorm.__init__(self, d, 1e-6)


def gated_like(c, gated):
    return MAKE_FFN({**c, "gated": gated})


def exchanged_widths(c):
    return MAKE_FFN({**c, "d_model": c["d_ff"], "d_ff": c["d_model"]})


def both_gated(f):
    """make_ffn whose activation is ``f`` of the right one."""

    def make(c):
        layer = MAKE_FFN(c)
        layer.activation = f(layer.activation)
        return layer

    return make


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


EXERCISE = Exercise(
    id="assembly.pieces",
    title="Parts that a configuration chooses",
    points=1,
    difficulty=2,
    minutes=6,
    signature="RMSNorm(d, eps=1e-6)",
    targets=("RMSNorm", "make_norm", "make_ffn"),
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
    mutants=[
        Mutant(
            "plain_tensor",
            norm_of(__init__=_plain_tensor),
            "The weights do not load: RMSNorm has one parameter, named weight, an nn.Parameter of shape (d), and no "
            "bias.",
        ),
        Mutant(
            "begins_at_zero",
            norm_of(__init__=_begins_at(torch.zeros)),
            "A new RMSNorm gives zeros: its weight begins at 0. It begins at 1, torch.ones(d).",
        ),
        Mutant(
            "begins_at_random",
            norm_of(__init__=_begins_at(lambda d: torch.arange(1.0, d + 1) / d)),
            "A new RMSNorm has weights that are not 1. Begin with torch.ones(d).",
        ),
        Mutant(
            "one_number",
            norm_of(__init__=_begins_at(lambda d: torch.ones(1))),
            "RMSNorm has one number for all entries. Its weight has one for each of the d: torch.ones(d).",
        ),
        Mutant(
            "eps_forgotten",
            norm_of(__init__=_fixed_eps),
            "RMSNorm's ε is always the default. Keep the argument in __init__, and hand it to rms_norm.",
        ),
        Mutant(
            "weight_unused",
            norm_of(forward=lambda self, x: F.rms_norm(x, x.shape[-1:], None, self.eps)),
            "RMSNorm never uses its weight. Hand self.weight to rms_norm.",
        ),
        Mutant(
            "weight_detached",
            norm_of(forward=lambda self, x: F.rms_norm(x, x.shape[-1:], self.weight.detach(), self.eps)),
            "RMSNorm's numbers are right, but no gradient reaches its weight, so it never learns: it was cut off "
            "(detach, .data).",
        ),
        Mutant(
            "layer_norm_inside",
            norm_of(forward=lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, None, self.eps)),
            "RMSNorm subtracts the mean. That is LayerNorm: call your rms_norm.",
        ),
        Mutant(
            "always_rms",
            (NORM, lambda c: RMSNorm(c["d_model"], c["eps"]), MAKE_FFN),
            'make_norm always gives RMSNorm. Where c["norm"] is "layer" it is nn.LayerNorm: NORMS[c["norm"]].',
        ),
        Mutant(
            "always_layer",
            (NORM, lambda c: nn.LayerNorm(c["d_model"], c["eps"]), MAKE_FFN),
            'make_norm always gives LayerNorm. Where c["norm"] is "rms" it is your RMSNorm: NORMS[c["norm"]].',
        ),
        Mutant(
            "norm_default_eps",
            (NORM, lambda c: ref.NORMS[c["norm"]](c["d_model"], 1e-5), MAKE_FFN),
            'make_norm leaves ε at a default. Hand c["eps"] on.',
        ),
        Mutant(
            "norm_of_d_ff",
            (NORM, lambda c: ref.NORMS[c["norm"]](c["d_ff"], c["eps"]), MAKE_FFN),
            'make_norm\'s norm is c["d_ff"] wide. It normalizes the stream: c["d_model"].',
        ),
        Mutant(
            "always_gated",
            (NORM, MAKE_NORM, lambda c: gated_like(c, True)),
            'make_ffn always makes a gate. Where c["gated"] is false it is a FeedForward.',
        ),
        Mutant(
            "never_gated",
            (NORM, MAKE_NORM, lambda c: gated_like({**c, "ffn_bias": c["ffn_bias"] and not c["gated"]}, False)),
            'make_ffn never makes a gate. Where c["gated"] is true it is a GatedFeedForward.',
        ),
        Mutant(
            "gate_inverted",
            (NORM, MAKE_NORM, lambda c: gated_like(c, not c["gated"])),
            'make_ffn makes a gate exactly where none is wanted. Turn the condition on c["gated"] round.',
        ),
        Mutant(
            "always_bias",
            (NORM, MAKE_NORM, lambda c: MAKE_FFN({**c, "ffn_bias": True})),
            'make_ffn always gives FeedForward biases. It has them only where c["ffn_bias"] is true.',
        ),
        Mutant(
            "never_bias",
            (NORM, MAKE_NORM, lambda c: MAKE_FFN({**c, "ffn_bias": False})),
            'make_ffn never gives FeedForward biases. It has them where c["ffn_bias"] is true.',
        ),
        Mutant(
            "always_silu",
            (NORM, MAKE_NORM, lambda c: MAKE_FFN({**c, "activation": "silu"})),
            'make_ffn always takes SiLU. Look the function up: ACTIVATIONS[c["activation"]].',
        ),
        Mutant(
            "always_gelu",
            (NORM, MAKE_NORM, lambda c: MAKE_FFN({**c, "activation": "gelu"})),
            'make_ffn always takes GELU. Look the function up: ACTIVATIONS[c["activation"]].',
        ),
        Mutant(
            "activation_name",
            (NORM, MAKE_NORM, both_gated(lambda f: "silu")),
            'make_ffn hands on the name of the activation, not the function: ACTIVATIONS[c["activation"]].',
        ),
        Mutant(
            "no_activation",
            (NORM, MAKE_NORM, both_gated(lambda f: lambda x: x)),
            'make_ffn\'s layers have no activation. Look the function up: ACTIVATIONS[c["activation"]].',
        ),
        Mutant(
            "widths_exchanged",
            (NORM, MAKE_NORM, exchanged_widths),
            "make_ffn exchanges the two widths. The layer leads from d_model to d_ff and back.",
        ),
    ],
)
