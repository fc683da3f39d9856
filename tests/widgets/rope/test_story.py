"""RopeExplorer's story agrees with its tables."""

import numpy as np
import pytest
from anatomy.widgets import RopeExplorer
from anatomy.widgets.rope import TOLERANCE

from .case import CASE
from .learners import backward_rope, right_rope


def step(i):
    """The widget in that step's state, and the step."""
    told = RopeExplorer.story[i]
    return CASE.make(**told.state), told


def test_the_first_dial_turns_fastest():
    widget, told = step(0)
    q = np.frombuffer(widget.tables["q8"], "<f4").reshape(5, 64, 4, 2)[2]
    turns = [
        np.abs(np.unwrap(np.arctan2(q[:, i, 1], q[:, i, 0]))[-1] - np.arctan2(q[0, i, 1], q[0, i, 0])) for i in range(4)
    ]
    assert told.choices[told.answer] == "the first" and turns[0] > 5 * turns[1] and turns == sorted(turns, reverse=True)


def test_the_score_stands_still():
    widget, told = step(1)
    S, m, n = widget.scores(), widget.m, widget.n
    assert told.choices[told.answer] == "it stands still" and abs(S[m + 1, n + 1] - S[m, n]) < TOLERANCE


def test_the_score_is_that_of_the_diagonal():
    widget, told = step(2)
    S = widget.scores()
    assert told.choices[told.answer] == "its diagonal"
    assert np.ptp(np.diagonal(S, 8 - 40)) < TOLERANCE and np.ptp(S[40]) > 1 and np.ptp(S[:, 8]) > 1


def test_far_distances_go_on_waving():
    widget, told = step(3)
    far = np.array([widget.scores()[d, 0] for d in range(40, 64)])
    assert told.choices[told.answer] == "it goes on waving"
    assert np.ptp(far) > 0.3 and (np.diff(far) > 0).any() and (np.diff(far) < 0).any()


@pytest.mark.parametrize("fn, broken", [(right_rope, set()), (backward_rope, {"reference"})])
def test_only_all_three_signs_are_enough(fn, broken):
    told = RopeExplorer.story[4]
    found = RopeExplorer(fn, **told.state).invariants()
    assert told.choices[told.answer] == "all three" and {k for k, v in found.items() if v > TOLERANCE} == broken
