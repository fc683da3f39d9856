"""RopeExplorer's story agrees with its tables."""

import re

import numpy as np
import pytest
from anatomy.widgets import RopeExplorer
from anatomy.widgets.rope import TOLERANCE, faults, lengths
from anatomy.widgets.rope.story import TRAINING

from .case import CASE


def step(i):
    """The widget in that step's state, and the step."""
    told = RopeExplorer.story[i]
    return CASE.make(**told.state), told


def chosen(i):
    told = RopeExplorer.story[i]
    return told.choices[told.answer]


def test_the_first_dial_turns_fastest():
    widget, _ = step(0)
    q = widget.vectors("q").reshape(64, 4, 2)
    turns = [
        np.abs(np.unwrap(np.arctan2(q[:, i, 1], q[:, i, 0]))[-1] - np.arctan2(q[0, i, 1], q[0, i, 0])) for i in range(4)
    ]
    assert chosen(0) == "the first" and turns[0] > 5 * turns[1] and turns == sorted(turns, reverse=True)


def test_the_score_stands_still():
    widget, _ = step(1)
    S, m, n = widget.scores(), widget.m, widget.n
    assert chosen(1) == "it stands still" and abs(S[m + 3, n + 3] - S[m, n]) < TOLERANCE


def test_standing_on_k_both_arrows_stand_still():
    """Turned back by nθ, k is its content and q is turned by (m − n)θ, wherever the two tokens are."""
    widget, _ = step(2)
    d, seen = widget.m - widget.n, []
    for n in (3, 15, 40):
        back = -n * faults.thetas(widget.dim, widget.base)[None]
        even, odd = slice(0, None, 2), slice(1, None, 2)
        seen.append([faults.turned(widget.vectors(x)[p], back, even, odd)[0] for x, p in (("q", n + d), ("k", n))])
    assert chosen(2) == "both" and np.ptp(np.array(seen), axis=0).max() < TOLERANCE
    assert np.allclose(seen[0][1], widget.content("k"), atol=TOLERANCE)


def test_content_shifts_the_wave_and_leaves_its_height():
    widget, _ = step(3)
    wave = lambda: widget.vectors("q")[:, 2:4] @ widget.vectors("k")[0, 2:4]  # plane 1, over m at n = 0
    before = wave()
    widget.turned = [0, 90, *[0] * 14]
    after = wave()
    assert chosen(3) == "it shifts it" and not np.allclose(before, after, atol=0.1)
    shift = round(np.pi / 2 / 0.1)  # 90° of a wave with θ = 0.1 are 15.7 positions
    assert np.allclose(after[:-shift], before[shift:], atol=0.05)
    assert np.isclose(before.max(), after.max(), atol=0.01)


def test_the_score_is_that_of_the_diagonal():
    widget, _ = step(4)
    S = widget.scores()
    assert chosen(4) == "its diagonal"
    assert np.ptp(np.diagonal(S, 8 - 40)) < TOLERANCE and np.ptp(S[40]) > 1 and np.ptp(S[:, 8]) > 1
    end = RopeExplorer.story[4].show[-1]
    assert end["m"] - end["n"] == 40 - 8  # what is left shows it


def test_one_theta_for_all_is_the_fault_that_leaves_the_distance():
    widget, told = step(5)
    kept = []
    for name in told.choices:
        widget.fault = faults.NAMES.index(name)
        found = widget.invariants()
        kept.append(found["shift"] <= TOLERANCE)
        assert max(found.values()) > TOLERANCE  # "one sign at least turns to ✗"
    assert kept.index(True) == told.answer and sum(kept) == 1
    widget.fault = faults.ONE
    S = widget.scores()
    assert abs(S[44, 0] - S[0, 0]) < 0.02 * np.ptp(S)  # 44 = 7 · 2π, nearly


def test_ntk_is_the_scheme_that_leaves_some_red():
    widget, told = step(TRAINING)
    theta = widget.frequencies()
    red = lambda: lengths.unseen(theta, widget.base, widget.scheme, widget.trained, widget.length).sum()
    assert red() == 18 and lengths.all_round(theta, widget.trained).sum() == 46
    left = {}
    for name in told.choices:
        widget.scheme = lengths.SCHEMES.index(name)
        left[name] = red()
    assert left == {"PI": 0, "NTK": 17, "YaRN": 0} and chosen(TRAINING) == "NTK"
    widget.scheme = lengths.SCHEMES.index("NTK")
    slower = theta / widget.slowed()
    assert np.isclose(slower[-1], 4) and slower[:-1].max() < 4  # "only the slowest hand by the whole factor"


def test_the_order_in_memory_changes_no_score():
    widget, _ = step(7)
    S = widget.scores()
    widget.order = "halves"
    order = np.r_[0:8:2, 1:8:2]
    assert chosen(7) == "no" and np.allclose(widget.scores(), S)
    assert np.allclose(widget.vectors("q")[:, order] @ widget.vectors("k")[:, order].T, S)
    widget.fault = faults.PAIRS  # "Mixing the two orders"
    assert not np.allclose(widget.scores(), S, atol=0.1)


@pytest.mark.parametrize("i", range(len(RopeExplorer.story)))
def test_a_step_opens_the_panels_that_its_words_name(i):
    told = RopeExplorer.story[i]
    needs = {"token": "line", "dial": "dials", "equalit": "proof", "waves": "score", "map": "map", "fault": "breaking"}
    for word, panel in needs.items():
        if word in told.says:
            assert panel in told.state["panels"], (word, told.says)


def test_no_step_names_a_color():
    """The dark theme has others, and what was called red is hatched and orange."""
    told = " ".join(f"{s.says} {s.asks} {s.because} {s.look}" for s in RopeExplorer.story)
    assert not {"red", "green", "orange", "black", "white"} & set(re.findall("[a-z]+", told.lower()))
