"""A cache in integers, one scale per slice."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Ref, call
from autograder.reference.quantized_cache import dequantize, quantize


def quantize_by_slices(x, dim, bits=8):
    """One slice at a time."""
    if bits < 2 or bits > 8:
        raise ValueError("bits must lie in 2 to 8")
    top = 2 ** (bits - 1) - 1
    moved = x.movedim(dim, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    scales = torch.stack([r.abs().max() / top for r in rows])
    codes = torch.stack([r if s == 0 else torch.round(r / s) for r, s in zip(rows, scales, strict=True)])
    codes = codes.reshape(moved.shape).movedim(-1, dim).to(torch.int8)
    return codes, scales.reshape(*moved.shape[:-1], 1).movedim(-1, dim)


def dequantize_by_cast(codes, scale):
    """Cast, then multiply."""
    return torch.mul(codes.float(), scale)


def _quantize(
    amax=lambda x, dim: x.abs().amax(dim=dim, keepdim=True),
    top=lambda bits: 2 ** (bits - 1) - 1,
    rounding=torch.round,
    dtype=torch.int8,
):
    def wrong(x, dim, bits=8):
        scale = amax(x, dim) / top(bits)
        codes = rounding(x / torch.where(scale == 0, torch.ones_like(scale), scale))
        # Without a clamp, a code that int8 cannot hold wraps around.
        return codes.to(torch.int32).to(torch.int8) if dtype is None else codes.clamp(-128, 127).to(dtype), scale

    return wrong


def _with_scale(change):
    def wrong(x, dim, bits=8):
        scale = change(x.abs().amax(dim=dim, keepdim=True) / (2 ** (bits - 1) - 1))
        return torch.round(x / scale).to(torch.int8), scale

    return wrong


def many_bits_checked(x, dim, bits=8):
    if bits > 8:
        raise ValueError("int8 holds 8 bits")
    return _quantize()(x, dim, bits)


def dequantize_float(codes, scale):
    """The reference, with its usual dtype."""
    return dequantize(codes, scale)


DQ = dequantize_float

EXERCISE = Exercise(
    id="cache.quantize",
    unit="08-kv-cache-and-gqa",
    title="A cache in integers",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="quantize(x, dim, bits=8)",
    targets=("quantize", "dequantize"),
    reference=(quantize, DQ),
    alternatives=[(quantize_by_slices, dequantize_by_cast)],
    cases=[
        Case(
            "by hand",
            "0.2, 0.85 and −1.5 in 3 bits: the scale is 0.5, the codes are 0, 2 and −3",
            lambda g: call(torch.tensor([[0.2, 0.85, -1.5]]), -1, bits=3),
        ),
        Case(
            "back by hand",
            "codes 0, 2 and −3 with scale 0.5 come back as 0, 1 and −1.5",
            lambda g: call(torch.tensor([[0, 2, -3]], dtype=torch.int8), torch.tensor([[0.5]]), fn="dequantize"),
        ),
        Case(
            "per token",
            "a cache (2, 3, 5, 4) with one scale per token and head",
            lambda g: call(g.randn(2, 3, 5, 4), -1),
            weight=2,
        ),
        Case(
            "per channel",
            "the same with one scale per channel: dim = −2",
            lambda g: call(g.randn(2, 3, 5, 4), -2),
            weight=2,
        ),
        Case(
            "there and back",
            "quantized and restored: at most half a scale away",
            lambda g: call(g.randn(1, 2, 4, 6), -1).call(Ref(0, 0), Ref(0, 1), fn="dequantize"),
        ),
        Case("four bits", "codes from −7 to 7", lambda g: call(g.randn(1, 2, 6, 8), -1, bits=4)),
        Case(
            "zeros",
            "a slice of zeros has scale 0 and codes 0",
            lambda g: call(torch.stack([torch.zeros(4), 1 + g.uniform(4)]), -1),
            weight=0.5,
        ),
        Case(
            "small",
            "0.2, 0.85 and −1.5, all a hundred million times smaller, in 3 bits: still 0, 2 and −3",
            lambda g: call(torch.tensor([[0.2e-8, 0.85e-8, -1.5e-8]]), -1, bits=3),
            weight=0.5,
        ),
        Case(
            "one bit", "1 bit leaves no code but 0: ValueError", lambda g: call(g.randn(2, 3), -1, bits=1), weight=0.5
        ),
        Case(
            "nine bits",
            "more than 8 bits do not fit into int8: ValueError",
            lambda g: call(g.randn(2, 3), -1, bits=9),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "one_scale",
            (_quantize(amax=lambda x, dim: x.abs().amax().reshape([1] * x.dim())), DQ),
            "One scale serves the whole tensor. Take the largest magnitude along dim, with keepdim=True.",
        ),
        Mutant(
            "last_axis",
            (_quantize(amax=lambda x, dim: x.abs().amax(dim=-1, keepdim=True)), DQ),
            "The scales always run along the last axis. Use dim.",
        ),
        Mutant(
            "signed_max",
            (_quantize(amax=lambda x, dim: x.amax(dim=dim, keepdim=True)), DQ),
            "The largest value is taken, but the largest magnitude may be negative. Use abs first.",
        ),
        Mutant(
            "signed_max_wrapped",
            (_quantize(amax=lambda x, dim: x.amax(dim=dim, keepdim=True), dtype=None), DQ),
            "The largest value is taken, so a larger negative entry gets a code that int8 cannot hold. Take the "
            "largest magnitude: abs first.",
        ),
        Mutant(
            "one_level_more",
            (_quantize(top=lambda bits: 2 ** (bits - 1)), DQ),
            "The scale divides by 2^(bits−1). The largest code is one less, 2^(bits−1) − 1: 127 for 8 bits.",
        ),
        Mutant(
            "unsigned",
            (_quantize(top=lambda bits: 2**bits - 1), DQ),
            "The scale divides by 2^bits − 1, as for codes without a sign. With a sign the largest is 2^(bits−1) − 1.",
        ),
        Mutant(
            "truncated",
            (_quantize(rounding=torch.trunc), DQ),
            "The codes are cut off towards zero. Round to the nearest integer, so that the error is at most half a "
            "scale.",
        ),
        Mutant(
            "not_integers",
            (_quantize(dtype=torch.float32), DQ),
            "The codes are whole numbers in a float tensor, so nothing is saved. Convert them to torch.int8.",
        ),
        Mutant(
            "scale_plus_eps",
            (_with_scale(lambda scale: scale + 1e-8), DQ),
            "A small number is added to every scale, so small slices lose their codes. Only a scale of 0 needs "
            "another divisor.",
        ),
        Mutant(
            "scale_clamped",
            (_with_scale(lambda scale: scale.clamp(min=1e-8)), DQ),
            "Scales below 1e-8 are raised to it, so small slices lose their codes. Only a scale of 0 needs another "
            "divisor.",
        ),
        Mutant(
            "many_bits_checked",
            (many_bits_checked, DQ),
            "More than 8 bits are refused, fewer than 2 are not. Raise a ValueError there, too: with 1 bit the "
            "largest code would be 0.",
        ),
        Mutant(
            "unchecked", (_quantize(), DQ), "The codes are right. Raise a ValueError when bits does not lie in 2 to 8."
        ),
    ],
)
