"""Tier 1 of TemperatureExplorer: its table, and mistakes."""

import math

import numpy as np
import pytest
from anatomy.widgets import TemperatureExplorer, WrongOutput
from anatomy.widgets.temperature import TEMPERATURES

from .case import CASE, right_softmax


def test_tables_equal_a_loop():
    widget = CASE.make()
    scores = widget._inputs["scores"].tolist()
    for widget.temperature in TEMPERATURES:
        e = [math.exp(s / widget.temperature) for s in scores]
        assert np.allclose(widget.probabilities(), [v / sum(e) for v in e], atol=1e-5)


@pytest.mark.parametrize("wrong", [lambda x, dim: right_softmax(-x, dim), lambda x, dim: x.exp()])
def test_mistakes_show(wrong):
    assert "broken" in TemperatureExplorer(wrong, temperature=2.0).alt and "ok" in CASE.make(temperature=2.0).alt


def test_a_wrong_shape_gets_one_sentence():
    with pytest.raises(WrongOutput, match=r"softmax must return .* \(5,\) here, and it returned shape \(1, 5\)"):
        TemperatureExplorer(lambda x, dim: x[None])
