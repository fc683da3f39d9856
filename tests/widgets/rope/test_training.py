"""The panels "Longer than trained" and "In memory", and the name WavelengthExplorer, which opens the first."""

import math

import numpy as np
import pytest
import torch
from anatomy.widgets import RopeExplorer, WavelengthExplorer
from anatomy.widgets.rope import TOLERANCE, lengths

from ..page import find, settle, words
from ..stages import set_state
from .case import CASE
from .learners import half_exponent, right_frequencies
from .test_esm import readout

OPEN = {"panels": ["training"]}


def explorer(fn=right_frequencies, **state):
    return RopeExplorer.of_frequencies(fn, **state)


def test_wavelengths_by_hand():
    widget = explorer()
    waves = widget.wavelengths()
    assert len(waves) == 64 and round(waves.max()) == 54410 and np.isclose(waves[0], 2 * math.pi)
    # 2π·10000^(i/64) ≤ 4096 holds for i ≤ 64·ln(4096/2π)/ln(10000) = 45.03, which are 46 planes
    assert lengths.all_round(widget.frequencies(), 4096).sum() == 46
    assert lengths.all_round(widget.frequencies(), 65536).all()


def test_wrong_exponent_shows():
    found = explorer(half_exponent).frequency_invariants()
    assert found["first"] < TOLERANCE and found["ratio"] > 0.05 and found["formula"] > 1
    assert max(explorer().frequency_invariants().values()) < TOLERANCE
    zero = explorer(lambda D, base=1e4: torch.zeros(D // 2))
    assert "broken" in zero.alt and zero.png()


def test_the_dials_turn_at_the_learners_speeds():
    widget = explorer(half_exponent, base=1e4)
    q = widget.vectors("q")[:, 0::2] + 1j * widget.vectors("q")[:, 1::2]
    assert np.allclose(q[1] / q[0], np.exp(1j * 1e4 ** (-np.arange(4) / 8)), atol=1e-5)
    assert widget.cause() == "differs: other speeds" and explorer().invariants()["reference"] < TOLERANCE


@pytest.mark.parametrize("scheme", ["PI", "NTK", "YaRN"])
@pytest.mark.parametrize("D, base, trained, s", [(128, 1e4, 4096, 4), (32, 1e4, 64, 4), (64, 5e5, 8192, 16)])
def test_schemes_are_those_of_the_course(scheme, D, base, trained, s):
    from autograder.reference import rope, rope_scaling

    theta = rope.rope_frequencies(D, base, dtype=torch.float64)
    expected = {
        "PI": lambda: theta / s,
        "NTK": lambda: rope.rope_frequencies(D, rope_scaling.ntk_base(base, s, D), dtype=torch.float64),
        "YaRN": lambda: rope_scaling.yarn_frequencies(D, base, s, trained),
    }[scheme]()
    got = lengths.slowed(theta.numpy(), base, lengths.SCHEMES.index(scheme), trained, s * trained)
    assert np.allclose(got, expected, rtol=1e-5)
    assert np.allclose(lengths.slowed(theta.numpy(), base, 1, trained, trained // 2), theta)  # shorter: nothing changes


def test_the_old_name_opens_this_panel():
    with pytest.warns(DeprecationWarning, match="RopeExplorer.of_frequencies"):
        widget = WavelengthExplorer(right_frequencies, context=8192, dim=64, base=1e6, plane=3)
    assert isinstance(widget, RopeExplorer) and widget.panels == ["training"] and widget.spec["frequencies"]
    assert (widget.length, widget.head, widget.base, widget.clock) == (8192, 64, 5e5, 3)
    assert widget.notice == "" and "64 has 32 hands" in widget.alt


def test_a_stub_shows_the_formula():
    def rope_frequencies(D, base=10000.0):
        raise NotImplementedError("rope.rope_frequencies")

    widget = explorer(rope_frequencies)
    assert widget.notice == "Showing the reference: rope_frequencies is not written yet"
    assert np.allclose(widget.frequencies(), right_frequencies(128))


def test_it_follows_its_own_check():
    from anatomy.widgets.tools import following

    def rope_frequencies(D, base=10000.0):
        return half_exponent(D, base)

    widget = explorer(rope_frequencies)
    assert following.targets_in(widget) == {"rope_frequencies": "rope_frequencies"}
    widget.follow({"rope_frequencies": right_frequencies})
    assert np.allclose(widget.frequencies(), right_frequencies(128))


@pytest.mark.browser
@pytest.mark.parametrize("head, trained, length, scheme", [(128, 4096, 16384, 0), (128, 4096, 16384, 2),
                                                           (32, 64, 256, 3), (256, 1024, 1 << 20, 1)])  # fmt: skip
def test_the_page_counts_as_numpy_does(stage, head, trained, length, scheme):
    state = {"head": head, "trained": trained, "length": length, "scheme": scheme}
    widget = explorer(**state)
    page = stage(widget, reduced_motion="reduce")
    theta = widget.frequencies()
    red = int(lengths.unseen(theta, 1e4, scheme, trained, length).sum())
    shown = page.locator(".ro-training .ta-number").all_text_contents()
    assert shown[:2] == [f"{lengths.all_round(theta, trained).sum()} of {head // 2}", f"{red} of {head // 2}"]
    assert f"{red} of {head // 2} hands reach" in readout(page)
    longest = 2 * math.pi / np.abs(widget.slowed()).min()
    assert float(shown[2].split()[0].replace(",", "")) == pytest.approx(longest, rel=1e-3, abs=0.6)
    assert f"the slowest needs {longest:,.0f} tokens" in widget.words
    assert page.locator(".ro-what").text_content().startswith(("No change", "PI", "NTK", "YaRN")[scheme])
    assert words(page)[3:6] == ["ok", "ok", "ok"]
    drawn = [e for e in page.locator(".ro-fresh").all() if e.get_attribute("d")]
    assert abs(len(drawn) - red) <= 1  # a hand just beyond is too thin to draw
    path = page.locator(".ro-hand").last.get_attribute("d")
    x, y = map(float, path.split("L")[1].split())
    angle = widget.slowed()[-1] * length
    assert math.hypot(x / math.hypot(x, y) - math.cos(angle), -y / math.hypot(x, y) - math.sin(angle)) < 0.01


@pytest.mark.browser
def test_the_rings_have_a_legend_and_the_head_waits_where_the_picture_stands_alone(stage):
    page = stage(CASE.make(**OPEN))
    head = page.get_by_label("for a head dim of")
    assert "Gray: angles seen in training. Hatched: never seen." in page.locator(".ro-training").text_content()
    for alone, more, dim, there in ((False, False, 128, True), (True, False, 128, False), (True, True, 128, True),
                                    (True, False, 64, True)):  # fmt: skip
        set_state(page, {"alone": alone, "more": more, "head": dim})
        assert head.is_visible() == there, (alone, more, dim)


@pytest.mark.browser
def test_a_hand_pointed_at_shows_its_wavelength(stage):
    page = stage(CASE.make(clock=32, **OPEN))
    quiet = readout(page)
    box = page.locator(".ro-training .ta-area").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"] / 16, box["y"] + 3.5 * box["height"] / 4)  # plane 48
    settle(page)
    assert "hand 48: θ = 0.001, so a full turn takes 2π ÷ θ = 6,283 tokens; in training" in readout(
        page
    ) and "NaN" not in readout(page)
    page.mouse.move(2, 2)
    settle(page)
    assert readout(page) == quiet
    page.locator(".ro-training .ta-area").focus()
    page.keyboard.press("ArrowDown")
    settle(page)
    assert page.evaluate("() => model.get('clock')") == 48 and "hand 48:" in readout(page)


@pytest.mark.browser
def test_reading_the_text_turns_the_hands_and_blurs_what_no_eye_can_follow(stage):
    page = stage(CASE.make(length=65536, **OPEN), reduced_motion="no-preference")
    hands = lambda: [e.get_attribute("d") for e in page.locator(".ro-hand").all()]
    rest = hands()
    counter = page.locator(".ro-training .ta-note", has_text="hands at token")
    assert counter.text_content() == "hands at token 65,536 of 65,536"
    find(page, "button", "Read the text").press("Enter")
    page.wait_for_timeout(1500)
    hidden = [e.evaluate("(e) => e.style.visibility") for e in page.locator(".ro-hand").all()]
    first = hands()
    page.wait_for_timeout(300)
    at = int(counter.text_content().split()[3].replace(",", ""))
    assert 0 < at < 65536 and counter.text_content().endswith(" of 65,536")
    assert hands()[-1] != first[-1] and hidden[0] == "hidden" and hidden[-1] == "visible"
    find(page, "button", "Pause").press("Enter")
    settle(page)
    assert hands() == rest


@pytest.mark.browser
def test_the_riffle_moves_the_cards_and_no_score(stage):
    page = stage(CASE.make(panels=["strip"], m=9, n=4), reduced_motion="no-preference")
    places = "(row) => [...document.querySelectorAll(`[data-row=${row}]`)].map((g) => g.getBoundingClientRect().x)"
    order = lambda row: np.argsort(page.evaluate(places, row)).tolist()
    total = lambda: float(page.locator(".ro-strip .ta-number").text_content().replace("\u2212", "-"))
    score = readout(page)
    assert order("q") == order("k") == list(range(8))
    numbers = [t.replace("\u2212", "-") for t in page.locator(".ro-strip [data-row=q] text").all_text_contents()]
    assert [float(t) for t in numbers] == pytest.approx(CASE.make().vectors("q")[9].tolist(), abs=6e-3)
    find(page, "group", "Order in memory:").press("ArrowRight")
    page.wait_for_timeout(450)
    between = page.evaluate(places, "q")
    page.wait_for_timeout(1200)
    halves = [0, 2, 4, 6, 1, 3, 5, 7]
    assert order("q") == order("k") == halves and between != page.evaluate(places, "q") and readout(page) == score
    assert total() == pytest.approx(CASE.make().scores()[9, 4], abs=6e-4)
    find(page, "group", "Order in memory:").press("ArrowRight")  # q alone: strangers meet
    page.wait_for_timeout(1700)
    alone = CASE.make(panels=["strip"], order="q")
    assert order("q") == halves and order("k") == list(range(8))
    assert total() == pytest.approx(alone.in_memory(), abs=6e-4) and f"{abs(total()):.3f}" in readout(page)
    terms = page.locator(".ro-strip svg > text.ta-small").all_text_contents()[1:]
    q, k = alone.vectors("q")[9][halves], alone.vectors("k")[4]
    assert [float(t.replace("\u2212", "-")) for t in terms] == pytest.approx((q * k).tolist(), abs=6e-3)


@pytest.mark.browser
def test_what_is_drawn_anew_leaves_the_focus_where_it_is(stage):
    """The slider that changes the number of hands stays; a choice whose panel is built again gets the focus back."""
    page = stage(CASE.make(panels=["training"], head=128))
    find(page, "slider", "for a head dim of").press("ArrowLeft")
    settle(page)
    assert page.evaluate("() => document.activeElement.getAttribute('aria-valuetext')") == "64"
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.evaluate("() => document.activeElement.getAttribute('aria-valuetext')") == "32"
    page = stage(CASE.make(panels=["dials"]))
    page.get_by_role("radio", name="content").focus()
    page.keyboard.press("Space")
    settle(page)
    assert page.evaluate("() => document.activeElement.type") == "radio"


def test_the_thin_hand_is_the_token_before(stage):
    """So one sees what PI costs: 57° between neighbors in the first dial become 14°."""
    page = stage(CASE.make(panels=["training"], clock=0), reduced_motion="reduce")

    def between():
        ends = [
            [float(x) for x in e.get_attribute("d").split("L")[1].split()] for e in page.locator(".ro-hand").all()[:2]
        ]
        before, hand = (math.atan2(-y, x) for x, y in ends)
        return (hand - before) % (2 * math.pi)

    assert between() == pytest.approx(1, abs=0.01)
    set_state(page, {"scheme": 1})
    assert between() == pytest.approx(0.25, abs=0.01)
