"""Which files of the machine a sandbox sees: as few as Python, its packages and a shell's programs need.

There are two safeguards. First, only the needed entries are bound (mounted), not their parent folders: a checkout in
/usr/src or next to the interpreter is not visible. Second, wherever the checkout, the course's folder (gradebook,
secret, submissions) or another hidden folder is below a bound path, an empty folder covers it; the parts of it that
sandboxes need (the package ``anatomy``, the assets, the interpreter's own environment) are bound again on top.

``steps`` lists the mounts in order; ``namespaces.py`` and ``bubblewrap.py`` each carry them out in their own way.
"""

from __future__ import annotations

import functools
import glob
import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass

from autograder import ROOT

from . import packages

# Folders of programs and libraries; where one is a link (/bin -> usr/bin) the sandbox has the same link.
_TREES = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_PROGRAMS = ("/usr/bin", "/usr/sbin", "/usr/lib64", "/usr/lib/*-linux-*", "/usr/lib/locale", "/usr/lib/terminfo")
_DATA = ("zoneinfo", "fonts", "fontconfig", "terminfo", "matplotlib")  # below share
_SETTINGS = ("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime", "/etc/terminfo")
_SHARED_PREFIXES = ("/", "/usr", "/usr/local")  # folders that contain more than one Python installation
_COURSE_FILES = ("nbgrader_config.py", "class_settings.py", ".secret", "gradebook.db")


@dataclass(frozen=True)
class View:
    """The files that a sandbox sees besides the system's own programs and libraries.

    readable   paths bound read-only, each at its own place
    hidden     folders that are covered with an empty folder wherever they are below a bound path
    workdir    folder whose files are copied into the home directory, which is the working directory
    """

    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    workdir: str = ""


@dataclass(frozen=True)
class Step:
    """One entry of a view, at ``place``.

    kind: "bind" (``source`` bound read-only), "link" (a symbolic link to it), "cover" (an empty folder), or "pick" (a
    folder with some of the source's entries: ``names``; those of folders end in "/").
    """

    kind: str
    place: str
    source: str = ""
    names: tuple[str, ...] = ()


def staff_folder() -> str:
    """The folder of the installed package ``autograder``, which is hidden if it is in a folder that sandboxes see."""
    return os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def hidden_folders() -> tuple[str, ...]:
    """Folders that no sandbox of this process may see: the staff's package, the checkout, and the working directory
    if it is a course folder."""
    hidden = [staff_folder(), str(ROOT)]
    try:
        here = os.getcwd()
    except OSError:  # it was removed
        here = ""
    if here and any(os.path.lexists(os.path.join(here, name)) for name in _COURSE_FILES):
        hidden.append(here)
    return tuple(dict.fromkeys(hidden))


# ---- the system and Python -------------------------------------------------------------------------------------------
def _both(path: str) -> list[str]:
    """The path as written and with links resolved, without duplicates; [] if it doesn't exist."""
    return list(dict.fromkeys([os.path.abspath(path), os.path.realpath(path)])) if os.path.exists(path) else []


def _bind(path: str) -> list[Step]:
    return [Step("bind", place, os.path.realpath(path)) for place in _both(path)]


def _pick(folder: str, names: Iterable[str]) -> list[Step]:
    """Some entries of a folder; missing ones are left out."""
    found = []
    for name in sorted(names):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            found.append(name + "/" * os.path.isdir(path))
    return [Step("pick", place, os.path.realpath(folder), tuple(found)) for place in _both(folder)]


def _programs() -> list[Step]:
    steps = []
    for path in _TREES:
        if os.path.islink(path):
            steps.append(Step("link", path, os.readlink(path)))
        elif os.path.isdir(path):
            steps += _bind(path)
    data = [f"{share}/{name}" for share in ("/usr/share", "/usr/local/share") for name in _DATA]
    whole = [found for pattern in (*_PROGRAMS, *data, *_SETTINGS) for found in glob.glob(pattern)]
    if glob.glob("/usr/lib/libc.so.6") or glob.glob("/usr/lib/libc.musl*"):
        whole.append("/usr/lib")  # a system without a separate folder for an architecture's libraries
    # A setting that is a link to elsewhere (/etc/localtime) is bound only at its own place.
    return steps + [Step("bind", path, os.path.realpath(path)) for path in whole]


def _prefix(prefix: str, scripts: set[str]) -> list[Step]:
    """The needed parts of a folder in which Python or an environment is installed. scripts: programs in its bin."""
    steps = []
    if os.path.isdir(os.path.join(prefix, "conda-meta")):  # conda: all shared libraries are directly in lib
        names = ["lib", "etc/fonts", *(f"share/{name}" for name in _DATA)]
        steps += [s for name in names for s in _bind(os.path.join(prefix, name))]
    for pattern in ("lib/libpython*", "pyvenv.cfg"):
        steps += [s for path in glob.glob(os.path.join(glob.escape(prefix), pattern)) for s in _bind(path)]
    lib64 = os.path.join(prefix, "lib64")
    if os.path.islink(lib64) and prefix not in _SHARED_PREFIXES:
        steps.append(Step("link", lib64, os.readlink(lib64)))
    bin = os.path.join(prefix, "bin")
    if prefix not in ("/", "/usr") and os.path.isdir(bin):
        pythons = {name for name in os.listdir(bin) if name.startswith("python") and "config" not in name}
        steps += _pick(bin, pythons | scripts)
    return steps


def _python() -> list[Step]:
    """The interpreter, its standard library, and the packages that students have."""
    prefixes = list(dict.fromkeys([*_both(sys.prefix), *_both(sys.base_prefix)]))
    steps = [s for name in ("stdlib", "platstdlib") for s in _bind(sysconfig.get_path(name))]
    scripts: set[str] = set()
    for folder in dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *_site_folders()]):
        if os.path.isdir(folder):
            shown = packages.selection(folder)
            if shown is None:
                steps += _bind(folder)
                scripts |= set(os.listdir(os.path.join(sys.prefix, "bin")))
            else:
                steps += _pick(folder, shown.names)
                steps += [Step("cover", os.path.join(folder, name)) for name in sorted(shown.gone)]
                scripts |= shown.scripts
    return steps + [
        s for prefix in prefixes for s in _prefix(prefix, scripts if prefix in _both(sys.prefix) else set())
    ]


def _site_folders() -> list[str]:
    return site.getsitepackages(list(dict.fromkeys([sys.prefix, sys.base_prefix])))


def _loaded(steps: list[Step]) -> list[Step]:
    """Shared libraries that this process has loaded from other folders, since Python or torch was built with them."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as f:
            paths = {line.split(maxsplit=5)[-1].strip() for line in f if ".so" in line}
    except OSError:
        return []
    places = tuple(step.place + "/" for step in steps)
    found = [p for p in sorted(paths) if p.startswith("/") and os.path.isfile(p) and not p.startswith(places)]
    return [Step("bind", path, path) for path in found]


@functools.cache
def system() -> tuple[Step, ...]:
    """The steps that are the same for every sandbox of this process. Takes a quarter of a second the first time."""
    steps = _programs() + _python()
    return tuple(steps + _loaded(steps))


# ---- a view ----------------------------------------------------------------------------------------------------------
def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def steps(view: View) -> list[Step]:
    """The steps for a view, in order: outer places first, without duplicates."""
    chosen = {step.place: step for step in system()}
    for path in view.readable:
        if os.path.exists(path):
            place = os.path.abspath(path)
            chosen[place] = Step("bind", place, os.path.realpath(path))
    for path in (str(ROOT), *view.hidden):
        for place in _both(path):
            # Cover it wherever a bound path contains it; anything bound inside it comes later, on top.
            if os.path.isdir(place) and any(_holds(step, place) for step in chosen.values()):
                chosen[place] = Step("cover", place)
    kept: list[Step] = []
    around: list[Step] = []  # the steps whose places contain the current one, outermost first
    for place in sorted(chosen, key=lambda p: p.split("/")):
        step = chosen[place]
        while around and not _below(place, around[-1].place):
            around.pop()
        if around and _shown_already(step, around[-1]):
            continue
        kept.append(step)
        if step.kind != "link":
            around.append(step)
    return kept


def _holds(step: Step, path: str) -> bool:
    """True if the step makes this path visible."""
    if step.kind == "pick" and path != step.place:
        rest = path.removeprefix(step.place.rstrip("/") + "/")
        return rest != path and rest.partition("/")[0] + "/" in step.names
    return step.kind in ("bind", "pick") and _below(path, step.place)


def _shown_already(step: Step, outer: Step) -> bool:
    """True if the enclosing step already has the same effect."""
    if outer.kind == "bind":
        return step.kind in ("bind", "link") and step.source == outer.source + step.place[len(outer.place) :]
    return step.kind == "cover" and outer.kind == "cover"
