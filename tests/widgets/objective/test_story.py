"""ObjectiveLab's story agrees with its tables: each answer is true, each other choice false."""

from anatomy.widgets import ObjectiveLab, objective

from .case import CASE


def step(i):
    """The widget in that step's state, the step, and its right answer."""
    told = ObjectiveLab.story[i]
    return CASE.make(**told.state), told, told.choices[told.answer]


def test_token_3_of_gpt_sees_tokens_0_to_3():
    lab, _, answer = step(0)
    assert answer == "tokens 0 to 3" and lab.visible()[0].nonzero()[0].tolist() == [0, 1, 2, 3]


def test_bert_predicts_the_hidden_tokens_alone():
    lab, told, answer = step(1)
    assert [c == str(lab.facts()["predicted"]) for c in told.choices] == [c == answer for c in told.choices]
    assert f"GPT {step(0)[0].facts()['predicted']} predictions" in told.because


def test_the_decoder_of_t5_sees_up_to_its_token():
    lab, _, answer = step(2)
    assert lab.at() == (2, 1) and answer == "tokens 0 and 1" and lab.visible()[1].nonzero()[0].tolist() == [0, 1]


def test_the_blank_of_glm_has_the_position_of_its_mask():
    lab, _, answer = step(3)
    rows = lab.example()
    assert [objective.word(v) for v in rows[0, 13:15]] == ["[S]", "two"] and answer == "3 and 3"
    assert rows[4, 13:15].tolist() == [3, 3] and rows[5, 13:15].tolist() == [1, 2] and rows[0, 3] == 3


def test_a_pair_has_one_term():
    lab, told, answer = step(4)
    assert lab.facts()["predicted"] == int(answer) == 1 and f"for {lab.facts()['read']} tokens" in told.because


def test_glm_reads_fewer_tokens_than_t5():
    _, told, answer = step(5)
    for draw in range(objective.DRAWS):
        read = [CASE.make(objective=o, draw=draw).facts()["read"] for o in ("span_corruption", "blank_infilling")]
        assert read == [16, 15] and answer == "GLM" and told.because.startswith("15 instead of 16")
