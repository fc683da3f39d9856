"""The package in another language: shown text is translated, stored text is English, and English is the fallback."""

import ast
import json
import string

import anatomy
import nbformat
import pytest
import torch
from anatomy.judge.verdict import Verdict
from anatomy.notebook import predictions, question
from anatomy.system import store, translation
from anatomy.system.translation import _, ngettext, said, speak, speaking

from autograder import ROOT, exercises
from autograder.notebooks import code_words

RIGHT = lambda values, weights: weights @ values / weights.sum()
EXERCISE = "start.weighted_average"


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch):
    """Makes each test its own session."""
    for name in ("_asked", "_options", "_waiting"):
        monkeypatch.setattr(predictions, name, {})


def test_who_decides_which_language_is_spoken(brackets, monkeypatch):
    assert translation.language() == "en" and _("Not quite.") == "Not quite."
    speak(brackets)
    assert translation.language() == "eo" and _("Not quite.") == "⟦Not quite.⟧" and translation.tag() == "eo"
    with speaking("en"):
        assert _("Not quite.") == "Not quite."
        with speaking("eo"):
            assert _("Not quite.") == "⟦Not quite.⟧"
    monkeypatch.setenv("ANATOMY_LANGUAGE", "en")
    assert _("Not quite.") == "Not quite."
    monkeypatch.setenv("ANATOMY_LANGUAGE", "../../eo")
    assert translation.language() == "en", "a path is no language"
    with pytest.raises(ValueError, match=r"does not speak 'tlh'. Languages: en, eo"):
        speak("tlh")


def test_what_has_no_translation_is_english(brackets):
    speak(brackets)
    assert _("Nobody ever said this.") == said("no.such", "Nobody ever said this.") == "Nobody ever said this."
    assert _("") == "", "the catalogue's header is no translation of nothing"
    assert ngettext("{n} try so far", "{n} tries so far", 1) == "⟦{n} try so far⟧"
    assert ngettext("{n:g} point", "{n:g} points", 0.5) == "⟦{n:g} points⟧"


def test_a_damaged_catalogue_costs_the_language_and_no_lesson(brackets, tmp_path, monkeypatch):
    path = tmp_path / "eo" / "LC_MESSAGES" / "anatomy.mo"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xde\x12\x04\x95 and no more")
    monkeypatch.setattr(translation, "LOCALE", tmp_path)
    translation._path.cache_clear()
    translation._catalogue.cache_clear()
    speak("eo")
    assert _("Not quite.") == "Not quite."


def test_verdicts_are_read_in_the_language_and_kept_in_english(brackets):
    good, plain = anatomy.evaluate(EXERCISE, RIGHT), anatomy.evaluate(EXERCISE, lambda values, weights: values.mean(0))
    before = plain.text(), plain.html(), json.dumps(plain.to_dict())
    speak(brackets)
    assert "⟦This is the plain mean: the weights are ignored.⟧" in plain.text()
    assert "⟦Smallest failing case: ⟦" in plain.text() and "⟦expected⟧" in plain.html() and "⟦call⟧" in plain.html()
    assert plain.text().count("⟦") == plain.text().count("⟧") and "⟦{" not in good.text()
    assert "⟦1 point⟧" in good.text() and "⟦start.weighted_average: passed (" in good.text()
    assert json.dumps(Verdict.from_dict(plain.to_dict()).to_dict()) == before[2]
    with speaking("en"):
        assert (plain.text(), plain.html()) == before[:2]


@pytest.mark.parametrize(
    "function, says",
    [
        (lambda values, weights: None, "⟦⟦⟦the result⟧ is None: is a return missing?⟧.⟧⟦ print only shows"),
        (lambda values, weights: (weights @ values / weights.sum())[None], "axis of words is still there"),
        (lambda values, weights: values.foo, "⟦Print type(…) of what stands before .foo"),
        (lambda values, weights: RIGHT(values, weights) * 7, "⟦Every entry is 7 times the expected one"),
        (lambda v, w: 0, "⟦the signature should be weighted_average(values, weights), yours takes (v, w)"),
        (lambda values, weights: RIGHT(values, weights).double(), "⟦The numbers are right, but "),
        (lambda values, weights: weights.mul_(2) @ values / weights.sum(), "⟦your code changes its input in place"),
    ],
)
def test_sentences_with_values_are_whole(brackets, function, says):
    speak(brackets)
    torch.manual_seed(0)
    verdict = anatomy.evaluate(EXERCISE, function)
    text = verdict.text()
    # A sentence starts with a capital letter; a bracket cannot be capitalized.
    assert says in text, text
    assert "{" not in text.replace("{" + EXERCISE, ""), text


def test_predictions_are_kept_in_english_whatever_was_shown(brackets):
    speak(brackets)
    control = anatomy.predict("start.p1")
    (item,) = control.items
    assert item["options"][1] == "stays the same" and item["labels"][1] == "⟦stays the same⟧"
    assert item["question"].startswith("⟦All three") and item["button"] == "⟦Keep my prediction⟧"
    control.commit = {"key": "start.p1", "value": "stays the same", "n": 1}
    assert store.read("predictions")["start.p1"]["choice"] == "stays the same"
    state = control.states["start.p1"]
    assert state["choice"] == "stays the same" and state["message"] == "⟦Kept: ⟦stays the same⟧.⟧"
    why = "The factor 10 is in the numerator and in the denominator, so it cancels."
    shown = anatomy.reveal("start.p1", 7.4, why, answer="stays the same")
    assert shown.held and store.read("predictions")["start.p1"]["held"]
    for said_of in (repr(shown), shown._repr_html_()):
        assert "⟦stays the same⟧" in said_of and "⟦Your prediction held.⟧" in said_of and f"⟦{why}⟧" in said_of
    speak("en")
    again = anatomy.predict("start.p1")
    assert "labels" not in again.items[0] and again.states["start.p1"]["message"] == "Kept: stays the same."


def test_a_store_from_before_there_were_languages_is_read(brackets):
    old = {"start.p1": {"choice": "is 10 times larger", "held": None, "shown": False}}
    store.update("predictions", lambda data: data.update(old))
    speak(brackets)
    control = anatomy.predict("start.p1")
    assert control.states["start.p1"]["message"] == "⟦Kept: ⟦is 10 times larger⟧.⟧"
    assert not anatomy.reveal("start.p1", 7.4, answer="stays the same").held
    assert store.read("predictions")["start.p1"] == {"choice": "is 10 times larger", "held": False, "shown": True}
    anatomy.record_prediction("attention.p1", "my own words")
    assert "my own words" in anatomy.predict("attention.p1").states["attention.p1"]["message"]


def test_recap_answers_are_kept_in_english(brackets):
    speak(brackets)
    control = anatomy.quiz("00-start-here")
    item = next(i for i in control.items if "(D,)" in i["options"])
    assert control.name == "⟦Recap questions of ⟦Start here⟧⟧" and item["question"].startswith("⟦")
    control.commit = {"key": item["key"], "value": "(D,)", "n": 1}
    assert store.read("quizzes")[item["key"]]["last"] == "(D,)"
    assert control.states[item["key"]]["message"] == "⟦Right.⟧"
    assert control.states[item["key"]]["why"] == "⟦One number per column is left.⟧"
    assert {other for other, _why in control.states[item["key"]]["others"]} == {"⟦(T,)⟧", "⟦(T, D)⟧"}


def test_progress_has_no_english_left(brackets):
    anatomy.check(EXERCISE, RIGHT)
    speak(brackets)
    for text in (repr(anatomy.progress()), repr(anatomy.progress("00-start-here"))):
        for line in filter(None, text.split("\n")):
            rest = line
            while "⟦" in rest:  # the innermost brackets first
                at = rest.rindex("⟦")
                rest = rest[:at] + rest[rest.index("⟧", at) + 1 :]
            assert not any(c.isalpha() for c in rest), line
    assert "⟦Your progress⟧" in anatomy.progress()._repr_html_()


def test_scripts_get_the_words_that_they_ask_for(brackets):
    script = 'x = tr("Choose one first."); y = tr("And the " + "others?", { n }); z = N_("I expect"); str("no word")'
    assert translation.words(script) == {}
    speak(brackets)
    assert translation.words(script) == {
        "Choose one first.": "⟦Choose one first.⟧",
        "And the others?": "⟦And the others?⟧",
        "I expect": "⟦I expect⟧",
    }
    assert question.Question([], print).words["I expect"] == "⟦I expect⟧"
    with speaking("en"):
        assert question.Question([], print).words == {}


def test_names_and_sentences_in_a_row():
    for name, row, both, none, two in (
        ("en", "q, k, v", "q, k and v", "q and no k", "One. Two."),
        ("zh_CN", "q、k、v", "q、k、v", "q、k", "One.Two."),
    ):
        with speaking(name):
            assert translation.listed("qkv") == row and translation.listed(["q"]) == "q" and not translation.listed([])
            assert translation.listed_and("qkv") == both and translation.listed_and("q") == "q"
            assert translation.none_of("qk") == none and translation.sentences("One.", "", "Two.") == two


def test_a_sentence_ends_as_its_language_ends_one():
    from anatomy.widgets.tools.calls import replaced

    with speaking("zh_CN"):
        told = replaced("softmax", ValueError("no"))
        verdict = anatomy.evaluate(EXERCISE, type("weighted_average", (), {}))
    assert told.endswith("no。") and verdict.mistakes[0].message.partition("\n")[0].endswith("。")


@pytest.mark.parametrize("unit", exercises.units())
def test_what_calls_show_can_be_looked_up(unit):
    """A sentence with computed values is a literal with named placeholders: an f-string is in no catalogue."""
    shown = 0
    for cell in nbformat.read(ROOT / "solutions" / unit / f"{unit}.ipynb", as_version=4).cells:
        if cell.cell_type != "code" or cell.source.startswith("%"):
            continue
        for call in (n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Call)):
            name = getattr(call.func, "id", "")
            if name not in code_words.SHOWN:
                continue
            position, keyword = code_words.SHOWN[name]
            words = [*call.args[position : position + 1], *(k.value for k in call.keywords if k.arg == keyword)]
            package = [w for w in words if isinstance(w, ast.Call) and ast.unparse(w.func).endswith(".words")]
            if package:  # assembled by the package from its own texts
                continue
            assert all(isinstance(w, ast.Constant) for w in words), ast.unparse(call)
            if name == "described":
                places = {place for _, place, _, _ in string.Formatter().parse(words[0].value) if place is not None}
                given = {k.arg for k in call.keywords} - {keyword}
                assert places == given or not given, ast.unparse(call)
            shown += len(words)
    assert shown or unit == "00-start-here"
