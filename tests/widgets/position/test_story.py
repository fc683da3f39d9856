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


def test_alibi_takes_a_quarter_of_the_distance():
    S = shown(1).scores()
    lost = S[20, 20] - S[20, 12]
    assert chosen(1) == "2" and lost == 2 and "¼ · 8 = 2" in STORY[1].because and (20 - 12) / 4 == lost


def test_the_plain_product_forgets_the_direction():
    S = shown(2).scores()
    assert chosen(2) == "yes" and at(S, 5) == pytest.approx(at(S, -5), abs=TOLERANCE)
    assert shown(2).facts()["spread"] <= TOLERANCE


def test_random_projections_make_the_position_count():
    assert chosen(3) == "no, the position too" and shown(3).facts()["spread"] > 1


def test_the_turned_waves_look_three_back():
    S = shown(4).scores()
    best = S.argmax(1)
    assert chosen(4) == "3 back" and best[STORY[4].state["query"]] == 20 - 3
    assert (best[3:] == np.arange(T)[3:] - 3).all() and profile(S)[0].argmax() - (T - 1) == -3


def test_shaw_with_two_cannot_tell_five_from_twenty():
    S = shown(5).scores()
    assert chosen(5) == "no" and at(S, 5) == at(S, 20) == at(S, 2) != at(S, 1)


def test_alibi_alone_of_the_choices_has_no_direction():
    widget = shown(6)
    blind = []
    for name in STORY[6].choices:
        widget.scheme = NAMES.index(name)
        found = []
        for widget.variant in range(8):
            found.append(widget.facts()["direction"] <= TOLERANCE)
        assert len(set(found)) == 1  # whichever variant is shown
        blind += [name] if found[0] else []
    assert blind == [chosen(6)]
