"""Judges random numbers by the law that they are drawn from, since no two right answers draw the same ones.

Mean, spread and shape are judged at once, by the largest distance between the share of numbers below a value and the
share that the law predicts (Kolmogorov and Smirnov). The inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's
constant (Annals of Probability 18, 1990) bounds how often a right answer fails by chance, for every number of draws.
"""

import math
from typing import Any

import torch
from torch import Tensor

from ..system.translation import _

FALSE_ALARM = 1e-7  # how often a right answer may fail
LAWS = ("normal",)

Law = dict[str, Any]  # {"law": "normal", "mean": float, "std": float}


def normal(mean: float, std: float) -> Law:
    """The law N(mean, std²) in the form that programs use. Raises ValueError for a std that is not positive."""
    if std <= 0:
        raise ValueError("a standard deviation is positive")
    return {"law": "normal", "mean": float(mean), "std": float(std)}


def problem(law: Law, t: Tensor) -> str | None:
    """Describes what is wrong with numbers that should be independent draws from a law; None if nothing is.

    law: as ``normal`` returns it. t: float tensor of any shape; 10,000 entries determine a standard deviation to about
    10 %.
    """
    x = t.detach().double().flatten()
    if not x.numel():
        return None
    if not x.isfinite().all():
        return _("some of the entries are not finite")
    mean, std = law["mean"], law["std"]
    x = x.sort().values
    n = len(x)
    below = torch.special.ndtr((x - mean) / std)
    steps = torch.arange(n + 1, dtype=torch.float64) / n
    distance = torch.maximum((steps[1:] - below).max(), (below - steps[:-1]).max()).item()
    if distance <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * n)):
        return None
    asked = _("a normal distribution of mean {mean:g} and standard deviation {std:g}").format(mean=mean, std=std)
    seen_mean, seen_std = x.mean().item(), x.std(correction=0).item()
    if seen_std < 1e-3 * std:
        return _("all entries are about {mean:.3g}: draw them from {law}").format(mean=seen_mean, law=asked)
    if abs(seen_mean - mean) < 0.1 * std and abs(seen_std / std - 1) < 0.05:
        return _("mean and standard deviation fit, the shape does not: draw each entry from {law}").format(law=asked)
    told = _("the entries have mean {mean} and standard deviation {std:.3g}: draw them from {law}")
    return told.format(mean=_plain(seen_mean), std=seen_std, law=asked)


def _plain(mean: float) -> str:
    return "0" if abs(mean) < 5e-4 else f"{mean:.3g}"
