"""The story of GradientFlowExplorer: the right answers are true of its own curves, the others are not."""

import numpy as np
from anatomy.widgets import GradientFlowExplorer
from anatomy.widgets.gradient import NAMES, SEEDS, TOLERANCE, WIDTHS, word
from anatomy.widgets.gradient.story import STORY

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
    assert len(ratios) == 12 and f"from all 12 starts, {ends(ratios, 1)} as hard" in STORY[0].because
    assert f"{one[-1]:.2f} against {two[-1]:.2f}" in STORY[0].because


def test_only_pre_ln_falls_with_depth():
    widget = shown(1)
    assert [word(widget.facts(i)["slope"]) for i in (widget.wiring, widget.other)] == ["stays flat", "falls"]
    falls = {tuple(word(w.facts(i)["slope"]) for i in (w.wiring, w.other)) for w in starts(1)}
    assert falls == {("stays flat", "falls")} and "From all starts Pre-LN’s falls" in STORY[1].because
    assert chosen(1) == "Pre-LN’s" and abs(widget.facts(widget.other)["slope"] + 0.5) < 0.05


def test_pre_lns_gradient_alone_grows_fivefold_from_every_start():
    widget = shown(2)
    ways = {NAMES[i]: widget.curve(i)[[-1, 0]] for i in (widget.wiring, widget.other)}
    assert [name for name, (last, first) in ways.items() if first > 5 * last] == ["Pre-LN"] and chosen(2) == "Pre-LN’s"
    post, pre = ([w.facts(i)["first_to_last"] for w in starts(2)] for i in (widget.wiring, widget.other))
    assert min(pre) > 5 > max(post) and "more than five times what layer 96" in STORY[2].asks
    assert ends(pre, 1).removesuffix(" times") in STORY[2].because
    assert f"{min(post):.2f} to {max(post):.1f} times" in STORY[2].because
    assert ways["Post-LN"][0] > 5 * ways["Pre-LN"][0]
    assert f"{widget.facts(widget.other)['first_to_last']:.1f}" == "14.6" and "14.6" in STORY[2].because


def test_deepnorm_alone_is_level():
    widget = shown(3)
    spread = {n: (c := widget.curve(i)).max() / c.min() for i, n in enumerate(NAMES) if n in STORY[3].choices}
    assert len(spread) == 3 and [n for n, s in spread.items() if s < 1.5] == [chosen(3)] == ["DeepNorm"]
    assert f"{widget.facts(NAMES.index('DeepNorm'))['first_to_last']:.2f}" == "0.99"
    level = [w.facts(NAMES.index("DeepNorm"))["first_to_last"] for w in starts(3)]
    assert f"{ends(level, 2).removesuffix(' times')} from all 12 starts" in STORY[3].because


def test_post_ln_stays_flat_for_every_seed_and_width():
    slopes = [shown(4, seed=s, width=w).facts(0)["slope"] for s in range(SEEDS) for w in WIDTHS]
    facts = [w.facts(0) for w in starts(4)]
    first = [f["first_to_last"] for f in facts]
    assert f"{min(first):.2f} to {max(first):.1f} times as much as layer 96" in STORY[4].because
    assert max(max(f["deeper"], 1 / f["deeper"]) for f in facts) <= 1.3 and "at most 1.3" in STORY[4].because
    assert {**STORY[4].state, **{k: v for s in STORY[4].show for k, v in s.items()}} == STORY[4].state
    assert chosen(4) == "yes" and np.abs(slopes).max() < 0.1 and {word(s) for s in slopes} == {"stays flat"}


def test_a_wrong_wiring_shows_in_the_curve_per_layer_alone():
    wrong, right = shown(5, {**WIRED, "post_ln": WIRED["pre_ln"]}), shown(5)
    assert wrong.facts(0)["far"] > TOLERANCE >= right.facts(0)["far"] and chosen(5) == "in the curve per layer"
    assert wrong.facts(0)["slope"] == right.facts(0)["slope"] and wrong.tables["curves"] == right.tables["curves"]
