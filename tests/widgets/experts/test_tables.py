"""Tier 1 of ExpertsExplorer: tables, mistakes, notices."""

import numpy as np
import pytest
import torch
from anatomy.widgets import ExpertsExplorer, WrongOutput
from anatomy.widgets.experts import FUNCTIONS, TOLERANCE
from anatomy.widgets.experts.settings import BIASES, MEAN, MORE, NO_LIMIT, ROUTERS, SETTINGS, E, N, setting_of

from autograder.exercises.u15_experts_and_drafts import balance_bias, capacity, route
from autograder.reference import routing

from ..learners import unfinished
from .case import CASE

RIGHT = CASE.given[0]
BIASED = {
    "bias_weighs", "bias_ignored", "bias_subtracted", "bias_inside", "softmax_scores", "not_divided", "divided_by_all",
    "softmax_of_weights", "one_sum",
}  # fmt: skip
PLAIN = {"softmax_after", "no_softmax", "sigmoid_first", "over_tokens", "smallest"}
ROUTES = {m.name: route.EXERCISE.functions(m.fn) for m in route.EXERCISE.mutants}
# Here a step is given the bias that it needs, as a tensor of its own, and every expert is counted from 0 to the last.
STEPS = {m.name: m.fn for m in balance_bias.EXERCISE.mutants}
PLACES = {m.name: m.fn for m in capacity.EXERCISE.mutants}


def farthest(widget, name):
    return np.nan_to_num(np.frombuffer(widget.tables[f"off_{name}"], "<f4"), nan=np.inf).max()


def test_settings_are_in_the_order_of_their_knobs():
    assert len(SETTINGS) == len(BIASES) ** E == 343
    for n in range(0, 343, 17):
        levels = tuple(BIASES.index(b) for b in SETTINGS[n])
        assert setting_of(levels) == n
        assert CASE.make(**{f"bias{e}": level for e, level in enumerate(levels)}).setting == n


@pytest.mark.parametrize("k", [1, 2])
def test_choices_weights_and_places_equal_what_is_counted_one_by_one(k):
    widget = CASE.make(k=k)
    logits = torch.tensor(widget.spec["logits"])
    scores = 1 / (1 + np.exp(-logits.numpy()))
    for levels in ((3, 3, 3), (0, 6, 2), (1, 3, 5), (6, 0, 6)):
        widget.bias0, widget.bias1, widget.bias2 = levels
        weights, chosen = widget.routed()
        places, bias = (
            {MEAN: [N * k // E] * E, MORE: [int(1.25 * N * k / E)] * E},
            np.array([BIASES[n] for n in levels]),
        )
        for n in range(N):
            best = np.argsort(-(scores[n] + bias))[:k]
            assert chosen[n].tolist() == best.tolist()
            assert np.allclose(weights[n], scores[n][best] / scores[n][best].sum(), atol=1e-6)
        for widget.room in (MEAN, MORE):
            kept = widget.kept()
            for rank in range(k):
                for n in range(N):
                    left = places[widget.room]
                    assert kept[n, rank] == (left[chosen[n, rank]] > 0)
                    left[chosen[n, rank]] -= 1
        widget.room = NO_LIMIT
        assert widget.kept().all() and widget.loads().sum() == N * k
        mean = N * k / E
        steps = [0.1 * np.sign(mean - load) for load in widget.loads()]
        assert np.allclose(widget.next_bias(), bias + steps, atol=1e-6)


def test_the_softmax_router_knows_no_bias():
    widget = CASE.make(k=2, router=ROUTERS[1], bias0=0, bias2=6)
    weights, chosen = widget.routed()
    p = torch.tensor(widget.spec["logits"]).softmax(-1).numpy()
    assert np.allclose(weights, -np.sort(-p)[:, :2], atol=1e-6) and (chosen == np.argsort(-p)[:, :2]).all()
    assert widget.setting == setting_of((3, 3, 3))


@pytest.mark.parametrize("name", sorted(BIASED))
def test_wrong_biased_routers_show(name):
    made = ExpertsExplorer({"route_biased": ROUTES[name]["route_biased"]}, k=2)
    assert farthest(made, "route_biased") > TOLERANCE


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_wrong_softmax_routers_show(name):
    assert farthest(ExpertsExplorer({"route": ROUTES[name]["route"]}), "route") > TOLERANCE


def test_a_bias_that_weighs_is_told_where_the_bias_is_turned():
    made = ExpertsExplorer({**RIGHT, "route_biased": ROUTES["bias_weighs"]["route_biased"]}, k=2)
    assert made.off("route_biased") < TOLERANCE, "without a bias it is right"
    made.bias1 = 5
    assert made.off("route_biased") > 0.02 and "unlike the reference" in made.alt


@pytest.mark.parametrize("name", ["wrong_way", "by_how_much"])
def test_wrong_steps_show(name):
    assert farthest(ExpertsExplorer({"balanced_bias": STEPS[name]}), "balanced_bias") > TOLERANCE


@pytest.mark.parametrize("name", sorted(PLACES.keys() - {"counts"}))
def test_wrong_places_show(name):
    assert farthest(ExpertsExplorer({"within_capacity": PLACES[name]}), "within_capacity") >= 1


def test_each_unwritten_function_falls_back_by_itself():
    for name in FUNCTIONS:
        made = ExpertsExplorer({"within_capacity": routing.within_capacity, name: unfinished})
        assert made.notice == f"Showing the reference for {name}: not written yet" and not made.written(name)


@pytest.mark.parametrize(
    "name, broken, says",
    [
        ("route", lambda logits, k: logits, "must return 2 things here"),
        ("route", lambda logits, k: logits.topk(k).indices.split(6), r"shape \(12, 1\) here"),
        ("route_biased", lambda logits, bias, k: logits.topk(k), None),
        ("route_biased", lambda x, b, k: (x.topk(k)[0], x.topk(k)[1] + 1), "from 0 to 2 here, and it chose 3"),
        ("balanced_bias", lambda bias, chosen, rate: chosen, r"shape \(3,\) here"),
        ("within_capacity", lambda chosen, n, capacity: chosen, "boolean tensor of shape .12, 1. here"),
    ],
)
def test_sentences_for_results_that_cannot_be_drawn(name, broken, says):
    if says is None:
        assert farthest(ExpertsExplorer({name: broken}), name) > TOLERANCE
        return
    with pytest.raises(WrongOutput, match=says):
        ExpertsExplorer({name: broken})


def test_words_say_loads_and_where_the_word_goes():
    made = CASE.make(k=2, room=MEAN)
    assert "loads 11, 9, 4; dropped: 4 of 24 choices. “mat” goes to expert 0 with weight 0.589" in made.alt
