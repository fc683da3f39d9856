"""The site's words in the current language, from ``locale/LANGUAGE/site.po`` and ``docs.po``; missing ones are English.

Only the builder needs them: they are not in the package that learners get. ``_`` and ``N_`` mark them as in
``anatomy.system.translation``.
"""

import gettext as _gettext
import io
from functools import cache

from anatomy.program import units
from anatomy.system.translation import ENGLISH, N_, language, said
from babel import Locale
from babel.messages.mofile import write_mo

from autograder.languages import catalogues

__all__ = ["N_", "_", "lang", "name_of", "ngettext", "unit_title", "written"]
# The names of languages in these languages; babel knows the others.
_NAMES = {"en": "English", "zh_CN": "简体中文", "zh_TW": "繁體中文"}


def _(english: str) -> str:
    """The sentence in the current language."""
    return _catalog(language()).gettext(english) if english else ""


def written(context: str, english: str) -> str:
    """A text of ``docs/`` in the current language, from ``docs.po``. context: the page, or "glossary"."""
    return _catalog(language(), "docs").pgettext(context, english) if english else ""


def ngettext(one: str, many: str, n: int) -> str:
    """The sentence for a count, in the current language."""
    return _catalog(language()).ngettext(one, many, n)


def lang(english: str, shown: str) -> str:
    """The attribute ``lang="en"`` for a text that is still English although the current language is not, or ""."""
    return ' lang="en"' if shown == english and language() != ENGLISH else ""


def unit_title(unit: str) -> str:
    """A unit's title, marked as English where it is not in the current language."""
    english = units.load(unit)["title"]
    title = said(unit, english)
    marked = lang(english, title)
    return f"<span{marked}>{title}</span>" if marked else title


def name_of(name: str) -> str:
    """A language's name in that language: ``简体中文`` for ``zh_CN``."""
    return _NAMES.get(name) or str(Locale.parse(name).get_display_name(name))


@cache
def _catalog(name: str, which: str = "site") -> _gettext.NullTranslations:
    path = catalogues.path_of(name, which)
    if name == ENGLISH or not path.exists():
        return _gettext.NullTranslations()
    file = io.BytesIO()
    write_mo(file, catalogues.read(path))
    file.seek(0)
    return _gettext.GNUTranslations(file)
