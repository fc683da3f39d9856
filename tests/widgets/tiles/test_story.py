"""TilesExplorer's story agrees with its tables: each answer is true, each other choice false."""

import numpy as np
from anatomy.widgets import TilesExplorer
from anatomy.widgets.tiles.scenes import LOOP, MERGE, T

from .case import CASE


def step(i, **moved):
    """The widget in that step's state, the step, and its right answer."""
    told = TilesExplorer.story[i]
    return CASE.make(**{**told.state, **moved}), told, told.choices[told.answer]


def test_all_bars_shrink_alike():
    before, _, answer = step(0)
    after, *_ = step(0, read=3)
    share = after.bars()[:6] / before.bars()[:6]
    assert answer == "all, by the same factor" and np.ptp(share) < 1e-6 and share[0] < 0.2
    assert before.facts()["largest"] == 2 and after.facts()["largest"] == 4 and np.isclose(after.bars()[6], 1)


def test_sum_and_mixed_are_both_rescaled():
    before, told, answer = step(1)
    after, *_ = step(1, read=3)
    values, factor = np.array(CASE.usual.spec["values"]), np.exp(2 - 4)
    fresh = after.bars()[6:9]
    for name, news in (("sum", fresh.sum()), ("mixed", fresh @ values[6:9])):
        assert np.isclose(after.facts()[name], factor * before.facts()[name] + news, rtol=1e-5)
    assert answer == "both" and f"{factor:.2f}" in told.because


def test_the_result_is_that_of_one_softmax():
    widget, told, answer = step(2)
    right = np.frombuffer(widget.tables["right"], "<f4").reshape(-1, T, T + 2)
    assert answer == "yes" and widget.facts()["gap"] < 1e-5 and widget.read * widget.block == T
    assert widget.facts()["largest"] == step(2, read=3)[0].facts()["largest"] == 4
    assert np.isfinite(right).all()


def test_a_tile_holds_as_many_scores_wherever_it_is():
    widget, told, answer = step(3)
    held = {step(3, read=n, query=i)[0].facts()["held"] for n in range(1, 7) for i in range(T)}
    assert answer == "as many as now" and held == {4} and "4 scores" in told.because
    assert (2 * T // widget.block) ** 2 == 4 * widget.facts()["tiles"] and "four times as many tiles" in told.because


def test_ten_of_sixteen_tiles_are_computed():
    widget, told, answer = step(4)
    seen = np.tri(T, dtype=bool).reshape(4, 3, 4, 3).any((1, 3))
    assert answer == str(seen.sum()) == str(int(widget.facts()["tiles"])) == "10"
    assert [step(4, **{k: v for k, v in s.items()})[0].scene().read for s in told.show] == [1, 2, 3, 4]


def test_both_ways_have_the_same_numbers():
    loop, _, answer = step(5, way=LOOP)
    merged, *_ = step(5, way=MERGE)
    assert answer == "none"
    for n in range(1, 5):
        loop.read = merged.read = n
        assert all(np.isclose(merged.facts()[k], v, atol=1e-5) for k, v in loop.facts().items())
