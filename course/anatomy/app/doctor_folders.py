"""The part of ``anatomy doctor`` on files: can folders be written, are recordings whole, are copies out of date?"""

import base64
import contextlib
import errno
import hashlib
import importlib.metadata
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import filelock

from ..system import files, installation
from ..system.store import home
from ..system.translation import N_, _, listed, sentences
from . import workspace
from .build_stamp import NotANotebook, parse, release_of
from .findings import Examination, Finding

ROOM = 200e6  # bytes: notebooks with outputs, copies of them before updates, caches
SYNCED = ("onedrive", "dropbox", "icloud", "mobile documents", "google drive")
REASONS = {
    errno.ENOSPC: N_("the disk is full: empty the trash, or delete what you don't need"),
    getattr(errno, "EDQUOT", -1): N_("your share of the disk is used up: delete what you don't need"),
    errno.EROFS: N_("it is read-only: name a folder elsewhere"),
    errno.EACCES: N_("you may not write there: name a folder of your own"),
    errno.EPERM: N_("you may not write there: name a folder of your own"),
}


def progress_folder() -> Iterator[Finding]:
    """Where progress is kept: can the folder be written, and are its files free of locks?"""
    folder = home()
    problem = _why_not(folder)
    if problem:
        said = _("Progress can't be kept in {folder}: {problem}, or set ANATOMY_HOME to another folder.")
        yield Finding("wrong", said.format(folder=folder, problem=problem))
        return
    yield Finding("good", _("Progress is kept in {folder}").format(folder=folder))
    for name in ("progress", "predictions", "quizzes", "claims"):
        if _is_held(folder / f".{name}.lock", 3):
            said = _("Something holds {file} and does not let go: restart the kernels that run.")
            yield Finding("wrong", said.format(file=folder / f"{name}.json"))
        yield from _unreadable(folder / f"{name}.json")


def _unreadable(path):
    try:
        if path.exists() and not isinstance(json.loads(files.read(path).decode("utf-8-sig")), dict):
            raise ValueError(_("it holds something else"))
    except OSError as error:
        yield Finding("wrong", _("{file} can't be read: {error}.").format(file=path, error=error.strerror or error))
    except ValueError as error:
        said = _("{file} can't be understood ({error}): the next check sets it aside and begins anew.")
        yield Finding("note", said.format(file=path, error=error))


def notebooks() -> Iterator[Finding]:
    """The learner's folder and the notebooks in it."""
    place = installation.place()
    if not place.own.is_dir():
        said = _("You have no notebooks yet: {lab} puts them into {folder}.")
        yield Finding("note", said.format(lab=installation.command("lab"), folder=place.own))
        return
    problem = installation.foreign(place) or _why_not(place.own)
    if problem:
        said = _("Your notebooks can't be kept in {folder}: {problem}")
        yield Finding("wrong", said.format(folder=place.own, problem=problem))
        return
    yield Finding("good", _("Your notebooks are in {folder}").format(folder=place.own))
    if any(word in str(place.own).lower() for word in SYNCED):
        yield Finding(
            "note", _("That folder is synchronized: what is written while it is sent can fail. Another place is safer.")
        )
    if _is_held(place.own / ".lock", 0):
        yield Finding("note", _("A `lab` or `update` is at work there just now."))
    yield from _copies(place)


def _copies(place):
    behind, lost = [], []
    for unit in workspace.units(place):
        path = workspace.working(place, unit)
        try:
            mine, theirs = (parse(files.read(p)) for p in (path, workspace.released(place, unit)))
        except FileNotFoundError:
            lost.append(unit)
        except (NotANotebook, OSError) as error:
            said = _("{file} or its release can't be read ({error}). Earlier copies are in {kept}; {update} says more.")
            kept, update = place.name(place.own / workspace.KEPT / unit), installation.command("update")
            yield Finding("wrong", said.format(file=place.name(path), error=error, kept=kept, update=update))
        else:
            if release_of(mine) != release_of(theirs):
                behind.append(unit)
    if behind:
        said = _("Of an earlier release: {units}. {update} brings this one, your answers in it.")
        yield Finding("note", said.format(units=listed(behind), update=installation.command("update")))
    if lost:
        said = _("Not there: {units}. {lab} puts them there.")
        yield Finding("note", said.format(units=listed(lost), lab=installation.command("lab")))


def room() -> Iterator[Finding]:
    """Is there enough space on the disks of both folders?"""
    seen = set()
    for folder in (home(), installation.place().own):
        with contextlib.suppress(OSError):
            there = _nearest(folder)
            device, free = there.stat().st_dev, shutil.disk_usage(there).free
            if device not in seen:
                seen.add(device)
                words = _("{n:.1f} GB are free on the disk of {folder}")
                if free <= ROOM:
                    words = _("{n:.1f} GB are free on the disk of {folder}. Make room.")
                yield Finding("good" if free > ROOM else "wrong", words.format(n=free / 1e9, folder=there))


def recordings() -> Iterator[Finding]:
    """Are the recordings that checks and widgets compare with there, and whole?"""
    folder = installation.assets()
    units = {path.stem for path in (folder / "units").glob("*.json")}
    recorded = {path.stem for path in (folder / "recordings").glob("*.json")}
    missing = sorted(f"recordings/{unit}.json" for unit in units - recorded)
    missing += [f"recordings/{n}.safetensors" for n in sorted(units) if not _has_tensors(folder, n)]
    bad = missing if units else ["units"]
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".json", ".safetensors") and _damage(path):
            bad.append(path.relative_to(folder).as_posix())
    bad += [name for name in _changed_since_installed() if name not in bad]
    if bad:
        said = _("Missing or damaged in {folder}: {some}.")
        if len(bad) > 4:
            said = _("Missing or damaged in {folder}: {some} and {n} more.")
        said = said.format(folder=folder, some=listed(bad[:4]), n=len(bad) - 4)
        yield Finding("wrong", sentences(said, installation.how_to_repair("make record")))
    else:
        count = len(list((folder / "recordings").rglob("*.safetensors")))
        said = _("Recordings are whole ({units} units, {files} files), in {folder}")
        yield Finding("good", said.format(units=len(units), files=count, folder=folder))


def _has_tensors(folder, unit):
    return (folder / "recordings" / f"{unit}.safetensors").is_file()


def _damage(path):
    """Whether a file is cut short or not of the type that its name says; needs no torch."""
    try:
        raw = files.read(path)
        if path.suffix == ".json":
            json.loads(raw)
            return False
        length = int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8 : 8 + length])
        end = max((about["data_offsets"][1] for name, about in header.items() if name != "__metadata__"), default=0)
        return len(raw) != 8 + length + end
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return True


def _changed_since_installed():
    """Data files of a wheel that differ from the wheel's own list. Empty for other kinds of installation."""
    if installation.kind() != "wheel":
        return []
    try:
        listed = importlib.metadata.files(installation.NAME) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    changed = []
    for file in listed:
        if "_data" not in file.parts or file.hash is None or file.hash.mode != "sha256":
            continue
        try:
            digest = hashlib.sha256(Path(str(file.locate())).read_bytes()).digest()
        except OSError:
            digest = b""
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            changed.append("/".join(file.parts[file.parts.index("_data") + 1 :]).removeprefix("assets/"))
    return changed


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest existing one above it."""
    return next(p for p in (folder, *folder.absolute().parents) if p.exists())


def _why_not(folder: Path) -> str:
    """Why nothing can be written into a folder, or "". Does not make a folder that is missing."""
    there = _nearest(folder)
    if not there.is_dir():
        return _("{folder} is a file").format(folder=there)
    if there != folder:
        writable = os.access(there, os.W_OK)
        return "" if writable else _("you may not make folders in {folder}").format(folder=there)
    trial = folder / f".doctor-{os.getpid()}"
    try:
        files.write_new(trial, b"trial")
        return ""
    except OSError as error:
        known = REASONS.get(error.errno or 0)
        return _(known) if known else error.strerror or str(error)
    finally:
        with contextlib.suppress(OSError):
            trial.unlink()


def _is_held(path: Path, seconds: float) -> bool:
    if not path.exists():
        return False
    lock = filelock.FileLock(str(path), timeout=seconds)
    try:
        lock.acquire()
    except filelock.Timeout:
        return True
    except (OSError, NotImplementedError):
        return False  # no locks here
    lock.release()
    return False


EXAMINATIONS: list[Examination] = [progress_folder, notebooks, room, recordings]
