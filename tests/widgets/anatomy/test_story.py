"""AnatomyView's story agrees with its tables."""

import itertools
import re

import numpy as np
from anatomy.widgets import AnatomyView
from anatomy.widgets.anatomy import LAYERS, passing
from anatomy.widgets.anatomy.places import STAND_INS


def step(i):
    """The view in that step's state, the step, and its right answer."""
    told = AnatomyView.story[i]
    return AnatomyView(**told.state), told, told.choices[told.answer]


def test_inside_a_word_it_is_surest():
    made, told, answer = step(0)
    words, shares = made.spec["words"], {t: made.likely(t)[0][1] for t in range(31)}
    assert [words[t] for t in (31, 0, 10)] == [",", "D", "ish"] and "".join(words[7:11]) == " astonish"
    assert max((31, 0, 10), key=lambda t: made.likely(t)[0][1]) == 10 and answer == "inside a word"
    inside = [t for t in shares if words[t + 1][0].isalpha()]
    mean = lambda tokens: np.mean([shares[t] for t in tokens])
    assert mean(inside) > 2 * mean(shares.keys() - set(inside))
    word, share = made.likely(10)[0]
    assert f"“{word}”: {share:.0%}" in told.because and max(made.likely(31)[0][1], made.likely(0)[0][1]) < 0.5


def test_no_token_looks_to_the_right():
    made, told, answer = step(1)
    assert answer == "later words are unknown" and not np.triu(made.shown("att"), 1).any()
    assert made.token == 10 and "".join(made.spec["words"][10:12]) == "ishment", "there is text at the right"
    assert (made.shown("norms") > 0).all(), "“it is empty” is wrong"


def test_the_last_layer_looks_at_the_mark_and_needs_it():
    """Hidden from heads 0 and 1 of L3, the mark brings no quotation mark any more."""
    made, told, answer = step(2)
    words = [made.likely(31, 2 * i + 2)[0][0] for i in range(LAYERS)]
    assert words == [" and", " and", " and", ' "'] and answer == "the mark closing a speech"
    far = made.shown("att")[:, 0, 31].argmax(-1)
    assert far[3] == 18 and 18 not in far[:3] and made.spec["words"][18] == ',"' and made.layer == 0
    calls = itertools.count()  # two in each layer: the pass's own, and one for the weights

    def hidden(q, k, v, mask):
        mask = mask.expand(1, q.shape[1], -1, -1).clone()
        if next(calls) // 2 == 3:
            mask[0, :2, 31, 18] = False
        return STAND_INS["attention"](q, k, v, mask)

    top = passing.measured({"attention": hidden}, made._inputs["ids"]).tables["lens_i"][-1, 31]
    said = [passing.vocabulary()[int(i)] for i in top]
    assert said[0] == " I" and "“I”" in told.because and ' "' not in said


def test_without_the_mark_no_speech_goes_on():
    """What the reply says can be typed: the same words, with the mark that closes a speech and without it."""
    made, told, _ = step(2)
    typed = re.search("type ‹(.+)›", told.because)[1]
    assert typed.count('"') == 1 and {"text", "wrote", "token"} <= set(told.moves)
    assert (_guess(typed), _guess(typed.replace('"', ""))) == (' "', " I")


def _guess(text):
    made = AnatomyView(text=text)
    return made.likely(made.at)[0][0]


def test_most_rows_look_one_back():
    made, told, answer = step(3)
    far = made.shown("att")[made.layer, made.head, 1:].argmax(-1)
    assert (far == range(31)).mean() > 0.5 and answer == "what stands before it"
    assert made.spec["words"][8:12] == ["st", "on", "ish", "ment"] and far[11 - 1] != 10  # "“ment”, look elsewhere"
    assert all(far[state["token"] - 1] == state["key"] for state in told.show)


def test_the_norms_undo_the_growth():
    made, told, answer = step(4)
    before, after = made.shown("before")[:, 31], made.shown("after")[:, 31]
    assert before[-1] > 100 * before[0] and after.max() < 2.5 * after.min() and answer == "that the stream grows"
    assert (before[1:] > before[:-1]).all()


def test_a_new_token_changes_no_other_stream():
    made, told, answer = step(5)
    before = made.shown("norms")
    made.wrote = [int(made.shown("lens_i")[-1, made.at, 0])]
    assert made.shown("norms").shape[1] == before.shape[1] + 1 and answer == "none but its own"
    assert np.allclose(made.shown("norms")[:, :-1], before, rtol=1e-5)


def test_the_likeliest_tokens_run_in_a_circle():
    made, told, answer = step(6)
    for _ in range(20):
        made.wrote = [*made.wrote, int(made.shown("lens_i")[-1, made.at, 0])]
    assert "I am sure I am sure I am sure" in made.words and answer == "it repeats itself"
