"""What SamplingExplorer's story says is what its table shows."""

from .case import CASE


def answer(i):
    step = CASE.widget.story[i]
    return step.choices[step.answer]


def at(step, **state):
    return CASE.make(**{**CASE.widget.story[step].state, **state})


def test_one_token_has_everything_at_temperature_0():
    assert answer(0) == "the one with the largest logit"
    cold = at(0, temperature=0.0)
    assert cold.probabilities()[0] == 1 and cold.possible() == 1


def test_heat_gives_nearly_all_to_the_others():
    assert answer(1) == "more than nine tenths"
    for prompt in range(3):
        assert at(1, temperature=4.0, prompt=prompt).probabilities()[-1] > 0.9


def test_top_k_keeps_five_everywhere():
    assert answer(2).startswith("five")
    assert {at(2, prompt=prompt).possible() for prompt in range(3)} == {5}
    assert at(2, prompt=2).probabilities()[0] > 0.9


def test_top_p_keeps_what_it_takes():
    assert answer(3) == "top-p"
    sure, unsure = at(3, prompt=2).possible(), at(3, prompt=1).possible()
    assert sure == 1 and unsure > 24
