"""ExpertsExplorer's story agrees with its tables: each answer is true, each other choice false."""

import numpy as np
from anatomy.widgets import ExpertsExplorer
from anatomy.widgets.experts.settings import BIASES, MEAN, WORDS, ZERO, E

from .case import CASE


def step(i, **moved):
    """The widget in that step's state, the step, and its right answer."""
    told = ExpertsExplorer.story[i]
    return CASE.make(**{**told.state, **moved}), told, told.choices[told.answer]


def end(i):
    """The widget where “Show me” of that step ends."""
    told = ExpertsExplorer.story[i]
    return step(i, **{k: v for state in told.show for k, v in state.items() if k in told.state})[0]


def test_words_come_from_the_other_experts():
    before, _, answer = step(0)
    assert before.loads().tolist() == [9, 3, 0] and answer == "from the other experts"
    after = end(0).loads()
    assert after.sum() == 12 and after[2] > 0 and (after[:2] < before.loads()[:2]).all()


def test_the_opening_does_not_show_what_the_first_step_asks():
    assert all("bias2" not in state for state in ExpertsExplorer.opening)


def test_a_bias_chooses_and_does_not_weigh():
    before, told, answer = step(1)
    after = end(1)
    assert answer == "no" and WORDS[before.word] == "mat"
    by_expert = lambda w: dict(zip(w.routed()[1][w.word].tolist(), w.routed()[0][w.word].round(6), strict=True))
    assert by_expert(before) == by_expert(after) and f"{by_expert(after)[1]:.2f}" in told.because
    scores = 1 / (1 + np.exp(-np.array(before.spec["logits"][before.word])))
    assert "0.450 ÷ (0.646 + 0.450) = 0.41" in told.because and scores[:2].round(3).tolist() == [0.646, 0.45]
    assert after.loads().tolist() == [11, 12, 1] and after.bias1 == len(BIASES) - 1, "the end to which it is dragged"
    assert before.routed()[1][before.word].tolist() == [0, 1] and after.routed()[1][after.word].tolist() == [1, 0]


def test_two_presses_make_all_loads_8():
    widget, told, answer = step(2)
    loads = [widget.loads().tolist()]
    while loads[-1] != [8, 8, 8]:
        for e, bias in enumerate(widget.next_bias()):
            setattr(widget, f"bias{e}", BIASES.index(round(float(bias), 1)))
        assert {f"bias{e}": getattr(widget, f"bias{e}") for e in range(E)} == told.show[len(loads) - 1]
        loads.append(widget.loads().tolist())
    assert loads == [[11, 9, 4], [10, 7, 7], [8, 8, 8]] and answer == str(len(loads) - 1)
    assert np.allclose(widget.next_bias(), [BIASES[getattr(widget, f"bias{e}")] for e in range(E)])


def test_four_choices_are_dropped():
    (before, told, answer), widget = step(3), end(3)
    assert before.kept().all() and widget.room == MEAN
    dropped = ~widget.kept()
    assert [c == str(dropped.sum()) for c in told.choices] == [c == answer for c in told.choices]
    experts = np.bincount(widget.routed()[1][dropped], minlength=E)
    assert experts.tolist() == [3, 1, 0] and widget.loads().tolist() == [11, 9, 4]


def test_nobody_is_dropped_where_all_are_evenly_busy():
    (before, told, answer), widget = step(4), end(4)
    assert (~before.kept()).sum() == 4 and "four choices are dropped" in told.says
    assert [c == str((~widget.kept()).sum()) for c in told.choices] == [c == answer for c in told.choices]
    assert widget.loads().tolist() == [8, 8, 8] and widget.bias0 == ZERO - 2


def test_softmax_weights_sum_to_less_than_1():
    (before, told, answer), widget = step(5), end(5)
    weights, chosen = widget.routed()
    probabilities = np.exp(logits := np.array(widget.spec["logits"][widget.word])) / np.exp(logits).sum()
    assert "0.636 + 0.286 = 0.922" in told.because and probabilities.round(3).tolist() == [0.636, 0.286, 0.078]
    assert answer == "less than 1" and weights[widget.word].sum() < 0.95 and chosen[widget.word].tolist() == [0, 1]
    assert np.allclose(before.routed()[0].sum(1), 1), "a sigmoid's weights, which the step adds up first"
