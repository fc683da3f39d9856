"""Tier 1 of SamplingExplorer: its table, mistakes, and its tokens."""

import numpy as np
import pytest
import torch
from anatomy.widgets import SamplingExplorer, WrongOutput
from anatomy.widgets.sampling import PROMPTS, SHOWN, TEMPERATURES, TOP_K, TOP_P

from .case import CASE
from .learners import not_again, right, without_crossing

SETTINGS = [{"prompt": 1, "temperature": 2.0, "top_k": 5}, {"top_p": 0.7}, {"temperature": 0.0}, {"prompt": 2}]


@pytest.mark.parametrize("state", SETTINGS)
def test_the_table_is_the_function(state):
    widget = CASE.make(**state)
    row = widget._inputs["logits"][widget.prompt].double()
    options = {"top_k": widget.top_k or None, "top_p": None if widget.top_p == 1 else widget.top_p}
    p = right(row, widget.temperature, **options).sort(descending=True).values
    assert np.allclose(widget.probabilities()[:SHOWN], p[:SHOWN], atol=1e-5)
    assert np.isclose(widget.probabilities()[-1], p[SHOWN:].sum(), atol=1e-5)
    assert widget.possible() == int((p > 0).sum()) and widget.gap() < 1e-4 and "(ok)" in widget.alt


def test_every_setting_of_a_right_function_is_right():
    gap = np.frombuffer(CASE.usual.tables["gap"], "<f4")
    assert gap.size == len(PROMPTS) * len(TEMPERATURES) * len(TOP_K) * len(TOP_P) and gap.max() < 1e-4


@pytest.mark.parametrize("wrong, state", [(not_again, {"top_k": 3}), (without_crossing, {"top_p": 0.5})])
def test_mistakes_show(wrong, state):
    assert "(broken)" in SamplingExplorer(wrong, **state).alt


def test_a_wrong_number_of_tokens_is_a_mistake_however_unlikely_they_are():
    leaks = lambda logits, temperature=1.0, top_k=None, top_p=None: right(logits, temperature, top_k, top_p) + 1e-7
    assert "(broken)" in SamplingExplorer(leaks, top_k=2).alt


def test_a_wrong_shape_gets_one_sentence():
    with pytest.raises(WrongOutput, match=r"distribution must return .* \(3, \d+\) here, and it returned shape"):
        SamplingExplorer(lambda logits, temperature=1.0, top_k=None, top_p=None: logits[:, :4])


def test_tokens_are_those_of_the_model():
    logits = CASE.usual._inputs["logits"]
    assert torch.allclose(torch.tensor(CASE.usual.spec["logits"]), logits.topk(SHOWN).values)
