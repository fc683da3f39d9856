"""AnatomyView's story agrees with its tables."""

import numpy as np
from anatomy.widgets import AnatomyView
from anatomy.widgets.anatomy import LAYERS


def step(i):
    """The view in that step's state, the step, and its right answer."""
    told = AnatomyView.story[i]
    return AnatomyView(**told.state), told, told.choices[told.answer]


def test_after_astonish_it_is_surest():
    made, told, answer = step(0)
    asked = {"the last comma": 31, "“D”, the first": 0, "“ish”": 10}
    assert [made.spec["words"][t] for t in asked.values()] == [",", "D", "ish"] and tuple(asked) == told.choices
    assert max(asked, key=lambda name: made.likely(asked[name])[0][1]) == answer
    word, share = made.likely(10)[0]
    assert f"“{word}”: {share:.0%}" in told.because and "".join(made.spec["words"][7:11]) == " astonish"


def test_the_last_layer_brings_it():
    made, told, answer = step(1)
    words = [made.likely(31, 2 * i + 2)[0][0] for i in range(LAYERS)]
    assert words == [" and", " and", " and", ' "'] and answer == "L3"


def test_it_looks_at_the_closing_mark():
    made, told, answer = step(2)
    row = made.shown("att")[made.layer, made.head, 31]
    assert row.argmax() == 18 and row[18] > 0.9 and made.spec["words"][18] == ',"' and 31 - 18 == 13
    assert answer == "the closing quotation mark"


def test_most_rows_look_one_back():
    made, told, answer = step(3)
    far = made.shown("att")[made.layer, made.head, 1:].argmax(-1)
    assert (far == range(31)).mean() > 0.5 and answer == "at the token just before"
    assert made.spec["words"][8:12] == ["st", "on", "ish", "ment"] and far[11 - 1] != 10  # "“ment”, look elsewhere"
    assert all(far[state["token"] - 1] == state["key"] for state in told.show)


def test_the_norms_undo_the_growth():
    made, told, answer = step(4)
    before, after = made.shown("before")[:, 31], made.shown("after")[:, 31]
    assert before[-1] > 100 * before[0] and after.max() < 2.5 * after.min() and answer == "that the stream grows"
    assert (before[1:] > before[:-1]).all()


def test_token_5_sees_itself_and_five():
    made, told, answer = step(5)
    assert made.shown("may")[5].sum() == 6 and answer == "6" and made.shown("may")[5, 6:].sum() == 0


def test_a_new_token_changes_no_other_stream():
    made, told, answer = step(6)
    before = made.shown("norms")
    made.wrote = [int(made.shown("lens_i")[-1, made.at, 0])]
    assert made.shown("norms").shape[1] == before.shape[1] + 1 and answer == "none but its own"
    assert np.allclose(made.shown("norms")[:, :-1], before, rtol=1e-5)


def test_the_likeliest_tokens_run_in_a_circle():
    made, told, answer = step(7)
    for _ in range(20):
        made.wrote = [*made.wrote, int(made.shown("lens_i")[-1, made.at, 0])]
    assert "I am sure I am sure I am sure" in made.words and answer == "a circle"
