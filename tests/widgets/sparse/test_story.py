"""SparseExplorer's story agrees with its tables: each answer is true, each other choice false."""

import numpy as np
from anatomy.widgets import SparseExplorer
from anatomy.widgets.sparse.scenes import KINDS, LAYERS, T

from .case import CASE


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


def test_query_14_scores_three_tokens():
    widget, told, answer = step(0)
    assert answer == "12 to 14" and np.flatnonzero(widget.masks()[0, 14]).tolist() == [12, 13, 14]
    assert widget.query == 14 and all(getattr(CASE.usual, k) == v for k, v in told.state.items())


def test_four_layers_go_back_to_token_6():
    widget, _, answer = step(1)
    first = np.flatnonzero(widget.reached()[14])[0]
    assert answer == f"token {first}" and first == 14 - 4 * 2 and widget.layers == 4


def test_a_block_keeps_to_itself():
    widget, _, answer = step(2)
    own = [j for j in range(T) if j // 4 == 14 // 4]
    assert answer == "its block alone" and np.flatnonzero(widget.reached()[14]).tolist() == own
    assert (widget.reached() == widget.masks()[0]).all() and widget.layers == LAYERS  # no dots


def test_a_global_token_needs_two_layers():
    widget, told, answer = step(3)
    assert [c == str(widget.facts()["full"]) for c in told.choices] == [c == answer for c in told.choices]
    assert (widget.hops()[:, 0] == 1).sum() == T and (widget.hops()[0] == 1).sum() == T


def test_two_strided_layers_reach_all_earlier_tokens():
    widget, told, answer = step(4)
    assert answer == "all earlier tokens" and np.flatnonzero(widget.reached()[14]).tolist() == list(range(15))
    assert f"{widget.facts()['all_pairs'] / (widget.layers * T * T):.0%}".replace("%", " %") in told.says
    near, far = widget.masks()[:2]
    assert near[14].sum() == 4 and np.flatnonzero(far[14]).tolist() == [2, 6, 10, 14]


def test_what_is_chosen_is_scored_and_what_it_was_chosen_from_is_more():
    widget, told, answer = step(6)
    scored = widget.facts()["pairs"]
    assert answer == str(T * (T + 1) // 2) and f"scores only {scored}" in told.because
    assert set(told.choices) == {str(scored), answer, str(T * T)}
    rows = widget.masks()[0].sum(1).tolist()
    assert rows == [1, 2] + [3] * (T - 2) and KINDS[widget.pattern].name.startswith("chosen keys")


def test_only_blocks_never_reach_everything():
    widget, told, answer = step(5)
    assert answer == "blocks" and KINDS[widget.pattern].name == "random keys" and widget.layers == LAYERS
    kinds = {"blocks": "blocks", "random keys": "random keys", "strided": "strided: near and far in turn"}
    assert set(kinds) == set(told.choices)
    for name, kind in kinds.items():
        for size in range(len(KINDS[[k.name for k in KINDS].index(kind)].sizes)):
            shown = CASE.make(pattern=kind, size=size, layers=LAYERS)
            wanted = np.tri(T, dtype=bool) if name == "strided" else np.ones((T, T), dtype=bool)
            if size == widget.size:  # as the learner sees it after a click on the small picture
                assert (shown.facts()["full"] == 0) == (name == "blocks")
            if name == "blocks":
                assert not closed(shown)[wanted].all()
    assert CASE.make(pattern="random keys", size=0, layers=LAYERS).facts()["full"] == 0  # "a size of 1 breaks others"
