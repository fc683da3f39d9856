"""Catalogues: up to date, reproducible bytes, no guesses, and no translation that breaks machine-readable parts."""

import pytest

from autograder.languages import agree, catalogues, compiled, everything
from autograder.languages.__main__ import main
from autograder.languages.words import Entry

from .conftest import LANGUAGE, bracketed, translated


def catalog_of(*pairs):
    """A catalogue of (English, translation) pairs."""
    made = catalogues.updated([Entry("u", english) for english, _ in pairs], None, LANGUAGE)
    for message, (_, text) in zip(catalogues.messages(made), pairs, strict=True):
        message.string = text
    return made


def saved(catalog, tmp_path):
    path = tmp_path / LANGUAGE / "messages.po"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(catalogues.to_bytes(catalog))
    return catalogues.read(path)


def test_what_is_committed_is_up_to_date(capsys):
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_a_language_begins_and_says_how_far_it_is(tmp_path, entries, monkeypatch):
    monkeypatch.setattr(everything, "entries", lambda: entries)
    made = everything.updated("eo", ["00-start-here"], tmp_path)
    names = {p.name for p in made.files}
    shared = {"notebooks.po", "messages.po", "widgets.po", "site.po", "docs.po", "labels.po"}
    assert names == {*shared, "00-start-here.po", "anatomy.mo"}
    assert any("00-start-here" in line and line.endswith("translated") for line in made.report)
    assert any("01-attention" in line and "not begun" in line for line in made.report)
    assert made.files == everything.updated("eo", ["00-start-here"], tmp_path).files, "the same bytes again"
    text = made.files[catalogues.path_of("eo", "00-start-here", tmp_path)].decode()
    assert "00-start-here#say-start-weighted_average" in text and "POT-Creation-Date" not in text
    for name, wanted in entries.items():
        assert wanted, name


@pytest.mark.parametrize("name", ["xx_YY", "english", "en", "en_US", "../zh", ""])
def test_names_that_are_no_languages_are_refused(name):
    with pytest.raises(catalogues.CatalogueError, match="write"):
        catalogues.checked(name)


def test_translations_stay_with_their_english_and_nothing_is_guessed(tmp_path):
    old = saved(catalog_of(("The first sentence.", "Unu."), ("The second sentence.", "Du.")), tmp_path)
    new = catalogues.updated([Entry("u", "The second sentence."), Entry("u", "The first sentences.")], old, LANGUAGE)
    assert [(m.id, m.string or "") for m in catalogues.messages(new)] == [
        ("The second sentence.", "Du."),
        ("The first sentences.", ""),
    ]
    again = saved(new, tmp_path)
    assert [m.string for m in again.obsolete.values()] == ["Unu."], "an old translation is kept, out of use"
    back = catalogues.updated([Entry("u", "The first sentence.")], again, LANGUAGE)
    assert catalogues.to_bytes(back).count(b"Du.") == 1


def test_what_a_translator_doubts_is_shown_to_nobody(tmp_path):
    old = saved(catalog_of(("The first sentence.", "Unu."), ("The second sentence.", "Du.")), tmp_path)
    next(catalogues.messages(old)).flags.add("fuzzy")
    entries = [Entry("u", "The first sentence."), Entry("u", "The second sentence.")]
    new = catalogues.updated(entries, saved(old, tmp_path), LANGUAGE)
    assert [m.string or "" for m in catalogues.messages(new)] == ["", "Du."] and catalogues.count(new).translated == 1


def test_a_file_that_is_no_catalogue_is_named(tmp_path):
    path = tmp_path / LANGUAGE / "messages.po"
    path.parent.mkdir()
    path.write_text('msgid "a"\nmsgstr "b"\n\nnonsense\n')
    with pytest.raises(catalogues.CatalogueError, match="messages.po"):
        catalogues.read(path)


@pytest.mark.parametrize(
    "english, text, says",
    [
        ("Take `x.sum()` of it", "Prenu x.sum() de ĝi", "the code `x.sum()` is missing"),
        ("Width $d$ here", "Larĝo $D$ ĉi tie", "the formula $d$ is missing"),
        (
            "See [it](https://arxiv.org/abs/1)",
            "Vidu [ĝin](https://arxiv.org/abs/2)",
            "the link https://arxiv.org/abs/1",
        ),
        ("{n} of {all} pass", "{n} el {tuto} pasas", "the value {all} is missing"),
        ("{n:g} points", "{n} poentoj", "the value {n:g} is missing"),
        ("In {{x.y:.2f}} runs", "En {{x.y:.3f}} kuroj", "the place {{x.y:.2f}} is missing"),
        ("a <b>word</b>", "vorto", "the tag <b> is missing"),
        ("**Bold** text", "**Dika teksto", "a ** has no partner"),
        ("One sentence.", " Unu frazo.", "begins or ends with a blank"),
        ("Values {n}", "Valoroj {n} {", "braces { } do not close"),
    ],
)
def test_a_slip_is_told(english, text, says):
    found = agree.problems(catalog_of(("Fine.", "Bone."), (english, text)))
    assert any(says in sentence for sentence in found) and all(english[:10] in sentence for sentence in found)
    assert not agree.problems(catalog_of((english, "")))


def test_words_in_another_order_are_no_slip():
    english = r"`f(x)` of $x$: {n} of {all} ([paper](https://a.b)), $\text{out}$"
    text = r"{all} el {n}: [artikolo](https://a.b) pri $x$, `f(x)`, $\text{el}$"
    assert not agree.problems(catalog_of((english, text)))


def test_english_in_brackets_breaks_nothing(entries):
    """So no rule forbids text that the course itself contains."""
    for name, wanted in entries.items():
        assert not agree.problems(translated(wanted)), name


def test_the_package_reads_what_it_shows_and_nothing_else(entries):
    unit = "03-norm-placement"
    shown = [e for e in entries[unit] if e.filled is not None]
    assert 0 < len(shown) < len(entries[unit])
    data = compiled.to_bytes([(entries[unit], translated(entries[unit]))], LANGUAGE)
    assert data == compiled.to_bytes([(entries[unit], translated(entries[unit]))], LANGUAGE)
    assert bracketed(shown[-1].filled).encode() in data
    only = next(e for e in entries[unit] if e.filled is None and len(e.english) > 60)
    assert only.english.encode() not in data
    assert b"{{" not in data, "recorded facts are filled in"
