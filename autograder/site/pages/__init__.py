"""The site's pages besides the units: each module here has ``pages()``: path without suffix → MyST Markdown.

``NAVIGATION`` is the order in which the site shows them; ``collected`` brings them together.
"""

import importlib
import pkgutil

# Heading in the sidebar → pages under it, in order. "units/*" and "gallery/*" stand for all of a folder. A page that is
# not there yet is left out, and one that is named nowhere stands under the last heading.
NAVIGATION: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Course", ("map", "units/*")),
    ("See it move", ("gallery/index", "atlas")),
    ("Look it up", ("notation", "glossary", "claims", "references")),
    ("Take part", ("learners", "instructors", "contributors", "docs/*")),
)


class TwoPages(ValueError):
    """Two modules want to write the same page; the message names it."""


def collected() -> dict[str, str]:
    """dict path without suffix → MyST Markdown, of all modules of this package. Raises TwoPages."""
    found: dict[str, str] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        for path, text in importlib.import_module(f"{__name__}.{module}").pages().items():
            if path in found:
                raise TwoPages(f"Two modules in {__name__} write the page {path!r}; the second is {module}.py")
            found[path] = text
    return found


def headed(paths: set[str]) -> list[tuple[str, list[str]]]:
    """(heading, paths) for the sidebar: ``NAVIGATION`` with what is there. Every path but "index" stands in it once."""
    left = paths - {"index"}
    named = {p for _, listed in NAVIGATION for p in listed}
    result: list[tuple[str, list[str]]] = []
    for heading, listed in NAVIGATION:
        here: list[str] = []
        for entry in listed:
            folder = entry.removesuffix("*")
            matching = sorted(p for p in left - named if p.startswith(folder)) if entry.endswith("*") else [entry]
            if entry == "gallery/index":  # the widgets' pages hang below it
                left -= {p for p in left if p.startswith("gallery/") and p != entry}
            here += [p for p in matching if p in left]
            left -= set(matching)
        result.append((heading, here))
    result[-1][1].extend(sorted(left))
    return [(heading, here) for heading, here in result if here]
