"""The story of WavelengthExplorer: the right answers are true of the widget's own tables, the others are not."""

import numpy as np
from anatomy.widgets import WavelengthExplorer
from anatomy.widgets.wavelength import BASES, TOLERANCE
from anatomy.widgets.wavelength.story import STORY

from .learners import half_exponent, right_frequencies


def shown(i, fn=right_frequencies):
    return WavelengthExplorer(fn, **STORY[i].state)


def chosen(i):
    return STORY[i].choices[STORY[i].answer]


def test_it_starts_where_the_widget_starts():
    widget = WavelengthExplorer()
    assert {name: getattr(widget, name) for name in STORY[0].state} == STORY[0].state


def test_plane_32_needs_628_tokens():
    wave = shown(0).wavelengths()[32]
    assert chosen(0) == f"{wave:.0f} tokens" and f"{wave:.1f}" in STORY[0].because
    assert (np.diff(shown(0).wavelengths()) > 0).all()  # "a high one turns slowly"


def test_all_points_are_filled_from_65536_tokens():
    widget = shown(1)
    assert widget.full_turns() < 64
    filled = []
    for choice in STORY[1].choices:
        widget.context = int(choice.replace(",", ""))
        filled.append(widget.full_turns() == 64)
    assert filled.index(True) == STORY[1].answer and f"{widget.wavelengths().max():,.0f}" in STORY[1].because


def test_the_base_leaves_plane_0_alone_and_moves_the_slow_planes_most():
    widget = shown(2)
    waves = []
    for widget.base in BASES:
        waves.append(widget.wavelengths())
    assert chosen(2) == "nothing" and np.allclose([w[0] for w in waves], 2 * np.pi)
    assert (np.diff(waves[-1] / waves[0]) > 0).all()


def test_the_longest_wave_of_a_small_head_is_shorter():
    small, large = shown(3), WavelengthExplorer(right_frequencies, **{**STORY[3].state, "dim": 128})
    longest = [w.wavelengths().max() for w in (small, large)]
    assert chosen(3) == "shorter" and longest[0] < longest[1] and len(small.wavelengths()) == 16
    assert all(f"{w:,.0f}" in STORY[3].because for w in longest)


def test_half_the_exponent_keeps_the_first_sign_alone():
    found = shown(4, half_exponent).invariants()
    assert [v <= TOLERANCE for v in found.values()] == [True, False, False] and STORY[4].answer == 0
    right, wrong = shown(4).wavelengths(), shown(4, half_exponent).wavelengths()
    assert (wrong[1:] < right[1:]).all()  # "would turn too fast"
