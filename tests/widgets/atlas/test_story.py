"""ModelAtlas's story agrees with its rows."""

import numpy as np
from anatomy.atlas.words import families
from anatomy.widgets import ModelAtlas
from anatomy.widgets.atlas import ROWS

from .case import CASE


def told(i):
    """A step, its right answer, and the widget in the step's state."""
    step = ModelAtlas.story[i]
    return step, step.choices[step.answer], CASE.make(**step.state)


def bright(widget):
    return [ROWS[i].year for i in widget.shown()]


def test_the_norm_of_2024():
    step, answer, _ = told(0)
    norms = [families(row)["norm"] for row in ROWS if row.year == 2024]
    assert answer == "RMSNorm" and norms.count("RMSNorm") > 0.6 * len(norms)
    assert f"{norms.count('RMSNorm')} of the {len(norms)} models" in step.because


def test_the_last_learned_table():
    _, answer, widget = told(1)
    assert str(max(bright(widget))) == answer
    assert {families(row)["position"] for row in ROWS if row.year > 2023} == {"RoPE", "none"}


def test_the_first_shared_heads():
    _, answer, widget = told(2)
    assert str(min(bright(widget))) == answer
    before = {families(row)["attention"] for row in ROWS if row.year < 2023}
    assert before <= {"MHA", "MQA", "not published"}
    assert next(r for r in ROWS if families(r)["attention"] == "MQA").title.startswith("PaLM")


def test_what_the_two_share():
    _, answer, widget = told(3)
    one, two = (families(ROWS[i]) for i in (widget.first, widget.second))
    assert answer == "where the norms sit" and one["placement"] == two["placement"]
    assert one["norm"] != two["norm"] and one["activation"] != two["activation"]


def test_the_count_rounds_to_the_name():
    step, answer, widget = told(4)
    high, rest = np.frombuffer(widget.tables["count"], "<f4").reshape(-1, 2)[widget.first]
    billions = (int(high) * 2**20 + int(rest)) / 1e9
    assert answer == "7 billion is rounded" and f"{billions:.2f} billion" in step.because
    assert round(billions) == 7 and np.frombuffer(widget.tables["good"], "<f4")[widget.first] == 1
