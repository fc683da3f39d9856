"""The proof as a picture and the faults to choose: each number by a second path, in complex numbers.

The page computes with sines and cosines in JavaScript, RopeExplorer.vectors() with NumPy; here each pair is one complex
number, and each fault is written down once more.
"""

import numpy as np
import pytest
import torch
from anatomy.widgets import RopeExplorer
from anatomy.widgets.rope import TOLERANCE, faults

from ..page import find, settle, words
from ..stages import set_state
from .case import CASE
from .learners import backward_rope, right_rope, sign_rope
from .test_esm import center, readout, score_of

M, N = 20, 15
BREAKS = range(1, len(faults.FAULTS))


def paired(x):
    return x[0::2] + 1j * x[1::2]


def flat(z):
    return np.stack([z.real, z.imag], axis=-1).flatten()


def by_hand(fault, letter, p, dim=8, base=1e4):
    """The vector (D,) of that fault at position p."""
    x = CASE.make()._inputs[f"{letter}{dim}"].double().numpy()
    theta = np.array([base ** (-2 * i / dim) for i in range(dim // 2)])
    turn = np.exp(1j * p * theta)
    if fault == "one sign wrong":  # e cos + o sin for the first of a pair
        return flat((paired(x).conjugate() * turn).real + 1j * (paired(x) * turn).imag)
    if fault == "key not turned" and letter == "k":
        return x
    if fault == "one θ for all":
        turn = np.exp(1j * p * np.ones_like(theta))
    if fault == "other pairs in k" and letter == "k":
        z = (x[: dim // 2] + 1j * x[dim // 2 :]) * turn
        return np.r_[z.real, z.imag]
    if fault == "added, not turned":
        return x + flat(turn)
    if fault == "bfloat16":
        half = (torch.tensor(1000.0 + p).bfloat16() * torch.tensor(theta).float().bfloat16()).double().numpy()
        turn = np.exp(1j * half)
    return flat(paired(x) * turn)


def equalities(fault, plane, m=M, n=N):
    """The numbers of the proof's five rows for that fault."""
    q0, k0 = (paired(CASE.make()._inputs[f"{letter}8"].double().numpy()) for letter in "qk")
    q, k = paired(by_hand(fault, "q", m)), paired(by_hand(fault, "k", n))
    theta = np.array([1e4 ** (-2 * i / 8) for i in range(4)])
    used = 1.0 if fault == "one θ for all" else theta[plane]
    origin = 1000 if fault == "bfloat16" else 0
    dot = lambda a, b: (a * b.conjugate()).real
    wave = abs(q0) * abs(k0) * np.cos(np.angle(k0) - np.angle(q0) - (m - n) * theta)
    own = abs(q0[plane] * k0[plane]) * np.cos(np.angle(k0[plane] / q0[plane]) - (m - n) * used)
    return (
        dot(q[plane], k[plane]),
        dot(q[plane] * np.exp(-1j * (n + origin) * used), k0[plane]),
        dot(q0[plane] * np.exp(1j * (m - n) * used), k0[plane]),
        own,
        wave.sum(),
        dot(q, k).sum(),
    )


@pytest.mark.parametrize("fault", range(len(faults.FAULTS)), ids=faults.NAMES)
@pytest.mark.parametrize("letter", "qk")
def test_what_python_says_of_a_fault_is_what_the_fault_is(fault, letter):
    widget = CASE.make(fault=fault)
    expected = np.array([by_hand(faults.NAMES[fault], letter, p) for p in range(64)])
    assert np.allclose(widget.vectors(letter), expected, atol=2e-5)


@pytest.mark.parametrize("fault", BREAKS, ids=faults.NAMES[1:])
def test_each_fault_is_named_and_breaks_what_it_says(fault):
    widget = CASE.make(fault=fault)
    broken = {name for name, value in widget.invariants().items() if value > TOLERANCE}
    kept = {faults.ONE: {"shift", "norm"}, faults.SIGN: set(), faults.ADDED: set()}.get(fault, {"norm"})
    assert broken == {"shift", "norm", "reference"} - kept
    assert faults.FAULTS[fault][1] in widget.alt and widget.png()


@pytest.mark.browser
@pytest.mark.parametrize("fault", range(len(faults.FAULTS)), ids=faults.NAMES)
def test_the_page_draws_what_numpy_computes(stage, fault):
    """Chosen with a key, the fault changes the score, the signs and the sentence."""
    page = stage(CASE.make(m=M, n=N, panels=["breaking", "map"]), reduced_motion="reduce")
    find(page, "group", "Broken:").focus()
    for _ in range(fault):
        page.keyboard.press("ArrowRight")
    settle(page)
    expected = by_hand(faults.NAMES[fault], "q", M) @ by_hand(faults.NAMES[fault], "k", N)
    assert score_of(page) == pytest.approx(expected, abs=6e-4)
    assert page.locator(".ro-breaking .ta-note").text_content() == faults.FAULTS[fault][1]
    good = [value <= TOLERANCE for value in CASE.make(fault=fault).invariants().values()]
    assert [word in ("ok", "same") for word in words(page)] == good


def rows(page):
    """(state, number) of each row of the proof."""
    return [
        (row.get_attribute("data-lit"), row.locator(".ta-number").text_content().replace("\u2212", "-"))
        for row in page.locator(".ro-proof li").all()
    ]


@pytest.mark.browser
@pytest.mark.parametrize("plane", [0, 1, 3])
def test_the_equalities_hold_for_a_right_rotation_and_light_up_in_turn(stage, plane):
    page = stage(CASE.make(m=M, n=N, plane=plane, panels=["dials", "proof"]), reduced_motion="reduce")
    *expected, whole = equalities("nothing", plane)
    assert [state for state, _ in rows(page)] == ["yes", *["later"] * 4]
    visible = lambda: [row.is_visible() for row in page.locator(".ro-proof li").all()]
    assert visible() == [True, *[False] * 4]  # a row says what is to be found out
    for lit in range(1, 5):
        page.get_by_role("button", name="Next equality").press("Enter")
        settle(page)
        assert [state for state, _ in rows(page)] == ["yes"] * (lit + 1) + ["later"] * (4 - lit)
        assert visible() == [True] * (lit + 1) + [False] * (4 - lit)
        assert page.get_by_role("button", name="Stand on k").get_attribute("aria-pressed") == "true"
    assert [float(text) for _, text in rows(page)] == pytest.approx(expected, abs=6e-4)
    assert max(expected[:4]) - min(expected[:4]) < 1e-9 and expected[4] == pytest.approx(whole)
    assert page.get_by_role("button", name="Next equality").count() == 0  # it doesn't begin again without a word
    page.get_by_role("button", name="From the start").press("Enter")
    settle(page)
    assert page.get_by_role("button", name="Stand on k").get_attribute("aria-pressed") == "false"
    assert visible() == [True, *[False] * 4] and page.get_by_role("button", name="Next equality").is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("fault", BREAKS, ids=faults.NAMES[1:])
def test_equalities_that_fail_go_out(stage, fault):
    page = stage(CASE.make(m=M, n=N, plane=1, fault=fault, proof=4, panels=["dials", "proof"]), reduced_motion="reduce")
    name = faults.NAMES[fault]
    left, back, one, wave, summed, whole = equalities(name, 1)
    holds = [abs(a - b) <= TOLERANCE for a, b in ((left, back), (back, one), (one, wave), (whole, summed))]
    assert [state for state, _ in rows(page)] == ["yes", *("yes" if good else "out" for good in holds)]
    assert not all(holds)
    numbers = [float(text.split("≠")[-1]) for _, text in rows(page)]
    assert numbers == pytest.approx([left, back, one, wave, summed], abs=6e-4)


@pytest.mark.browser
@pytest.mark.parametrize("fn, out", [(right_rope, 0), (sign_rope, 3), (backward_rope, 3)])
def test_the_learners_own_function_is_asked(stage, fn, out):
    page = stage(RopeExplorer(fn, m=M, n=N, plane=1, proof=4, panels=["dials", "proof"]), reduced_motion="reduce")
    assert sum(state == "out" for state, _ in rows(page)) == out


@pytest.mark.browser
def test_standing_on_k_its_arrow_freezes(stage):
    page = stage(CASE.make(m=M, n=N, stand=True), reduced_motion="reduce")
    arrows = lambda: [e.get_attribute("d") for e in page.locator(".ro-dials path.ta-arrow:not(.ta-ghost)").all()]
    frozen = arrows()
    page.get_by_role("button", name="Step both +1").press("Enter")
    settle(page)
    assert arrows() == frozen  # both: the distance is the same
    find(page, "slider", "query position m").press("ArrowRight")
    settle(page)
    changed = [a != b for a, b in zip(arrows(), frozen, strict=True)]
    assert changed[:4] == [False, True, False, True]  # k, q, k, q
    page.get_by_role("button", name="Stand on k").press("Enter")
    settle(page)
    assert arrows()[0] != frozen[0]


@pytest.mark.browser
def test_waves_add_up_and_are_switched(stage):
    page = stage(CASE.make(m=M, n=N, panels=["score"]), reduced_motion="reduce")
    theta = np.array([1e4 ** (-2 * i / 8) for i in range(4)])
    q0, k0 = (paired(CASE.make()._inputs[f"{letter}8"].double().numpy()) for letter in "qk")
    waves = abs(q0 * k0) * np.cos(np.angle(k0 / q0) - (M - N) * theta)
    bars = lambda: [
        t.replace("\u2212", "-") for t in page.locator(".ro-score svg").first.locator("text").all_text_contents()[1::2]
    ]
    assert [float(b) for b in bars()] == pytest.approx([*waves, waves.sum()], abs=6e-3)
    path, height = page.locator("path.ta-mine").get_attribute("d"), page.locator("circle.ta-here").get_attribute("cy")
    find(page, "button", "wave of plane 0").press("Enter")
    settle(page)
    assert bars()[0] == "off" and float(bars()[-1]) == pytest.approx(waves[1:].sum(), abs=6e-3)
    assert page.locator("path.ta-mine").get_attribute("d") != path
    assert page.locator("circle.ta-here").get_attribute("cy") != height
    assert score_of(page) == pytest.approx(waves.sum(), abs=6e-4) and "S[20, 15]" in readout(page)


@pytest.mark.browser
def test_the_scale_of_the_score_stays_while_content_turns(stage):
    """Bars and curve reach as far as the score can: Σ |q||k| = 4 · 0.8."""
    page = stage(CASE.make(m=24, n=4, panels=["score"]), reduced_motion="reduce")
    bar = page.locator(".ro-score svg").first.locator("rect").last
    seen = []
    for turned in ([0] * 16, [232, 276, 332, 61] + [0] * 12, [52, 96, 152, 241] + [0] * 12):
        set_state(page, {"turned": turned})
        score = abs(CASE.make(turned=turned).scores()[24, 4])
        seen.append((score, float(bar.get_attribute("width"))))
    assert seen[1][0] == pytest.approx(3.2, abs=1e-3) and seen[0][0] < 1
    assert [width / seen[1][1] for _, width in seen] == pytest.approx([score / 3.2 for score, _ in seen], abs=0.01)


@pytest.mark.browser
def test_the_wave_of_the_plane_is_bold_and_the_lines_are_told(stage):
    page = stage(CASE.make(panels=["dials", "score"], hand="content"), reduced_motion="reduce")
    bold = lambda: page.locator(".ro-waveline").nth(1).get_attribute("d")
    told = page.locator(".ro-score > .ta-note")
    first = bold()
    assert "solid: the score here" in told.text_content() and "plane 0’s" in told.text_content()
    page.mouse.move(*center(page, page.locator(".ro-grip").nth(4)))  # q in plane 2
    page.mouse.down()
    page.mouse.up()
    settle(page)
    assert bold() != first and bold() in page.locator(".ro-waveline").first.get_attribute("d")
    assert "plane 2’s" in told.text_content()
    find(page, "button", "wave of plane 2").press("Enter")
    settle(page)
    assert bold() == ""
    page = stage(CASE.make(panels=["score"]))
    set_state(page, {"alone": True, "notice": "Showing the reference", "m": 10})
    assert page.locator("path.ta-reference").count() == 0  # there is nothing to compare it with
    assert "Thick: the score" in page.locator(".ro-score > .ta-note").text_content()


def last_row(page):
    row = page.locator(".ro-proof li").last
    return row.get_attribute("data-lit"), row.locator("small").text_content()


@pytest.mark.browser
@pytest.mark.parametrize("fault", range(len(faults.FAULTS)), ids=faults.NAMES)
def test_the_last_row_of_the_proof_agrees_with_the_sign_of_the_distance(stage, fault):
    """What fails there is the score; that m − n decides may still hold."""
    page = stage(CASE.make(m=M, n=N, fault=fault, proof=4, panels=["dials", "proof"]), reduced_motion="reduce")
    if fault == 0:
        assert last_row(page) == ("yes", "all planes: positions are in it only as m − n")
    elif words(page)[0] == "ok":
        assert fault == faults.ONE and last_row(page) == ("out", "only m − n counts, but q·k is not this sum")
    else:
        assert last_row(page) == ("out", "all planes: q·k is not this sum")
    find(page, "button", "From the start").press("Enter")  # none of them is claimed yet
    settle(page)
    assert last_row(page) == ("later", "all planes: positions are in it only as m − n")


@pytest.mark.browser
def test_numbers_that_count_as_different_look_different(stage):
    """For each fault and some positions: before and after an equality that fails, no two numbers are the same."""
    page = stage(CASE.make(proof=4, panels=["dials", "proof"]), reduced_motion="reduce")
    longer = 0
    for fault in BREAKS:
        for m, n, plane in ((9, 4, 0), (9, 4, 1), (9, 4, 2), (9, 4, 3), (16, 15, 2), (40, 8, 3)):
            set_state(page, {"fault": fault, "m": m, "n": n, "plane": plane})
            for state, text in rows(page)[1:]:
                assert len(set(text.split(" ≠ "))) == (2 if state == "out" else 1), (fault, m, n, plane, text)
            longer += len(rows(page)[0][1].split(".")[1]) > 3
    assert longer, "three decimals were enough: nothing is tested here"


@pytest.mark.browser
def test_the_switches_of_the_waves_wait_on_a_page_alone(stage):
    page = stage(CASE.make(panels=["score"]))
    switch = page.get_by_role("button", name="wave of plane 1")
    assert switch.is_visible()
    set_state(page, {"alone": True, "m": 10})
    assert switch.is_hidden()
    for state in ({"more": True}, {"more": False, "waves": [1]}):  # one that is off can be switched on again
        set_state(page, state)
        assert switch.is_visible()
