"""A page for each widget: what it shows, the widget with its story, the units that use it. The index lists them all."""

import re
from functools import cache

import nbformat
from anatomy.program import gallery, units
from anatomy.program.gallery import Entry
from anatomy.system.translation import said, sentences
from anatomy.widgets import REGISTERED

from autograder import ROOT
from autograder.notebooks.gallery import About, described

from .. import links
from ..words import _, ngettext, unit_title


def pages() -> dict[str, str]:
    """The index and a page for each widget, in the order of the gallery's notebook."""
    about = described()
    cards = "".join(map(_card, gallery.entries()))
    listed = "\n".join(about)
    lead = _(
        "Every widget of the course, alive: no kernel, nothing to install. Each begins with a story; do what it says, "
        "answer its question, go on with ›. Point at anything to see its number and formula, click to keep it, and "
        "press Escape to let go. Tab and the arrow keys do the same."
    )
    index = (
        f"# {_('Gallery')}\n\n{lead}\n\n"
        f'<ul class="ta-cards">\n{cards}</ul>\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n'
    )
    return {"gallery/index": index, **{f"gallery/{name}": _page(name, about[name]) for name in about}}


@cache
def lives_in() -> dict[str, list[str]]:
    """dict widget's folder → units whose notebooks use the widget."""
    found: dict[str, list[str]] = {name: [] for name in REGISTERED}
    for unit in units.names():
        code = [
            c.source
            for c in nbformat.read(ROOT / "course" / unit / f"{unit}.ipynb", as_version=4).cells
            if c.cell_type == "code"
        ]
        for name, kind in REGISTERED.items():
            if any(re.search(rf"\b{kind.__name__}\(", source) for source in code):
                found[name].append(unit)
    return found


def _card(entry: Entry) -> str:
    size = 'width="400" height="250" loading="lazy" alt=""'
    pictures = "".join(
        f'<img class="only-{theme}" src="../_static/gallery/{path.name}" {size}>'
        for theme, path in gallery.stills(entry).items()
    )
    where = ", ".join(name[:2] for name in entry.units)
    unit = ngettext("Unit {names}", "Units {names}", len(entry.units)).format(names=where) if entry.units else ""
    link = f'<a href="{entry.folder}.html">{pictures}<small>{unit}</small><strong>{entry.called}</strong></a>'
    return f"<li>{link}<span>{entry.reason}</span></li>\n"


def _page(name: str, about: About) -> str:
    homes = [f"[{unit_title(unit)}]({links.unit('gallery/index', unit)})" for unit in lives_in()[name]]
    listed = _("{a} and in {b}").format(a="", b="").join(homes)
    lives = _("It lives in {units}, where it runs your own functions.").format(units=listed) if homes else ""
    own = _("In a notebook of your own: `from anatomy.widgets import {kind}`, then `{kind}()`.")
    own = own.format(kind=REGISTERED[name].__name__)
    title, why = (said(gallery.CONTEXT, text) for text in about[:2])
    return f"# {title}\n\n{why}\n\n{_(about.tries)}\n\n{{{{widget:{name}}}}}\n\n{sentences(lives, own)}\n"
