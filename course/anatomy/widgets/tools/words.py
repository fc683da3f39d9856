"""What widgets say, in the language in use: ``_("…")`` where it is shown, ``N_("…")`` where it is only written down."""

import inspect
from functools import cache
from pathlib import Path

from ...system import translation
from ...system.translation import N_

__all__ = ["CONTEXT", "N_", "_", "for_page", "ngettext"]

CONTEXT = "widget"  # of their entries in the catalogues: a short word may need another translation than elsewhere


def _(english: str) -> str:
    """The words in the language in use. Values come afterwards: ``_("layer {n}").format(n=3)``."""
    return translation.said(CONTEXT, english)


def ngettext(one: str, many: str, n: float) -> str:
    """The words for a count, in the language in use: ``ngettext("{n} key", "{n} keys", 3).format(n=3)``."""
    return translation.ngettext(one, many, n, CONTEXT)


def for_page(widget: type, script: str) -> dict[str, str]:
    """dict English → what the page says in its place; empty in English, which stands in the script.

    script: all of the widget's JavaScript. What its Python marks with ``N_`` goes along: values of controls, say.
    """
    if translation.language() == translation.ENGLISH:
        return {}
    return translation.words(script + _python(Path(inspect.getfile(widget)).parent), CONTEXT)


@cache
def _python(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py")))
