"""``anatomy gallery``: the widgets as pages in a browser, each complete in itself, and an index page.

They show the reference implementations; in a notebook, a widget can show a learner's own function. No kernel and no
server is needed, so the folder can be kept, sent or put on a website. A page that is there already, made from the same
files, stays: then neither torch nor the widgets are imported.
"""

import argparse
import difflib
import hashlib
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..program import gallery
from ..program.assets import MissingRecording, assets_dir
from ..program.gallery import Entry
from ..system import files
from ..system.store import home
from ..system.translation import _, language, listed
from . import gallery_pages
from .gallery_pages import INDEX, MARK

PACKAGE = Path(__file__).resolve().parents[1]
HEAD = 2000  # bytes of a page in which it says what it was made from


class NotWritten(Exception):
    """The gallery cannot be written to that folder; one sentence says why."""


def lay_out(folder: Path, wanted: Sequence[Entry]) -> list[Entry]:
    """Writes the index page with its stills, and a waiting page for each page that is missing.

    Returns the widgets whose pages have to be made. Raises NotWritten if another page is in the way, MissingRecording,
    and OSError.
    """
    index = folder / INDEX
    if index.exists() and MARK not in index.read_text(encoding="utf-8", errors="replace"):
        said = _("{file} is no page of this gallery, and it was left alone. Name another folder with --to.")
        raise NotWritten(said.format(file=index))
    files.replace(index, gallery_pages.index(wanted).encode())
    for entry in wanted:
        for picture in gallery.stills(entry).values():
            files.replace(folder / picture.name, picture.read_bytes())
    sources = _sources()
    stale = [entry for at, entry in enumerate(wanted) if not _is_current(folder, wanted, at, sources)]
    for entry in stale:
        files.write_new(_page(folder, entry), gallery_pages.waiting(entry).encode())
    return stale


def make(folder: Path, wanted: Sequence[Entry], stale: Sequence[Entry]) -> Iterator[Entry]:
    """Writes the pages of these widgets, and yields each that is done. Raises MissingRecording, OSError and,
    if torch or another library cannot be imported, ImportError.
    """
    registered, page = _widgets()
    sources = _sources()
    for entry in stale:
        at = wanted.index(entry)
        above = gallery_pages.above(wanted, at)
        around = page.Around(entry.called, f"{_mark(above, sources)}\n", above)
        files.replace(_page(folder, entry), page.written(registered[entry.folder](), around).encode())
        yield entry


def _widgets():
    """The widgets, and the module that writes their pages: torch is imported with them."""
    try:
        from ..widgets import REGISTERED
        from ..widgets.tools import page
    except OSError as error:  # torch is there, and a library of its own isn't
        raise ImportError(str(error)) from error
    return REGISTERED, page


def _page(folder, entry):
    return folder / f"{entry.name}.html"


def _is_current(folder, wanted, at, sources):
    try:
        with open(_page(folder, wanted[at]), "rb") as page:
            return _mark(gallery_pages.above(wanted, at), sources).encode() in page.read(HEAD)
    except OSError:
        return False


def _mark(above, sources):
    """What the head of a page says about what it was made from."""
    digest = hashlib.sha256(f"{sources} {language()} {above}".encode()).hexdigest()
    return f'<meta name="made-from" content="{digest[:32]}">'


def _sources():
    """Digest of the files from which pages are made: the package, and what the widgets have recorded."""
    folders = [path for path in sorted(PACKAGE.iterdir()) if path.is_dir() and path.name != "_data"]
    found = [
        path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".js", ".css", ".mo")
    ]
    found += sorted((assets_dir() / "recordings" / "widgets").glob("*"))
    found += sorted((assets_dir() / "models").glob("*/tokenizer.json"))
    digest = hashlib.sha256()
    for path in found:
        digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of ``anatomy gallery``; returns an exit status."""
    try:
        every = gallery.entries()
        options = _options(argv, [entry.name for entry in every])
        if options.unknown:
            print(options.unknown, file=sys.stderr)
            return 2
        wanted = [entry for entry in every if entry.name in (options.widget or options.known)]
        folder = options.to.expanduser().absolute()
        stale = lay_out(folder, wanted)
        print(_("The gallery is in {file}").format(file=folder / INDEX), flush=True)
        if not options.no_browser and not _open(folder / INDEX):
            print(_("No browser could be opened: open that file yourself."))
        _make(folder, wanted, stale)
    except (NotWritten, MissingRecording) as error:
        print(_("gallery: {problem}").format(problem=error), file=sys.stderr)
        return 1
    except OSError as error:
        said = _("gallery: {folder} can't be written: {error}.")
        print(said.format(folder=options.to, error=error.strerror or error), file=sys.stderr)
        return 1
    return 0


def _options(argv, names):
    """The arguments; ``unknown`` is a sentence if a name is no widget's, else "", and ``known`` are all names."""
    parser = argparse.ArgumentParser(
        prog="anatomy gallery", description=_("Open the widgets in a browser, without a notebook.")
    )
    which = _("which ones (all, without a name): {names}").format(names=listed(names))
    parser.add_argument("widget", nargs="*", help=which)
    usual = home() / "gallery"
    parser.add_argument("--to", type=Path, default=usual, metavar="FOLDER", help=_("where the pages go (%(default)s)"))
    parser.add_argument("--no-browser", action="store_true", help=_("write the pages and open nothing"))
    options = parser.parse_args(argv)
    options.unknown, options.known = "", names
    for given in options.widget:
        if given not in names:
            near = difflib.get_close_matches(given, names, n=1, cutoff=0.4)
            said = _("gallery: there is no widget {name!r}. There are: {names}.")
            if near:
                said = _("gallery: there is no widget {name!r}. Did you mean {near}?")
            options.unknown = said.format(name=given, near=near[0] if near else "", names=listed(names))
            break
    return options


def _make(folder, wanted, stale):
    """Makes the pages, and says so before the first import; a terminal is told how far it is, in one line."""
    if not stale:
        return
    began = _("Making {all} pages, which takes some seconds. They are kept: the next time they are there at once.")
    print(began.format(all=len(stale)), flush=True)
    for n, _entry in enumerate(make(folder, wanted, stale), 1):
        if sys.stdout.isatty():
            said = _("Pages made: {n} of {all}").format(n=n, all=len(stale))
            print(f"\r{said}", end="\n" if n == len(stale) else "", flush=True)


def _open(page):
    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False


if __name__ == "__main__":
    sys.exit(main())
