"""ObjectiveLab's story agrees with its tables: each answer is true, each other choice false."""

import math

import numpy as np
from anatomy.widgets import ObjectiveLab, objective

from .case import CASE

WORDS = list(objective.TEXT)


def step(i):
    """The widget in that step's state, the step, and its right answer."""
    told = ObjectiveLab.story[i]
    return CASE.make(**told.state), told, told.choices[told.answer]


def hidden(lab):
    """Words that T5 and GLM hide in this draw."""
    return np.frombuffer(lab.tables["hidden"], "<f4").reshape(objective.DRAWS, -1)[lab.draw].nonzero()[0].tolist()


def masked(lab):
    """Words that BERT must predict in this draw."""
    labels = CASE.make(objective="mask_tokens", draw=lab.draw).example()[1]
    return (labels[: len(WORDS)] != objective.IGNORE).nonzero()[0].tolist()


def asked(lab):
    """The word that the framed token must predict."""
    row, column = lab.at()
    return lab.wording(lab.example()[row + 1][column])


def test_it_starts_where_the_widget_starts():
    told = ObjectiveLab.story[0].state
    assert {name: getattr(ObjectiveLab(), name) for name in told} == told


def test_gpt_alone_keeps_all_when_nothing_follows():
    """At each word, wherever the reader moves it; BERT and T5 lose some wherever they predict and a word follows."""
    lab, told, answer = step(0)
    p, lost = lab.lost()
    assert WORDS[p] == asked(lab) == "two" and lost == {"GPT": (0, 3), "BERT": (7, 10), "T5": (4, 7)}
    assert "BERT loses 7 of the 10 places" in told.because and "T5 4 of 7" in told.because
    for lab.place in range(len(WORDS) - 1):
        p, lost = lab.lost()
        assert p == lab.place + 1
        assert [n for n, (gone, _) in lost.items() if not gone] == ([answer] if p < len(WORDS) - 1 else [*lost])


def test_what_is_lost_is_what_the_examples_show():
    """Counted in each objective's own example, at the token that predicts “two”."""
    lab, _, _ = step(0)
    t5 = CASE.make(objective="span_corruption", place=10)
    assert asked(t5) == "two"
    left = [objective.word(i) for i in t5.example()[0] if objective.word(i) in WORDS]
    assert len(left) == lab.lost()[1]["T5"][1] == 7 and left[-4:] == ["cats", "ran", "home", "."]
    bert = CASE.make(objective="mask_tokens", place=3)
    assert int(bert.visible()[0].sum()) - 1 == lab.lost()[1]["BERT"][1]  # without the place of “two” itself
    glm = CASE.make(objective="blank_infilling", place=13)
    read = [objective.word(v) for v in glm.example()[0][glm.visible()[0]]]
    assert sum(w in WORDS for w in read) == glm.lost()[1]["GLM"][1] == 10


def test_gpt_rests_on_less_towards_the_start():
    lab, told, answer = step(1)
    assert masked(lab) == [0, 4, 9] and answer == "GPT’s"
    seen = {}
    for place in masked(lab):
        lab.place = place
        p, lost = lab.lost()
        seen[WORDS[p]] = {name: lost[name][1] for name in ("GPT", "BERT") if name in lost}
    assert seen == {"one": {"BERT": 10}, "cats": {"GPT": 4, "BERT": 10}, "home": {"GPT": 9, "BERT": 10}}
    assert "At “home” GPT sees 9 words, at “cats” 4, at “one” none. BERT sees the 10 other places" in told.because


def test_bert_must_read_the_most_texts():
    lab, told, answer = step(2)
    counts = {"GPT": lab.facts()["predicted"], "BERT": len(masked(lab)), "T5": len(hidden(lab))}
    texts = {name: math.ceil(1000 / n) for name, n in counts.items()}
    assert max(texts, key=texts.get) == answer == "BERT"
    assert f"gives BERT {counts['BERT']} words to predict, T5 {counts['T5']}, GPT {counts['GPT']}" in told.because
    assert f"BERT reads {texts['BERT']} of them, T5 {texts['T5']}, GPT {texts['GPT']}" in told.because


def test_the_next_number_ends_a_gap_of_t5():
    lab, _, answer = step(3)
    assert asked(lab) == "two" and answer == "by the next ⟨number⟩"
    after = {}
    for lab.place in range(9, 16):
        row, column = lab.at()
        after[objective.word(lab.example()[row][column])] = asked(lab)
    assert after["two"] == "⟨1⟩" and after["it"] == "⟨2⟩" and "[PAD]" not in after.values()
    gaps = [sum(c in hidden(lab) for c in r) for r in (range(5), range(5, 11))]
    assert gaps == [1, 3], "gaps of different lengths"
    bert = CASE.make(objective="mask_tokens", draw=0).example()[0]
    assert (bert == objective.VOCABULARY.index("[M]")).sum() == len(masked(lab)), "one [M] for each word"


def test_glm_filled_the_later_gap_first():
    lab, told, answer = step(4)
    order = []
    for lab.place in range(9, 15):
        order.append(asked(lab))
    assert order == [".", "then", "it", "[E]", "two", "[E]"] and answer == "it filled that blank first"
    lab.place = told.state["place"]
    glm = [objective.word(v) for v in lab.example()[0][lab.visible()[0]]]
    t5 = CASE.make(objective="span_corruption", draw=0, place=10)
    seen = [objective.word(v) for line, on in zip(t5.example()[[0, 2]], t5.visible(), strict=True) for v in line[on]]
    assert asked(lab) == asked(t5) == "two" and {"then", "it"} <= set(glm) and not {"then", "it"} & set(seen)
    assert hidden(lab) == hidden(t5) and {".", "then", "it"} <= {WORDS[c] for c in hidden(lab)}  # “not hidden” is false
    assert glm[-5:-1] == ["[S]", ".", "then", "it"] and "it also sees “. then it”" in told.says


def test_positions_of_the_text_would_tell_the_gap():
    lab, told, answer = step(5)
    assert answer == "its length"
    rows = lab.example()
    read = [objective.word(v) for v in rows[0]]
    here = [int(rows[4, read.index(word)]) for word in ("cats", "ran")]
    text = [WORDS.index(word) for word in ("cats", "ran")]
    assert text == [4, 8] and here == [4, 6]
    assert (
        "“cats” would have place 4 and “ran” 8: so 3 words" in told.because and "Now they have 4 and 6" in told.because
    )
    assert hidden(lab)[-3:] == [5, 6, 7]
    for column in range(9, 15):  # each token of a piece has the position of its [M]
        assert read[rows[4, column]] == "[M]" and rows[5, column] > 0


def test_the_topic_tells_a_random_sentence():
    lab, told, answer = step(6)
    assert answer == "its topic" and asked(lab) == "random"
    second = {}
    for lab.draw in range(objective.DRAWS):
        words = [objective.word(v) for v in lab.example()[0] if v != objective.NOTHING]
        second.setdefault(asked(lab), []).append(tuple(words[words.index("[SEP]") + 1 : -1]))
    assert set(second["next"]) == {objective.DOCUMENTS[0][1]} and set(second["random"]) == set(objective.DOCUMENTS[1])
    assert len(objective.DOCUMENTS[0][1]) in map(len, second["random"]), "a length does not tell"
    assert {s[-1] for s in second["next"] + second["random"]} == {"."}, "nor does a full stop"
    # “pairs 1, 2 and 4”, counted from 1 as on the slider
    assert [asked(CASE.make(objective="nsp_pair", draw=n - 1, place=0)) for n in (1, 2, 4)] == [
        "next",
        "random",
        "random",
    ]
    for n in range(objective.DRAWS):  # ALBERT: both from one text
        words = {objective.word(v) for v in CASE.make(objective="sop_pair", draw=n).example()[0]} - {"."}
        assert sum(bool(words & {w for s in document for w in s}) for document in objective.DOCUMENTS) == 1
    assert "ALBERT swaps two neighbors" in told.because


def test_t5_alone_fills_a_gap_of_any_length():
    lab, told, answer = step(7)
    assert answer == "T5" and hidden(lab)[:3] == [1, 2, 3] and [WORDS[0], WORDS[4]] == ["one", "cats"]
    t5 = [objective.word(v) for v in CASE.make(objective="span_corruption", draw=lab.draw).example()[0]]
    assert t5[:3] == ["one", "⟨0⟩", "cats"]
    assert WORDS[objective.ObjectiveLab(**told.state).lost()[0]] == "dog"
    assert asked(lab) == "dog" and "cats" not in [objective.word(v) for v in lab.example()[0][lab.visible()[0]]]
    assert 1 not in masked(lab)
