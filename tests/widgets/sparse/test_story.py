"""SparseExplorer's story agrees with its tables: each answer is true, each other choice false."""

import numpy as np
from anatomy.widgets import SparseExplorer
from anatomy.widgets.sparse.scenes import KINDS, T

from .case import CASE

STORY = SparseExplorer.story


def step(i):
    """The widget in that step's state, the step, and its right answer."""
    told = SparseExplorer.story[i]
    return CASE.make(**told.state), told, told.choices[told.answer]


def closed(widget):
    """(T, T): the tokens that each token depends on after any number of layers."""
    turn = np.eye(T, dtype=int)
    for mask in widget.masks():
        turn = ((mask | np.eye(T, dtype=bool)).astype(int) @ turn > 0).astype(int)
    return np.linalg.matrix_power(turn.astype(float), T) > 0


def test_a_window_grows_with_the_text_and_full_attention_with_its_square():
    widget, told, answer = step(0)
    assert all(getattr(CASE.usual, k) == v for k, v in told.state.items())
    rows = widget.masks()[0].sum(1)
    assert answer == "twice" and set(rows[2:]) == {3} and "adds 3 pairs" in told.because
    widget.pattern = 0
    assert (np.diff(widget.masks()[0].sum(1)) == 1).all()


def test_seven_layers_bring_token_0():
    widget, told, answer = step(1)
    assert [c == str(widget.hops()[14, 0]) for c in told.choices] == [c == answer for c in told.choices]
    for size, window in enumerate(KINDS[widget.pattern].sizes):
        widget.size = size
        hops = widget.hops()
        assert all(i - j <= hops[i, j] * (window - 1) for i, j in np.argwhere(hops) if i > j)


def test_token_0_has_one_path_and_the_middle_many():
    widget, told, answer = step(2)
    assert answer == "it has one path" and "line" not in told.waits  # which is where the paths are counted
    mask = widget.masks()[0].astype(int)
    ways = np.linalg.matrix_power(mask, widget.layers)[14]
    assert ways[0] == 1 and ways[7] == ways.max() and f"token 7 has {ways[7]}" in told.because


def test_a_block_keeps_to_itself():
    widget, told, answer = step(3)
    assert answer == "never" and not closed(widget)[14, 0]
    assert (closed(widget) == (widget.masks()[0] > 0)).all()
    window = CASE.make(**STORY[0].state).facts()["pairs"] / (T * (T + 1) / 2)
    assert widget.facts()["pairs"] / T**2 < window  # "an even smaller share"


def test_a_global_token_needs_two_layers():
    widget, told, answer = step(4)
    assert [c == str(widget.facts()["full"]) for c in told.choices] == [c == answer for c in told.choices]
    assert (widget.hops()[:, 0] == 1).sum() == T and (widget.hops()[0] == 1).sum() == T
    alone = CASE.make(pattern="window, symmetric", size=0)
    extra, saved = widget.facts()["pairs"] - alone.facts()["pairs"], (T - 1) - widget.facts()["full"]
    assert f"For {extra} more pairs a layer, {T - 1 - saved} layers do what takes a window {T - 1}" in told.because
    assert alone.masks()[0][10].nonzero()[0].tolist() == [9, 10, 11]  # so the ends are 19 steps apart


def test_two_strided_layers_reach_all_earlier_tokens():
    widget, told, answer = step(5)
    assert widget.layers == 1 and widget.reached()[14].sum() == 4  # the second layer is the visitor's to add
    widget.layers = 2
    assert answer == "none" and np.flatnonzero(widget.reached()[14]).tolist() == list(range(15))
    full = widget.layers * T * (T + 1) / 2
    assert f"{widget.facts()['all_pairs'] / full:.0%}".replace("%", " %") in told.because
    near, far = widget.masks()[:2]
    assert near[14].sum() == 4 and np.flatnonzero(far[14]).tolist() == [2, 6, 10, 14]


def test_fixed_blocks_reach_all_at_the_lowest_cost():
    """In every size that may be moved, not only in the one of the reply."""
    widget, told, answer = step(6)
    found = {}
    for name in told.choices:
        widget.pattern = next(i for i, k in enumerate(KINDS) if k.short == name)
        kind = KINDS[widget.pattern]
        for widget.size in range(len(kind.sizes)):
            facts = widget.facts()
            if widget.size == told.state["size"]:
                found[name] = facts["all_pairs"], facts["reached"]
            assert name != "fixed" or (facts["reached"] == 15 and facts["all_pairs"] <= 260)
            assert name != "hybrid" or facts["all_pairs"] > 260
            assert name != "window" or facts["reached"] < 15 or facts["all_pairs"] > 260
    assert answer == "fixed" and found == {"window": (228, 9), "fixed": (190, 15), "hybrid": (432, 15)}
    assert "190 of 840" in told.because and "432" in told.because and "brings 9 tokens" in told.because


def test_what_is_chosen_is_scored_and_what_it_was_chosen_from_is_more():
    widget, told, answer = step(7)
    scored = widget.facts()["pairs"]
    assert answer == "the rating" and f"{T * (T + 1) // 2} pairs here; {scored} are scored" in told.because
    rows = widget.masks()[0].sum(1).tolist()
    assert rows == [1, 2] + [3] * (T - 2) and KINDS[widget.pattern].name.startswith("chosen keys")
