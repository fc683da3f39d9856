"""The HTML of the gallery: the index by units, what stands above each widget, and the page that waits for one."""

import html
from collections.abc import Sequence
from itertools import groupby

from ..program import gallery, units
from ..program.gallery import Entry
from ..system import hosted
from ..system.html_page import html_page
from ..system.translation import _, said

INDEX = "index.html"
MARK = '<meta name="generator" content="anatomy gallery">'  # a page that holds this may be overwritten

STYLE = """
body { margin: 24px auto; padding: 0 16px; max-width: 1200px; font: 16px/1.5 system-ui, sans-serif;
  color: #1d1d1f; background: #fff; }
.units { display: grid; gap: 28px 20px; grid-template-columns: repeat(auto-fill, minmax(min(270px, 100%), 1fr)); }
h2 { font-size: 16px; margin: 0 0 8px; padding-bottom: 4px; border-bottom: 1px solid #8a8a8a; }
ul { list-style: none; padding: 0; margin: 0; display: grid; gap: 20px;
  grid-template-columns: repeat(auto-fill, minmax(min(250px, 100%), 1fr)); }
@media (min-width: 640px) { .several { grid-column: span 2; } }
a { color: #00569b; }
a:focus-visible { outline: 2px solid currentColor; outline-offset: 3px; }
li a { display: block; font-weight: 600; }
li p { margin: 2px 0 0; font-size: 14px; }
li img { display: block; width: 100%; height: auto; aspect-ratio: 16 / 10; margin-bottom: 4px; box-sizing: border-box;
  border: 1px solid #b9bdc4; border-radius: 6px; }
@media (prefers-color-scheme: dark) { body { color: #e8e8ea; background: #141414; } a { color: #8cc8ff; }
  li img { border-color: #5a5f68; } }
"""
# A lecturer who comes back from an enlarged page goes on with enlarged pages.
SCRIPT = """<script>for (const link of document.querySelectorAll("li a")) link.search = location.search;</script>"""
AGAIN = "<script>setTimeout(() => location.reload(), 1000);</script>"


def index(entries: Sequence[Entry]) -> str:
    """The index page: the widgets under their units; one that stands in several units is listed in the first."""
    groups = [list(group) for _unit, group in groupby(entries, key=lambda entry: entry.units[:1])]
    lead = _(
        "Each page shows a part of a Transformer at work. Move a control, point at a number, follow the story. In the "
        "course the same pictures move with functions that you write."
    )
    sections = "\n".join(map(_section, groups))
    body = f'<main>\n<h1>{_("Gallery")}</h1>\n<p>{lead}</p>\n<div class="units">\n{sections}\n</div>\n</main>'
    return html_page(_("Transformer Anatomy: gallery"), f"{MARK}\n<style>{STYLE}</style>", f"{body}\n{SCRIPT}")


def above(entries: Sequence[Entry], at: int) -> str:
    """What stands above the widget number ``at``: the way through the gallery, its units, and why to look at it."""
    way = [f'<a href="{INDEX}">{_("Gallery")}</a>']
    for step, sign in ((at - 1, "‹ {title}"), (at + 1, "{title} ›")):
        if 0 <= step < len(entries):
            to = entries[step]
            rel = "prev" if step < at else "next"
            way.append(f'<a rel="{rel}" href="{to.name}.html">{html.escape(sign.format(title=to.called))}</a>')
    here = " · ".join(_unit(name) for name in entries[at].units)
    return (
        f'<nav aria-label="{_("Gallery")}">{"".join(way)}</nav>\n<p>{here}</p>\n'
        f'<p class="why">{html.escape(entries[at].reason)}</p>\n'
    )


def waiting(entry: Entry) -> str:
    """The page that stands where a widget's page is still being made: it looks again each second."""
    title = html.escape(entry.called)
    hope = _("This page is being made, and it opens by itself. If it doesn't, run `anatomy gallery` again.")
    body = f"<main>\n<h1>{title}</h1>\n<p>{hope}</p>\n</main>"
    return html_page(title, f"<style>{STYLE}</style>", f"{body}\n{AGAIN}")


def _section(group: Sequence[Entry]) -> str:
    heading = _unit(group[0].units[0]) if group[0].units else _("More")
    several = ' class="several"' if len(group) > 1 else ""
    cards = "\n".join(map(_card, group))
    return f"<section{several}>\n<h2>{heading}</h2>\n<ul>\n{cards}\n</ul>\n</section>"


def _card(entry: Entry) -> str:
    picture = ""
    if gallery.stills(entry):
        light, dark = (f"{entry.name}-{theme}.webp" for theme in gallery.THEMES)
        # The picture adds nothing to the title: with an empty alternative text, screen readers skip it.
        picture = (
            f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" width="400" height="250" alt=""></picture>'
        )
    title, why = html.escape(entry.called), html.escape(entry.reason)
    return f'<li><a href="{entry.name}.html">{picture}{title}</a><p>{why}</p></li>'


def _unit(name: str) -> str:
    title = html.escape(said(name, units.load(name)["title"]))
    return units.anchor(hosted.unit_address(name), _("Unit {number}: {title}").format(number=name[:2], title=title))
