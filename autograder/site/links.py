"""Addresses within the site: the only module that knows how a page links to another page, a unit or a cell."""

import posixpath
import re

from anatomy.program.units import cell_id

ARXIV = re.compile(r"\d{4}\.\d{4,5}")


def unit(here: str, name: str, cell: str | None = None) -> str:
    """Link from the page ``here`` (a path without suffix) to a unit, or to the cell with the id ``cell`` in it."""
    path = _relative(here, f"units/{name}.ipynb")
    return f"{path}#{cell}" if cell else path


def exercise(here: str, name: str, exercise_id: str) -> str:
    """Link to an exercise's statement in the unit ``name``."""
    return unit(here, name, cell_id("say", exercise_id))


def page(here: str, there: str, anchor: str = "") -> str:
    """Link from one page to another, or to an anchor in it; both pages are paths without suffix."""
    return _relative(here, f"{there}.md") + (f"#{anchor}" if anchor else "")


def widget(here: str, folder: str) -> str:
    """Link to a widget's page in the gallery."""
    return page(here, f"gallery/{folder}")


def paper(key: str) -> str:
    """Address of a paper; key is its arXiv number, or already an address."""
    return f"https://arxiv.org/abs/{key}" if ARXIV.fullmatch(key) else key


def anchor(text: str) -> str:
    """An id for a heading or a term: ``anchor("QK-norm")`` is ``qk-norm``."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def _relative(here: str, there: str) -> str:
    return posixpath.relpath(there, posixpath.dirname(here) or ".")


def built(link: str) -> str:
    """The same link in the built site, for HTML in which the builder does not convert links."""
    return re.sub(r"\.(ipynb|md)(?=#|$)", ".html", link)
