"""Text cells as pages show them."""

import nbformat
import pytest

from autograder.site import texts


def cell(name, source):
    made = nbformat.v4.new_markdown_cell(source)
    made["id"] = name
    return made


def test_a_statement_keeps_its_heading_and_says_its_difficulty_in_numbers():
    source = (
        "### Exercise 01.1: A softmax\n`attention.softmax` · difficulty ●●○○○ · about 10 min · 2 points\n\nWrite it."
    )
    shown = texts.shown(cell("say-attention-softmax", source))
    assert shown.startswith("### Exercise 01.1: A softmax\n")
    assert "{container} ta-statement" in shown and "Write it." in shown
    assert '<span class="ta-unseen">2 / 5</span>' in shown and "<code>attention.softmax</code>" in shown


def test_a_prediction_becomes_a_list_of_its_options():
    source = "**Predict first.** Which is *larger*?\n\n*the first* · *the second, with `x * y`* · *neither*"
    shown = texts.shown(cell("ask-a-p1", source))
    assert "{admonition} Predict first" in shown and "Which is *larger*?" in shown
    assert [line for line in shown.splitlines() if line.startswith("- ")] == [
        "- the first",
        "- the second, with `x * y`",
        "- neither",
    ]


def test_a_free_prediction_has_no_options_and_keeps_its_question():
    shown = texts.shown(cell("ask-a-p2", "**Predict first.** How many?"))
    assert "How many?" in shown and "\n- " not in shown


def test_a_verdict_is_an_admonition_and_what_stands_around_it_stays_outside():
    source = "Before.\n\n**Verdict: it helps.** In 7 of 8.\n\n*Evidence: computed above.*\n\n### Next\n\nAfter."
    shown = texts.shown(cell("c-1", source))
    inside = shown[shown.index(":::::{admonition}") : shown.rindex(":::::")]
    assert "Verdict: it helps" in inside and "In 7 of 8." in inside and "*Evidence" in inside
    assert shown.startswith("Before.") and "After." not in inside and "### Next" in shown


@pytest.mark.parametrize("name", ["written-00-start-here", "questions"])
def test_places_to_write_in_are_not_shown(name):
    assert texts.shown(cell(name, "Write your answer here.")) == ""


def test_hints_stay_folded():
    shown = texts.shown(cell("hint-a", "<details><summary>Hint 1</summary>\n\nLook.\n\n</details>"))
    assert "{container} ta-hints" in shown and "<details><summary>Hint 1</summary>" in shown


def test_a_quiz_unfolds_its_answers_without_a_script():
    one = {"question": "a < b?", "choices": [{"text": "yes", "right": True, "why": "So it is."}]}
    page = texts.quiz([one])
    assert "a &lt; b?" in page and "<details><summary>yes</summary>" in page and 'data-right="true"' in page
