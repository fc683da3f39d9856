"""The site's own words in the language in use, from ``locale/LANGUAGE/site.po``; English stands in for what is missing.

They are for the builder alone: the package that learners get does not have them. ``_`` and ``N_`` mark them as in
``anatomy.system.translation``.
"""

import gettext as _gettext
import io
from functools import cache

from anatomy.system.translation import ENGLISH, N_, language
from babel import Locale
from babel.messages.mofile import write_mo

from autograder.languages import catalogues

__all__ = ["N_", "_", "lang", "name_of", "ngettext"]
# As those who read a language call it; babel knows the others.
_NAMES = {"en": "English", "zh_CN": "简体中文", "zh_TW": "繁體中文"}


def _(english: str) -> str:
    """The sentence in the language in use."""
    return _catalog(language()).gettext(english) if english else ""


def ngettext(one: str, many: str, n: int) -> str:
    """The sentence for a count."""
    return _catalog(language()).ngettext(one, many, n)


def lang(english: str, shown: str) -> str:
    """The attribute of what is shown where it is still English and the language in use is not, or ""."""
    return ' lang="en"' if shown == english and language() != ENGLISH else ""


def name_of(name: str) -> str:
    """A language's name in that language: ``简体中文`` for ``zh_CN``."""
    return _NAMES.get(name) or str(Locale.parse(name).get_display_name(name))


@cache
def _catalog(name: str) -> _gettext.NullTranslations:
    path = catalogues.path_of(name, "site")
    if name == ENGLISH or not path.exists():
        return _gettext.NullTranslations()
    file = io.BytesIO()
    write_mo(file, catalogues.read(path))
    file.seek(0)
    return _gettext.GNUTranslations(file)
