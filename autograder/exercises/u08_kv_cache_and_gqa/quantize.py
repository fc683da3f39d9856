"""A cache in integers, one scale per slice."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Ref, call
from autograder.reference.quantized_cache import dequantize, quantize


def dequantize_float(codes, scale):
    """The reference, with its usual dtype."""
    return dequantize(codes, scale)


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


MISTAKES = changes(
    (quantize, dequantize),
    """
one_scale: amax(dim=dim, keepdim=True) → amax().reshape([1] * x.dim())
; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    One scale serves the whole tensor. Take the largest magnitude along dim, with keepdim=True.
last_axis: dim=dim → dim=-1 ; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    The scales always run along the last axis. Use dim.
signed_max: work.abs().amax → work.amax ; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    The largest value is taken, but the largest magnitude may be negative. Use abs first.
signed_max_wrapped: work.abs().amax → work.amax ; clamp(-levels, levels) → int() ; raise →
    The largest value is taken, so a larger negative entry gets a code that int8 cannot hold. Take the largest
    magnitude: abs first.
one_level_more: (bits - 1) - 1 → (bits - 1) ; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    The scale divides by 2^(bits−1). The largest code is one less, 2^(bits−1) − 1: 127 for 8 bits.
wrapped_level: (bits - 1) - 1 → (bits - 1) ; clamp(-levels, levels) → int() ; raise →
    The scale divides by 2^(bits−1), so the largest entry gets code 128, which int8 turns into −128. The largest
    code is 2^(bits−1) − 1.
axis_dropped: codes.to(torch.int8), scale → codes.to(torch.int8), scale.squeeze(dim)
    The scale has lost its axis. Keep it with size 1, keepdim=True, so that codes · scale fits.
eight_refused: bits <= 8 → bits < 8
    8 bits are refused, though they are the default. 2 and 8 both belong to what is allowed: 2 <= bits <= 8.
two_refused: 2 <= bits → 2 < bits
    2 bits are refused. They leave the codes −1, 0 and 1, and are allowed: 2 <= bits <= 8.
unsigned: 2 ** (bits - 1) - 1 → 2**bits - 1 ; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    The scale divides by 2^bits − 1, as for codes without a sign. With a sign the largest is 2^(bits−1) − 1.
truncated: torch.round → torch.trunc ; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    The codes are cut off toward zero. Round to the nearest integer, so that the error is at most half a scale.
floored: torch.round → torch.floor ; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    The codes are rounded down. Round to the nearest integer, so that the error is at most half a scale.
scale_of_one: codes.to(torch.int8), scale → codes.to(torch.int8), scale.masked_fill(scale == 0, 1.0)
    A slice of zeros comes with scale 1. Divide by 1 there, but return the scale as it is: 0.
divided_back: (codes.to(scale.dtype) * scale).to(dtype) → codes.float() / scale
    dequantize divides by the scale. The codes are x / scale, so the way back multiplies.
not_integers: codes.to(torch.int8) → codes.to(torch.float32) ; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    The codes are whole numbers in a float tensor, so nothing is saved. Convert them to torch.int8.
scale_plus_eps: / levels → / levels + 1e-8 ; raise →
    A small number is added to every scale, so small slices lose their codes. Only a scale of 0 needs another
    divisor.
scale_clamped: codes = → scale = scale.clamp(min=1e-8); codes = ; raise →
    Scales below 1e-8 are raised to it, so small slices lose their codes. Only a scale of 0 needs another divisor.
many_bits_checked: not 2 <= bits <= 8 → bits > 8
    More than 8 bits are refused, fewer than 2 are not. Raise a ValueError there, too: with 1 bit the largest code
    would be 0.
unchecked: clamp(-levels, levels) → clamp(-128, 127) ; raise →
    The codes are right. Raise a ValueError when bits does not lie in 2 to 8.
one_scale_bare: amax(dim=dim, keepdim=True) → amax()
    One scale, a single number, serves the whole tensor. Take the largest magnitude along dim, with keepdim=True.
one_scale_expanded: amax(dim=dim, keepdim=True) → amax().expand_as(work.sum(dim, keepdim=True))
    Every slice gets the scale of the whole tensor. Take the largest magnitude along dim, with keepdim=True.
other_axes: dim=dim → dim=[d for d in range(x.dim()) if d != dim % x.dim()]
    The scales run along the other axes. dim is the axis that shares a scale: the maximum runs over dim, and the
    scale has size 1 there.
largest_abs_after: work.abs().amax → work.amax ; keepdim=True) → keepdim=True).abs()
; clamp(-levels, levels) → int()
    abs comes after the maximum, so larger negative entries do not count. Take abs first, then the maximum.
largest_cut: work.abs().amax → work.amax ; keepdim=True) → keepdim=True).clamp(min=0)
    The largest value is taken, so larger negative entries are cut off. Take the largest magnitude: abs first.
range: work.abs().amax → (work.amax
; keepdim=True) / levels → keepdim=True) - work.amin(dim, keepdim=True)) / (2**bits - 1)
; clamp(-levels, levels) → int()
    The scale comes from the range, maximum minus minimum. Here codes are symmetric around 0: the largest magnitude
    over 2^(bits−1) − 1.
eight_bits_always: 2 ** (bits - 1) - 1 → 127
    The largest code is 127 for any number of bits. It is 2^(bits−1) − 1.
one_level_cut: / levels → / 2 ** (bits - 1)
    The scale divides by 2^(bits−1), and the code that is one too large is cut off. Divide by the largest code
    itself, 2^(bits−1) − 1.
caret: 2 ** (bits - 1) - 1 → 2 ^ (bits - 1) - 1
    In Python 2 ^ n is no power: ^ combines bits. Write 2 ** (bits - 1) - 1.
scale_floor: codes = → scale = scale.clamp(min=1e-5); codes = ; raise →
    Small scales are raised to a floor, so small slices lose their codes, and a slice of zeros has no scale 0. Only
    a scale of 0 needs another divisor.
scale_lower_floor: codes = → scale = scale.clamp(min=1e-6); codes = ; raise →
    Scales below a millionth are raised to it or replaced, so small slices lose their codes. Only a scale of 0 needs
    another divisor.
axis_dropped_before: , keepdim=True → ; .clamp(-levels, levels) →
    The maximum drops its axis, so the scale does not meet the slices that it belongs to. Keep it with size 1:
    keepdim=True.
upside_down: scale = work → scale = levels / work ; keepdim=True) / levels → keepdim=True)
; work / scale.masked_fill(scale == 0, 1.0)).clamp(-levels, levels) → work * scale).nan_to_num(0) ; raise →
    The scale is upside down. It is the largest magnitude over the largest code; x is divided by it.
rounded_up: torch.round → torch.ceil ; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    The codes are rounded up. Round to the nearest integer, so that the error is at most half a scale.
half_added: torch.round(work → torch.trunc(0.5 + work ; clamp(-levels, levels) → clamp(-128, 127) ; raise →
    A half is added before the fraction is cut off, which is wrong below 0. Use torch.round.
few_bits_checked: not 2 <= bits <= 8 → bits < 2 ; clamp(-levels, levels) → clamp(-128, 127)
    Fewer than 2 bits are refused, more than 8 are not. Raise a ValueError there, too: int8 holds 8 bits.
scale_ignored: (codes.to(scale.dtype) * scale).to(dtype) → codes.float()
    dequantize returns the codes as they are. Multiply them by the scale.
one_level_low: / levels → / 2 ** (bits - 1) ; clamp(-levels, → clamp(-levels - 1,
    The scale divides by 2^(bits−1), a code that only negative entries can have. Which is the largest code that
    exists with both signs?
unsigned_cut: / levels → / (2**bits - 1) ; clamp(-levels, → clamp(-levels - 1,
    The scale divides by 2^bits − 1, so the larger half of the entries is cut off. That many steps lie between the
    lowest code and the highest: how many between 0 and the highest?
unsigned_wrapped: / levels → / (2**bits - 1) ; clamp(-levels, levels) → int()
    The scale divides by 2^bits − 1, and codes that int8 cannot hold wrap around. A sign takes one of the bits: how
    large can a code become with those that are left?
range_cut: work.abs().amax → (work.amax
; keepdim=True) / levels → keepdim=True) - work.amin(dim, keepdim=True)) / (2**bits - 1)
; clamp(-levels, levels) → clamp(-128, 127)
    The scale comes from the range, maximum minus minimum, and codes beyond int8 are cut off. Codes here lie evenly
    around 0: let the scale reach the entry that is farthest from 0.
range_cut_to_bits: work.abs().amax → (work.amax
; keepdim=True) / levels → keepdim=True) - work.amin(dim, keepdim=True)) / (2**bits - 1)
; clamp(-levels, → clamp(-levels - 1,
    The scale comes from the range, maximum minus minimum, and larger codes are cut off. Nothing needs to be cut
    where the scale reaches the entry that is farthest from 0.
range_cut_evenly: work.abs().amax → (work.amax
; keepdim=True) / levels → keepdim=True) - work.amin(dim, keepdim=True)) / (2**bits - 1)
    The scale comes from the range, maximum minus minimum, and codes are cut off on both sides. Which entry of a
    slice must have the largest code, so that none is cut?
half_the_range: work.abs().amax → (work.amax
; keepdim=True) / levels → keepdim=True) - work.amin(dim, keepdim=True)) / (2 * levels)
; clamp(-levels, levels) → clamp(-128, 127)
    The scale comes from half the range, (maximum − minimum) / 2. That reaches the farthest entry only where both
    lie equally far from 0: look at the magnitudes.
zero_point: work.abs().amax → (work.amax
; keepdim=True) / levels → keepdim=True) - work.amin(dim, keepdim=True)) / (2**bits - 1)
; round(work → round((work - work.amin(dim, keepdim=True)) ; .clamp(-levels, levels) → - 2 ** (bits - 1)
    The codes are counted from the minimum, so 0 does not get code 0, and codes · scale is not x. Here 0 stays 0,
    and the scale alone brings codes back.
""",
)

EXERCISE = Exercise(
    id="cache.quantize",
    title="A cache in integers",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=(quantize, dequantize_float),
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
    mutants=MISTAKES,
    unasked="""
the codes are integers, so nothing can be trained through them
    gradient of quantize
    gradient of dequantize
""",
    equivalent="""
the codes are integers, so nothing can be trained through them
    2ac2d2b29b solution, result: return (torch.round(x / safe).to(torch.int8), scale): result detach
    c84b4918c9 solution, result: return (codes * scale).float(): result detach
    66718fd2f5 alternative (quantize_by_slices, dequantize_by_cast), result: return (whole, torch.stack(scales).reshap…
    6825a78463 alternative (quantize_by_slices, dequantize_by_cast), result: return torch.mul(codes, scale).to(torch.f…
0/0 is NaN, and NaN as int8 is 0 on this machine; elsewhere it is undefined, which no input can show here
    e8cb822a7d solution, call: torch.ones_like(scale) → its argument
    53f9c30bff solution, name: ones_like → zeros_like in torch.ones_like(scale)
    845e0ccd45 solution, constant: 0 → 1 in scale == 0
    ef3c826c4d solution, constant: 0 → -1 in scale == 0
    98684a0cba alternative (quantize_by_slices, dequantize_by_cast), branch: row if scale == 0 else torch.round(row / …
    41fcb06d99 alternative (quantize_by_slices, dequantize_by_cast), constant: 0 → 1 in scale == 0
    69e1b4a247 alternative (quantize_by_slices, dequantize_by_cast), constant: 0 → -1 in scale == 0
""",
)
