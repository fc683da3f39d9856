"""The learner's own copies of the notebooks: in ``work/`` of a course folder, or where an installed course put them.

``python -m anatomy.app.workspace start`` copies what is missing there, ``update`` brings a new release and carries over
what the learner wrote. The copies are made from the release. Nothing here changes a notebook that holds anybody's work
without keeping a copy of it, and nothing here ever deletes one.
"""

import argparse
import contextlib
import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import filelock

from ..system import files, installation
from ..system.installation import Place
from ..system.installation import command as _typed
from ..system.texts import tell
from ..system.translation import _, listed, ngettext, sentences, usually
from . import carry_over, releases
from .build_stamp import NotANotebook, is_as_built, parse, plain, release_of, to_bytes, unit_of

Say = Callable[[str], object]  # takes one line for the learner
KEPT = "kept"
PATIENCE = 30  # seconds that a second command waits for the first


class LeftAlone(Exception):
    """A notebook that is not touched; the message says why, and what to do."""


def units(place: Place) -> list[str]:
    """Names of the units whose released notebook exists, including the gallery."""
    return sorted(p.parent.name for p in place.released.glob("*/*.ipynb") if p.stem == p.parent.name)


def released(place: Place, unit: str) -> Path:
    """The notebook as it was released: ``course/NN-name/NN-name.ipynb``."""
    return place.released / unit / f"{unit}.ipynb"


def working(place: Place, unit: str) -> Path:
    """The learner's own notebook: ``work/NN-name/NN-name.ipynb``."""
    return place.own / unit / f"{unit}.ipynb"


def start(place: Place, say: Say = tell) -> int:
    """Copies each released notebook that has no working copy yet. Returns an exit status.

    A released notebook that was edited in place holds work: it becomes the working copy, or is kept beside one.
    """
    with _alone(place, say) as alone:
        return _start(place, say) if alone else 1


def update(place: Place, source: Path | None = None, say: Say = tell) -> int:
    """Brings a new release (from git, or from ``source``: a student package) and carries every answer over into it.

    Returns an exit status: 0 if everything went well.
    """
    with _alone(place, say) as alone:
        if not alone:
            return 1
        status = _each(place, lambda unit: _rescue(place, unit, say), say)
        try:
            status |= releases.bring(place.root, source, say, lambda path: _is_safe(place, path))
        except releases.BadRelease as error:
            say(_("update: {problem}").format(problem=error))
            return 2
        except OSError as error:
            said = _(
                "update: the new release was not written completely ({error}). Your notebooks are as they were; run it "
                "again when this is mended."
            )
            say(said.format(error=error.strerror or error))
            return 1
        changed = []
        status |= _each(place, lambda unit: changed.extend(_merge(place, unit, say)), say)
        status |= _start(place, say)
        if changed:
            say(_("Notebooks that are open need File → Reload Notebook from Disk."))
        elif not status:
            say(sentences(_("Your notebooks are those of the release that is here."), _newer(place, source)))
        return status


def _newer(place, source):
    """One sentence on where to get a newer release, if this update did not bring one from a source; else ""."""
    if place.is_built:
        return _("`make build LANG={language}` makes those of a newer one.").format(language=place.language)
    known = source or place.root and (place.root / ".git").exists()
    return "" if known else installation.how_to_get_newer()


@contextlib.contextmanager
def _alone(place, say):
    """Allows one start or update at a time. Yields False if that is impossible."""
    work = place.own
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        say(_("{folder} cannot be used for your notebooks ({error}).").format(folder=work, error=error.strerror))
        yield False
        return
    lock = filelock.FileLock(str(work / ".lock"), timeout=PATIENCE)
    try:
        lock.acquire()
        files.sweep(work)
    except filelock.Timeout:
        said = _("Another {lab} or {update} is at work in {folder}. Try again when it is done.")
        say(said.format(lab=_typed("lab"), update=_typed("update"), folder=work))
        yield False
        return
    except (OSError, NotImplementedError):
        pass  # no locks here, or read-only: writing will report its own errors
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            lock.release()


def _each(place, action, say):
    """Does an action for each unit; an error in one unit does not stop the others."""
    status = 0
    for unit in units(place):
        try:
            action(unit)
        except LeftAlone as error:
            say(str(error))
            status = 1
        except OSError as error:
            said = _("{unit}: {error} ({file}). Nothing of yours was changed.")
            say(said.format(unit=unit, error=error.strerror or error, file=error.filename or _("no file")))
            status = 1
        except Exception as error:  # a notebook that is odd in an unforeseen way
            said = _("{unit}: left as it is ({error}).")
            say(said.format(unit=unit, error=f"{type(error).__name__}: {error}"))
            status = 1
    return status


def _start(place, say):
    fresh = not any(p for u in units(place) if (p := working(place, u)).exists())
    behind = []
    status = _each(place, lambda unit: behind.extend(_copy(place, unit, say)), say)
    if fresh and not status:
        say(_("Your own copies of the notebooks are in {folder}.").format(folder=place.own))
    if behind:
        said = _("A newer release of {units} is here: {update} brings it and keeps your answers.")
        say(said.format(units=listed(behind), update=_typed("update")))
    return status


def _copy(place, unit, say):
    """Makes one working copy if there is none; returns [the unit's name] if a newer release is available, else []."""
    _rescue(place, unit, say)
    raw = files.read(released(place, unit))
    if not os.path.lexists(working(place, unit)) and not _is_notebook(raw):
        said = _("{file} is damaged, so there is no working copy of it.").format(file=place.name(released(place, unit)))
        raise LeftAlone(sentences(said, installation.how_to_restore(place, unit)))
    if files.write_new(working(place, unit), raw):
        return []
    try:
        mine, theirs = parse(_read(place, unit)), parse(raw)
    except (LeftAlone, NotANotebook):
        return []  # `update` reports it; here it does no harm
    return [unit] if release_of(mine) != release_of(theirs) and is_as_built(theirs) else []


def _rescue(place, unit, say):
    """Copies changes that were made in the release itself to where the learner's notebooks are."""
    path = released(place, unit)
    raw = files.read(path)
    if _is_safe(place, path):
        return
    target, kept = working(place, unit), _place_in_kept(place, unit, raw)
    if _is_notebook(raw) and not os.path.lexists(target):
        if files.write_new(target, raw):
            files.write_new(kept, raw)  # so that the next start knows this version, whatever is written until then
            said = _("{where} holds changes of yours. They are in your working copy now: {file}")
            say(said.format(where=place.released_name(unit), file=place.name(target)))
    elif files.write_new(kept, raw):
        said = _("{where} was changed by hand; a copy of it is kept as {file}")
        say(said.format(where=place.released_name(unit), file=place.name(kept)))


def _is_notebook(raw):
    try:
        return bool(parse(raw))
    except NotANotebook:
        return False


def _is_safe(place, path):
    """Whether a released notebook is empty or as built, or a copy of it is in ``work/`` already."""
    raw, unit = files.read(path), path.stem
    if not raw.strip() or _is_notebook(raw) and is_as_built(parse(raw)):
        return True
    return any(p.is_file() and p.read_bytes() == raw for p in (working(place, unit), _place_in_kept(place, unit, raw)))


def _place_in_kept(place, unit, raw):
    end = "ipynb" if _is_notebook(raw) else "damaged"
    return place.own / KEPT / unit / f"{unit}.from-course.{hashlib.sha256(raw).hexdigest()[:12]}.{end}"


def _read(place, unit):
    """Bytes of a working copy. Raises LeftAlone if it is not an ordinary file."""
    path = working(place, unit)
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        said = _("{file} is no file: it was left alone.")
        if stat.S_ISDIR(mode):
            said = _("{file} is a folder: it was left alone.")
        elif stat.S_ISLNK(mode):
            said = _("{file} is a link to another file: it was left alone.")
        raise LeftAlone(said.format(file=place.name(path)))
    return path.read_bytes()


def _merge(place, unit, say):
    """Updates one working copy to the release; returns [the unit's name] if its file changed, else []."""
    path = working(place, unit)
    for __ in range(5):
        if not path.exists() and not path.is_symlink():
            return []  # `start` makes one
        raw = _read(place, unit)
        made = _merged(place, unit, raw)
        if made is None:
            return []
        book, report = made
        kept = _keep(place, unit, raw)
        if path.read_bytes() == raw:  # else the browser saved it meanwhile: merge that version
            files.replace(path, to_bytes(book))
            say(_brought(report).format(unit=unit, parts=listed(_counts(report)), file=place.name(kept)))
            return [unit]
    said = _("{file} keeps changing: close it in the browser and run {update} again.")
    raise LeftAlone(said.format(file=place.name(path), update=_typed("update")))


def _merged(place, unit, raw):
    """(notebook, what was carried), or None if there is nothing to do. Raises LeftAlone."""
    short = place.name(working(place, unit))
    try:
        mine = parse(raw)
    except NotANotebook as error:
        said = _(
            "{file} is damaged ({error}): it was left alone. Earlier copies are in {kept}; to begin afresh, move it "
            "away and run {lab}."
        )
        kept = place.name(place.own / KEPT / unit)
        raise LeftAlone(said.format(file=short, error=error, kept=kept, lab=_typed("lab"))) from None
    try:
        theirs = parse(files.read(released(place, unit)))
    except NotANotebook:
        said = _("{where} is damaged.").format(where=place.released_name(unit))
        raise LeftAlone(sentences(said, installation.how_to_restore(place, unit))) from None
    if release_of(mine) and release_of(mine) == release_of(theirs):
        return None
    if not is_as_built(theirs):
        said = _("{where} was changed by hand, so your notebook was left as it is.")
        said = said.format(where=place.released_name(unit))
        raise LeftAlone(sentences(said, installation.how_to_restore(place, unit)))
    if unit_of(mine) not in ("", unit):
        said = _("{file} holds the notebook of {unit}: it was left alone.")
        raise LeftAlone(said.format(file=short, unit=unit_of(mine)))
    book, report = carry_over.merge(mine, theirs)
    return None if plain(book) == plain(mine) else (book, report)


def _brought(report):
    if _counts(report):
        return _("{unit}: new release with {parts}. The notebook as it was: {file}")
    return _("{unit}: new release; you had written nothing in it. The notebook as it was: {file}")


def _counts(report):
    """The counts of what was carried over, in words; [] if nothing was."""
    some = (
        (report.answers, ngettext("{n} answer", "{n} answers", report.answers)),
        (report.cells, ngettext("{n} cell of yours", "{n} cells of yours", report.cells)),
        (report.kept, _("{n} kept at the end")),
    )
    return [words.format(n=n) for n, words in some if n]


def _keep(place, unit, raw):
    """Writes a copy of a notebook to disk before anything else happens; returns its path. Raises OSError."""
    folder, stamp = place.own / KEPT / unit, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for path in sorted(folder.glob("*.ipynb")):  # left by a run that was stopped half way
        if path.is_file() and path.stat().st_size == len(raw) and path.read_bytes() == raw:
            return path
    for n in range(1, 10_000):
        path = folder / f"{unit}.{stamp}{f'-{n}' if n > 1 else ''}.ipynb"
        if files.write_new(path, raw):
            return path
    raise OSError(_("no free name in {folder}").format(folder=folder))


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of ``python -m anatomy.app.workspace``; returns an exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["update"]:
        return update_command(given[1:], "python -m anatomy.app.workspace update")
    parser = argparse.ArgumentParser(prog="python -m anatomy.app.workspace", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("start", help="copy the notebooks that have no working copy yet")
    commands.add_parser("update", help="bring a new release and keep every answer")
    parser.parse_args(given)
    place = installation.place()
    with usually(place.language):
        return start(place)


def update_command(argv: Sequence[str] | None = None, prog: str = "anatomy update") -> int:
    """Command line of ``anatomy update``; returns an exit status."""
    parser = argparse.ArgumentParser(
        prog=prog, description=_("Bring a new release into your notebooks, keep every answer.")
    )
    parser.add_argument("folder", nargs="?", type=Path, help=_("your folder, where it is not the usual one"))
    parser.add_argument("--from", dest="source", type=Path, help=_("a newer student package: the zip, or its folder"))
    parser.add_argument("--language", default="", help=_("bring your notebooks into another language, such as zh_CN"))
    options = parser.parse_args(argv)
    wrong = installation.unknown(options.language) if options.language else ""
    if wrong:
        tell(_("update: {problem}").format(problem=wrong), sys.stderr)
        return 2
    place = installation.place(options.folder, options.language)
    with usually(place.language):
        wrong = installation.foreign(place)
        if not wrong and (options.folder or place.root is None) and not installation.is_learners(place.own):
            wrong = _("there are no notebooks of yours in {folder}. Name your folder, or begin with {lab}.")
            wrong = wrong.format(folder=place.own, lab=_typed("lab"))
        if wrong:
            tell(_("update: {problem}").format(problem=wrong), sys.stderr)
            return 2
        return update(place, options.source)


if __name__ == "__main__":
    sys.exit(main())
