"""Tier 1 of WavelengthExplorer: tables, facts, mistakes."""

import math

import numpy as np
import torch
from anatomy.widgets import (
    WavelengthExplorer,
)
from anatomy.widgets.wavelength import TOLERANCE

from .learners import half_exponent, right_frequencies


def test_wavelengths_by_hand():
    widget = WavelengthExplorer(right_frequencies)
    waves = widget.wavelengths()
    assert len(waves) == 64 and round(waves.max()) == 54410 and np.isclose(waves[0], 2 * math.pi)
    # 2π·10000^(i/64) ≤ 4096 holds for i ≤ 64·ln(4096/2π)/ln(10000) = 45.03, which are 46 planes
    assert widget.full_turns() == 46
    widget.context = 65536
    assert widget.full_turns() == 64


def test_wrong_exponent_shows():
    found = WavelengthExplorer(half_exponent).invariants()
    assert found["first"] < TOLERANCE and found["ratio"] > 0.05 and found["reference"] > 1
    zero = WavelengthExplorer(lambda D, base=1e4: torch.zeros(D // 2))
    assert "broken" in zero.alt and zero.png()
