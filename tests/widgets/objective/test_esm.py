"""Tier 2 of ObjectiveLab: its script alone in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
import torch
from anatomy.widgets import ObjectiveLab, objective

from autograder.recording.widgets.objective import OBJECTIVES

from ..page import said, settle, trait, words
from ..stages import set_state
from .case import CASE

pytestmark = pytest.mark.browser


def test_the_lab_says_what_is_seen_and_asked(stage):
    page = stage(CASE.make(objective="next_token_pairs", place=3))
    assert "sees one dog saw two → must predict “cats”" in said(page)
    page = stage(CASE.make(objective="nsp_pair", place=0, draw=1))
    assert "must predict “random”" in said(page)
    wrong = {**OBJECTIVES, "next_token_pairs": lambda ids: (ids[:, :-1], ids[:, :-1])}
    assert words(stage(ObjectiveLab(wrong))) == ["", "", "differs"]


def test_a_token_is_pointed_at_clicked_and_reached_by_keys(stage):
    page = stage(CASE.make(objective="next_token_pairs", place=3, step=1))
    area = page.locator(".ta-area[aria-label^='Tokens']")
    box = area.bounding_box()
    spot = box["x"] + 5.5 / 16 * box["width"], box["y"] + 0.5 * box["height"]  # the second of three rows
    page.mouse.move(*spot)
    settle(page)
    heard = page.locator(".ta-readout").text_content()
    assert "labels[5] = “then”: one of 10 terms, −ln p(then | x[0…5]) ÷ 10" in heard and "= 3.37" in heard
    assert trait(page, "place") == 3
    page.mouse.click(*spot)
    page.mouse.move(1, 1)
    settle(page)
    assert trait(page, "place") == 5
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    settle(page)
    assert trait(page, "place") == 4 and page.locator(".ta").get_attribute("data-peek") == ""


WORDS = list(objective.TEXT)


def three(page):
    """Of GPT, BERT and T5: the places of the blue words, the orange and the gray ones, and the starts of the arrows."""
    return page.locator(".ta-svg[aria-label^='One sentence']").evaluate("""(e) => {
      const rects = [...e.querySelectorAll('rect:not(.ta-area)')];
      const middle = (r) => (Number(r.getAttribute('x')) + Number(r.getAttribute('width')) / 2).toFixed(1);
      return [...e.querySelectorAll('.ta-arcs')].map((arcs, i) => {
        const row = rects.slice(11 * i, 11 * i + 11);
        const filled = (name) => row.flatMap((r, c) => (r.style.fill.includes('--ta-' + name) ? [c] : []));
        const from = [...arcs.children].filter((path) => path.getAttribute('opacity') === '1')
          .map((path) => Number(path.getAttribute('d').match(/M([\\d.]+)/)[1]).toFixed(1));
        return [filled('one'), filled('two'), filled('rule'), from.map((x) => row.findIndex((r) => middle(r) === x))];
      });
    }""")


def rule(p, hidden, masked):
    """What GPT, BERT and T5 see to predict word p, and whether they must."""
    every = range(len(WORDS))
    return [
        [c for c in every if c < p] if p else None,
        [c for c in every if c != p] if p in masked else None,
        [c for c in every if c not in hidden or c < p] if p in hidden else None,
    ]


@pytest.mark.parametrize("number", range(objective.DRAWS))
def test_arrows_come_from_what_each_of_the_three_sees(stage, number):
    lab = CASE.make(objective="mask_tokens", draw=number)
    hidden = np.frombuffer(lab.tables["hidden"], "<f4").reshape(objective.DRAWS, -1)[number].nonzero()[0].tolist()
    masked = (lab.example()[1][: len(WORDS)] != objective.IGNORE).nonzero()[0].tolist()
    page = stage(lab)
    for p in range(len(WORDS)):
        set_state(page, {"place": p})
        for (blue, orange, gray, arrows), seen in zip(three(page), rule(p, hidden, masked), strict=True):
            assert (blue, arrows) == ((seen or [],) * 2) and orange == ([p] if seen is not None else [])
            assert sorted([*blue, *orange, *gray]) == ([] if seen is None else list(range(len(WORDS))))


def by_table(lab):
    """Words that GLM's example shows to each of its hidden words, by where it predicts them: word → seen words."""
    spans = np.frombuffer(lab.tables["hidden"], "<f4").reshape(objective.DRAWS, -1)[lab.draw] > 0
    kept = [c for c, on in enumerate(spans) if not on]
    blanks = np.split(spans.nonzero()[0], np.nonzero(np.diff(spans.nonzero()[0]) > 1)[0] + 1)
    rows, seen, written = lab.example(), {}, []
    for column in range(len(rows[0])):
        if rows[5, column] == 1:  # an [S]: the blank whose [M] has this position
            masks = [c for c in range(len(rows[0])) if rows[5, c] == 0 and objective.word(rows[0, c]) == "[M]"]
            left = list(blanks[masks.index(rows[4, column])])
        elif rows[5, column] > 1:
            written.append(int(left.pop(0)))  # it has been predicted by the token before, and is read here
            assert objective.word(rows[0, column]) == WORDS[written[-1]]
        if rows[5, column] > 0 and left:
            assert objective.word(rows[1, column]) == WORDS[left[0]]
            seen[int(left[0])] = column, sorted([*kept, *written])
    return seen


@pytest.mark.parametrize("number", range(objective.DRAWS))
def test_arrows_of_glm_come_from_the_text_and_the_blanks_filled_before(stage, number):
    """T5 stands above it, which hides the same; the example below follows, and sees as many words."""
    lab = CASE.make(objective="blank_infilling", draw=number)
    page = stage(lab)
    drawn = by_table(lab)
    assert len(drawn) == np.frombuffer(lab.tables["hidden"], "<f4").reshape(objective.DRAWS, -1)[number].sum()
    for p, (column, seen) in drawn.items():
        set_state(page, {"place": column})
        assert page.locator(".ta-svg[aria-label^='One sentence'] > g .ta-strong").first.text_content() == "T5"
        t5, glm = three(page)
        assert glm[:2] == [seen, [p]] and glm[3] == seen and t5[0] == rule(p, list(drawn), [])[2]
        lab.place = column
        read = [objective.word(v) for v in lab.example()[0][lab.visible()[0]]]
        assert sorted(w for w in read if w in WORDS) == sorted(WORDS[c] for c in seen)


def slider(page):
    return page.get_by_role("slider", name="predicted word", exact=True)


@pytest.mark.parametrize("name, stops", [
    ("next_token_pairs", WORDS[1:]), ("mask_tokens", ["two", "then", "it"]),
    ("span_corruption", ["⟨0⟩", "two", "⟨1⟩", ".", "then", "it", "⟨2⟩"]),
    ("blank_infilling", [".", "then", "it", "[E]", "two", "[E]"]),
])  # fmt: skip
def test_the_slider_stops_at_predicted_words_alone(stage, name, stops):
    page = stage(CASE.make(objective=name, draw=0, place=0, step=1))
    if name != "next_token_pairs":
        assert slider(page).get_attribute("aria-valuetext") == "nothing"
    slider(page).press("End")
    slider(page).press("Home")
    found = []
    for _ in stops:
        settle(page)
        found.append(slider(page).get_attribute("aria-valuetext"))
        assert f"must predict “{found[-1]}”" in said(page)
        slider(page).press("ArrowRight")
    settle(page)
    assert found[: len(stops)] == stops and slider(page).get_attribute("aria-valuetext") == stops[-1]


def test_a_token_that_predicts_nothing_is_a_stop_only_while_it_is_framed(stage):
    page = stage(CASE.make(objective="mask_tokens", draw=0, place=4, step=1))
    assert slider(page).get_attribute("aria-valuetext") == "nothing" and trait(page, "place") == 4
    button = page.get_by_role("button", name="To the next predicted word")
    for place in (6, 7, 3):
        button.press("Enter")
        settle(page)
        assert trait(page, "place") == place
    assert slider(page).get_attribute("max") == "2"


def test_a_pair_has_nothing_to_walk_through_and_names_its_slider(stage):
    page = stage(CASE.make(objective="nsp_pair"))
    assert not slider(page).is_visible() and not page.get_by_role("button", name="To the next").is_visible()
    assert page.get_by_role("slider", name="other pairs").get_attribute("aria-valuetext") == "1 of 6"
    set_state(page, {"objective": 3})
    assert slider(page).is_visible() and page.get_by_role("slider", name="hide others").is_visible()


def test_a_function_that_asks_for_nothing_leaves_the_picture(stage):
    silent = lambda ids, *rest: (ids, torch.full_like(ids, objective.IGNORE))
    page = stage(ObjectiveLab({**OBJECTIVES, "mask_tokens": silent}, objective="mask_tokens"))
    assert words(page)[-1] == "differs" and "predicts nothing" in said(page) and not slider(page).is_visible()


def test_a_word_that_is_pointed_at_leads_the_example_below(stage):
    page = stage(CASE.make(objective="span_corruption", draw=0, place=0))
    area = page.locator(".ta-area[aria-label^='Word to predict']")
    box = area.bounding_box()
    spot = lambda word: (box["x"] + (WORDS.index(word) + 0.5) * box["width"] / 11, box["y"] + box["height"] / 2)
    page.mouse.move(*spot("then"))
    settle(page)
    assert "must predict “then”" in page.locator(".ta-readout").text_content() and trait(page, "place") == 0
    page.mouse.click(*spot("it"))
    page.mouse.move(1, 1)
    settle(page)
    assert "must predict “it”" in said(page) and trait(page, "place") == 14
    area.press("ArrowLeft")
    settle(page)
    assert "must predict “then”" in said(page)
    area.press("Home")  # T5 does not hide “one”: only GPT, BERT and T5 above follow
    settle(page)
    assert trait(page, "place") == 13 and page.get_by_text("nothing stands before “one”").is_visible()


def test_the_word_is_to_be_guessed_before_it_is_shown(stage):
    """Until an answer, or “Reveal”, each of the three rows has a question mark in its place; then it says why, too."""
    page = stage(CASE.make())
    step = ObjectiveLab.story[0]
    set_state(page, {**step.state, "step": 0})
    word, mark = page.locator(".ta-svg text[data-readout='']"), page.locator(".ta-svg text.ta-until")
    assert word.all_text_contents() == ["two"] * 3 and not any(w.is_visible() for w in word.all())
    assert mark.all_text_contents() == ["?"] * 3 and all(m.is_visible() for m in mark.all())
    output = page.locator(".ta-controls output").first
    assert not output.is_visible() and slider(page).get_attribute("aria-valuetext") == "to be guessed"
    page.get_by_role("button", name="Reveal", exact=True).press("Enter")
    settle(page)
    assert output.is_visible() and slider(page).get_attribute("aria-valuetext") == output.text_content() == "two"
    assert all(w.is_visible() for w in word.all()) and not any(m.is_visible() for m in mark.all())
    assert page.locator(".ta-reply").text_content() == f"→ {step.because}"


def test_pairs_of_sentences_have_no_word_to_predict(stage):
    page = stage(CASE.make(objective="nsp_pair"))
    assert not page.locator(".ta-svg[aria-label^='One sentence']").is_visible()


def test_the_loss_is_told_only_of_what_is_pointed_at(stage):
    assert stage(CASE.make()).locator(".ta-formula").text_content() == ""


def test_where_nothing_follows_the_rest_of_the_rows_is_gone(stage):
    """No arrow comes from behind the word, and each name says how much is missing, as Python does."""
    lab = CASE.make(cut=True, step=1)  # in the first step the numbers wait
    page = stage(lab)
    for place in (2, 5, 9):
        lab.place = place
        set_state(page, {"place": place})
        p, lost = lab.lost()
        for name, (blue, orange, _, arrows) in zip(("GPT", "BERT", "T5"), three(page), strict=True):
            gone, every = lost.get(name, (0, 0))
            assert blue == arrows and len(blue) == every - gone and all(c < p for c in blue)
            assert orange == ([p] if name in lost else [])
            assert f"{name} loses {gone} of {every}" in said(page) or name not in lost
            if name in lost:
                assert page.get_by_text(f"{gone} of {every} missing", exact=True).first.is_visible()
        for word in WORDS[p + 1 :]:
            drawn = page.locator(".ta-svg[aria-label^='One sentence'] rect + text").all_text_contents()
            assert drawn.count(word) == 3 * WORDS[: p + 1].count(word)
        told = ", ".join(f"{name} loses {gone} of {every}" for name, (gone, every) in lost.items())
        assert f"is not written yet: {told}." in lab.words
    page.get_by_role("checkbox", name="nothing follows yet").press(" ")
    settle(page)
    assert not page.evaluate("() => model.get('cut')") and "missing" not in page.locator(".ta").text_content()


def test_what_is_missing_leaves_a_dashed_arrow(stage):
    """Each row has as many as its model loses; none without the tick."""
    ghosts = """(e) => [...e.querySelectorAll('.ta-arcs')].map((arcs) => [...arcs.children]
        .filter((path) => path.style.strokeDasharray && Number(path.getAttribute('opacity')) > 0).length)"""
    lab = CASE.make(cut=True)
    page = stage(lab)
    picture = page.locator(".ta-svg[aria-label^='One sentence']")
    for place in (2, 5, 9):
        lab.place = place
        set_state(page, {"place": place})
        lost = lab.lost()[1]
        assert picture.evaluate(ghosts) == [lost.get(name, (0, 0))[0] for name in ("GPT", "BERT", "T5")]
    set_state(page, {"place": 2, "cut": False})
    assert picture.evaluate(ghosts) == [0, 0, 0]


def test_another_objective_keeps_the_word(stage):
    """Where it predicts that word; else it goes to the first that it predicts. A pair has one answer."""
    page = stage(CASE.make(objective="next_token_pairs", draw=2, place=0, step=7))
    choice = page.get_by_role("combobox", name="objective")
    for name, place, heard in (
        ("span_corruption", 10, "must predict “dog”"),
        ("mask_tokens", 1, "predicts nothing"),  # BERT does not hide it, as the row above says
        ("blank_infilling", None, "must predict “dog”"),
        ("nsp_pair", 0, "must predict “next”"),
    ):
        choice.select_option(str(objective.cls_index(name)))
        settle(page)
        assert heard in said(page), name
        assert place in (None, trait(page, "place"))
    page = stage(CASE.make(objective="next_token_pairs", draw=0, place=0, step=7))  # “dog”, which T5 does not hide here
    page.get_by_role("combobox", name="objective").select_option("2")
    settle(page)
    assert "must predict “⟨0⟩”" in said(page)


def test_each_name_counts_the_words_to_predict(stage):
    for name, counts in (
        ("next_token_pairs", ["10 words", "3 words", "4 words"]),
        ("blank_infilling", ["4 words"] * 2),
    ):
        page = stage(CASE.make(objective=name))
        assert page.locator(".ta-svg [data-readout=tally]").all_text_contents() == counts


def test_on_a_phone_answers_that_are_all_empty_take_no_line(stage):
    page = stage(CASE.make(objective="blank_infilling"), viewport={"width": 390, "height": 900})
    rows = page.locator(".ta-svg[aria-label^='Rows of tokens'] text[text-anchor=start]").all_text_contents()
    assert rows.count("model reads") == 2 and rows.count("must predict") == 1
