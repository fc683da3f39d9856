"""``anatomy gallery``: the widgets as pages in a browser, each complete in itself, and an index page.

They show the reference implementations; in a notebook, a widget can show a learner's own function. No kernel and no
server is needed, so the folder can be kept, sent or put on a website.
"""

import argparse
import difflib
import html
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from ..program.records import MissingRecording
from ..system import files
from ..system.store import home
from ..system.translation import _, listed, tag
from ..widgets import REGISTERED, AnatomyView, TableWidget

INDEX = "index.html"
MARK = '<meta name="generator" content="anatomy gallery">'  # a page that holds this may be overwritten

STYLE = """
body { margin: 24px auto; padding: 0 16px; max-width: 960px; font: 16px/1.5 system-ui, sans-serif;
  color: #1d1d1f; background: #fff; }
ul { list-style: none; padding: 0; display: grid; gap: 20px;
  grid-template-columns: repeat(auto-fill, minmax(min(280px, 100%), 1fr)); }
a { color: #00569b; }
a:focus-visible { outline: 2px solid currentColor; outline-offset: 3px; }
li img { display: block; width: 100%; aspect-ratio: 16 / 10; object-fit: contain; background: #fff;
  border: 1px solid #8a8a8a; border-radius: 6px; }
@media (prefers-color-scheme: dark) { body { color: #e8e8ea; background: #141414; } a { color: #8cc8ff; } }
"""


class NotWritten(Exception):
    """The gallery cannot be written to that folder; one sentence says why."""


def names() -> list[str]:
    """Names of all widgets, AnatomyView first."""
    every = sorted(kind.__name__ for kind in REGISTERED.values())
    return sorted(every, key=lambda name: name != AnatomyView.__name__)


def write(folder: Path, wanted: Sequence[str]) -> Path:
    """Writes the pages of these widgets, their pictures and the index page; returns the path of the index page.

    Raises NotWritten if another page is in the way, MissingRecording, and OSError.
    """
    index = folder / INDEX
    if index.exists() and MARK not in index.read_text(encoding="utf-8", errors="replace"):
        said = _("{file} is no page of this gallery, and it was left alone. Name another folder with --to.")
        raise NotWritten(said.format(file=index))
    kinds = {kind.__name__: kind for kind in REGISTERED.values()}
    items = [_page(kinds[name](), folder) for name in wanted]
    files.replace(index, _index(items).encode())
    return index


def _page(widget: TableWidget, folder: Path) -> str:
    """Writes one widget's page and picture; returns its list item."""
    name = type(widget).__name__
    widget.save_html(folder / f"{name}.html")
    files.replace(folder / f"{name}.png", widget.png())
    title = html.escape(widget.spec["title"])
    # The picture adds nothing to its page: with an empty alternative text, screen readers skip it.
    return f'<li><a href="{name}.html"><img src="{name}.png" alt="">{title}</a></li>'


def _index(items):
    said = _(
        "Each page shows a part of a Transformer at work. Move a control, point at a number, follow the story. In the "
        "course the same pictures move with functions that you write."
    )
    return f"""<!doctype html>
<html lang="{tag()}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{MARK}
<title>{_("Transformer Anatomy: gallery")}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{_("Gallery")}</h1>
<p>{said}</p>
<ul>
{chr(10).join(items)}
</ul>
</main>
</body>
</html>
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of ``anatomy gallery``; returns an exit status."""
    usual = home() / "gallery"
    parser = argparse.ArgumentParser(
        prog="anatomy gallery", description=_("Open the widgets in a browser, without a notebook.")
    )
    which = _("which ones (all, without a name): {names}").format(names=listed(names()))
    parser.add_argument("widget", nargs="*", help=which)
    parser.add_argument("--to", type=Path, default=usual, metavar="FOLDER", help=_("where the pages go (%(default)s)"))
    parser.add_argument("--no-browser", action="store_true", help=_("write the pages and open nothing"))
    options = parser.parse_args(argv)
    for given in options.widget:
        if given not in names():
            near = difflib.get_close_matches(given, names(), n=1, cutoff=0.4)
            said = _("gallery: there is no widget {name!r}. There are: {names}.")
            if near:
                said = _("gallery: there is no widget {name!r}. Did you mean {near}?")
            print(said.format(name=given, near=near[0] if near else "", names=listed(names())), file=sys.stderr)
            return 2
    try:
        index = write(options.to.expanduser().absolute(), options.widget or names())
    except (NotWritten, MissingRecording) as error:
        print(_("gallery: {problem}").format(problem=error), file=sys.stderr)
        return 1
    except OSError as error:
        said = _("gallery: {folder} can't be written: {error}.")
        print(said.format(folder=options.to, error=error.strerror or error), file=sys.stderr)
        return 1
    print(_("The gallery is in {file}").format(file=index))
    if not options.no_browser and not _open(index):
        print(_("No browser could be opened: open that file yourself."))
    return 0


def _open(page):
    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False
