"""The learner's own copies of the notebooks: in ``work/`` of a course folder, or where an installed course put them.

``python -m anatomy.workspace start`` copies what is missing there, ``update`` brings a new release and carries over
what the learner wrote. What they are copied from is the release. Nothing here writes into a notebook that holds
anybody's work without a copy beside it, and nothing here ever deletes one.
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

from . import carry, files, installation, newer
from .fingerprint import NotANotebook, is_as_built, parse, plain, release_of, to_bytes, unit_of
from .installation import Place
from .installation import command as _typed

Say = Callable[[str], object]  # takes one line for the learner
KEPT = "kept"
PATIENCE = 30  # seconds that a second command waits for the first


class LeftAlone(Exception):
    """One notebook that is not touched; the message says why, and what to do."""


def units(place: Place) -> list[str]:
    """Names of the units whose released notebook is there, the gallery too."""
    return sorted(p.parent.name for p in place.released.glob("*/*.ipynb") if p.stem == p.parent.name)


def released(place: Place, unit: str) -> Path:
    """The notebook as it was released: ``course/NN-name/NN-name.ipynb``."""
    return place.released / unit / f"{unit}.ipynb"


def working(place: Place, unit: str) -> Path:
    """The learner's own: ``work/NN-name/NN-name.ipynb``."""
    return place.own / unit / f"{unit}.ipynb"


def start(place: Place, say: Say = print) -> int:
    """Copies each released notebook that has no working copy yet. Returns an exit status.

    A release that was edited in place is somebody's work: it becomes the working copy, or is kept beside one.
    """
    with _alone(place, say) as alone:
        return _start(place, say) if alone else 1


def update(place: Place, source: Path | None = None, say: Say = print) -> int:
    """Brings a new release (from git, or from ``source``: a student package) and carries every answer over into it.

    Returns an exit status: 0 where everything went well.
    """
    with _alone(place, say) as alone:
        if not alone:
            return 1
        status = _each(place, lambda unit: _rescue(place, unit, say), say)
        try:
            status |= newer.bring(place.root, source, say, lambda path: _is_safe(place, path))
        except newer.BadRelease as error:
            say(f"update: {error}")
            return 2
        except OSError as error:
            say(
                f"update: the new release was not written completely ({error.strerror or error}). Your notebooks are "
                "as they were; run it again when this is mended."
            )
            return 1
        changed = []
        status |= _each(place, lambda unit: changed.extend(_merge(place, unit, say)), say)
        status |= _start(place, say)
        if changed:
            say("Notebooks that are open need File → Reload Notebook from Disk.")
        elif not status:
            known = source or place.root and (place.root / ".git").exists()
            more = "" if known else " " + installation.how_to_get_newer()
            say("Your notebooks are those of the release that is here." + more)
        return status


@contextlib.contextmanager
def _alone(place, say):
    """One start or update at a time. Yields False where that is impossible."""
    work = place.own
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        say(f"{work} cannot be used for your notebooks ({error.strerror}).")
        yield False
        return
    lock = filelock.FileLock(str(work / ".lock"), timeout=PATIENCE)
    try:
        lock.acquire()
        files.sweep(work)
    except filelock.Timeout:
        say(f"Another {_typed('lab')} or {_typed('update')} is at work in {work}. Try again when it is done.")
        yield False
        return
    except (OSError, NotImplementedError):
        pass  # no locks here, or read-only: what has to be written says so itself
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            lock.release()


def _each(place, action, say):
    """One unit after the other; one that cannot be read or written stops none of the rest."""
    status = 0
    for unit in units(place):
        try:
            action(unit)
        except LeftAlone as error:
            say(str(error))
            status = 1
        except OSError as error:
            say(f"{unit}: {error.strerror or error} ({error.filename or 'no file'}). Nothing of yours was changed.")
            status = 1
        except Exception as error:  # a notebook that is odd in a way that nobody thought of
            say(f"{unit}: left as it is ({type(error).__name__}: {error}).")
            status = 1
    return status


def _start(place, say):
    fresh = not any(p for u in units(place) if (p := working(place, u)).exists())
    behind = []
    status = _each(place, lambda unit: behind.extend(_copy(place, unit, say)), say)
    if fresh and not status:
        say(f"Your own copies of the notebooks are in {place.own}.")
    if behind:
        say(f"A newer release of {', '.join(behind)} is here: {_typed('update')} brings it and keeps your answers.")
    return status


def _copy(place, unit, say):
    """Makes one working copy where there is none; yields the unit's name where a newer release waits."""
    _rescue(place, unit, say)
    raw = released(place, unit).read_bytes()
    if not os.path.lexists(working(place, unit)) and not _is_notebook(raw):
        raise LeftAlone(
            f"{place.name(released(place, unit))} is damaged, so there is no working copy of it. "
            f"{installation.how_to_restore(place, unit)}"
        )
    if files.write_new(working(place, unit), raw):
        return []
    try:
        mine, theirs = parse(_read(place, unit)), parse(raw)
    except (LeftAlone, NotANotebook):
        return []  # `update` says so; here it is in nobody's way
    return [unit] if release_of(mine) != release_of(theirs) and is_as_built(theirs) else []


def _rescue(place, unit, say):
    """What was written into the release itself goes where the learner's notebooks are."""
    path = released(place, unit)
    raw = path.read_bytes()
    if _is_safe(place, path):
        return
    target, kept = working(place, unit), _place_in_kept(place, unit, raw)
    if _is_notebook(raw) and not os.path.lexists(target):
        if files.write_new(target, raw):
            files.write_new(kept, raw)  # so that the next start knows this version, whatever is written until then
            where = place.released_name(unit)
            say(f"{where} holds changes of yours. They are in your working copy now: {place.name(target)}")
    elif files.write_new(kept, raw):
        say(f"{place.released_name(unit)} was changed by hand; a copy of it is kept as {place.name(kept)}")


def _is_notebook(raw):
    try:
        return bool(parse(raw))
    except NotANotebook:
        return False


def _is_safe(place, path):
    """Whether a released notebook holds nobody's work, or all of it is in ``work/`` too."""
    raw, unit = path.read_bytes(), path.stem
    if not raw.strip() or _is_notebook(raw) and is_as_built(parse(raw)):
        return True
    return any(p.is_file() and p.read_bytes() == raw for p in (working(place, unit), _place_in_kept(place, unit, raw)))


def _place_in_kept(place, unit, raw):
    end = "ipynb" if _is_notebook(raw) else "damaged"
    return place.own / KEPT / unit / f"{unit}.from-course.{hashlib.sha256(raw).hexdigest()[:12]}.{end}"


def _read(place, unit):
    """Bytes of a working copy. Raises LeftAlone where it is no ordinary file."""
    path = working(place, unit)
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a link to another file" if stat.S_ISLNK(mode) else "no file"
        raise LeftAlone(f"{place.name(path)} is {kind}: it was left alone.")
    return path.read_bytes()


def _merge(place, unit, say):
    """Brings one working copy to the release; yields the unit's name where its file changed."""
    path = working(place, unit)
    for _ in range(5):
        if not path.exists() and not path.is_symlink():
            return []  # `start` makes one
        raw = _read(place, unit)
        made = _merged(place, unit, raw)
        if made is None:
            return []
        book, report = made
        kept = _keep(place, unit, raw)
        if path.read_bytes() == raw:  # else it was saved in the browser meanwhile: merge that
            files.replace(path, to_bytes(book))
            say(f"{unit}: {_counts(report)}. The notebook as it was: {place.name(kept)}")
            return [unit]
    raise LeftAlone(f"{place.name(path)} keeps changing: close it in the browser and run {_typed('update')} again.")


def _merged(place, unit, raw):
    """(notebook, what was carried), or None where there is nothing to do. Raises LeftAlone."""
    short = place.name(working(place, unit))
    try:
        mine = parse(raw)
    except NotANotebook as error:
        raise LeftAlone(
            f"{short} is damaged ({error}): it was left alone. Earlier copies are in "
            f"{place.name(place.own / KEPT / unit)}; to begin afresh, move it away and run {_typed('lab')}."
        ) from None
    try:
        theirs = parse(released(place, unit).read_bytes())
    except NotANotebook:
        raise LeftAlone(f"{place.released_name(unit)} is damaged. {installation.how_to_restore(place, unit)}") from None
    if release_of(mine) and release_of(mine) == release_of(theirs):
        return None
    if not is_as_built(theirs):
        raise LeftAlone(
            f"{place.released_name(unit)} was changed by hand, so your notebook was left as it is. "
            f"{installation.how_to_restore(place, unit)}"
        )
    if unit_of(mine) not in ("", unit):
        raise LeftAlone(f"{short} holds the notebook of {unit_of(mine)}: it was left alone.")
    book, report = carry.merge(mine, theirs)
    return None if plain(book) == plain(mine) else (book, report)


def _counts(report):
    some = [
        f"{n} {one if n == 1 else many}"
        for n, one, many in (
            (report.answers, "answer", "answers"),
            (report.cells, "cell of yours", "cells of yours"),
            (report.kept, "kept at the end", "kept at the end"),
        )
        if n
    ]
    return "new release" + (f" with {', '.join(some)}" if some else "; you had written nothing in it")


def _keep(place, unit, raw):
    """A copy of a notebook, on the disk before anything else happens; returns its path. Raises OSError."""
    folder, stamp = place.own / KEPT / unit, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for path in sorted(folder.glob("*.ipynb")):  # of a run that was stopped half way
        if path.is_file() and path.stat().st_size == len(raw) and path.read_bytes() == raw:
            return path
    for n in range(1, 10_000):
        path = folder / f"{unit}.{stamp}{f'-{n}' if n > 1 else ''}.ipynb"
        if files.write_new(path, raw):
            return path
    raise OSError(f"no free name in {folder}")


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of ``python -m anatomy.workspace``; returns an exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["update"]:
        return update_command(given[1:], "python -m anatomy.workspace update")
    parser = argparse.ArgumentParser(prog="python -m anatomy.workspace", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("start", help="copy the notebooks that have no working copy yet")
    commands.add_parser("update", help="bring a new release and keep every answer")
    parser.parse_args(given)
    return start(installation.place())


def update_command(argv: Sequence[str] | None = None, prog: str = "anatomy update") -> int:
    """Command line of ``anatomy update``; returns an exit status."""
    parser = argparse.ArgumentParser(
        prog=prog, description="Bring a new release into your notebooks, keep every answer."
    )
    parser.add_argument("folder", nargs="?", type=Path, help="your folder, where it is not the usual one")
    parser.add_argument("--from", dest="source", type=Path, help="a newer student package: the zip, or its folder")
    options = parser.parse_args(argv)
    place = installation.place(options.folder)
    wrong = installation.foreign(place)
    if not wrong and (options.folder or place.root is None) and not installation.is_learners(place.own):
        wrong = f"there are no notebooks of yours in {place.own}. Name your folder, or begin with {_typed('lab')}."
    if wrong:
        print(f"update: {wrong}", file=sys.stderr)
        return 2
    return update(place, options.source)


if __name__ == "__main__":
    sys.exit(main())
