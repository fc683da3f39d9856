"""A frozen layer and a low-rank difference beside it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Program, Source, call
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
    """Correct, in few lines."""

    def __init__(self, d_in, d_out, r, alpha):
        super().__init__()
        self.base = nn.Linear(d_in, d_out).requires_grad_(False)
        self.A = nn.Parameter(torch.rand(r, d_in))
        self.B = nn.Parameter(torch.zeros(d_out, r))
        self.alpha = alpha

    def forward(self, x):
        return self.base(x) + low_rank(x, self.A, self.B, self.alpha)


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


MISTAKES = changes(
    (low_rank, _Simple),
    """
whole_matrix: alpha / A.shape[0] * F.linear(F.linear(x, A), B) → F.linear(x, alpha / A.shape[0] * (B @ A))
    The product B·A is formed, a matrix as large as the weight. Map x by A first, and the r numbers by B.
no_alpha: alpha / A.shape[0] * F.linear(F.linear(x, A), B) → F.linear(F.linear(x, A), B)
    The factor α/r is missing.
alpha: alpha / A.shape[0] → alpha
    The factor is α. Divide it by the rank: α/r.
over_width: alpha / A.shape[0] → alpha / x.shape[-1]
    The factor is α/d_in. The rank is the number of rows of A.
over_root: alpha / A.shape[0] → alpha / A.shape[0] ** 0.5
    The factor is α/√r. That is another method (rsLoRA); here it is α/r.
rank_over_alpha: alpha / A.shape[0] → A.shape[0] / alpha
    The factor is upside down, r/α.
over_outputs: alpha / A.shape[0] → alpha / B.shape[0]
    The factor is α/d_out. The rank is the number of columns of B.
twice: alpha / A.shape[0] → (alpha / A.shape[0]) ** 2
    The factor α/r is used twice.
detached: F.linear(F.linear(x, A), B) → F.linear(F.linear(x, A.detach()), B.detach())
    A and B are cut off from training. Use them as they are, without detach.
from_base: self.base(x) + low_rank(x, self.A, self.B, self.alpha) → low_rank(x, self.A, self.B, self.alpha)
    The layer forgets its base. Add what the frozen layer gives.
base_alone: self.base(x) + low_rank(x, self.A, self.B, self.alpha) → self.base(x)
    The layer gives what its base gives. Add the low-rank difference.
subtracted: self.base(x) + low_rank → self.base(x) - low_rank
    The difference is subtracted. Add it.
layer_alpha: low_rank(x, self.A, self.B, self.alpha) → low_rank(x, self.A, self.B, 1)
    The layer does not use its alpha. Keep it in the constructor, and hand it to low_rank.
layer_factor: low_rank(x, self.A, self.B, self.alpha) → low_rank(x, self.A, self.B, self.alpha / len(self.A))
    The layer divides by the rank a second time. low_rank does that already.
not_frozen: .requires_grad_(False) →
    The base is trained, too. Freeze its weight and bias: requires_grad_(False).
frozen_late: .requires_grad_(False) → ; return self.base(x) → self.base.requires_grad_(False); return self.base(x)
    The base is frozen only when the layer is called. An optimizer may be made before: freeze in the constructor.
starts_exchanged: torch.rand(r, d_in) → torch.zeros(r, d_in) ; torch.zeros(d_out, r) → torch.rand(d_out, r)
    The starts are exchanged: A is 0, and B is random. B starts at 0 and A random, as the given lines say.
both_at_zero: torch.rand(r, d_in) → torch.zeros(r, d_in)
    A and B both start at 0, so neither gets a gradient, ever. Leave A random, as the given line makes it.
both_random: torch.zeros(d_out, r) → torch.rand(d_out, r)
    B starts random, so that a new layer is not the given model. Leave it at 0, as the given line makes it.
bias_trained: .requires_grad_(False) →
; self.alpha = alpha → self.alpha = alpha; self.base.weight.requires_grad_(False)
    The bias of the base is trained. Freeze the whole base, weight and bias.
all_frozen: self.alpha = alpha → self.alpha = alpha; self.requires_grad_(False)
    Nothing is trained. Freeze the base alone: A and B want gradients.
no_grad: return self.base(x) → with torch.no_grad(): return self.base(x)
    The layer runs without gradients. Freeze the base's parameters instead.
base_cut_off: self.base(x) → self.base(x).detach()
    The base runs without gradients, so that none reaches x through it. Freezing its parameters is enough: what lies
    below must still learn.
""",
)

EXERCISE = Exercise(
    id="lora.forward",
    title="A low-rank difference",
    points=3,
    difficulty=2,
    minutes=12,
    reference=(low_rank, LoRALinear),
    alternatives=[(by_einsum, ByProducts), (low_rank, _Simple)],
    cases=[
        Case(
            "by hand",
            "x = (1, 2), A sums it up to 3, B doubles and negates that, α/r = 4: (24, −12)",
            lambda g: call(torch.tensor([1.0, 2.0]), torch.ones(1, 2), torch.tensor([[2.0], [-1.0]]), 4),
        ),
        Case("one row", "a vector of 6 numbers, rank 3", lambda g: _case(g, 6, r=3)),
        Case("a batch", "two sentences of three tokens, rank 2", lambda g: _case(g, 2, 3, 4)),
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
    mutants=MISTAKES,
)
