"""RMSNorm of half-precision inputs, summed in float32."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import norms as ref

from .shared import BUILT_IN, ones, t


def careful(x, weight, eps=1e-6):
    """float32 inside, the input's dtype outside."""
    work = x.float()
    y = work / torch.sqrt(work.pow(2).mean(-1, keepdim=True) + eps)
    return y.type_as(x) * weight.type_as(x)


def gemma_order(x, weight, eps=1e-6):
    """The weight is applied before the cast back."""
    work = x.float()
    return (weight * work * torch.rsqrt(work.square().mean(-1, keepdim=True) + eps)).to(x.dtype)


def beside_in_bfloat16(g: Source) -> Program:
    """Rows with entries of one size and zeros. For each way to go on in bfloat16 there are two in which it ends beside
    the right number, and no right number lies where float32 could round it either way."""
    sizes = torch.arange(1.0, 2.0, 2.0**-7)[:, None, None]
    rows = (sizes * (torch.arange(16) < torch.arange(1, 17)[:, None])).reshape(-1, 16).to(BRAIN)
    exact = ref.rms_norm(rows.double(), torch.ones(16).double(), 1e-6)
    clear = (exact * (1 + 1e-4)).to(BRAIN) == (exact * (1 - 1e-4)).to(BRAIN)
    square = (rows * rows).mean(-1, keepdim=True) + 1e-6
    root = ((rows.double() ** 2).mean(-1, keepdim=True) + 1e-6).sqrt().to(BRAIN)  # rounded before the division
    ways = (rows * square.rsqrt(), rows / square.sqrt(), rows * (1 / square.sqrt()), rows / root)
    beside = [rows[((w != exact.to(BRAIN)) & (rows != 0)).any(-1) & clear.all(-1)] for w in ways]
    chosen = torch.cat([b[g.integers(0, len(b), 2)] for b in beside])
    return call(chosen * (2 * g.integers(0, 2, *chosen.shape) - 1).to(BRAIN), ones(16).to(BRAIN))


HALF, BRAIN = torch.float16, torch.bfloat16


MISTAKES = changes(
    careful,
    """
no_upcast: work = x.float() → work = x ; y.type_as(x) * weight.type_as(x) → (y * weight).to(x.dtype)
    Squares or their mean have the input's dtype: 1000² is infinite in float16. Cast x to float32 first.
upcast_late: work.pow(2) → x.pow(2).float()
    x is squared before the cast to float32, and the square has overflowed by then. Cast first.
bfloat16_kept: x.float() → x.float() if x.dtype == torch.float16 else x ; work / torch.sqrt → work * torch.rsqrt
    float16 is cast to float32, bfloat16 is not. It has only 8 bits of precision: cast both.
bfloat16_divided: x.float() → x.float() if x.dtype == torch.float16 else x
    bfloat16 is not cast to float32 before it is divided by its root. It has only 8 bits: cast it as you cast
    float16.
squares_clamped: work.pow(2) → x.pow(2).clamp(max=torch.finfo(x.dtype).max).float()
    Squares are cut off at the largest number of the dtype, so the root is too small. Cast x to float32, then
    square.
eps_ignored: + eps → + 1e-6
    The argument eps is not used: the default stands in its place.
eps_outside: torch.sqrt(work.pow(2).mean(-1, keepdim=True) + eps) → (work.pow(2).mean(-1, keepdim=True).sqrt() + eps)
    ε is added after the root. It stands inside: √(mean of squares + ε).
never_back: y.type_as(x) * weight.type_as(x) → y * weight.float()
    The result stays float32. Cast it back to the dtype of x.
weight_promotes: * weight.type_as(x) → * weight
    A float32 weight turns the result into float32. Cast the weight, or the product, to the dtype of x.
always_half: y.type_as(x) * weight.type_as(x) → (y * weight.float()).half()
    The result is float16 whatever came in. Cast back to x.dtype, which may be another.
no_upcast_rsqrt: x.float() → x ; work / torch.sqrt → work * torch.rsqrt
; y.type_as(x) * weight.type_as(x) → (y * weight).to(x.dtype)
    All is computed in the input's dtype, where 1000² is infinite for float16. Start with work = x.float().
in_bfloat16: x.float() → x.bfloat16() ; work / torch.sqrt → work * torch.rsqrt
    bfloat16 has the range, but only 8 bits of precision: results are off in the third digit. Compute in float32.
no_weight: * weight.type_as(x) →
    The weight is not used. Multiply by it, before or after the cast back.
divided_after_cast: y = work → y = x ; + eps) → + eps).to(x.dtype)
    The root is cast back before the division, so two roundings add up. Divide in float32, and cast the result back.
multiplied_after_cast: y = work / torch.sqrt → y = x * torch.rsqrt ; + eps) → + eps).to(x.dtype)
    The factor 1/√… is cast back before x is multiplied by it, so two roundings add up. Multiply in float32, then
    cast back.
no_eps: + eps →
    ε is missing: a row of zeros gives 0/0. Add it to the mean square, inside the root.
weight_dtype: y.type_as(x) * weight.type_as(x) → (y * weight.float()).to(weight.dtype)
    The result has the dtype of the weight. Cast it back to the dtype of x.
sum: pow(2).mean → pow(2).sum
    You divide by √(sum of squares). RMS takes the mean of the squares.
no_root: torch.sqrt(work → (work
    x is divided by the mean square. Take the root first.
whole_tensor: mean(-1, keepdim=True) → mean()
    One size for the whole tensor. Each token has its own: mean(-1, keepdim=True).
detached: + eps) → + eps).detach()
    The numbers are right, but the root is cut off (detach, no_grad, .data). It depends on x, and the gradient has
    to flow through it.
one_plus_weight: * weight.type_as(x) → * (1 + weight.type_as(x))
    You multiply by 1 + weight, as Gemma's code does. Here the weight itself is the factor.
""",
)

EXERCISE = Exercise(
    id="norm.half_precision",
    title="RMSNorm that survives half precision",
    points=2,
    difficulty=2,
    minutes=12,
    reference=ref.rms_norm,
    alternatives=[careful, gemma_order],
    forbidden=BUILT_IN,
    forbidden_message="Casts, mean and sqrt are enough.",
    cases=[
        Case(
            "large",
            "float16 entries of 1000, 3000 and 5000, whose squares pass 65504",
            lambda g: call(t(1000, 3000, 5000).half(), ones(3).half()),
        ),
        Case(
            "tiny eps",
            "a row of float16 zeros with ε = 1e-8, which itself rounds to 0 in float16",
            lambda g: call(t([0, 0, 0, 0], [1, 2, 3, 4]).half(), ones(4).half(), eps=1e-8),
            weight=0.5,
        ),
        Case(
            "small",
            "float16 entries near 2e-4, whose squares round to 0, and ε = 1e-7",
            lambda g: call((g.randn(3, 8, scale=1e-4) + 2e-4).to(HALF), ones(8).half(), eps=1e-7),
        ),
        Case(
            "mixed",
            "float16 input, float32 weight: the result is float16",
            lambda g: call(g.randn(2, 3, 8, dtype=HALF), g.randn(8)),
        ),
        Case(
            "bfloat16",
            "bfloat16 input: the result is bfloat16",
            lambda g: call(g.randn(2, 3, 8, dtype=BRAIN), g.randn(8, dtype=BRAIN)),
        ),
        Case("single", "float32 input stays float32", lambda g: call(g.randn(4, 4, scale=3.0), g.randn(4))),
        Case(
            "small single",
            "float32 entries near 0.001, where the default ε = 1e-6 counts",
            lambda g: call(g.randn(3, 8, scale=1e-3), g.randn(8)),
            weight=0.5,
        ),
        Case(
            "other weight",
            "float32 input, float16 weight: the result is float32",
            lambda g: call(g.randn(2, 8), g.randn(8, dtype=HALF)),
            weight=0.5,
        ),
        Case(
            "gradients",
            "the gradients of float16 input and float32 weight",
            lambda g: call(g.randn(2, 3, 8, dtype=HALF), g.randn(8), grad=[0, 1]),
        ),
        Case(
            "bfloat16 rounding",
            "bfloat16 entries for which the last bit is wrong when a step on the way is rounded to bfloat16",
            beside_in_bfloat16,
            rounding=0.25,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
It computes in float32 already; float64 is none of the dtypes that the text names.
    3cac4ccff4 alternative gemma_order, precision: gemma_order: computes in float32
""",
)
