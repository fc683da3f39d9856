"""A language in which everything is translated: Esperanto's code, English text in ⟦brackets⟧."""

import pytest
from anatomy.system import translation

from autograder.languages import catalogues, compiled, everything

LANGUAGE = "eo"


def bracketed(text):
    """A translation that keeps everything required, and is recognizable as one."""
    return f"⟦{text}⟧"


def translated(entries, choose=lambda number: True):
    """A catalogue in which each entry has a translation, or only those whose number ``choose`` accepts."""
    catalog = catalogues.updated(entries, None, LANGUAGE)
    for number, message in enumerate(catalogues.messages(catalog)):
        if choose(number):
            plural = message.pluralizable
            message.string = tuple(map(bracketed, message.id)) if plural else bracketed(message.id)
    return catalog


@pytest.fixture(scope="session")
def entries():
    """dict name of a catalogue → its entries."""
    return everything.entries()


@pytest.fixture(scope="session")
def spoken_folder(entries, tmp_path_factory):
    """A folder in which gettext finds the whole package in brackets."""
    folder = tmp_path_factory.mktemp("locale")
    path = folder / LANGUAGE / "LC_MESSAGES" / "anatomy.mo"
    path.parent.mkdir(parents=True)
    path.write_bytes(compiled.to_bytes([(e, translated(e)) for e in entries.values()], LANGUAGE))
    return folder


@pytest.fixture
def brackets(spoken_folder, monkeypatch):
    """Switches the package to the language in brackets; yields the language's name."""
    monkeypatch.delenv("ANATOMY_LANGUAGE", raising=False)
    monkeypatch.setattr(translation, "LOCALE", spoken_folder)
    forget()
    yield LANGUAGE
    translation._spoken.clear()
    forget()


def forget():
    """Clears what was read from catalogues in another folder."""
    translation._path.cache_clear()
    translation._catalogue.cache_clear()
