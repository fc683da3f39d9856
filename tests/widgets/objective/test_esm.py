"""Tier 2 of ObjectiveLab: its script alone in Chromium; test_promises.py tests what all widgets share."""

import numpy as np
import pytest
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
    """What the three see to predict word p, and whether they must."""
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
    word, mark = page.locator(".ta-svg text[data-readout]"), page.locator(".ta-svg text.ta-until")
    assert word.all_text_contents() == ["two"] * 3 and not any(w.is_visible() for w in word.all())
    assert mark.all_text_contents() == ["?"] * 3 and all(m.is_visible() for m in mark.all())
    page.get_by_role("button", name="Reveal", exact=True).press("Enter")
    settle(page)
    assert all(w.is_visible() for w in word.all()) and not any(m.is_visible() for m in mark.all())
    assert page.locator(".ta-reply").text_content() == f"→ {step.because}"


def test_pairs_of_sentences_have_no_word_to_predict(stage):
    page = stage(CASE.make(objective="nsp_pair"))
    assert not page.locator(".ta-svg[aria-label^='One sentence']").is_visible()


def test_the_loss_is_told_only_of_what_is_pointed_at(stage):
    assert stage(CASE.make()).locator(".ta-formula").text_content() == ""
