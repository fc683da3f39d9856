"""Norms as learners write them: right, and wrong in known ways."""

import torch


def right_layer_norm(x, weight, bias, eps=1e-5):
    centered = x - x.mean(-1, keepdim=True)
    return weight * centered / torch.sqrt(centered.pow(2).mean(-1, keepdim=True) + eps) + bias


def right_rms_norm(x, weight, eps=1e-6):
    return weight * x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def sum_rms_norm(x, weight, eps=1e-6):
    """Uses the sum of squares instead of their mean."""
    return weight * x / torch.sqrt(x.pow(2).sum(-1, keepdim=True) + eps)


def unbiased_layer_norm(x, weight, bias, eps=1e-5):
    """Uses torch.var with its default: divided by d − 1."""
    return weight * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + eps) + bias


NORMS = {"layer_norm": right_layer_norm, "rms_norm": right_rms_norm}
