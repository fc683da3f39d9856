"""Numbers from recordings are filled into texts by the build, never typed."""

import json
import re

import pytest
from anatomy.experiments import recorded

from autograder import ROOT, exercises
from autograder.notebooks import numbers
from autograder.notebooks.cells import read_cells
from autograder.notebooks.source import source_path
from autograder.notebooks.unit_text import TextError

UNITS = exercises.units()
NUMBER = re.compile(r"(?<![\w.\\/^_{-])\d[\d,]*(?:\.\d+)?(?![\w/])")
COUNT = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|both|all)"


def source(unit):
    return (ROOT / "solutions" / f"{unit}.py").read_text(encoding="utf-8")


def texts(unit):
    """Markdown cells of a unit as the author wrote them, without links and code.

    Yields (first words, text, the cell's evidence, whether it uses recordings at all).
    """
    for cell in read_cells(source_path(unit))[0]:
        if not cell.code:
            text = re.sub(r"\]\([^)]*\)|https?://\S+|`[^`]*`", " ", cell.source)
            rests = cell.evidence or ""
            places = {m[1] for m in numbers.PLACE.finditer(cell.source)} - {"unit"}
            tells = bool(places) or "recorded:" in rests or "measured:" in rests
            yield cell.source[:50], numbers.PLACE.sub(" ", text), rests, tells


def significant(token):
    """Number of significant digits: 0.31 has two, 300 one, 4,946 four."""
    digits = token.replace(",", "").lstrip("0.")
    return len((digits if "." in token else digits.rstrip("0")).replace(".", ""))


def told_by(token, value):
    """Whether a recorded number, rounded to the decimals of ``token``, equals it."""
    places = len(token.partition(".")[2])
    if isinstance(value, int) and places or not isinstance(value, (int, float)):
        return False  # a count is never typed with decimals
    return f"{value:.{places}f}" == token.replace(",", "")


@pytest.mark.parametrize("unit", UNITS)
def test_no_number_is_typed_that_a_recording_holds(unit):
    used = {m[1] for m in numbers.PLACE.finditer(source(unit))} - {"unit"}
    known = {f"{name}.{fact}": v for name in used for fact, v in numbers.flat(numbers.facts(name)).items()}
    typed = []
    for begins, text, _, tells in texts(unit):
        for token in NUMBER.findall(text):
            # Short numbers agree by chance; sizes of models are round, so they do even more often.
            digits, enough = significant(token), 2 if tells and "." in token else 3
            held = [
                fact
                for fact, value in known.items()
                if told_by(token, value) and digits >= (5 if fact.startswith("named_models.") else enough)
            ]
            typed += [f"{token} in {begins!r}: write {{{{{held[0]}}}}}"] if held else []
    assert not typed, "\n".join(typed)


@pytest.mark.parametrize("unit", UNITS)
def test_counts_of_recorded_runs_are_filled_in(unit):
    typed = [
        f"{found!r} in {begins!r}"
        for begins, text, rests, _ in texts(unit)
        if "recorded:" in rests
        for found in re.findall(rf"\b{COUNT} of (?:the )?{COUNT}\b", text, re.I)
    ]
    assert not typed, "\n".join(typed)


@pytest.mark.parametrize("token, digits", [("0.31", 2), ("300", 1), ("4,946", 4), ("0.05", 1), ("1.00", 3), ("120", 2)])
def test_significant(token, digits):
    assert significant(token) == digits


NUMBERS = {"loss": {"end": 0.3149, "held": 7, "of": 8}, "who": "ReLU"}
NUMBERS |= {"low": 0.309, "high": 0.3149, "error": 0.0041, "none": 0.0}


@pytest.fixture
def facts(monkeypatch):
    monkeypatch.setattr(numbers, "facts", lambda name: NUMBERS)


def test_places_are_filled_in(facts):
    text = "{{x.loss.held:word}} of {{x.loss.of}}, {{x.loss.end:.2f}}, {{x.who}}; $\\frac{a}{b}$, {{unit.time}}"
    assert numbers.fill(text) == "seven of 8, 0.31, ReLU; $\\frac{a}{b}$, {{unit.time}}"
    assert numbers.fill("{{unit.time}}", {"time": "an hour"}) == "an hour"
    assert numbers.fill("{{x.loss.held:Word}}") == "Seven"


def test_a_range_whose_ends_round_alike_is_one_number(facts):
    assert numbers.fill("{{x.low:.0%}} to {{x.high:.0%}}, {{x.low:.1%}} to {{x.high:.1%}}") == "31%, 30.9% to 31.5%"
    assert numbers.fill("{{x.low:.1f}}–{{x.high:.1f}} s; {{x.low:.1f}} and {{x.high:.1f}}") == "0.3 s; 0.3 and 0.3"


def test_an_uncertainty_is_not_rounded_to_nothing(facts):
    assert numbers.fill("{{x.low:.2f}} ± {{x.error:.2f}}, ± {{x.low:.2f}}, ± {{x.none:.2f}}") == (
        "0.31 ± 0.004, ± 0.31, ± 0.00"
    )


@pytest.mark.parametrize("unit", UNITS)
def test_no_text_tells_a_range_of_one_number(unit):
    """Ranges may be typed by hand, or joined by words that the build does not know."""
    book = json.loads((ROOT / "course" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"))
    for text in ("".join(c["source"]) for c in book["cells"] if c["cell_type"] == "markdown"):
        assert not re.search(r"(?<![\d.−-])(\d+\.?\d*%?)(?: to |–)\1(?![\d.%])|± 0\.?0*(?![\d.])", text), text


@pytest.mark.parametrize(
    "text, says",
    [
        ("{{x.loss.ends}}", "no such fact; there are loss.end"),
        ("{{x.loss.end:word}}", "cannot be shown"),
        ("{{x.who:.2f}}", "cannot be shown"),
        ("{{x}}", "is not"),
        ("{{ x.loss.end }}", "is not"),
    ],
)
def test_what_cannot_be_filled_in_is_one_sentence(facts, text, says):
    with pytest.raises(TextError, match=says):
        numbers.fill(text)


def test_a_negative_number_has_no_word():
    """As an index it would count from the end of the list of words."""
    assert numbers.shown(2, "word", "here") == "two" and numbers.shown(0, "Word", "here") == "None"
    with pytest.raises(TextError, match="cannot be shown"):
        numbers.shown(-1, "word", "here")


def test_another_recording_changes_the_sentence_or_fails_by_name(monkeypatch):
    """If z-loss had ended like QK-norm, the text would say so; a recording without the needed data is refused."""
    data, text = recorded("loss_spike"), "{{loss_spike.elsewhere.held}} of {{loss_spike.elsewhere.runs}}"
    assert numbers.fill(text) == "0 of 16"
    good = {r["seed"]: r for r in data["rows"] if r["remedy"] == "QK-norm"}
    rows = [{**good[r["seed"]], "remedy": "z-loss"} if r["remedy"] == "z-loss" else r for r in data["rows"]]
    monkeypatch.setattr(numbers, "recorded", lambda name: other)
    try:
        numbers.facts.cache_clear()
        other = {**data, "rows": rows}
        assert numbers.fill(text) == "8 of 16"
        numbers.facts.cache_clear()
        other = {**data, "remedies": data["remedies"][:4]}
        with pytest.raises(TextError, match="loss_spike: its facts.*don't fit"):
            numbers.fill(text)
    finally:
        numbers.facts.cache_clear()


def test_an_experiment_that_is_not_there():
    with pytest.raises(TextError, match="there is no experiment 'nothing'"):
        numbers.fill("{{nothing.at.all}}")


def test_a_typed_number_is_found():
    assert told_by("4,946", 4945.7) and told_by("0.31", 0.3149) and not told_by("0.32", 0.3149)
    assert not told_by("7", "7 of 8")
