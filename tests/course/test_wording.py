"""Everything that a person reads uses one name for each thing, in American spelling: ``docs/terms.toml``."""

import tomllib

import pytest

from autograder import ROOT
from autograder.authoring import wording


@pytest.fixture(scope="module")
def everything():
    return list(wording.texts())


def test_every_text_uses_the_preferred_words(everything):
    found = [f"{where}: …{words}… → {use}" for where, text in everything for words, use in wording.rejected(text)]
    assert not found, "\n".join(found)


def test_all_that_a_person_reads_is_looked_at(everything):
    places = {where for where, _ in everything}
    for part in (
        "01-attention c-",
        "06-rope rope.apply_rope worth",
        "06-rope rope.apply_rope spec",
        "06-rope 06-rope.q-",
        "course/anatomy/widgets/rope/rope.js",
        "course/anatomy/widgets/rope/story.py",
        "course/anatomy/judge/diagnosis.py",
        "docs/students.md",
        "README.md",
        "glossary RoPE",
    ):
        assert any(p.startswith(part) for p in places), part
    assert sum(len(text) for _, text in everything) > 1_000_000


@pytest.mark.parametrize(
    ("text", "use"),
    [
        ("A pre-norm block.", "Pre-LN"),
        ("Its key-value cache grows.", "KV cache"),
        ("Each KV head is shared.", "key-value heads"),
        ("The head dimension is 64.", "head dim"),
        ("After 100 steps of warmup.", "warm-up"),
        ("It was finetuned.", "fine-tuning"),
        ("The colour of a neighbour.", "color"),
        ("It is normalised.", "normaliz…"),
        ("It falls towards 0.", "toward"),
        ("An encoder-decoder model.", "encoder–decoder"),
    ],
)
def test_a_rejected_word_is_seen(text, use):
    assert use in [found for _, found in wording.rejected(text)]


@pytest.mark.parametrize(
    "text",
    [
        "The argument `warmup` counts steps.",
        '> *"Almost all use pre-norm."*',
        "$\\text{head size}$ stands in a formula.",
        "See [the code](https://example.org/pre-norm/colour).",
        "`head_dimension` is a name, and so is final_prenorm.",
        "Pre-LN, Post-LN, the KV cache, key-value heads and the head dim.",
    ],
)
def test_code_formulas_links_and_quotations_are_left_alone(text):
    assert not wording.rejected(text)


def test_every_exception_is_still_needed(everything):
    data = tomllib.loads((ROOT / "docs" / "terms.toml").read_text(encoding="utf-8"))
    phrases = [p for entry in data["terms"] for p in entry.get("but", ())]
    phrases += [p for listed in data["spelling_but"].values() for p in listed]
    whole = [wording.NOT_WORDS.sub(" · ", text) for _, text in everything]
    for phrase in phrases:
        assert any(phrase in " ".join(text.split()) for text in whole), f"nothing says {phrase!r} any longer"
