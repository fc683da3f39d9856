"""Entries in the folder of submissions that are not a submission, or more than one: made by an attacker, or by an
archive from another system.

Each entry is a function that creates it below ``submitted``, the folder of the class; ``student`` is its name there.
Two files are worth copying: ``.secret`` next to ``submitted``, and the right submission of the student ``ada`` in it.
"""

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from .base import SOLVE, START, WRONG, find, released

RIGHT = "def weighted_average(values, weights):\n    return weights @ values / weights.sum()\n"
NAME = f"{START}.ipynb"


@dataclass(frozen=True)
class Entry:
    """One entry.

    student: name of the entry in the class's folder (bytes where it is not UTF-8). make(folder): creates it; folder is
    ``submitted/student``, which does not exist yet. earns: points of unit 00; an honest notebook next to something odd
    keeps its own, None where it depends on the system what can be read. said: a line or note must name the entry.
    """

    name: str
    student: str | bytes
    make: Callable[[bytes], None]
    earns: float | None = 0.0
    said: bool = True


ENTRIES: list[Entry] = []


def book(source=RIGHT):
    """Bytes of unit 00 with this answer."""
    made = released()
    find(made, SOLVE)["source"] = source
    return json.dumps(made).encode()


def entry(name, student, *, earns=0.0, said=True):
    """Decorator for a function of the student's folder (bytes, not yet created)."""

    def register(make):
        ENTRIES.append(Entry(name, student, make, earns, said))
        return make

    return register


def unit_folder(folder, notebook=None):
    """``folder/00-start-here``, with a notebook if given; returns its path as bytes."""
    path = os.path.join(folder, START.encode())
    os.makedirs(path)
    if notebook is not None:
        write(path, NAME, notebook)
    return path


def write(folder, name, data):
    """Writes a file with these bytes."""
    with open(os.path.join(folder, os.fsencode(name)), "wb") as file:
        file.write(data)


def place(folder, name):
    """Path of a name in a folder, both as bytes."""
    return os.path.join(folder, os.fsencode(name))


def above(folder, *names):
    """A path next to the class's folder."""
    return os.path.join(os.path.dirname(os.path.dirname(folder)), *map(os.fsencode, names))


def sparse(path, size=50 << 30):
    """Creates a sparse file of 50 GB, which takes no disk space."""
    with open(path, "wb") as file:
        file.truncate(size)


def links(folder, targets):
    """Creates symbolic links, name → target."""
    for name, target in targets.items():
        os.symlink(target, place(folder, name))


def no_files(folder):
    """Creates entries with file names that are not regular files, and a very large file."""
    os.mkfifo(place(folder, "pipe.txt"))
    os.mknod(place(folder, "socket.txt"), stat.S_IFSOCK | 0o600)
    sparse(place(folder, "large.csv"))


def left_by_archives(folder):
    """Creates the files that macOS, Windows and JupyterLab add to a folder."""
    for inner, name, data in (
        ("__MACOSX", f"._{NAME}", b"\x00\x05\x16\x07"),
        (".ipynb_checkpoints", f"{START}-checkpoint.ipynb", book(WRONG)),
    ):
        os.mkdir(place(folder, inner))
        write(place(folder, inner), name, data)
    for name in (".DS_Store", "Thumbs.db", f"._{NAME}"):
        write(folder, name, b"x")


# ---- instead of the notebook
IN_ITS_PLACE = {
    "a pipe": lambda path, folder: os.mkfifo(path),
    "a socket": lambda path, folder: os.mknod(path, stat.S_IFSOCK | 0o600),
    "a link to the secret": lambda path, folder: os.symlink(above(folder, ".secret"), path),
    "a link to a link to the secret": lambda path, folder: links(
        os.path.dirname(path), {NAME: NAME + "2", NAME + "2": above(folder, ".secret")}
    ),
    "a link to somebody else's": lambda path, folder: os.symlink(f"../../ada/{START}/{NAME}", path),
    "a link to endless zeros": lambda path, folder: os.symlink("/dev/zero", path),
    "a link to itself": lambda path, folder: os.symlink(NAME, path),
    "a link to the own terminal": lambda path, folder: os.symlink("/proc/self/fd/0", path),
    "the secret under another name": lambda path, folder: os.link(above(folder, ".secret"), path),
    "fifty gigabytes of nothing": lambda path, folder: sparse(path),
    "an empty file": lambda path, folder: write(os.path.dirname(path), NAME, b""),
    "a folder of its name": lambda path, folder: os.makedirs(os.path.join(path, NAME.encode())),
    "an archive": lambda path, folder: write(os.path.dirname(path), f"{START}.zip", b"PK\x03\x04"),
    "a name in capital letters": lambda path, folder: write(os.path.dirname(path), NAME.upper(), book()),
    "two copies": lambda path, folder: [
        write(os.path.dirname(path), f"{START}{n}.ipynb", book()) for n in (" (1)", " - Copy")
    ],
    "a name with the end of a line": lambda path, folder: write(os.path.dirname(path), f"{NAME}\n", book()),
}
RENAMED = ("a name in capital letters", "two copies")  # still a single notebook: it is graded, with a note
for _number, (_name, _put) in enumerate(IN_ITS_PLACE.items()):
    entry(f"in the notebook's place: {_name}", f"place-{_number:02}", earns=int(_name in RENAMED))(
        lambda folder, put=_put: put(place(unit_folder(folder), NAME), folder)
    )

# ---- next to an honest notebook
BESIDE = {
    "a pipe for a time stamp": lambda path, folder: os.mkfifo(place(path, "timestamp.txt")),
    "a socket for a time stamp": lambda path, folder: os.mknod(place(path, "timestamp.txt"), stat.S_IFSOCK | 0o600),
    "a time stamp that links to endless zeros": lambda path, folder: os.symlink(
        "/dev/zero", place(path, "timestamp.txt")
    ),
    "a time stamp that links to the secret": lambda path, folder: os.symlink(
        above(folder, ".secret"), place(path, "timestamp.txt")
    ),
    "a time stamp of fifty gigabytes": lambda path, folder: sparse(place(path, "timestamp.txt")),
    "a time stamp that is no date": lambda path, folder: write(path, "timestamp.txt", b"\x1b[2Jyesterday\xff\x00" * 9),
    "a time stamp of the year 300000": lambda path, folder: write(path, "timestamp.txt", b"300000-01-01 00:00:00 UTC"),
    "a folder for a time stamp": lambda path, folder: os.mkdir(place(path, "timestamp.txt")),
}
for _number, (_name, _put) in enumerate(BESIDE.items()):
    entry(f"beside the notebook: {_name}", f"beside-{_number:02}", earns=1.0)(
        lambda folder, put=_put: put(unit_folder(folder, book()), folder)
    )
QUIET = {
    "links to the secret and to everything": lambda path, folder: links(
        path, {"leak.txt": above(folder, ".secret"), "all": "/", "up": "..", "zero": "/dev/zero"}
    ),
    "pipes, sockets and devices": lambda path, folder: no_files(path),
    "ten thousand files": lambda path, folder: [write(path, f"extra{i}.txt", b"") for i in range(10_000)],
    "names from another system": lambda path, folder: [
        write(path, os.fsdecode(name), b"x")
        for name in (
            "作业.txt".encode("gbk"),
            b"\xff\xfe",
            b"\x1b[2J.txt",
            "\u202etxt.exe".encode(),
            b"a\nb",
            b"x" * 255,
        )
    ],
    "what an archive leaves": lambda path, folder: left_by_archives(path),
    "modules and startup files": lambda path, folder: [
        write(path, name, b"raise SystemExit('run!')")
        for name in ("sitecustomize.py", "torch.py", "nbgrader_config.py", "conftest.py", "json.py", ".env")
    ],
}
for _number, (_name, _put) in enumerate(QUIET.items()):
    entry(f"beside the notebook: {_name}", f"quiet-{_number:02}", earns=1.0, said=False)(
        lambda folder, put=_put: put(unit_folder(folder, book()), folder)
    )


# ---- instead of the unit's or the student's folder
@entry("a unit's folder that links to somebody else's", "linked-unit")
def _linked_unit(folder):
    os.makedirs(folder)
    os.symlink(f"../ada/{START}", place(folder, START))


@entry("a student's folder that links to somebody else's", "linked-student")
def _linked_student(folder):
    os.symlink("ada", folder)


@entry("folders that link to each other", "loop")
def _loop(folder):
    os.makedirs(folder)
    os.symlink("..", place(folder, START))
    os.symlink("../loop", place(folder, "01-attention"))


@entry("a pipe for a student", "pipe")
def _pipe(folder):
    os.mkfifo(folder)


@entry("a pipe for a unit", "pipe-unit")
def _pipe_unit(folder):
    os.makedirs(folder)
    os.mkfifo(place(folder, START))


@entry("a folder of the unit that is a file", "file-unit")
def _file_unit(folder):
    os.makedirs(folder)
    write(folder, START, book())


@entry("a student's folder without anything", "nothing")
def _nothing(folder):
    os.makedirs(folder)


@entry("a unit's folder without anything", "no-notebook")
def _no_notebook(folder):
    unit_folder(folder)


@entry("a notebook two folders too deep", "deep")
def _too_deep(folder):
    unit_folder(place(folder, "homework"), book())


@entry("a notebook one folder too high", "high")
def _too_high(folder):
    os.makedirs(folder)
    write(folder, NAME, book())


@entry("ten thousand folders", "crowd")
def _crowd(folder):
    os.makedirs(folder)
    for i in range(10_000):
        os.mkdir(place(folder, f"unit {i}"))


@entry("a unit of dots", "dots")
def _dots(folder):
    for name in ("...", "..\\..", "%2e%2e%2f", ". .", "~", "-rf", "$HOME", "../x".replace("/", "\u2215")):
        os.makedirs(place(folder, name))


@entry("a folder that nobody may read", "unreadable", earns=None, said=False)
def _unreadable(folder):
    os.chmod(unit_folder(folder, book()), 0)


@entry("a notebook that nobody may read", "unreadable-file", earns=None, said=False)
def _unreadable_file(folder):
    os.chmod(place(unit_folder(folder, book()), NAME), 0)


# ---- names of students
REFUSED = {
    "Chinese Windows": "学生".encode("gbk"),
    "no encoding at all": b"\xff\xfe\x80",
    "the screen is cleared": b"\x1b[2J\x1b]0;owned\x07",
    "the end of a line": b"eve\nada",
    "it reads backwards": "eve\u202eada".encode(),
    "letters without width": "ad\u200ba".encode(),
    "255 bytes": b"x" * 255,
    "an image that runs": b"<img src=x onerror=alert(1)>",
    "half a character in UTF-8": b"\xed\xa0\x80",
    "a space": b" ",
}
for _name, _student in REFUSED.items():
    entry(f"a name: {_name}", _student)(lambda folder: unit_folder(folder, book()) and None)
TAKEN = {
    "a formula": "=cmd|'calc'!A1",
    "an option": "--help",
    "a query": "'; DROP TABLE grade;--",
    "a template": "{{config}} %(x)s ${HOME} `id`",
    "a word of the system": "nul",
}
for _name, _taken in TAKEN.items():
    entry(f"a name: {_name}", _taken, earns=1.0, said=False)(lambda folder: unit_folder(folder, book()) and None)


def build(submitted, entries=None):
    """Creates entries in a class's folder (by default all of them)."""
    for e in ENTRIES if entries is None else entries:
        e.make(os.path.join(os.fsencode(submitted), os.fsencode(e.student)))
