"""What TemperatureExplorer's story says is what its table shows."""

import numpy as np
import pytest
from anatomy.widgets import TemperatureExplorer
from anatomy.widgets.temperature import TEMPERATURES

from .case import CASE


def told(i):
    """The chosen answer of a step, and the probabilities as that step shows them."""
    step = TemperatureExplorer.story[i]
    return step.choices[step.answer], CASE.make(**step.state).probabilities()


def test_the_highest_score_takes_all():
    answer, _ = told(0)
    cold = CASE.make(temperature=TEMPERATURES[0])
    assert answer == "the one with the highest score"
    assert cold.probabilities().argmax() == int(cold._inputs["scores"].argmax()) and cold.probabilities().max() > 0.9


def test_heat_makes_them_alike():
    answer, p = told(1)
    assert answer == "nearly alike" and np.ptp(p) < 0.2 and p.min() > 0


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_they_share_one_sum_and_add_up_to_one(temperature):
    widget = CASE.make(temperature=temperature)
    e = np.exp(widget._inputs["scores"].numpy() / temperature)
    answer, last_answer = told(2)[0], told(3)[0]
    assert answer == "the sum below" and np.allclose(e / widget.probabilities(), e.sum(), rtol=1e-4)
    assert last_answer == "1" and abs(widget.probabilities().sum() - 1) < 1e-5
