"""RMSNorm of half-precision inputs, summed in float32."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
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


def in_place_dtype(x, weight, eps=1e-6):
    y = x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return (y * weight).to(x.dtype)


def upcast_late(x, weight, eps=1e-6):
    square = x.pow(2).float()
    return (x.float() / torch.sqrt(square.mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


def never_back(x, weight, eps=1e-6):
    return ref.rms_norm(x.float(), weight.float(), eps)


def weight_promotes(x, weight, eps=1e-6):
    return ref.rms_norm(x, None, eps) * weight


def always_half(x, weight, eps=1e-6):
    return ref.rms_norm(x.float(), weight.float(), eps).half()


def bfloat16_kept(x, weight, eps=1e-6):
    work = x.float() if x.dtype == torch.float16 else x
    return (work * torch.rsqrt(work.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight.to(x.dtype)


def bfloat16_divided(x, weight, eps=1e-6):
    work = x.float() if x.dtype == torch.float16 else x
    normed = work / (work.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return normed.to(x.dtype) * weight.to(x.dtype)


def scaled_down(x, weight, eps=1e-6):
    """Squares are cut off at the largest float16 number."""
    square = x.pow(2).clamp(max=torch.finfo(x.dtype).max).float()
    return (x.float() / torch.sqrt(square.mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


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


def divided_after_cast(x, weight, eps=1e-6):
    root = torch.sqrt(x.float().pow(2).mean(-1, keepdim=True) + eps).to(x.dtype)
    return x / root * weight.to(x.dtype)


def multiplied_after_cast(x, weight, eps=1e-6):
    inverse = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps).to(x.dtype)
    return x * inverse * weight.to(x.dtype)


def in_bfloat16(x, weight, eps=1e-6):
    work = x.bfloat16()
    return (work * torch.rsqrt(work.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight.to(x.dtype)


def finished(finish, size=lambda work, eps: torch.sqrt(work.pow(2).mean(-1, keepdim=True) + eps)):
    """An answer in float32 whose last step, or size, is given."""

    def rms_norm_half(x, weight, eps=1e-6):
        work = x.float()
        return finish(work / size(work, eps), x, weight)

    return rms_norm_half


def back(y, x, weight):
    return (y * weight.float()).to(x.dtype)


EXERCISE = Exercise(
    id="norm.half_precision",
    title="RMSNorm that survives half precision",
    points=2,
    difficulty=2,
    minutes=12,
    signature="rms_norm_half(x, weight, eps=1e-6)",
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
    mutants=[
        Mutant(
            "no_upcast",
            in_place_dtype,
            "Squares or their mean have the input's dtype: 1000² is infinite in float16. Cast x to float32 first.",
        ),
        Mutant(
            "upcast_late",
            upcast_late,
            "x is squared before the cast to float32, and the square has overflowed by then. Cast first.",
        ),
        Mutant(
            "bfloat16_kept",
            bfloat16_kept,
            "float16 is cast to float32, bfloat16 is not. It has only 8 bits of precision: cast both.",
        ),
        Mutant(
            "bfloat16_divided",
            bfloat16_divided,
            "bfloat16 is not cast to float32 before it is divided by its root. It has only 8 bits: cast it "
            "as you cast float16.",
        ),
        Mutant(
            "squares_clamped",
            scaled_down,
            "Squares are cut off at the largest number of the dtype, so the root is too small. Cast x to float32, then "
            "square.",
        ),
        Mutant(
            "eps_ignored",
            lambda x, weight, eps=1e-6: ref.rms_norm(x, weight),
            "The argument eps is not used: the default stands in its place.",
        ),
        Mutant(
            "eps_outside",
            lambda x, weight, eps=1e-6: (
                x.float() / (x.float().pow(2).mean(-1, keepdim=True).sqrt() + eps) * weight.float()
            ).to(x.dtype),
            "ε is added after the root. It stands inside: √(mean of squares + ε).",
        ),
        Mutant("never_back", never_back, "The result stays float32. Cast it back to the dtype of x."),
        Mutant(
            "weight_promotes",
            weight_promotes,
            "A float32 weight turns the result into float32. Cast the weight, or the product, to the dtype of x.",
        ),
        Mutant(
            "always_half",
            always_half,
            "The result is float16 whatever came in. Cast back to x.dtype, which may be another.",
        ),
        Mutant(
            "no_upcast_rsqrt",
            lambda x, weight, eps=1e-6: (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight).to(x.dtype),
            "All is computed in the input's dtype, where 1000² is infinite for float16. Start with work = x.float().",
        ),
        Mutant(
            "in_bfloat16",
            in_bfloat16,
            "bfloat16 has the range, but only 8 bits of precision: results are off in the third digit. Compute in "
            "float32.",
        ),
        Mutant(
            "no_weight",
            finished(lambda y, x, weight: y.to(x.dtype)),
            "The weight is not used. Multiply by it, before or after the cast back.",
        ),
        Mutant(
            "divided_after_cast",
            divided_after_cast,
            "The root is cast back before the division, so two roundings add up. Divide in float32, and cast the "
            "result back.",
        ),
        Mutant(
            "multiplied_after_cast",
            multiplied_after_cast,
            "The factor 1/√… is cast back before x is multiplied by it, so two roundings add up. Multiply in float32, "
            "then cast back.",
        ),
        Mutant(
            "no_eps",
            finished(back, lambda work, eps: torch.sqrt(work.pow(2).mean(-1, keepdim=True))),
            "ε is missing: a row of zeros gives 0/0. Add it to the mean square, inside the root.",
        ),
        Mutant(
            "weight_dtype",
            finished(lambda y, x, weight: (y * weight.float()).to(weight.dtype)),
            "The result has the dtype of the weight. Cast it back to the dtype of x.",
        ),
        Mutant(
            "sum",
            finished(back, lambda work, eps: torch.sqrt(work.pow(2).sum(-1, keepdim=True) + eps)),
            "You divide by √(sum of squares). RMS takes the mean of the squares.",
        ),
        Mutant(
            "no_root",
            finished(back, lambda work, eps: work.pow(2).mean(-1, keepdim=True) + eps),
            "x is divided by the mean square. Take the root first.",
        ),
        Mutant(
            "whole_tensor",
            finished(back, lambda work, eps: torch.sqrt(work.pow(2).mean() + eps)),
            "One size for the whole tensor. Each token has its own: mean(-1, keepdim=True).",
        ),
        Mutant(
            "detached",
            finished(back, lambda work, eps: torch.sqrt(work.pow(2).mean(-1, keepdim=True) + eps).detach()),
            "The numbers are right, but the root is cut off (detach, no_grad, .data). It depends on x, and the "
            "gradient "
            "has to flow through it.",
        ),
        Mutant(
            "one_plus_weight",
            finished(lambda y, x, weight: (y * (1 + weight.float())).to(x.dtype)),
            "You multiply by 1 + weight, as Gemma's code does. Here the weight itself is the factor.",
        ),
    ],
)
