"""The story of PositionExplorer: the right answers are true of the widget's own tables, the others are not."""

import numpy as np
import pytest
from anatomy.widgets import PositionExplorer
from anatomy.widgets.position import NAMES, TOLERANCE, T, profile
from anatomy.widgets.position.story import STORY

from .learners import POSITIONS


def shown(i):
    return PositionExplorer(POSITIONS, **STORY[i].state)


def chosen(i):
    return STORY[i].choices[STORY[i].answer]


def at(S, r):
    """Mean score at distance r."""
    return profile(S)[0][r + T - 1]


def test_it_starts_where_the_widget_starts():
    widget = PositionExplorer()
    assert {name: getattr(widget, name) for name in STORY[0].state} == STORY[0].state


def test_without_a_scheme_all_places_are_alike():
    """Not only in the row asked about: in no row does a place stand out, and the alt text names none."""
    widget = shown(0)
    assert chosen(0) == "all alike" and (widget.scores() == 0).all() and "drawn as 0" in STORY[0].because
    assert "gives 32 keys its largest score" in widget.alt and "(all alike)" in widget.alt
    assert "Farthest from the reference" not in widget.alt and "scores key" not in widget.alt


def test_the_scheme_that_comes_next_tells_places_apart():
    row = shown(1).scores()[20]
    assert row.argmax() == 20 and len(set(row[:21].tolist())) == 21


def test_a_small_slope_lets_a_head_read_far_words():
    widget = shown(1)
    lost = []
    for widget.variant in range(8):
        S = widget.scores()
        lost.append(S[20, 20] - S[20, 0])
        assert (S == S.T).all() and (
            S.argmax(1) == np.arange(T)
        ).all()  # neither tells left from right nor ignores itself
    assert chosen(1) == "read far words" and (np.diff(lost) < 0).all()
    assert lost[0] == 10 and lost[7] < 0.1 and STORY[1].state["variant"] == 0


def test_the_plain_product_forgets_the_direction():
    S = shown(2).scores()
    assert chosen(2) == "no" and at(S, 5) == pytest.approx(at(S, -5), abs=TOLERANCE)
    assert shown(2).facts()["direction"] <= TOLERANCE and shown(2).facts()["spread"] <= TOLERANCE


def test_the_turned_waves_look_three_back():
    S = shown(3).scores()
    best = S.argmax(1)
    assert chosen(3) == "it looks 3 back" and best[STORY[3].state["query"]] == 20 - 3
    assert (best[3:] == np.arange(T)[3:] - 3).all() and profile(S)[0].argmax() - (T - 1) == -3


def test_random_projections_make_the_position_count():
    S = shown(4).scores()
    assert chosen(4) == "no, the place counts"
    assert all(np.ptp(np.diagonal(S, r)) > 1 for r in range(-24, 25))  # "at each r" that a dozen pairs have


def test_shaw_with_two_cannot_tell_three_from_twenty():
    widget = shown(5)
    widget.variant = 0
    S = widget.scores()
    assert chosen(5) == "far words blur" and at(S, -3) == at(S, -20) == at(S, -2) != at(S, -1)
    assert widget.facts()["direction"] > 0.1 and len({at(S, r) for r in (-2, -1, 0, 1, 2)}) == 5
    for widget.trained in range(4, T + 1):  # "short texts train all of it"
        assert not widget.untrained().any()


def test_a_table_of_places_ends_with_the_training():
    widget = shown(6)
    for widget.trained in (16, 20):
        lacks = widget.untrained()
        assert chosen(6) == "no" and lacks[20, 21] and (lacks[20]).all()
        assert not lacks[: widget.trained, : widget.trained].any()
    assert "16 words" in STORY[6].says and STORY[6].show[-2] == {"trained": 16}


def test_of_the_choices_one_goes_on_and_has_a_direction():
    widget = shown(7)
    lacking = {}
    for i, name in enumerate(NAMES):
        widget.scheme = i
        lacking[name] = []
        for widget.variant in range(8):
            lacking[name].append(bool(widget.untrained().any()))
    assert not any(lacking["ALiBi"]) and not any(lacking["sinusoidal"])
    assert all(lacking["learned absolute"]) and all(lacking["T5, bidirectional"]) and all(lacking["T5, causal"])
    assert chosen(7) == "DeBERTa" and widget.trained == 16
    for name in ("ALiBi", "learned absolute", "DeBERTa"):
        widget.scheme = NAMES.index(name)
        for widget.variant in range(8):
            directed = widget.facts()["direction"] > TOLERANCE
            assert (directed and not lacking[name][widget.variant]) == (name == chosen(7)), name
            assert directed == (name == "DeBERTa"), name
    widget.scheme = NAMES.index("DeBERTa")
    for widget.variant in range(3):
        S = widget.scores()
        assert not any(lacking["DeBERTa"]) and len({at(S, s * r).round(9) for s in (1, -1) for r in range(8, T)}) <= 2
