"""The story of GradientFlowExplorer: the right answers are true of its own curves, the others are not."""

import numpy as np
import pytest
from anatomy.experiments import gradient_flow
from anatomy.widgets import GradientFlowExplorer
from anatomy.widgets.gradient import NAMES, SEEDS, TOLERANCE, WIDTHS, word
from anatomy.widgets.gradient.story import DEEP, POST, PRE, STORY

from autograder.reference.placement import deepnorm_decoder_only

from .learners import WIRED


def shown(i, functions=None, **changed):
    return GradientFlowExplorer(functions or WIRED, **{**STORY[i].state, **changed})


def chosen(i):
    return STORY[i].choices[STORY[i].answer]


def test_it_starts_where_the_widget_starts():
    widget = GradientFlowExplorer()
    assert {name: getattr(widget, name) for name in STORY[0].state} == STORY[0].state


def starts(i):
    """The widget in that step, from one start after the other: each width with each seed."""
    widget = shown(i)
    for width in WIDTHS:
        for seed in range(SEEDS):
            widget.width, widget.seed = width, seed
            yield widget


def ends(values, digits):
    """The least and the greatest, as the replies print them."""
    return f"{min(values):.{digits}f} to {max(values):.{digits}f} times"


def test_post_lns_last_layer_has_the_larger_gradient():
    widget = shown(0)
    one, two = (widget.curve(i) for i in (widget.wiring, widget.other))
    assert one[-1] > 3 * two[-1] and chosen(0) == "Post-LN’s"
    ratios = [w.facts(w.wiring)["last"] / w.facts(w.other)["last"] for w in starts(0)]
    assert len(ratios) == 12 and f"over 3 seeds × 4 widths, {ends(ratios, 1)} as much" in STORY[0].because
    assert f"It gets {one[-1]:.2f}, Pre-LN’s {two[-1]:.2f}" in STORY[0].because


def ended(i, **changed):
    """Size of the stream at its end, and the last layer's gradient, of both stacks."""
    widget = shown(i, **changed)
    return [(widget.stream(k)[-1], widget.curve(k)[-1]) for k in (widget.wiring, widget.other)]


def test_pre_lns_last_gradient_falls_as_its_stream_grows():
    (post, post_g), (pre, pre_g) = ended(1)
    (post96, post96_g), (pre96, pre96_g) = ended(1, depth=96)
    assert chosen(1) == "it shrinks" and STORY[1].state["depth"] == 6 and pre96_g < pre_g / 4
    assert f"the stream’s end grows {pre96 / pre:.1f} times" in STORY[1].because
    assert STORY[1].says.count(f"÷ {pre:.2f}") == 2
    assert f"bar shrinks {pre_g / pre96_g:.1f} times" in STORY[1].because
    assert post == pytest.approx(1, abs=0.01) and post96 == pytest.approx(1, abs=0.01)
    assert post_g / post96_g == pytest.approx(1, abs=0.05)  # "nearly as they are"
    falls = {tuple(word(w.facts(i)["slope"]) for i in (w.wiring, w.other)) for w in starts(1)}
    assert falls == {("stays flat", "falls")}


def test_pre_lns_stream_grows_like_a_random_walk():
    found = [w.stream(w.other)[-1] for w in starts(2)]
    at = shown(2, depth=96)
    ratios = []
    for k, (width, seed) in enumerate((w, s) for w in WIDTHS for s in range(SEEDS)):
        at.width, at.seed = width, seed
        ratios.append(at.stream(at.other)[-1] / found[k])
    assert STORY[2].state["depth"] == 24 and chosen(2) == "about 2" and all(1.5 < r < 2.5 for r in ratios)
    assert f"here it is {ratios[0]:.1f}, over 3 seeds × 4 widths between 1.8 and 2.5" in STORY[2].because
    assert 1.8 < min(ratios) and max(ratios) < 2.5


def test_pre_lns_gradient_is_large_where_its_stream_is_small():
    widget = shown(3)
    curve = widget.curve(widget.other)
    assert np.argmax(curve) == 0 and chosen(3) == "each layer adds a part"
    assert curve[0] > curve[40:56].max() > curve[-8:].max()
    for w in starts(3):
        bars, band = w.curve(w.other), w.stream(w.other)[:-1]
        assert np.corrcoef(np.log(bars), np.log(band))[0, 1] < -0.9  # "where the stream is thin"
    pre = [w.facts(w.other)["first_to_last"] for w in starts(3)]
    assert f"{pre[0]:.1f} times what layer 96" in STORY[3].because
    assert f"over 3 seeds × 4 widths, {ends(pre, 1).removesuffix(' times')}." in STORY[3].because


def test_each_layer_of_pre_ln_adds_to_the_gradient_and_none_starts_with_larger_weights():
    layers = gradient_flow.build(WIRED, "Pre-LN", 96, 32, seed=0)
    first, last = ([p.pow(2).mean().item() for p in layers[i].parameters() if p.ndim > 1] for i in (0, 95))
    assert first == pytest.approx(last, rel=0.2)  # mean squares of its weights
    x, target = gradient_flow.batch(32, 0)
    streams = [x.requires_grad_()]
    for layer in layers:
        streams.append(layer(streams[-1]))
        streams[-1].retain_grad()
    ((streams[-1] - target) ** 2).mean().backward()
    sizes = np.array([s.grad.norm().item() for s in streams[:97]])  # before layer 1 and after each layer
    grown = np.log(sizes[:-1] / sizes[1:])  # by each layer, on the way back
    assert grown.min() > -0.05 and (grown > 0).mean() > 0.85  # a part may point against the rest
    assert sizes[96] < streams[97].grad.norm() / 10  # the last norm lowers it
    assert grown[:12].sum() > grown[12:].sum() > 0 and np.argmax(grown) < 4  # "large where the stream is thin"


def test_post_lns_first_layer_alone_may_get_nearly_nothing():
    """For one of the three seeds that the step lets one try, and for no start of Pre-LN."""
    post, pre = ([w.facts(i)["first_to_last"] for w in starts(4)] for i in (POST, PRE))
    seeds = [shown(4, seed=k).facts(POST)["first_to_last"] for k in range(SEEDS)]
    assert [v < 0.1 for v in seeds] == [False, False, True] and f"With seed 2 it gets {seeds[2]:.2f} times" in STORY[
        4
    ].because
    assert ends(post, 2).startswith("0.02") and f"{min(post):.2f} to {max(post):.1f}." in STORY[4].because
    assert min(pre) > 1 and chosen(4) == "Post-LN’s"


def test_deepnorm_pushes_all_layers_alike():
    widget = shown(5)
    curve = widget.curve(DEEP)
    assert NAMES[DEEP] == "DeepNorm" and widget.wiring == DEEP and chosen(5) == "all alike"
    level = [w.facts(DEEP)["first_to_last"] for w in starts(5)]
    assert curve.max() / curve.min() < 1.15 and ends(level, 2) in STORY[5].because
    post = GradientFlowExplorer(WIRED, depth=96).curve(POST)[-1]
    assert f"{post / curve[-1]:.0f} times smaller than Post-LN’s {post:.3f}" in STORY[5].because
    alpha, beta = deepnorm_decoder_only(96)
    assert f"α = {alpha:.1f}" in STORY[5].says and beta < 0.2  # "small weights"


def test_without_a_norm_the_gradient_explodes_on_its_way_back():
    broken = shown(6, {**WIRED, "pre_ln": lambda x, sublayer, norm: x + sublayer(x)})
    facts = broken.facts(PRE)
    assert chosen(6) == "it explodes" and f"gets {facts['first_to_last']:.0f} times what layer 12" in STORY[6].because
    assert facts["far"] > TOLERANCE >= shown(6).facts(PRE)["far"]
