"""Stores what the course remembers of a learner: a few small JSON files in one folder, shared by all open notebooks.

Reading, changing and writing happen under a lock, and a file is replaced in one step: two notebooks never lose each
other's changes, and a kernel killed at any moment leaves a whole file. A file that cannot be parsed is kept under
another name before anything is written; one that cannot be read is left alone. Nothing here ever stops a check: a
full disk costs a line of text, and what was not saved is kept in memory for the session.
"""

import contextlib
import copy
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import filelock

from . import files
from .translation import _

Entry = dict[str, Any]
Entries = dict[str, Any]  # of a file: id → Entry
LARGEST, DEEPEST, MOST_BYTES = 1e15, 40, 50_000_000  # of a number, of nesting levels, of bytes in a file
PATIENCE = 3.0  # seconds; a save takes a few milliseconds, so a process that holds a lock for longer is stuck
_unsaved: dict[Path, list[Callable[[Entries], object]]] = {}  # path → changes that could not be saved yet
_closed: ContextVar[bool] = ContextVar("closed", default=False)  # set by ``unread``


def home() -> Path:
    """Folder that holds progress, predictions and answers to questions."""
    if os.environ.get("ANATOMY_HOME"):
        return Path(os.environ["ANATOMY_HOME"])
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or Path.home())
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "transformer-anatomy"


@contextlib.contextmanager
def unread() -> Iterator[None]:
    """For a while, ``read`` finds no entries: what is made meanwhile is for others, and says nothing of the learner."""
    before = _closed.set(True)
    try:
        yield
    finally:
        _closed.reset(before)


def read(name: str) -> Entries:
    """Entries of ``<home>/<name>.json``; {} if there are none. Invalid entries are left out.

    A file that is not JSON is moved aside under another name, and one line says so.
    """
    if _closed.get():
        return {}
    path = home() / f"{name}.json"
    try:
        data = _parse(name, path)[0]
    except OSError as error:
        print(
            _("(your {name} cannot be read just now: {why}. The file is left as it is.)").format(
                name=name, why=_why(error)
            )
        )
        data = {}
    except ValueError:
        return update(name, lambda data: None)[0]  # under the lock: another notebook may be writing a good one
    _apply(path, data)
    return data


def update(name: str, change: Callable[[Entries], object]) -> tuple[Entries, bool]:
    """Lets ``change(entries)`` alter the entries of ``<home>/<name>.json`` in place, safe from other notebooks.

    Returns ``(entries, saved)``. If saving is impossible, one line is printed, and the change is kept in memory and
    made again at the next call: ``change`` must depend only on the entries it is given. Its errors are raised here, and
    then nothing is written.
    """
    path = home() / f"{name}.json"
    problem, before, sound = None, {}, True
    with contextlib.ExitStack() as held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            locked = _lock(path, held)
            before, sound = _open(name, path)
        except OSError as error:
            problem = _("another notebook is holding the file") if isinstance(error, filelock.Timeout) else _why(error)
            with contextlib.suppress(OSError, ValueError):
                before, sound = _parse(name, path)
        data = copy.deepcopy(before)
        _apply(path, data)
        change(data)
        if problem is None and data != before:
            try:
                if not sound:
                    _keep_aside(name, path, shutil.copy2)
                files.replace(path, json.dumps(data, indent=1, sort_keys=True).encode(), alone=locked)
            except OSError as error:
                problem = _why(error)
    if problem is None:
        _unsaved.pop(path, None)
    elif data != before:
        _unsaved.setdefault(path, []).append(change)
        print(
            _(
                "({name} was not saved: {problem}. It is kept while this notebook runs, and nothing else is affected.)"
            ).format(name=name, problem=problem)
        )
    return data, problem is None


def _apply(path, data):
    """Makes the changes that could not be saved so far."""
    for change in _unsaved.get(path, []):
        change(data)


def _lock(path, held):
    """Takes the lock, which ``held`` gives back. Returns False on a file system without locks."""
    lock = filelock.FileLock(path.with_name(f".{path.stem}.lock"), timeout=PATIENCE)
    try:
        held.enter_context(lock.acquire(poll_interval=0.01))
    except NotImplementedError:
        return False  # some network folders; writing without a lock is better than never saving
    return True


def _why(error):
    return error.strerror or str(error)


# ---- reading ---------------------------------------------------------------------------------------------


def _parse(name, path):
    """(entries, whether all of them were valid). Raises OSError, or ValueError if the file holds no JSON object."""
    try:
        text = files.read(path, MOST_BYTES).decode("utf-8-sig")  # an editor may have put a byte order mark at the front
    except FileNotFoundError:
        return {}, True
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError(_("nested too deeply")) from error
    if not isinstance(data, dict):
        raise ValueError(_("not an object"))
    tidy = _TIDY.get(name, lambda value: (value, True))
    tidied = {key: (None, False) if _is_deep(value) else tidy(value) for key, value in data.items()}
    return {k: v for k, (v, _) in tidied.items() if v is not None}, all(sound for _, sound in tidied.values())


def _is_deep(value, left=DEEPEST):
    """True if a value is nested deeper than any of ours; copying it would end in a RecursionError."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not left or any(_is_deep(v, left - 1) for v in inner)


def _open(name, path):
    """``_parse`` under the lock: moves a file aside if it cannot be parsed. Raises OSError if that is impossible."""
    try:
        return _parse(name, path)
    except ValueError:
        _keep_aside(name, path, os.rename)
        return {}, True


def _keep_aside(name, path, how):
    stamp, number = int(time.time()), 0
    while True:
        kept = path.with_name(f"{name}.damaged-{stamp}{f'-{number}' if number else ''}.json")
        if not kept.exists():
            break
        number += 1
    how(path, kept)
    print(
        _("(part of your {name} file could not be understood; the file was kept as {name2})").format(
            name=name, name2=kept.name
        )
    )


# Tidies an entry of each file: (the entry in today's form or None, whether it was valid as it was).


def _number(value, kind=(int, float)):
    return isinstance(value, kind) and not isinstance(value, bool) and 0 <= value < LARGEST


def _tidy(value, usual, checks):
    if not isinstance(value, dict):
        return None, False
    bad = [key for key, check in checks.items() if key in value and not check(value[key])]
    return {**usual, **value, **{key: usual[key] for key in bad}}, not bad


def _tidy_try(value):
    entry, sound = _tidy(
        value,
        {"tries": 0, "best": 0.0, "passed_on_try": None},
        {
            "tries": lambda v: _number(v, int),
            "best": _number,
            "passed_on_try": lambda v: v is None or (_number(v, int) and v > 0),
        },
    )
    if entry and entry["passed_on_try"] is not None:
        entry["tries"] = entry["passed_on_try"]  # older versions kept counting after the pass
    if entry and not _number(entry.get("blank", 0), int):
        del entry["blank"]
        sound = False
    return entry, sound


def _tidy_prediction(value):
    if isinstance(value, str):  # the first version stored only the text
        return {"choice": value, "held": None, "shown": False}, True
    entry, sound = _tidy(
        value,
        {"choice": None, "held": None, "shown": False},
        {
            "choice": lambda v: isinstance(v, str),
            "held": lambda v: v is None or isinstance(v, bool),
            "shown": lambda v: isinstance(v, bool),
        },
    )
    return (entry, sound) if entry and entry["choice"] is not None else (None, False)


def _tidy_answer(value):
    entry, sound = _tidy(
        value,
        {"first": None, "right_on_first": False, "tries": 1, "last": None, "right": False},
        {
            "first": lambda v: isinstance(v, str),
            "right_on_first": lambda v: isinstance(v, bool),
            "tries": lambda v: _number(v, int),
            "last": lambda v: v is None or isinstance(v, str),
            "right": lambda v: isinstance(v, bool),
        },
    )
    return (entry, sound) if entry and entry["first"] is not None else (None, False)


def _tidy_drill(value):
    entry, sound = _tidy(
        value,
        {"exercise": None, "opened_at": None, "tries": 0, "tried_at": None, "hints": 0, "passed_at": None},
        {
            "exercise": lambda v: isinstance(v, str),
            "tries": lambda v: _number(v, int),
            "hints": lambda v: _number(v, int),
            **{key: lambda v: v is None or _number(v, int) for key in ("opened_at", "tried_at", "passed_at")},
        },
    )
    return (entry, sound) if entry and entry["exercise"] is not None else (None, False)


_TIDY = {
    "progress": _tidy_try,
    "predictions": _tidy_prediction,
    "quizzes": _tidy_answer,
    "drills": _tidy_drill,
}
