"""The widgets' words in the current language: ``_("…")`` for words that are shown, ``N_("…")`` only marks them."""

import inspect
from functools import cache
from pathlib import Path

from ...system import translation
from ...system.translation import N_

__all__ = ["CONTEXT", "N_", "_", "for_page", "ngettext"]

CONTEXT = "widget"  # context in the catalogues: a short word may need a different translation than elsewhere


def _(english: str) -> str:
    """The words in the current language. Insert values afterwards: ``_("layer {n}").format(n=3)``."""
    return translation.said(CONTEXT, english)


def ngettext(one: str, many: str, n: float) -> str:
    """The words for a count, in the current language: ``ngettext("{n} key", "{n} keys", 3).format(n=3)``."""
    return translation.ngettext(one, many, n, CONTEXT)


def for_page(widget: type, script: str) -> dict[str, str]:
    """dict English → translation for the page; empty in English, because the script has the English words.

    script: all of the widget's JavaScript. Words that its Python marks with ``N_``, such as controls' values, are
    included.
    """
    if translation.language() == translation.ENGLISH:
        return {}
    return translation.words(script + _python(Path(inspect.getfile(widget)).parent), CONTEXT)


@cache
def _python(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))
