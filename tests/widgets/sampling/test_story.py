"""What SamplingExplorer's story says is what its table shows."""

import pytest

from .case import CASE
from .drawing import farthest, press


def answer(i):
    step = CASE.widget.story[i]
    return step.choices[step.answer]


def at(step, **state):
    return CASE.make(**{**CASE.widget.story[step].state, **state})


def test_one_token_has_everything_at_temperature_0():
    assert answer(0) == "the one with the largest score"
    cold = at(0, temperature=0.0)
    assert cold.probabilities()[0] == 1 and cold.possible() == 1


def test_heat_gives_nearly_all_to_the_others():
    assert answer(1) == "more than nine tenths"
    for prompt in range(3):
        assert at(1, temperature=4.0, prompt=prompt).probabilities()[-1] > 0.9


def test_top_k_keeps_five_everywhere():
    assert answer(2) == "five"
    assert {at(2, prompt=prompt).possible() for prompt in range(3)} == {5}
    assert at(2, prompt=2).probabilities()[0] > 0.9


def test_top_p_keeps_what_it_takes():
    assert answer(3) == "top-p"
    sure, unsure = at(3, prompt=2).possible(), at(3, prompt=1).possible()
    assert unsure > at(2, prompt=1).possible() == 5
    assert sure == 1 and f"{unsure} after “She was”" in CASE.widget.story[3].because


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
    assert answer(5) == "never"
    cut = at(5)
    good = next(i for i, token in enumerate(cut.spec["tokens"][0]) if token == "·good")
    assert cut.probabilities()[good] == 0
    page = stage(cut)
    press(page, "Draw 100", 10)
    assert page.locator(".ta-small", has_text="drawn").nth(good).text_content() == "drawn 0"
