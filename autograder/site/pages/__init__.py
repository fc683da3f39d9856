"""The site's pages besides the units. Each module has ``pages()``, which returns path without suffix → MyST Markdown.

``NAVIGATION`` is the order in which the site shows them; ``collected`` collects them.
"""

import importlib
import pkgutil
from contextlib import nullcontext

from anatomy.system.translation import ENGLISH, speaking

from ..words import N_

# Heading in the sidebar → pages under it, in order. "units/*" and "docs/*" mean all pages in a folder. A missing page
# is left out, and a page that is not listed goes under the last heading.
NAVIGATION: tuple[tuple[str, tuple[str, ...]], ...] = (
    (N_("Course"), ("map", "units/*")),
    (N_("Without installing"), ("press/*",)),
    (N_("See it move"), ("gallery/index", "atlas")),
    (N_("Look it up"), ("notation", "glossary", "claims", "checked", "references")),
    (N_("Take part"), ("learners", "instructors", "contributors", "docs/*")),
)

# Modules whose pages are in the language of the site, except those that their ``english()`` names. The pages of the
# other modules are always in English.
SPOKEN = (
    *("index", "map", "gallery", "press", "checked", "notation", "glossary", "claims", "references"),
    *("atlas", "guides", "documents"),
)
# Titles of the other pages in the sidebar: their headings.
HEADINGS = (N_("Contributing"), N_("The units compared"))


class TwoPages(ValueError):
    """Two modules try to write the same page; the message names it."""


def collected() -> dict[str, str]:
    """dict path without suffix → MyST Markdown, from all modules of this package. Raises TwoPages."""
    found: dict[str, str] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        made = importlib.import_module(f"{__name__}.{module}")
        with nullcontext() if module in SPOKEN else speaking(ENGLISH):
            written = made.pages()
        for path, text in written.items():
            if path in found:
                raise TwoPages(f"Two modules in {__name__} write the page {path!r}; the second is {module}.py")
            found[path] = text
    return found


def english() -> set[str]:
    """Paths of the pages that are English in every language."""
    spoken: set[str] = set()
    for name in SPOKEN:
        module = importlib.import_module(f"{__name__}.{name}")
        spoken |= set(module.pages()) - (module.english() if hasattr(module, "english") else set())
    return set(collected()) - spoken


def headed(paths: set[str]) -> list[tuple[str, list[str]]]:
    """(heading, paths) for the sidebar: ``NAVIGATION`` with the existing pages. Every path except "index" appears once,
    except those of widgets, which are listed below the gallery's index."""
    left = paths - {"index"}
    named = {p for _, listed in NAVIGATION for p in listed}
    result: list[tuple[str, list[str]]] = []
    for heading, listed in NAVIGATION:
        here: list[str] = []
        for entry in listed:
            folder = entry.removesuffix("*")
            matching = sorted(p for p in left - named if p.startswith(folder)) if entry.endswith("*") else [entry]
            if entry == "gallery/index":  # the widgets' pages are listed below it
                left -= {p for p in left if p.startswith("gallery/") and p != entry}
            here += [p for p in matching if p in left]
            left -= set(matching)
        result.append((heading, here))
    result[-1][1].extend(sorted(left))
    return [(heading, here) for heading, here in result if here]
