"""RMSNorm of half-precision inputs, summed in float32."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import norms as ref

from .shared import BUILT_IN, ones, t


def careful(x, weight, eps=1e-6):
    """float32 inside, the input's dtype outside."""
    work = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    y = work / torch.sqrt(work.pow(2).mean(-1, keepdim=True) + eps)
    return y.type_as(x) * weight.type_as(x)


def gemma_order(x, weight, eps=1e-6):
    """The weight is applied before the cast back."""
    wide = torch.promote_types(x.dtype, torch.float32)
    work = x.to(wide)
    return (work * torch.rsqrt(work.square().mean(-1, keepdim=True) + eps) * weight.to(wide)).to(x.dtype)


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


HALF, BRAIN = torch.float16, torch.bfloat16

EXERCISE = Exercise(
    id="norm.half_precision",
    unit="02-normalization",
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
            "float16 entries near 1e-4, whose squares round to 0",
            lambda g: call((g.randn(3, 8, scale=1e-4) + 2e-4).to(HALF), ones(8).half(), eps=1e-8),
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
    ],
)
