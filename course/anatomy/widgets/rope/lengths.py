"""How far the planes of a large head turn in a text, and three ways to slow them down.

Sources: arXiv:2306.15595 (PI), 2309.00071 (NTK-aware, YaRN). ``training.js`` computes the same for the page.
"""

import math

import numpy as np

from ..tools.words import N_

HEADS = (32, 64, 128, 256)
LENGTHS = tuple(2**e for e in range(6, 21))
TRAINED = tuple(2**e for e in range(6, 15))
SCHEMES = (N_("no change"), "PI", "NTK", "YaRN")
FAST, SLOW = 32, 1  # turns within the trained length from which YaRN keeps a plane, up to which it divides by s
FREQUENCY_INVARIANTS = ("first", "ratio", "formula")


def slowed(theta: np.ndarray, base: float, scheme: int, trained: int, length: int) -> np.ndarray:
    """Radians per token with that scheme (an index into SCHEMES), (D/2,), for a text longer than trained."""
    s, D = max(1.0, length / trained), 2 * len(theta)
    if SCHEMES[scheme] == "PI":
        return theta / s
    if SCHEMES[scheme] == "NTK":  # the base times s^(D/(D−2))
        return theta * s ** (-np.arange(0, D, 2) / (D - 2))
    if SCHEMES[scheme] == "YaRN":
        at = lambda turns: D * math.log(trained / (2 * math.pi * turns)) / (2 * math.log(base))
        low, high = max(math.floor(at(FAST)), 0), min(math.ceil(at(SLOW)), D - 1)
        ramp = ((np.arange(D // 2) - low) / max(high - low, 1e-3)).clip(0, 1)
        return theta * (1 - ramp) + theta / s * ramp
    return theta


def all_round(theta: np.ndarray, trained: int) -> np.ndarray:
    """Which planes made a full turn within the trained length: (D/2,) booleans."""
    return np.abs(theta) * trained >= 2 * math.pi


def unseen(theta: np.ndarray, base: float, scheme: int, trained: int, length: int) -> np.ndarray:
    """Which planes reach a part of their dial that training did not show: (D/2,) booleans."""
    reach = np.abs(slowed(theta, base, scheme, trained, length)) * length
    # A relative 1e-6: PI gives the trained angle exactly, up to rounding.
    return ~all_round(theta, trained) & (reach > np.abs(theta) * trained * (1 + 1e-6))
