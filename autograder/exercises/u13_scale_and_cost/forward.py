"""A frozen layer and a low-rank difference beside it."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source, call
from autograder.reference import lora


def low_rank(x, A, B, alpha):
    """(α/r)·B·(A·x) for x (..., d_in), A (r, d_in), B (d_out, r)."""
    return alpha / A.shape[0] * F.linear(F.linear(x, A), B)


class LoRALinear(lora.LoRALinear):
    """The reference, called with sizes in place of a layer."""

    def __init__(self, d_in, d_out, r, alpha):
        super().__init__(nn.Linear(d_in, d_out), r, alpha)


def by_einsum(x, A, B, alpha):
    """Named axes, small first."""
    inner = torch.einsum("...i,ri->...r", x, A) * (alpha / len(A))
    return torch.einsum("...r,or->...o", inner, B)


class ByProducts(nn.Module):
    """Correct: products written out, the base's parameters frozen one by one."""

    def __init__(self, d_in, d_out, r, alpha):
        super().__init__()
        self.base = nn.Linear(d_in, d_out)
        for p in self.base.parameters():
            p.requires_grad = False
        self.A, self.B = nn.Parameter(torch.randn(r, d_in)), nn.Parameter(torch.zeros(d_out, r))
        self.factor = alpha / r

    def forward(self, x):
        """x (..., d_in) → (..., d_out)."""
        return self.base(x) + (x @ self.A.T) @ (self.factor * self.B.T)


def whole_matrix(x, A, B, alpha):
    """The same numbers by a matrix as large as the weight."""
    return F.linear(x, alpha / A.shape[0] * (B @ A))


class _Simple(nn.Module):
    """Correct, in steps that a mistake can replace."""

    def __init__(self, d_in, d_out, r, alpha):
        super().__init__()
        self.base = nn.Linear(d_in, d_out)
        self.A, self.B = (nn.Parameter(t) for t in self.start(d_in, d_out, r))
        self.alpha = alpha
        self.freeze()

    def start(self, d_in, d_out, r):
        return torch.rand(r, d_in), torch.zeros(d_out, r)

    def freeze(self):
        self.base.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + low_rank(x, self.A, self.B, self.alpha)


def _layer(**methods):
    return low_rank, type("LoRALinear", (_Simple,), methods)


def _rank(function):
    """A wrong low_rank, which the layer uses."""
    return function, type(
        "LoRALinear",
        (_Simple,),
        {"forward": lambda self, x: self.base(x) + function(x, self.A, self.B, self.alpha)},
    )


def _no_grad(self, x):
    with torch.no_grad():
        return self.base(x) + low_rank(x, self.A, self.B, self.alpha)


def _base_cut_off(self, x):
    with torch.no_grad():
        frozen = self.base(x)
    return frozen + low_rank(x, self.A, self.B, self.alpha)


def _freezing(self, x):
    self.base.requires_grad_(False)
    return self.base(x) + low_rank(x, self.A, self.B, self.alpha)


def _freeze_all(self):
    self.requires_grad_(False)


def _freeze_weight(self):
    self.base.weight.requires_grad_(False)


def _case(g: Source, *shape: int, d_out: int = 5, r: int = 2, dtype: torch.dtype = torch.float32) -> Program:
    draw = lambda *s: g.randn(*s, dtype=dtype)
    return call(draw(*shape), draw(r, shape[-1]), draw(d_out, r), g.number(0.5, 20, 1))


def _gradients(g: Source) -> Program:
    draw = lambda *s: g.randn(*s, dtype=torch.float64)
    return call(draw(2, 3, 4), draw(3, 4), draw(5, 3), 2.0, grad=[0, 1, 2])


def _state(g: Source, d_in: int, d_out: int, r: int) -> dict[str, Tensor]:
    return {
        "base.weight": g.randn(d_out, d_in),
        "base.bias": g.randn(d_out),
        "A": g.randn(r, d_in),
        "B": g.randn(d_out, r),
    }


def _module(g: Source, d_in: int, d_out: int, r: int, *shape: int) -> Program:
    return (
        Program()
        .new("LoRALinear", d_in, d_out, r, g.number(0.5, 20, 1), state=_state(g, d_in, d_out, r))
        .call(g.randn(*shape, d_in))
    )


def _trained(g: Source) -> Program:
    program = Program().new("LoRALinear", 4, 3, 2, g.number(0.5, 20, 1), state=_state(g, 4, 3, 2))
    return program.call(g.randn(2, 5, 4), grad=[0], params=True)


def _new(g: Source) -> Program:
    program = Program()
    for r in (2, 3):
        program.new("LoRALinear", g.integer(3, 9), g.integer(3, 9), r, g.number(0.5, 20, 1))
        program.derived(trained=Fn("trained"), all_zero=Fn("all_zero"))
        program.call(method="trained").call(method="all_zero")
    return program


def _counted(g: Source) -> Program:
    """Right ways take up to 12,000 operations, a matrix of 256 × 256 more than 300,000."""
    program = _case(g, 4, 256, d_out=256, r=2)
    return program.within(work=40_000, because="x is mapped to r numbers first, and those to the result")


def _wide(g: Source) -> Program:
    d = g.size(shown=96, graded=65_536)
    return _case(g, 2, d, d_out=d, r=1)


EXERCISE = Exercise(
    id="lora.forward",
    title="A low-rank difference",
    points=3,
    difficulty=2,
    minutes=12,
    signature="low_rank(x, A, B, alpha)",
    targets=("low_rank", "LoRALinear"),
    reference=(low_rank, LoRALinear),
    alternatives=[(by_einsum, ByProducts), (low_rank, _Simple)],
    cases=[
        Case(
            "by hand",
            "x = (1, 2), A sums it up to 3, B doubles and negates that, α/r = 4: (24, −12)",
            lambda g: call(torch.tensor([1.0, 2.0]), torch.ones(1, 2), torch.tensor([[2.0], [-1.0]]), 4),
        ),
        Case("one row", "a vector of 6 numbers, rank 3", lambda g: _case(g, 6, r=3)),
        Case("a batch", "two sentences of three words, rank 2", lambda g: _case(g, 2, 3, 4)),
        Case("float64", "rank 4, in float64", lambda g: _case(g, 3, 6, r=4, dtype=torch.float64)),
        Case("gradients", "they reach x, A and B", _gradients),
        Case(
            "rows of one",
            "x is one row, expanded to four",
            lambda g: call(g.randn(1, 6).expand(4, -1), g.randn(2, 6), g.randn(5, 2), g.number(0.5, 20, 1)),
        ),
        Case("counted", "width 256, rank 2: few operations", _counted, weight=2),
        Case("wide", "rank 1 at a width at which B·A has no room", _wide),
        Case("new", "two new layers, not called yet: A and B are trained and the base is not; B alone is 0", _new),
        Case(
            "layer",
            "base and difference, with weights by name, in float64",
            lambda g: _module(g, 6, 4, 3, 2, 5).double(),
            weight=2,
        ),
        Case(
            "trained",
            "gradients reach x, A and B, and not the base",
            _trained,
            weight=3,
        ),
    ],
    mutants=[
        Mutant(
            "whole_matrix",
            _rank(whole_matrix),
            "The product B·A is formed, a matrix as large as the weight. Map x by A first, and the r numbers by B.",
        ),
        Mutant("no_alpha", _rank(lambda x, A, B, alpha: F.linear(F.linear(x, A), B)), "The factor α/r is missing."),
        Mutant(
            "alpha",
            _rank(lambda x, A, B, alpha: alpha * F.linear(F.linear(x, A), B)),
            "The factor is α. Divide it by the rank: α/r.",
        ),
        Mutant(
            "over_width",
            _rank(lambda x, A, B, alpha: alpha / x.shape[-1] * F.linear(F.linear(x, A), B)),
            "The factor is α/d_in. The rank is the number of rows of A.",
        ),
        Mutant(
            "over_root",
            _rank(lambda x, A, B, alpha: alpha / math.sqrt(A.shape[0]) * F.linear(F.linear(x, A), B)),
            "The factor is α/√r. That is another method (rsLoRA); here it is α/r.",
        ),
        Mutant(
            "rank_over_alpha",
            _rank(lambda x, A, B, alpha: A.shape[0] / alpha * F.linear(F.linear(x, A), B)),
            "The factor is upside down, r/α.",
        ),
        Mutant(
            "over_outputs",
            _rank(lambda x, A, B, alpha: alpha / B.shape[0] * F.linear(F.linear(x, A), B)),
            "The factor is α/d_out. The rank is the number of columns of B.",
        ),
        Mutant(
            "twice",
            _rank(lambda x, A, B, alpha: (alpha / A.shape[0]) ** 2 * F.linear(F.linear(x, A), B)),
            "The factor α/r is used twice.",
        ),
        Mutant(
            "detached",
            _rank(lambda x, A, B, alpha: alpha / A.shape[0] * F.linear(F.linear(x, A.detach()), B.detach())),
            "A and B are cut off from training. Use them as they are, without detach.",
        ),
        Mutant(
            "from_base",
            _layer(forward=lambda self, x: low_rank(x, self.A, self.B, self.alpha)),
            "The layer forgets its base. Add what the frozen layer gives.",
        ),
        Mutant(
            "base_alone",
            _layer(forward=lambda self, x: self.base(x)),
            "The layer gives what its base gives. Add the low-rank difference.",
        ),
        Mutant(
            "subtracted",
            _layer(forward=lambda self, x: self.base(x) - low_rank(x, self.A, self.B, self.alpha)),
            "The difference is subtracted. Add it.",
        ),
        Mutant(
            "layer_alpha",
            _layer(forward=lambda self, x: self.base(x) + low_rank(x, self.A, self.B, 1)),
            "The layer does not use its alpha. Keep it in the constructor, and hand it to low_rank.",
        ),
        Mutant(
            "layer_factor",
            _layer(forward=lambda self, x: self.base(x) + low_rank(x, self.A, self.B, self.alpha / len(self.A))),
            "The layer divides by the rank a second time. low_rank does that already.",
        ),
        Mutant(
            "not_frozen",
            _layer(freeze=lambda self: None),
            "The base is trained, too. Freeze its weight and bias: requires_grad_(False).",
        ),
        Mutant(
            "frozen_late",
            _layer(freeze=lambda self: None, forward=_freezing),
            "The base is frozen only when the layer is called. An optimizer may be made before: freeze in the "
            "constructor.",
        ),
        Mutant(
            "starts_exchanged",
            _layer(start=lambda self, d_in, d_out, r: (torch.zeros(r, d_in), torch.rand(d_out, r))),
            "The starts are exchanged: A is 0, and B is random. B starts at 0 and A random, as the given lines say.",
        ),
        Mutant(
            "both_at_zero",
            _layer(start=lambda self, d_in, d_out, r: (torch.zeros(r, d_in), torch.zeros(d_out, r))),
            "A and B both start at 0, so neither gets a gradient, ever. Leave A random, as the given line makes it.",
        ),
        Mutant(
            "both_random",
            _layer(start=lambda self, d_in, d_out, r: (torch.rand(r, d_in), torch.rand(d_out, r))),
            "B starts random, so that a new layer is not the given model. Leave it at 0, as the given line makes it.",
        ),
        Mutant(
            "bias_trained",
            _layer(freeze=_freeze_weight),
            "The bias of the base is trained. Freeze the whole base, weight and bias.",
        ),
        Mutant(
            "all_frozen",
            _layer(freeze=_freeze_all),
            "Nothing is trained. Freeze the base alone: A and B want gradients.",
        ),
        Mutant(
            "no_grad",
            _layer(forward=_no_grad),
            "The layer runs without gradients. Freeze the base's parameters instead.",
        ),
        Mutant(
            "base_cut_off",
            _layer(forward=_base_cut_off),
            "The base runs without gradients, so that none reaches x through it. Freezing its parameters is enough: "
            "what lies below must still learn.",
        ),
    ],
)
