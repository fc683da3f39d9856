"""The language that the package speaks: English, or what ``speak`` or ANATOMY_LANGUAGE says.

English sentences are the keys of gettext catalogues in ``locale/``, and stand in for what is not translated. What is
kept (progress, predictions, answers) is kept in English, whatever language it was shown in.
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
PICTURE = "picture"  # the context of what ``plots.described`` says: it does not know its unit
_NAME = re.compile(r"[a-z]{2,3}(_[A-Za-z]{2,4})*")

_spoken: list[str] = []  # what ``speak`` was told last
_forced: ContextVar[str] = ContextVar("language", default="")  # what ``speaking`` says at the moment


def languages() -> list[str]:
    """Names of the languages that the package speaks: ``["en", "zh_CN"]``."""
    return [ENGLISH, *sorted(p.parent.parent.name for p in LOCALE.glob(f"*/LC_MESSAGES/{DOMAIN}.mo"))]


def speak(name: str) -> None:
    """Sets the language of this kernel, e.g. ``speak("zh_CN")``. ANATOMY_LANGUAGE comes first, where it is set.

    Raises ValueError for a language that there is not; the message names those that there are.
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
    # A name from the environment is no path into another folder.
    return path if _NAME.fullmatch(name) and path.is_file() else None


@cache
def _catalogue(name: str) -> _gettext.NullTranslations:
    path = _path(name) if name != ENGLISH else None
    if path is None:
        return _gettext.NullTranslations()
    try:
        with path.open("rb") as file:
            return _gettext.GNUTranslations(file)
    except Exception:  # gettext raises whatever its parts do
        return _gettext.NullTranslations()  # a damaged catalogue costs the language and no lesson


def spoken_by(source: str) -> str:
    """The language that a cell says (a notebook in another language begins with one); "" for any other cell."""
    found = re.fullmatch(r'from anatomy import speak\s+speak\("(\w+)"\)', source.strip())
    return found[1] if found and found[1] in languages() else ""


def _(english: str) -> str:
    """The sentence in the language in use. Values come afterwards: ``_("{n} of {all} pass").format(n=3, all=5)``."""
    return _catalogue(language()).gettext(english) if english else ""


def N_(english: str) -> str:
    """Marks a sentence for the catalogues, where it stands as a constant; ``_`` translates it when it is shown."""
    return english


def one_or_many(one: str, many: str) -> tuple[str, str]:
    """Marks a sentence for a count for the catalogues; ``ngettext`` translates it when it is shown."""
    return one, many


def ngettext(one: str, many: str, n: float, context: str = "") -> str:
    """The sentence for a count: ``ngettext("{n} point", "{n} points", 3).format(n=3)``."""
    # Catalogues have rules for whole numbers; half a point is no single one.
    catalogue, n = _catalogue(language()), int(n) if n == int(n) else 2
    return catalogue.npgettext(context, one, many, n) if context else catalogue.ngettext(one, many, n)


def said(context: str, english: str) -> str:
    """A unit's or an exercise's own words: what is known of them in the language in use, or their English."""
    return _catalogue(language()).pgettext(context, english) if english else ""


pgettext = said


def listed(names: Iterable[object]) -> str:
    """Names in a row, as the language sets them: ``"q, k, v"``."""
    return _("{a}, {b}").format(a="", b="").join(map(str, names))


def listed_and(names: Iterable[object]) -> str:
    """Names in a row, all of which are meant: ``"q, k and v"``."""
    *first, last = map(str, names)
    return _("{names} and {last}").format(names=listed(first), last=last) if first else last


def none_of(names: Iterable[object]) -> str:
    """Names in a row after a "no": ``"q and no k"``."""
    return _("{a} and no {b}").format(a="", b="").join(map(str, names))


def sentences(*several: str) -> str:
    """Whole sentences one after the other, without those that are ""; some languages put no blank between them."""
    return _("{sentence} {next}").format(sentence="", next="").join(filter(None, several))


_STRING = r'"(?:[^"\\\n]|\\.)*"'
_CALL = re.compile(rf"\b(?:tr|N_)\(\s*({_STRING}(?:\s*\+?\s*{_STRING})*)")


def words(javascript: str, context: str = "") -> dict[str, str]:
    """dict English → translation of what a script asks for with ``tr("…")``; empty in English, which the script has.

    JavaScript has no catalogue: whoever hands it a script hands these over, too.
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
    """The English that a script asks for, each once, in order."""
    literals = _CALL.findall(javascript)
    said = ("".join(_unescaped(part[1:-1]) for part in re.findall(_STRING, found)) for found in literals)
    return list(dict.fromkeys(said))


def _unescaped(literal: str) -> str:
    """What a JavaScript string says, where it holds no more than quotes, breaks and characters by their number."""
    return re.sub(
        r"\\(u[0-9a-fA-F]{4}|.)",
        lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else {"n": "\n"}.get(m[1], m[1]),
        literal,
    )


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Speaks that language for a while, whatever else was said: ``with speaking("zh_CN"): verdict.html()``.

    A language that there is not is English.
    """
    before = _forced.set(name)
    try:
        yield
    finally:
        _forced.reset(before)


@contextmanager
def usually(name: str) -> Iterator[None]:
    """Speaks that language for a while; ANATOMY_LANGUAGE comes first, where it is set."""
    with speaking(os.environ.get("ANATOMY_LANGUAGE") or name):
        yield
