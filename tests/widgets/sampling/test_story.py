"""What SamplingExplorer's story says is what its table shows."""

import numpy as np
import pytest
from anatomy.widgets.sampling import PROMPTS

from .case import CASE
from .drawing import farthest, press


def answer(i):
    step = CASE.widget.story[i]
    return step.choices[step.answer]


def at(step, **state):
    return CASE.make(**{**CASE.widget.story[step].state, **state})


def test_one_token_has_everything_at_temperature_0():
    assert answer(0) == "the likeliest one"
    cold = at(0, temperature=0.0)
    assert cold.probabilities()[0] == 1 and cold.possible() == 1


def test_heat_gives_nearly_all_to_the_others():
    assert answer(1) == "more than nine tenths"
    for prompt in range(3):
        assert at(1, temperature=4.0, prompt=prompt).probabilities()[-1] > 0.9


def test_what_top_k_leaves_grows_by_one_factor():
    assert answer(2) == "all grow by one factor"
    before, after = at(2).probabilities(), at(2, top_k=5).probabilities()
    assert (after[:5] / before[:5]) == pytest.approx(np.full(5, 1 / before[:5].sum()), rel=1e-5)
    assert not after[5:].any() and after.sum() == pytest.approx(1, abs=1e-6)
    assert f"“·gl” grows from {before[0]:.3f} to {after[0]:.3f}" in CASE.widget.story[2].because


def test_top_p_keeps_what_it_takes_and_top_k_keeps_five():
    assert answer(3) == f"“{PROMPTS[1]}”" and CASE.widget.story[3].choices == tuple(f"“{text}”" for text in PROMPTS)
    left = [at(3, top_p=0.9, prompt=prompt).possible() for prompt in range(3)]
    assert max(left) == left[1] == 188 and min(left) == left[2] == 1
    assert "many tokens: 188." in CASE.widget.story[3].because
    assert {at(3, top_k=5, prompt=prompt).possible() for prompt in range(3)} == {5}
    assert {at(3, prompt=prompt).possible() for prompt in range(3)} == {1280}, "the scene does not tell yet"


@pytest.mark.browser
def test_many_draws_come_closer_to_the_probabilities(stage):
    assert answer(4) == "they come closer to the upper bars"
    page = stage(at(4))
    press(page, "Draw 100")
    once = farthest(page, at(4).probabilities())
    press(page, "Draw 100", 19)
    often = farthest(page, at(4).probabilities())
    assert often < once / 2 and often < 0.02


@pytest.mark.browser
def test_a_token_that_is_cut_is_never_drawn(stage):
    assert answer(5) == "about 660 times"
    cut, uncut = at(5, top_p=0.5), at(5)
    assert cut.possible() == 2 and all(f"{p:.3f}" in CASE.widget.story[5].says for p in uncut.probabilities()[:2])
    good = next(i for i, token in enumerate(cut.spec["tokens"][0]) if token == "·good")
    assert cut.probabilities()[good] == 0
    page = stage(cut)
    press(page, "Draw 100", 10)
    drawn = page.locator(".ta-small", has_text="drawn").all_text_contents()
    assert drawn[good] == "drawn 0" and 630 < int(drawn[0].removeprefix("drawn ")) < 690
