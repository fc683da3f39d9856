"""Known ways to get RoPE wrong, computed from q, k and θ, so that they can be tried without code.

``faults.js`` computes the same for the page; tests/widgets/rope compares the two.
"""

import numpy as np
import torch

from ..tools.words import N_

# Name and what breaks. The trait ``fault`` is the index; 0 is none, so that the learner's own function is drawn.
FAULTS = (
    (N_("nothing"), N_("Nothing is broken: every equality of the proof holds.")),
    (
        N_("one sign wrong"),
        N_("One sign is wrong: each pair is sheared instead of turned, so lengths change, and scores with them."),
    ),
    (
        N_("key not turned"),
        N_("Only q is turned: the score follows m alone, and it makes no difference where the key is."),
    ),
    (
        N_("one θ for all"),
        N_("All planes turn alike: the distance still decides, but 0, 6.3, 12.6, … tokens apart look the same."),
    ),
    (
        N_("other pairs in k"),
        N_("q turns neighbors, k turns feature i with i + D/2: the turns meet in no plane, and distance is lost."),
    ),
    (
        N_("added, not turned"),
        N_("Cosines and sines are added instead of turning: the score gets terms that follow m alone and n alone."),
    ),
    (
        N_("bfloat16"),
        N_("Angles in bfloat16. m and n count from 1,000, where it skips whole numbers: neighbors share an angle."),
    ),
)
NAMES = [name for name, _sentence in FAULTS]
SIGN, KEY, ONE, PAIRS, ADDED, BFLOAT = range(1, len(FAULTS))
FAR = 1000  # the position at which the text begins for BFLOAT


def thetas(D: int, base: float) -> np.ndarray:
    """θ of each plane, (D/2,) float64."""
    return base ** (-np.arange(0, D, 2) / D)


def turned(x: np.ndarray, angles: np.ndarray, first: slice, second: slice) -> np.ndarray:
    """x (D,) with the features ``first`` and ``second`` as pairs, turned by angles (P, D/2): (P, D)."""
    out = np.empty((len(angles), len(x)))
    out[:, first] = x[first] * np.cos(angles) - x[second] * np.sin(angles)
    out[:, second] = x[first] * np.sin(angles) + x[second] * np.cos(angles)
    return out


def broken(x: np.ndarray, letter: str, positions: np.ndarray, base: float, fault: int) -> np.ndarray:
    """The query's or key's content x (D,) at the positions (P,) as that fault makes it; fault 0 is right: (P, D)."""
    D = len(x)
    theta = thetas(D, base)
    even, odd = slice(0, None, 2), slice(1, None, 2)
    angles = np.outer(positions, np.ones_like(theta) if fault == ONE else theta)
    if fault == SIGN:
        out = turned(x, angles, even, odd)
        out[:, even] = x[even] * np.cos(angles) + x[odd] * np.sin(angles)
        return out
    if fault == KEY and letter == "k":
        return np.repeat(x[None], len(positions), axis=0)
    if fault == PAIRS and letter == "k":
        return turned(x, angles, slice(0, D // 2), slice(D // 2, None))
    if fault == ADDED:
        return x + np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(len(positions), D)
    if fault == BFLOAT:
        angles = _bfloat16(_bfloat16(FAR + positions)[:, None] * _bfloat16(theta))
    return turned(x, angles, even, odd)


def _bfloat16(x):
    return torch.from_numpy(np.asarray(x, dtype=np.float64)).float().bfloat16().double().numpy()
