"""The answers of PermutationExplorer's story, computed from the tables that the widget draws."""

import numpy as np
from anatomy.widgets.permutation import D_V, ORDERS, TOLERANCE, WORDS, T, moved_word
from anatomy.widgets.permutation.story import STORY

from .case import CASE

SEEN = 0.1  # share of the map's range that is visible as a color on white


def rows(order, positions):
    """f(x), P f(x) and f(Px), each (6, 8)."""
    out = np.frombuffer(CASE.usual.tables["out"], "<f4").reshape(2, len(ORDERS), T, D_V)[int(positions)]
    return out[0], out[0, list(ORDERS[order])], out[list(ORDERS).index(order)]


def differing(order, positions):
    """Rows of P f(x) and f(Px) that are not equal."""
    _, moved, after = rows(order, positions)
    return [i for i in range(T) if np.abs(moved[i] - after[i]).max() > TOLERANCE]


def chosen(i):
    """The answer of step ``i`` in words."""
    return STORY[i].choices[STORY[i].answer]


def step(i):
    return STORY[i].state["order"], STORY[i].state["positions"]


def test_answer_1_moved_words_only_move_rows():
    assert step(0) == ("dog ↔ man", False)
    assert chosen(0) == {0: "nowhere", 2: "at “dog” and “man”", 6: "in all rows"}[len(differing(*step(0)))]
    assert " ".join(WORDS[i] for i in ORDERS[step(0)[0]]) == "the man bites the dog ."
    assert "“the man bites the dog”" in STORY[0].because


def test_answer_2_equal_words_have_equal_rows():
    before, _, _ = rows(*step(1))
    first, second = [i for i, word in enumerate(WORDS) if word == "the"]
    assert (first, second) == (0, 3) and step(1)[0] == "as written"
    assert chosen(1) == ("yes" if np.abs(before[first] - before[second]).max() <= TOLERANCE else "no")
    assert np.abs(before[0] - before[1]).max() > 0.1  # other words have other rows


def test_answer_3_a_new_order_changes_only_the_row():
    found = [order for order in ORDERS if differing(order, step(2)[1])]
    assert chosen(2) == "only its row" and not found and step(2)[0] == "as written"
    assert all(state["order"] in ORDERS for state in STORY[2].show)
    assert any(moved_word(2, place) == ORDERS[STORY[2].show[0]["order"]] for place in range(T))


def test_answer_4_with_positions_all_rows_differ_and_it_is_seen():
    before, moved, after = rows(*step(3))
    assert all(i != j for i, j in enumerate(ORDERS[step(3)[0]])), "all words have moved"
    assert chosen(3) == {0: "none", 2: "two", 6: "all six"}[len(differing(*step(3)))]
    top = max(np.abs(before).max(), np.abs(after).max())
    assert (np.abs(after - moved).max(-1) > SEEN * top).all()


def test_answer_5_a_word_that_stays_changes_with_those_it_attends_to_and_it_is_seen():
    order, positions = step(4)
    bites = WORDS.index("bites")
    assert positions and ORDERS[order][bites] == bites and sum(i != j for i, j in enumerate(ORDERS[order])) == 2
    assert chosen(4) == ("yes" if bites in differing(order, positions) else "no, it has not moved")
    before, moved, after = rows(order, positions)
    assert np.abs(after - moved)[bites].max() > SEEN * max(np.abs(before).max(), np.abs(after).max())
    assert bites not in differing(order, False)
