"""Makes one page to print, of what a learner built: ``anatomy certificate --name "Ada Lovelace"``.

It is made on the learner's computer from the data there, and says so. It lists only what was done: exercises that
passed their checks with their dates, points, extensions, and claims that were decided. If nothing was passed, nothing
is written; and no existing file is ever replaced.
"""

import argparse
import json
import time
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ..system import files, store, texts
from ..system.store import Entry
from ..system.translation import N_, _, listed, said, sentences
from .certificate_page import Built, Sheet, Work, page, plain
from .standing import UnitView, is_extension, looked_up, passed, views

LONGEST_NAME = 80  # characters
EARLIEST, LATEST = 946_684_800, 4_102_444_800  # 2000 to 2100: a time outside is damaged data, not a date
NOT_KEPT = ""
MONTHS = (
    *(N_("Jan"), N_("Feb"), N_("Mar"), N_("Apr"), N_("May"), N_("Jun")),
    *(N_("Jul"), N_("Aug"), N_("Sep"), N_("Oct"), N_("Nov"), N_("Dec")),
)


class NothingToShow(Exception):
    """There is no page to make; the message says why, and what to do."""


@dataclass(frozen=True)
class Asked:
    """The options of the command line."""

    name: str
    to: Path | None
    browser: bool


def main(argv: Sequence[str] | None = None) -> int:
    """``anatomy certificate [--name NAME] [--to FILE] [--no-browser]``; 0, or 1 with one sentence why not."""
    asked = _asked(argv)
    try:
        sheet, left_out = collect(asked.name)
        path = write(page(sheet), asked.to)
    except NothingToShow as reason:
        print(reason)
        return 1
    print(plain(sheet))
    if left_out:
        print(left_out)
    print("\n" + _("The page to print is {file}").format(file=path))
    if asked.browser and not webbrowser.open(path.resolve().as_uri()):
        print(_("No browser could be opened; open that file yourself."))
    return 0


def _asked(argv: Sequence[str] | None) -> Asked:
    parser = argparse.ArgumentParser("anatomy certificate", description=_("Puts what you built on one page to print."))
    parser.add_argument("--name", default="", help=_("who built it; without it the page has a line to write on"))
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help=_("where to write it; a new file in this folder otherwise")
    )
    parser.add_argument("--no-browser", action="store_true", help=_("do not open the page"))
    given = parser.parse_args(argv)
    return Asked(given.name, given.to, not given.no_browser)


def collect(name: str) -> tuple[Sheet, str]:
    """(content of the page, a sentence on stored entries that could not be understood, or "").

    Raises NothingToShow: nothing was passed, or the stored data cannot be read.
    """
    entries = _kept()
    units = views()
    broken = [u.name for u in units if u.problem]
    if broken and len(broken) == len(units):
        said = _("The course's own files cannot be read: {problem}")
        raise NothingToShow(said.format(problem=units[0].problem))
    works = [_work(u) for u in units if not u.problem]
    if not any(work.built for work in works):
        raise NothingToShow(
            _(
                "No exercise has passed its check yet, so there is nothing to put on a page. "
                "progress() in a notebook says what comes next."
            )
        )
    sound = store.read("progress")
    lost = len(entries) - len(sound)
    notes = []
    if lost:
        notes.append(_("{n} of the entries that are kept could not be understood and are left out.").format(n=lost))
    if broken:
        notes.append(_("Left out, for its description is damaged: {units}.").format(units=listed(broken)))
    shown = " ".join(texts.short(name, LONGEST_NAME).split())
    return Sheet(shown, date(int(time.time())), version(), tuple(works)), sentences(*notes)


def _kept() -> dict[str, object]:
    """The entries as they are on disk. Raises NothingToShow, and leaves a file that it cannot parse alone."""
    path = store.home() / "progress.json"
    try:
        data = json.loads(files.patiently(path.read_bytes).decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        said = _("Your progress cannot be read just now: {error} ({file})")
        raise NothingToShow(said.format(error=error.strerror or error, file=path)) from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        said = _(
            "Your progress file is damaged, so no page was made: {file}. It was left as it is. Where a whole copy "
            "exists (a backup, or a file with “damaged” in its name beside it), put that in its place."
        )
        raise NothingToShow(said.format(file=path))
    return data


def _work(view: UnitView) -> Work:
    built = tuple(
        Built(said(e["id"], e["title"]), float(e["points"]), is_extension(e), passed_on(entry), looked_up(entry))
        for e, entry in view.exercises
        if passed(entry)
    )
    return Work(
        view.name[:2],
        view.title,
        built,
        core=len(view.core),
        possible=float(sum(e["points"] for e, entry in view.core)),
        claims=view.claims,
    )


def passed_on(entry: Entry) -> str:
    """The day of the first pass, or NOT_KEPT: early versions stored none, and a damaged one does not count."""
    at = entry.get("passed_at")
    if isinstance(at, int) and not isinstance(at, bool) and EARLIEST <= at <= LATEST:
        return date(at)
    return NOT_KEPT


def date(at: int) -> str:
    """``Nov 25, 2026``, in the time of this computer."""
    day = time.localtime(at)
    said = _("{month} {day}, {year}")
    return said.format(month=_(MONTHS[day.tm_mon - 1]), day=day.tm_mday, year=day.tm_year)


def version() -> str:
    """The version of the course, or "" if it was never installed."""
    try:
        return metadata.version("transformer-anatomy")
    except metadata.PackageNotFoundError:
        return ""


def write(text: str, to: Path | None = None) -> Path:
    """Writes the page into a new file, and returns its path. Raises NothingToShow if that is impossible."""
    stem = time.strftime("anatomy-certificate-%Y-%m-%d")
    numbered = (Path(f"{stem}{f'-{n}' if n > 1 else ''}.html") for n in range(1, 1000))
    try:
        for path in [to] if to else numbered:
            if files.write_new(path, text.encode()):
                return path
    except OSError as error:
        said = _("The page cannot be written to {file}: {error}")
        raise NothingToShow(said.format(file=path, error=error.strerror or error)) from None
    said = _("{file} is there already and was left as it is. Give another name with --to.")
    raise NothingToShow(said.format(file=path))


if __name__ == "__main__":
    raise SystemExit(main())
