"""A cache in integers, one scale per slice."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Ref, call
from autograder.reference.quantized_cache import quantize

from ._code_mistakes import MISTAKES, dequantize_float, evenly, quotient, top


def quantize_by_slices(x, dim, bits=8):
    """One slice at a time."""
    if bits < 2 or bits > 8:
        raise ValueError("bits must lie in 2 to 8")
    top = 2 ** (bits - 1) - 1
    moved = x.movedim(dim, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    codes, scales = [], []
    for row in rows:
        scale = row.abs().max() / top
        scales.append(scale)
        codes.append(row if scale == 0 else torch.round(row / scale))
    whole = torch.stack(codes).reshape(moved.shape).movedim(-1, dim).to(torch.int8)
    return whole, torch.stack(scales).reshape(*moved.shape[:-1], 1).movedim(-1, dim)


def dequantize_by_cast(codes, scale):
    """Cast, then multiply."""
    return torch.mul(codes, scale).to(torch.float32)


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


def _axis_dropped(x, dim, bits=8):
    if not 2 <= bits <= 8:
        raise ValueError("bits must lie in 2 to 8")
    codes, scale = _quantize()(x, dim, bits)
    return codes, scale.squeeze(dim)


def _scale_of_one(x, dim, bits=8):
    codes, scale = quantize(x, dim, bits)
    return codes, torch.where(scale == 0, torch.ones_like(scale), scale)


def _eight_refused(x, dim, bits=8):
    if not 2 <= bits < 8:
        raise ValueError("bits must lie in 2 to 8")
    return _quantize()(x, dim, bits)


def _two_refused(x, dim, bits=8):
    if not 2 < bits <= 8:
        raise ValueError("bits must lie in 2 to 8")
    return _quantize()(x, dim, bits)


def many_bits_checked(x, dim, bits=8):
    if bits > 8:
        raise ValueError("int8 holds 8 bits")
    return _quantize()(x, dim, bits)


def _bare(x, dim, bits):
    return x.abs().max() / top(bits)


def _expanded(x, dim, bits):
    return _bare(x, dim, bits).expand(x.sum(dim, keepdim=True).shape).clone()


def _over_others(x, dim, bits):
    others = [d for d in range(x.dim()) if d != dim % x.dim()]
    return x.abs().amax(dim=others, keepdim=True) / top(bits)


def _range(x, dim, bits):
    return (x.amax(dim, keepdim=True) - x.amin(dim, keepdim=True)) / (2**bits - 1)


def _caret(x, dim, bits):
    return x.abs().amax(dim, keepdim=True) / (2 ^ (bits - 1) - 1)


def _dropped_before(x, dim, bits=8):
    if not 2 <= bits <= 8:
        raise ValueError("bits must lie in 2 to 8")
    scale = x.abs().amax(dim) / top(bits)
    return torch.round(x / torch.where(scale == 0, torch.ones_like(scale), scale)).to(torch.int8), scale


def _upside_down(x, dim, bits=8):
    scale = top(bits) / x.abs().amax(dim, keepdim=True)
    return torch.round(x * scale).nan_to_num(0).to(torch.int8), scale


def few_bits_checked(x, dim, bits=8):
    if bits < 2:
        raise ValueError("too few bits")
    return _quantize()(x, dim, bits)


DQ = dequantize_float

EXERCISE = Exercise(
    id="cache.quantize",
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
        Case(
            "in float64",
            "float64 and dim = 1: codes and scales as precise as the input, and float32 once restored",
            lambda g: call(g.randn(2, 3, 5, dtype=torch.float64), 1).call(Ref(0, 0), Ref(0, 1), fn="dequantize"),
            weight=0.5,
        ),
        Case(
            "two bits",
            "2 bits, the fewest allowed: codes −1, 0 and 1; dim = 0 of a tensor (6, 4, 3)",
            lambda g: call(g.randn(6, 4, 3), 0, bits=2),
        ),
        Case("four bits", "codes from −7 to 7", lambda g: call(g.randn(1, 2, 6, 8), -1, bits=4)),
        Case(
            "zeros",
            "three slices of zeros have scale 0 and codes 0, beside two others",
            lambda g: call(torch.cat([torch.zeros(3, 4), 1 + g.uniform(2, 4)]), -1),
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
            "wrapped_level",
            (_quantize(top=lambda bits: 2 ** (bits - 1), dtype=None), DQ),
            "The scale divides by 2^(bits−1), so the largest entry gets code 128, which int8 turns into −128. The "
            "largest code is 2^(bits−1) − 1.",
        ),
        Mutant(
            "axis_dropped",
            (_axis_dropped, DQ),
            "The scale has lost its axis. Keep it with size 1, keepdim=True, so that codes · scale fits.",
        ),
        Mutant(
            "eight_refused",
            (_eight_refused, DQ),
            "8 bits are refused, though they are the default. 2 and 8 both belong to what is allowed: 2 <= bits <= 8.",
        ),
        Mutant(
            "two_refused",
            (_two_refused, DQ),
            "2 bits are refused. They leave the codes −1, 0 and 1, and are allowed: 2 <= bits <= 8.",
        ),
        Mutant(
            "unsigned",
            (_quantize(top=lambda bits: 2**bits - 1), DQ),
            "The scale divides by 2^bits − 1, as for codes without a sign. With a sign the largest is 2^(bits−1) − 1.",
        ),
        Mutant(
            "truncated",
            (_quantize(rounding=torch.trunc), DQ),
            "The codes are cut off toward zero. Round to the nearest integer, so that the error is at most half a "
            "scale.",
        ),
        Mutant(
            "floored",
            (_quantize(rounding=torch.floor), DQ),
            "The codes are rounded down. Round to the nearest integer, so that the error is at most half a scale.",
        ),
        Mutant(
            "scale_of_one",
            (_scale_of_one, DQ),
            "A slice of zeros comes with scale 1. Divide by 1 there, but return the scale as it is: 0.",
        ),
        Mutant(
            "divided_back",
            (quantize, lambda codes, scale: codes.float() / scale),
            "dequantize divides by the scale. The codes are x / scale, so the way back multiplies.",
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
        Mutant(
            "one_scale_bare",
            (quotient(_bare), DQ),
            "One scale, a single number, serves the whole tensor. Take the largest magnitude along dim, with "
            "keepdim=True.",
        ),
        Mutant(
            "one_scale_expanded",
            (quotient(_expanded), DQ),
            "Every slice gets the scale of the whole tensor. Take the largest magnitude along dim, with keepdim=True.",
        ),
        Mutant(
            "other_axes",
            (quotient(_over_others), DQ),
            "The scales run along the other axes. dim is the axis that shares a scale: the maximum runs over dim, and "
            "the scale has size 1 there.",
        ),
        Mutant(
            "largest_abs_after",
            (quotient(lambda x, dim, bits: x.amax(dim, keepdim=True).abs() / top(bits)), DQ),
            "abs comes after the maximum, so larger negative entries do not count. Take abs first, then the maximum.",
        ),
        Mutant(
            "largest_cut",
            (quotient(lambda x, dim, bits: x.amax(dim, keepdim=True).clamp(min=0) / top(bits), ends=evenly), DQ),
            "The largest value is taken, so larger negative entries are cut off. Take the largest magnitude: abs "
            "first.",
        ),
        Mutant(
            "range",
            (quotient(_range), DQ),
            "The scale comes from the range, maximum minus minimum. Here codes are symmetric around 0: the largest "
            "magnitude over 2^(bits−1) − 1.",
        ),
        Mutant(
            "eight_bits_always",
            (quotient(lambda x, dim, bits: x.abs().amax(dim, keepdim=True) / 127), DQ),
            "The largest code is 127 for any number of bits. It is 2^(bits−1) − 1.",
        ),
        Mutant(
            "one_level_cut",
            (quotient(lambda x, dim, bits: x.abs().amax(dim, keepdim=True) / 2 ** (bits - 1), ends=evenly), DQ),
            "The scale divides by 2^(bits−1), and the code that is one too large is cut off. Divide by the largest "
            "code itself, 2^(bits−1) − 1.",
        ),
        Mutant(
            "caret",
            (quotient(_caret), DQ),
            "In Python 2 ^ n is no power: ^ combines bits. Write 2 ** (bits - 1) - 1.",
        ),
        Mutant(
            "scale_floor",
            (_with_scale(lambda scale: scale.clamp(min=1e-5)), DQ),
            "Small scales are raised to a floor, so small slices lose their codes, and a slice of zeros has no scale "
            "0. Only a scale of 0 needs another divisor.",
        ),
        Mutant(
            "scale_lower_floor",
            (_with_scale(lambda scale: scale.clamp(min=1e-6)), DQ),
            "Scales below a millionth are raised to it or replaced, so small slices lose their codes. Only a scale of "
            "0 needs another divisor.",
        ),
        Mutant(
            "axis_dropped_before",
            (_dropped_before, DQ),
            "The maximum drops its axis, so the scale does not meet the slices that it belongs to. Keep it with size "
            "1: keepdim=True.",
        ),
        Mutant(
            "upside_down",
            (_upside_down, DQ),
            "The scale is upside down. It is the largest magnitude over the largest code; x is divided by it.",
        ),
        Mutant(
            "rounded_up",
            (_quantize(rounding=torch.ceil), DQ),
            "The codes are rounded up. Round to the nearest integer, so that the error is at most half a scale.",
        ),
        Mutant(
            "half_added",
            (_quantize(rounding=lambda y: (y + 0.5).trunc()), DQ),
            "A half is added before the fraction is cut off, which is wrong below 0. Use torch.round.",
        ),
        Mutant(
            "few_bits_checked",
            (few_bits_checked, DQ),
            "Fewer than 2 bits are refused, more than 8 are not. Raise a ValueError there, too: int8 holds 8 bits.",
        ),
        Mutant(
            "scale_ignored",
            (quantize, lambda codes, scale: codes.float()),
            "dequantize returns the codes as they are. Multiply them by the scale.",
        ),
        *MISTAKES,
    ],
)
