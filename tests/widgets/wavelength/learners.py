"""RoPE's frequencies as learners write them: right, and wrong in a known way."""

import torch


def right_frequencies(D, base=10000.0):
    return torch.tensor(float(base)) ** (-torch.arange(0, D, 2) / D)


def half_exponent(D, base=10000.0):
    """The exponent −i/D instead of −2i/D."""
    return torch.tensor(float(base)) ** (-torch.arange(D // 2) / D)
