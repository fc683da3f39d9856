"""ObjectiveLab's story agrees with its tables: each answer is true, each other choice false."""

from anatomy.widgets import ObjectiveLab, objective

from .case import CASE


def step(i):
    """The widget in that step's state, the step, and its right answer."""
    told = ObjectiveLab.story[i]
    return CASE.make(**told.state), told, told.choices[told.answer]


def test_it_starts_where_the_widget_starts():
    told = ObjectiveLab.story[0].state
    assert {name: getattr(ObjectiveLab(), name) for name in told} == told


def test_gpt_alone_guesses_without_cats():
    """Counted in the examples of the three, at the token that must predict “two”: the fewest words, and no “cats”."""
    gpt, told, answer = step(0)
    row, column = gpt.at()
    assert objective.word(gpt.example()[row + 1][column]) == "two"
    bert, t5 = CASE.make(objective="mask_tokens", place=3), CASE.make(objective="span_corruption", place=10)
    for lab in (bert, t5):
        row, column = lab.at()
        assert lab.draw == told.state["draw"] and objective.word(lab.example()[row + 1][column]) == "two"
    others = int(bert.visible()[0].sum()) - 1  # without the place of “two” itself
    left = [objective.word(i) for i in t5.example()[0] if objective.word(i) in objective.TEXT]
    counts = {"GPT": int(gpt.visible()[0].sum()), "BERT": others, "T5": len(left)}
    assert counts == {"GPT": 3, "BERT": 10, "T5": 7} and min(counts, key=counts.get) == answer
    reads = {"GPT": (gpt, gpt.visible()[0]), "BERT": (bert, bert.visible()[0]), "T5": (t5, t5.visible()[0])}
    blind = [n for n, (lab, sees) in reads.items() if "cats" not in map(objective.word, lab.example()[0][sees])]
    assert blind == [answer]
    assert [str(n) for n in counts.values()] == [word for word in told.because.split() if word.isdigit()]


def test_bert_predicts_the_hidden_tokens_alone():
    lab, told, answer = step(1)
    assert [c == str(lab.facts()["predicted"]) for c in told.choices] == [c == answer for c in told.choices]
    gpt = step(0)[0].facts()
    assert f"reads {lab.facts()['read']} tokens to learn from {lab.facts()['predicted']}" in told.because
    assert f"reads {gpt['read']} and learns from all {gpt['predicted']}" in told.because


def test_the_decoder_of_t5_sees_up_to_its_token():
    lab, _, answer = step(2)
    assert lab.at() == (2, 1) and answer == "tokens 0 and 1" and lab.visible()[1].nonzero()[0].tolist() == [0, 1]


def test_glm_fills_blanks_in_any_order_and_sees_those_before():
    """In this draw the later blank is filled first: GLM sees its words when it predicts “two”, T5 sees none of them."""
    lab, told, _ = step(3)
    assert "in any order" in told.says
    read = lab.example()[0]
    glm = [objective.word(v) for v in read[lab.visible()[0]]]
    t5 = CASE.make(objective="span_corruption", draw=told.state["draw"], place=10)
    row, column = t5.at()
    assert objective.word(t5.example()[row + 1][column]) == "two" == objective.word(lab.example()[1][13])
    seen = [objective.word(v) for line, on in zip(t5.example()[[0, 2]], t5.visible(), strict=True) for v in line[on]]
    assert {"then", "it"} <= set(glm) and not {"then", "it"} & set(seen)


def test_the_blank_of_glm_has_the_position_of_its_mask():
    lab, _, answer = step(3)
    rows = lab.example()
    assert [objective.word(v) for v in rows[0, 13:15]] == ["[S]", "two"] and answer == "3 and 3"
    assert rows[4, 13:15].tolist() == [3, 3] and rows[5, 13:15].tolist() == [1, 2] and rows[0, 3] == 3


def test_a_pair_has_one_term():
    lab, told, answer = step(4)
    said = [objective.word(read) for read, label in zip(*lab.example()[:2], strict=True) if lab.wording(label)]
    assert said == [answer] and lab.facts()["predicted"] == 1
    assert (
        f"for {lab.facts()['read']} tokens" in told.because and f"“{lab.wording(lab.example()[1, 0])}”" in told.because
    )
    assert told.state["place"] > 0, "the token asked about is not framed from the start"


def test_glm_reads_fewer_tokens_than_t5():
    _, told, answer = step(5)
    for draw in range(objective.DRAWS):
        read = [CASE.make(objective=o, draw=draw).facts()["read"] for o in ("span_corruption", "blank_infilling")]
        assert read == [16, 15] and answer == "GLM" and told.because.startswith("15 instead of 16")
