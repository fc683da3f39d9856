"""GradientFlowExplorer in Python: its tables, notices, texts and still picture."""

import math

import numpy as np
import pytest
import torch
from anatomy.experiments import gradient_flow
from anatomy.experiments.gradient_flow import DEPTHS, SEEDS, WIDTHS
from anatomy.widgets import GradientFlowExplorer, WrongOutput
from anatomy.widgets.gradient import NAMES, TOLERANCE, WIRINGS
from anatomy.widgets.tools.base import NOTHING_GIVEN

from autograder.reference.placement import deepnorm_decoder_only

from ..learners import unfinished
from .learners import WIRED


@pytest.fixture(scope="module")
def right():
    return GradientFlowExplorer(WIRED)


def test_right_functions_give_the_recorded_curves(right):
    far = np.frombuffer(right.tables["far"], "<f4")
    assert far.max() < TOLERANCE / 10 and np.frombuffer(right.tables["own"], "<f4").all()
    recorded = gradient_flow.recorded()["curves"]
    for place, name in enumerate(NAMES):
        right.wiring = place
        assert right.is_live(place) and right.whose == "your"
        assert right.curve(place) == pytest.approx(recorded[name][32][12][0], rel=2e-3)
    right.wiring = 0


def test_a_curve_equals_a_loop_over_parameters():
    layers = gradient_flow.build(WIRED, "Post-LN", 3, 32, seed=1)
    x, target = gradient_flow.batch(32, 1)
    for layer in layers:
        x = layer(x)
    ((x - target) ** 2).mean().backward()
    by_hand = []
    for layer in layers:
        total = 0.0
        for name, p in layer.named_parameters():
            if "proj.weight" in name:
                total += sum(v * v for v in p.grad.flatten().tolist())
        by_hand.append(math.sqrt(total))
    assert gradient_flow.curve(WIRED, "Post-LN", 3, 32, seed=1) == pytest.approx(by_hand, rel=1e-4)


def test_the_facts_say_what_the_curves_show():
    widget = GradientFlowExplorer(WIRED, depth=96, width=128)
    assert widget.whose == "the recorded (cpu)" if widget._recorded["made"]["device"] == "cpu" else True
    slopes = {n: widget.facts(i)["slope"] for i, n in enumerate(NAMES)}
    assert abs(slopes["Post-LN"]) < 0.1 and all(-0.7 < slopes[n] < -0.4 for n in ("Pre-LN", "sandwich", "parallel"))
    curve = widget.curve(1)
    assert widget.facts(1)["first_to_last"] == pytest.approx(curve[0] / curve[-1]) and len(curve) == 96


@pytest.mark.parametrize(
    "name, wrong, shown",
    [
        ("pre_ln", WIRED["post_ln"], "Pre-LN"),
        ("post_ln", lambda x, f, n: n(f(x)), "Post-LN"),
        ("deepnorm", lambda x, f, n, alpha: n(x + f(x)), "DeepNorm"),
        ("sandwich", lambda x, f, a, b: x + f(a(x)), "pre+post"),
        ("parallel", lambda x, a, f, n: x + a(n(x)), "parallel"),
    ],
)
def test_mistakes_show(name, wrong, shown):
    widget = GradientFlowExplorer({**WIRED, name: wrong}, wiring=shown)
    assert widget.facts(NAMES.index(shown))["far"] > 5 * TOLERANCE and "broken" in widget.alt
    others = [i for i, n in enumerate(NAMES) if WIRINGS[n].function != name]
    assert max(widget.facts(i)["far"] for i in others) < TOLERANCE


def test_each_unwritten_function_falls_back_by_itself():
    widget = GradientFlowExplorer({**WIRED, "sandwich": unfinished})
    assert widget.notice == "Showing the reference for sandwich: not written yet"
    assert [widget.is_live(i) for i in range(len(NAMES))] == [n not in ("sandwich", "pre+post") for n in NAMES]
    widget.refresh(WIRED)
    assert widget.notice == "" and widget.is_live(2)
    assert GradientFlowExplorer().notice == NOTHING_GIVEN


def test_wrong_names_results_and_errors():
    with pytest.raises(TypeError, match="does not know preln"):
        GradientFlowExplorer({"preln": unfinished})
    for result, said in ((None, "returned None"), (torch.zeros(7), r"shape \(7,\)"), ("x", "a value of type str")):
        with pytest.raises(WrongOutput, match=f"pre_ln must return a floating-point tensor of shape .*{said}"):
            GradientFlowExplorer({"pre_ln": lambda x, f, n, result=result: result})
    with pytest.raises(WrongOutput, match="No gradient flows through pre_ln"):
        GradientFlowExplorer({"pre_ln": lambda x, f, n: x.detach()})
    with pytest.raises(ZeroDivisionError):
        GradientFlowExplorer({"pre_ln": lambda x, f, n: 1 / 0})


@pytest.mark.parametrize("name, depth, seed", [("Pre-LN", 12, 1), ("sandwich", 24, 0), ("DeepNorm", 6, 2)])
def test_a_recorded_stream_is_what_a_stack_gives(name, depth, seed):
    scale = deepnorm_decoder_only(depth) if name == "DeepNorm" else None
    layers = gradient_flow.build(WIRED, name, depth, 32, seed=seed, scale=scale)
    x, _ = gradient_flow.batch(32, seed)
    by_hand = [x.pow(2).mean().item() ** 0.5]
    for layer in layers[:depth]:
        x = layer(x)
        by_hand.append(x.pow(2).mean().item() ** 0.5)
    widget = GradientFlowExplorer(WIRED, depth=depth, seed=seed)
    assert widget.stream(NAMES.index(name)) == pytest.approx(by_hand, rel=2e-3)
    assert gradient_flow.stream(layers[:depth], gradient_flow.batch(32, seed)[0]) == pytest.approx(by_hand, rel=1e-5)


def test_every_recorded_stack_has_its_stream():
    sent = np.frombuffer(GradientFlowExplorer(WIRED).tables["streams"], "<f4")
    table = sent.reshape(len(NAMES), len(WIDTHS), len(DEPTHS), SEEDS, -1)
    for i, depth in enumerate(DEPTHS):
        assert (table[:, :, i, :, : depth + 1] > 0.5).all() and np.isnan(table[:, :, i, :, depth + 1 :]).all()


@pytest.mark.parametrize("state", [{}, {"depth": 96, "wiring": "norm inside", "back": 96}, {"back": 5}])
def test_a_still_picture_prints_a_norm_of_one_as_1(state):
    made = GradientFlowExplorer(WIRED, **state).figure()
    made.draw_without_rendering()
    assert [axes.get_yscale() for axes in made.axes] == ["log", "linear", "log"]
    assert made.axes[1].get_ylim()[0] == 0 and len(made.axes[1].lines) == 2  # both streams
    for axes in (made.axes[0], made.axes[2]):
        low, high = axes.get_ylim()
        inside = {
            text.get_text()
            for text, at in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
            if low <= at <= high
        }
        assert {"1", "0.1"} <= inside and not any("e" in n or "$" in n for n in inside)
        assert not any(text.get_text() for text in axes.get_yticklabels(minor=True))


def test_a_still_picture_before_the_run_shows_and_tells_all_of_it():
    veils = lambda widget: sum(len(axes.patches) for axes in widget.figure().axes)
    for back, veiled in ((0, False), (5, True), (96, False)):
        widget = GradientFlowExplorer(WIRED, back=back)
        assert (veils(widget) > 0) == veiled == ("run back through" in widget.alt)
