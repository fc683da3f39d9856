"""The language of the package: English, or the one that ``speak`` or ANATOMY_LANGUAGE sets.

English sentences are the keys of the gettext catalogues in ``locale/``, and are shown where a translation is missing.
Data (progress, predictions, answers) is stored in English, whatever language it was shown in.
"""

import gettext as _gettext
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

LOCALE = Path(__file__).resolve().parents[1] / "locale"
ENGLISH = "en"
DOMAIN = "anatomy"
PICTURE = "picture"  # translation context of the texts of ``plots.described``, which does not know its unit
_NAME = re.compile(r"[a-z]{2,3}(_[A-Za-z]{2,4})*")

_spoken: list[str] = []  # the last argument of ``speak``
_forced: ContextVar[str] = ContextVar("language", default="")  # the language that ``speaking`` has set for the moment


def languages() -> list[str]:
    """Names of the languages that the package speaks: ``["en", "zh_CN"]``."""
    return [ENGLISH, *sorted(p.parent.parent.name for p in LOCALE.glob(f"*/LC_MESSAGES/{DOMAIN}.mo"))]


def speak(name: str) -> None:
    """Sets the language of this kernel, e.g. ``speak("zh_CN")``. ANATOMY_LANGUAGE takes precedence if it is set.

    Raises ValueError for an unknown language; the message names the known ones.
    """
    if name not in languages():
        raise ValueError(f"The course does not speak {name!r}. Languages: {', '.join(languages())}")
    _spoken[:] = [name]


def language() -> str:
    """The language in use, e.g. ``"en"`` or ``"zh_CN"``."""
    asked = _forced.get() or os.environ.get("ANATOMY_LANGUAGE") or (_spoken[-1] if _spoken else ENGLISH)
    return asked if asked == ENGLISH or _path(asked) else ENGLISH


def tag() -> str:
    """The language in use as pages name it: ``"zh-CN"``."""
    return language().replace("_", "-")


@cache
def _path(name: str) -> Path | None:
    path = LOCALE / name / "LC_MESSAGES" / f"{DOMAIN}.mo"
    # A name from the environment must not lead into another folder.
    return path if _NAME.fullmatch(name) and path.is_file() else None


@cache
def _catalogue(name: str) -> _gettext.NullTranslations:
    path = _path(name) if name != ENGLISH else None
    if path is None:
        return _gettext.NullTranslations()
    try:
        with path.open("rb") as file:
            return _gettext.GNUTranslations(file)
    except Exception:  # gettext raises all kinds of errors
        return _gettext.NullTranslations()  # a damaged catalogue costs the translation, not the lesson


def load(name: str) -> None:
    """Reads a language's catalogue, so that processes that are forked from this one need not."""
    _catalogue(name)


def spoken_by(source: str) -> str:
    """The language that a cell sets (a notebook in another language begins with such a cell); "" for any other cell."""
    found = re.fullmatch(r'from anatomy import speak\s+speak\("(\w+)"\)', source.strip())
    return found[1] if found and found[1] in languages() else ""


def _(english: str) -> str:
    """The sentence in the language in use. Fill in values later: ``_("{n} of {all} pass").format(n=3, all=5)``."""
    return _catalogue(language()).gettext(english) if english else ""


def N_(english: str) -> str:
    """Marks a constant sentence for the catalogues; ``_`` translates it when it is shown."""
    return english


def one_or_many(one: str, many: str) -> tuple[str, str]:
    """Marks a sentence for a count for the catalogues; ``ngettext`` translates it when it is shown."""
    return one, many


def ngettext(one: str, many: str, n: float, context: str = "") -> str:
    """The sentence for a count: ``ngettext("{n} point", "{n} points", 3).format(n=3)``."""
    # Catalogues have rules for whole numbers only; half a point takes the plural.
    catalogue, n = _catalogue(language()), int(n) if n == int(n) else 2
    return catalogue.npgettext(context, one, many, n) if context else catalogue.ngettext(one, many, n)


def said(context: str, english: str) -> str:
    """A text of a unit or an exercise, in the language in use or, if it is not translated, in English."""
    return _catalogue(language()).pgettext(context, english) if english else ""


pgettext = said


def listed(names: Iterable[object]) -> str:
    """Names in a row, separated as the language does it: ``"q, k, v"``."""
    return _("{a}, {b}").format(a="", b="").join(map(str, names))


def listed_and(names: Iterable[object]) -> str:
    """Names in a row with an "and" before the last: ``"q, k and v"``."""
    *first, last = map(str, names)
    return _("{names} and {last}").format(names=listed(first), last=last) if first else last


def none_of(names: Iterable[object]) -> str:
    """Names in a row after a "no": ``"q and no k"``."""
    return _("{a} and no {b}").format(a="", b="").join(map(str, names))


def sentences(*several: str) -> str:
    """Joins whole sentences and skips empty ones; some languages put no space between sentences."""
    return _("{sentence} {next}").format(sentence="", next="").join(filter(None, several))


_STRING = r'"(?:[^"\\\n]|\\.)*"'
_CALL = re.compile(rf"\b(?:tr|N_)\(\s*({_STRING}(?:\s*\+?\s*{_STRING})*)")


def words(javascript: str, context: str = "") -> dict[str, str]:
    """dict English → translation of the texts that a script requests with ``tr("…")``; empty in English.

    JavaScript has no catalogue: code that passes a script to a page has to pass these along, too.
    """
    if language() == ENGLISH:
        return {}
    catalogue, found = _catalogue(language()), {}
    for asked in asked_for(javascript):
        shown = catalogue.pgettext(context, asked) if context else catalogue.gettext(asked)
        if shown != asked:
            found[asked] = shown
    return found


@cache
def asked_for(javascript: str) -> list[str]:
    """The English texts that a script requests, each once, in order."""
    literals = _CALL.findall(javascript)
    said = ("".join(_unescaped(part[1:-1]) for part in re.findall(_STRING, found)) for found in literals)
    return list(dict.fromkeys(said))


def _unescaped(literal: str) -> str:
    """The text of a JavaScript string whose only escapes are quotes, line breaks and characters by number."""
    return re.sub(
        r"\\(u[0-9a-fA-F]{4}|.)",
        lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else {"n": "\n"}.get(m[1], m[1]),
        literal,
    )


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Sets the language for a while, overriding all other settings: ``with speaking("zh_CN"): verdict.html()``.

    An unknown language means English.
    """
    before = _forced.set(name)
    try:
        yield
    finally:
        _forced.reset(before)


@contextmanager
def usually(name: str) -> Iterator[None]:
    """Sets the language for a while; ANATOMY_LANGUAGE takes precedence if it is set."""
    with speaking(os.environ.get("ANATOMY_LANGUAGE") or name):
        yield
