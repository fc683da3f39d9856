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


def test_the_first_dial_comes_round_again_and_the_others_do_not():
    widget, told = step(0)
    q = widget.vectors("q").reshape(64, 4, 2) @ [1, 1j]
    turned = np.abs(np.angle(q[widget.m + 44] / q[widget.m]))  # 44 = 7 · 2π, nearly
    assert chosen(0) == "it comes round again" and turned[0] < 0.02 and (turned[1:] > 0.04).all()
    six = np.abs(np.angle(q[told.show[-1]["m"]] / q[widget.m]))
    assert told.show[-1]["m"] - widget.m == 6 and six[0] < 0.3 < six[1]
    neighbors = np.abs(np.angle(q[1:] / q[:-1])).max(axis=0)
    assert neighbors.argmax() == 0  # not “too slow”, and neighbors look alike there least of all


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


def test_angles_bring_the_peaks_to_the_dot():
    """And the score there is the highest that there can be: each wave is at its peak, which lengths alone would set."""
    widget, told = step(3)
    d = widget.m - widget.n
    assert d == 20 and chosen(3) == "angles of q and k" and widget.scores()[24, 4] < 1
    widget.turned = told.show[-1]["turned"]
    S = widget.scores()
    far = [S[max(e, 0), max(-e, 0)] for e in range(-63, 64)]
    assert int(np.argmax(far)) - 63 == d
    lengths_ = [np.linalg.norm(widget.content(x).reshape(4, 2), axis=1) for x in "qk"]
    assert np.isclose(S[24, 4], (lengths_[0] * lengths_[1]).sum(), atol=1e-3)
    assert [sum(map(bool, state["turned"])) for state in told.show] == [1, 2, 3, 4]  # one dial after the other


def test_content_shifts_the_wave_and_leaves_its_height():
    widget, _ = step(3)
    wave = lambda: widget.vectors("q")[:, 2:4] @ widget.vectors("k")[0, 2:4]  # plane 1, over m at n = 0
    before = wave()
    widget.turned = [0, 90, *[0] * 14]
    after = wave()
    assert not np.allclose(before, after, atol=0.1)
    shift = round(np.pi / 2 / 0.1)  # 90° of a wave with θ = 0.1 are 15.7 positions
    assert np.allclose(after[:-shift], before[shift:], atol=0.05)
    assert np.isclose(before.max(), after.max(), atol=0.01)


def test_the_score_rises_again_far_away():
    widget, told = step(4)
    S = widget.scores()
    assert max(np.ptp(np.diagonal(S, d)) for d in range(-62, 63)) < TOLERANCE  # "along a diagonal … the score stays"
    row = S[63, ::-1]  # by distance
    assert (widget.m, widget.n) == (63, 63) and chosen(4) == "no, it rises again"
    assert "62 places away it is 2.34" in told.because and round(row[62], 2) == 2.34
    assert row[40] < 0 < row[0] < row[62]
    assert told.show[-1] == {"n": 63 - 62} and {"n": 63 - 40} in told.show


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


def test_pi_lets_neighbors_look_more_alike():
    widget, told = step(TRAINING)
    theta = widget.frequencies()
    assert chosen(TRAINING) == "neighbors look more alike" and widget.clock == 0 and len(theta) == 64
    assert widget.length == 4 * widget.trained
    first = {}
    for name in lengths.SCHEMES:
        widget.scheme = lengths.SCHEMES.index(name)
        first[name] = widget.slowed()[0]
        stopped = (widget.slowed() == 0).any()
        assert not stopped
    assert np.isclose(first["PI"], 1 / 4) and np.isclose(first["YaRN"], 1)  # "¼ rad", "YaRN spares it"
    widget.scheme = lengths.SCHEMES.index("PI")
    new = lengths.unseen(theta, widget.base, widget.scheme, widget.trained, widget.length)
    assert not new.any() and widget.slowed()[0] / theta[0] == widget.slowed()[-1] / theta[-1]  # "all hands alike"
    assert [state["scheme"] for state in told.show] == [lengths.SCHEMES.index(name) for name in ("PI",)]


def test_ntk_is_the_scheme_that_leaves_some_red():
    widget, _ = step(TRAINING)
    theta = widget.frequencies()
    red = lambda: lengths.unseen(theta, widget.base, widget.scheme, widget.trained, widget.length).sum()
    assert red() == 18 and lengths.all_round(theta, widget.trained).sum() == 46
    left = {}
    for name in ("PI", "NTK", "YaRN"):
        widget.scheme = lengths.SCHEMES.index(name)
        left[name] = red()
    assert left == {"PI": 0, "NTK": 17, "YaRN": 0}
    widget.scheme = lengths.SCHEMES.index("NTK")
    slower = theta / widget.slowed()
    assert np.isclose(slower[-1], 4) and slower[:-1].max() < 4  # "only the slowest hand by the whole factor"


def test_the_order_in_memory_changes_no_score():
    widget, told = step(6)
    S = widget.scores()
    widget.order = "halves"
    order = np.r_[0:8:2, 1:8:2]
    assert chosen(6) == "if only q has it" and np.allclose(widget.scores(), S)
    assert np.allclose(widget.vectors("q")[:, order] @ widget.vectors("k")[:, order].T, S)
    assert not np.allclose(widget.vectors("q")[:, order] @ widget.vectors("k").T, S, atol=0.1)  # q alone
    assert np.isclose(widget.in_memory(), S[9, 4]) and "in memory" not in widget.words
    widget.order = "q"
    assert round(S[9, 4], 2) == 2.71 and round(widget.in_memory(), 2) == -0.16
    assert "q·k = -0.164" in widget.words and told.show[-1] == {"order": "q"}
    assert (order != np.arange(8)).sum() == 6  # "6 of its 8 numbers meet strangers"
    widget.fault = faults.PAIRS
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
