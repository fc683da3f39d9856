"""Brings a new release: from git, or from a newer student package (a zip, or the folder that was in it)."""

import os
import stat
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from ..system import files, installation
from ..system.translation import N_, _, sentences
from .build_stamp import NotANotebook, is_as_built, parse

FOLDERS = ("course", "assets")
TOP_FILES = (
    *("Makefile", "environment.yml", "requirements.lock", "README.md", "students.md"),
    *("LICENSE", "LICENSE-TEXT", "CITATION.cff"),
)
SKIPPED = ("__pycache__", ".ipynb_checkpoints", "work")
WANTED = N_("FROM must be a newer student package: the zip as you got it, or the folder that it unpacks to")


class BadRelease(ValueError):
    """The source that FROM names cannot be used; one sentence says why. Nothing was changed."""


def bring(
    root: Path | None, source: Path | None, say: Callable[[str], object], may_replace: Callable[[Path], bool]
) -> int:
    """Brings the release's files to ``root``, from git or from ``source``. Returns an exit status.

    root: the course folder; None for a wheel, which brings its release itself.

    may_replace: function of a notebook's path; True if all work in that notebook is kept elsewhere, too. Raises
    BadRelease, and OSError if writing failed; running it again then finishes.
    """
    if root is None:
        if source is not None:
            said = _("this course was installed as a Python package, so a zip cannot bring it a release.")
            raise BadRelease(sentences(said, installation.how_to_get_newer()))
        return 0
    if source is not None:
        if (root / "autograder").exists():
            raise BadRelease(
                _(
                    "this is a git checkout of the whole project, which brings its releases itself: run `make update` "
                    "without FROM"
                )
            )
        return _install(root, _package(root, Path(source)), say, may_replace)
    if (root / ".git").exists():
        return _pull(root, say)
    return 0


def _pull(root, say):
    git = ["git", "-C", str(root)]
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    options = {"capture_output": True, "text": True, "errors": "replace", "env": quiet, "stdin": subprocess.DEVNULL}
    try:
        if subprocess.run([*git, "rev-parse", "--abbrev-ref", "@{upstream}"], timeout=60, **options).returncode:
            say(_("This checkout follows no other repository, so there is nothing to fetch."))
            return 0
        done = subprocess.run([*git, "pull", "--ff-only"], timeout=600, **options)
        said = done.stderr if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        done, said = None, str(error)
    if done is not None and not done.returncode:
        say(_("The release is up to date." if "up to date" in done.stdout else "A newer release was fetched."))
        return 0
    lines = [line.strip() for line in said.splitlines() if line.startswith(("fatal:", "error:", "\t"))]
    reason = " ".join(lines or said.split())[:300]
    said = _(
        "No newer release was fetched (git: {reason}). Check the network; where git names notebooks that you changed, "
        "your copies are in work/, so `git checkout` may put the released ones back. Going on with the release that "
        "is here."
    )
    say(said.format(reason=reason))
    return 1


def _package(root, source):
    """dict name → bytes, or the path where they are. Raises BadRelease."""
    if source.is_dir():
        found = _folder(root, source)
    elif source.is_file():
        found = _zip(source)
    else:
        raise BadRelease(sentences(_("there is no {source}.").format(source=source), _(WANTED)))
    if (
        not any(n.startswith("course/anatomy/") for n in found)
        or "course/00-start-here/00-start-here.ipynb" not in found
    ):
        said = _("{source} is no student package of this course.").format(source=source)
        raise BadRelease(sentences(said, _(WANTED)))
    return found


def _is_released(name):
    parts = PurePosixPath(name).parts
    return (name in TOP_FILES or parts[0] in FOLDERS and len(parts) > 1) and not any(
        p in SKIPPED or p.endswith((".egg-info", files.LEFTOVER)) for p in parts
    )


def _folder(root, source):
    if source.resolve() == root.resolve():
        raise BadRelease(sentences(_("{source} is this very folder.").format(source=source), _(WANTED)))
    found = {}
    for path in [*(source / n for n in TOP_FILES), *(p for f in FOLDERS for p in (source / f).rglob("*"))]:
        name = path.relative_to(source).as_posix()
        if path.is_file() and not path.is_symlink() and _is_released(name):
            found[name] = path
    return found


def _zip(source):
    try:
        with zipfile.ZipFile(source) as archive:
            entries = [e for e in archive.infolist() if not e.is_dir()]
            if sum(e.file_size for e in entries) > files.LARGEST:  # a package has eleven million bytes
                raise BadRelease(_("{source} is far too large for a student package").format(source=source))
            tops, found = set(), {}
            for entry in entries:
                path = PurePosixPath(entry.filename)
                if (
                    not path.parts
                    or path.is_absolute()
                    or ".." in path.parts
                    or ":" in entry.filename
                    or "\\" in entry.filename
                    or stat.S_ISLNK(entry.external_attr >> 16)
                ):
                    said = _("{source} holds a file that would be written elsewhere: {file!r}")
                    raise BadRelease(said.format(source=source, file=entry.filename))
                tops.add(path.parts[0])
                name = "/".join(path.parts[1:])
                if len(path.parts) > 1 and _is_released(name):
                    # Read now: a damaged zip must be noticed before the first file is written.
                    found[name] = archive.read(entry)
            if len(tops) > 1:
                said = _("{source} holds more than one folder at its top.").format(source=source)
                raise BadRelease(sentences(said, _(WANTED)))
            return found
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        said = _("{source} cannot be read as a zip ({error}).").format(source=source, error=error)
        raise BadRelease(sentences(said, _(WANTED))) from None
    except Exception as error:  # zlib.error and the like: how a damaged archive shows depends on where
        if isinstance(error, BadRelease):
            raise
        said = _("{source} is damaged ({error}). Download it again")
        raise BadRelease(said.format(source=source, error=error)) from None


def _install(root, found, say, may_replace):
    """Writes file by file, each whole or not at all. Notebooks and the lock file come last: what they need is there by
    then."""
    files.sweep(root, below=False)
    for folder in FOLDERS:
        files.sweep(root / folder)
    status = changed = 0
    for name in sorted(found, key=lambda n: (n.endswith(".ipynb"), n in TOP_FILES, n)):
        content, path = found[name], root / name
        content = content if isinstance(content, bytes) else files.read(content)
        if path.is_file() and not path.is_symlink() and path.read_bytes() == content:
            continue
        if name.endswith(".ipynb"):
            wrong = ""
            if not _is_release(content):
                wrong = _(
                    "{file} in FROM was changed by hand or is damaged, so it was not taken: use the zip as you got it."
                )
            elif os.path.lexists(path) and not may_replace(path):
                wrong = _("{file} here holds changes that could not be copied to work/, so it was left as it is.")
            if wrong:
                say(wrong.format(file=name))
                status = 1
                continue
        files.replace(path, content)
        changed += 1
    if changed:
        say(_("{n} files of the new release were written.").format(n=changed))
    else:
        say(_("That release is here already."))
    return status


def _is_release(content):
    try:
        return is_as_built(parse(content))
    except NotANotebook:
        return False
