"""Translates the theme's own words, which exist only in English, into the language of the site.

Only the frame around a page's article is searched, because an article contains none of the theme's words.
"""

import html
import re

from anatomy.system.translation import ENGLISH, language

from .words import N_, _

SAID = (
    N_("Toggle site navigation sidebar"),
    N_("Toggle table of contents sidebar"),
    N_("Toggle Light / Dark / Auto color theme"),
    N_("Skip to content"),
    N_("Back to top"),
    N_("On this page"),
    N_("Next"),
    N_("Previous"),
    N_("Home"),
    N_("Contents"),
    N_("Menu"),
    N_("Expand"),
    N_("Light mode"),
    N_("Dark mode"),
    N_("Auto light/dark, in light mode"),
    N_("Auto light/dark, in dark mode"),
    N_("Please activate JavaScript to enable the search functionality."),
)
_ARTICLE = re.compile(r'(<article role="main".*</article>)', re.S)
_TREE = re.compile(r'(<div class="(?:sidebar|toc)-tree">.*?</div>)', re.S)  # lists of titles
_WORDS = re.compile(rf'(>\s*|aria-label=")({"|".join(map(re.escape, SAID))})(?=\s*<|")')
_FOLDS = re.compile(r'aria-label="Toggle navigation of ([^"]*)"')


def spoken(page: str) -> str:
    """The theme's HTML with its own words in the current language."""
    if language() == ENGLISH:
        return page
    page = "".join(part if n % 2 else _frame(part) for n, part in enumerate(_ARTICLE.split(page)))
    # The only sentence of the theme inside an article, on the search page.
    return page.replace(SAID[-1], html.escape(_(SAID[-1])))


def _frame(part: str) -> str:
    parts = _TREE.split(part)
    parts = [_FOLDS.sub(_fold, p) if n % 2 else _WORDS.sub(_word, p) for n, p in enumerate(parts)]
    return "".join(parts)


def _word(found: re.Match[str]) -> str:
    return found[1] + html.escape(_(found[2]))


def _fold(found: re.Match[str]) -> str:
    shown = html.escape(_("Toggle navigation of {page}"))
    return f'aria-label="{shown.format(page=found[1])}"'
