"""Mistakes in the range of codes, cut to where a learner cuts them."""

import torch

from autograder.judge.spec import Mutant
from autograder.reference.quantized_cache import dequantize


def dequantize_float(codes, scale):
    """The reference, with its usual dtype."""
    return dequantize(codes, scale)


def top(bits):
    return 2 ** (bits - 1) - 1


def _int8(bits):
    return -128, 127


def _of_bits(bits):
    return -(2 ** (bits - 1)), top(bits)


def evenly(bits):
    """The ends of codes that are cut on both sides alike."""
    return -top(bits), top(bits)


def quotient(scale_of, ends=None):
    """A quantize with its check, from another scale; codes wrap around, or are cut to ends(bits)."""

    def wrong(x, dim, bits=8):
        if not 2 <= bits <= 8:
            raise ValueError("bits must lie in 2 to 8")
        scale = scale_of(x, dim, bits)
        codes = torch.round(x / torch.where(scale == 0, torch.ones_like(scale), scale))
        codes = codes if ends is None else codes.clamp(*ends(bits))
        return codes.to(torch.int32).to(torch.int8), scale

    return wrong


def _codes(scale_of, ends=None):
    return quotient(scale_of, ends), dequantize_float


def _largest_over(levels):
    return lambda x, dim, bits: x.abs().amax(dim, keepdim=True) / levels(bits)


def _range_over(levels):
    return lambda x, dim, bits: (x.amax(dim, keepdim=True) - x.amin(dim, keepdim=True)) / levels(bits)


def _from_minimum(x, dim, bits=8):
    """What has code −2^(bits−1) is the minimum, and the maximum has the largest code."""
    if not 2 <= bits <= 8:
        raise ValueError("bits must lie in 2 to 8")
    scale = _range_over(lambda bits: 2**bits - 1)(x, dim, bits)
    steps = (x - x.amin(dim, keepdim=True)) / torch.where(scale == 0, torch.ones_like(scale), scale)
    return (torch.round(steps) - 2 ** (bits - 1)).to(torch.int8), scale


MISTAKES = [
    Mutant(
        "one_level_low",
        _codes(_largest_over(lambda bits: 2 ** (bits - 1)), _of_bits),
        "The scale divides by 2^(bits−1), a code that only negative entries can have. Which is the largest code that "
        "exists with both signs?",
    ),
    Mutant(
        "unsigned_cut",
        _codes(_largest_over(lambda bits: 2**bits - 1), _of_bits),
        "The scale divides by 2^bits − 1, so the larger half of the entries is cut off. That many steps lie between "
        "the lowest code and the highest: how many between 0 and the highest?",
    ),
    Mutant(
        "unsigned_wrapped",
        _codes(_largest_over(lambda bits: 2**bits - 1)),
        "The scale divides by 2^bits − 1, and codes that int8 cannot hold wrap around. A sign takes one of the bits: "
        "how large can a code become with those that are left?",
    ),
    Mutant(
        "range_cut",
        _codes(_range_over(lambda bits: 2**bits - 1), _int8),
        "The scale comes from the range, maximum minus minimum, and codes beyond int8 are cut off. Codes here lie "
        "evenly around 0: let the scale reach the entry that is farthest from 0.",
    ),
    Mutant(
        "range_cut_to_bits",
        _codes(_range_over(lambda bits: 2**bits - 1), _of_bits),
        "The scale comes from the range, maximum minus minimum, and larger codes are cut off. Nothing needs to be cut "
        "where the scale reaches the entry that is farthest from 0.",
    ),
    Mutant(
        "range_cut_evenly",
        _codes(_range_over(lambda bits: 2**bits - 1), evenly),
        "The scale comes from the range, maximum minus minimum, and codes are cut off on both sides. Which entry of a "
        "slice must have the largest code, so that none is cut?",
    ),
    Mutant(
        "half_the_range",
        _codes(_range_over(lambda bits: 2 * top(bits)), _int8),
        "The scale comes from half the range, (maximum − minimum) / 2. That reaches the farthest entry only where "
        "both lie equally far from 0: look at the magnitudes.",
    ),
    Mutant(
        "zero_point",
        (_from_minimum, dequantize_float),
        "The codes are counted from the minimum, so 0 does not get code 0, and codes · scale is not x. Here 0 stays "
        "0, and the scale alone brings codes back.",
    ),
]
