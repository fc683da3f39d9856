"""Opens files below a folder with untrusted contents.

It never follows links, waits for FIFOs, sockets or devices, or reads without a limit. Every path component is opened
from its parent's descriptor, and the opened file is checked again before a byte is read, so that changes in between
don't matter. Only the top folder, which is the instructor's own, may be a link.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from anatomy.system.translation import N_, _

from ..base.names import cut, shown

Problem = tuple[str, str]  # (slug, one sentence for people)
Path = str | os.PathLike[str] | bytes
MAX_BYTES = 100 << 20  # of a notebook; one with 50 MB of output is still read
MAX_ENTRIES = 2_000  # entries of a folder; further ones are ignored
# Windows lacks most of these flags, but has no links, FIFOs or devices in folders either; macOS has the POSIX ones.
_FLAGS = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _flag, 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd and os.scandir in os.supports_fd
_CHUNK = 1 << 20


class BadSubmission(ValueError):
    """Raised if nothing in a file can be graded. ``name``: slug for the table; the message is a sentence for people."""

    def __init__(self, name: str, message: str):
        super().__init__(message)
        self.name = name


class Folder:
    """An open folder; a context manager. ``Folder(path)`` raises OSError, its methods raise BadSubmission."""

    def __init__(self, path: Path):
        self.path = os.fsdecode(path)
        if _BY_DESCRIPTOR:
            self._fd = os.open(self.path, os.O_RDONLY | _DIRECTORY | getattr(os, "O_CLOEXEC", 0))
        else:
            self._fd = -1
            os.listdir(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the descriptor; after that nothing in the folder can be opened."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def folder(self, name: str) -> "Folder":
        """Opens a subfolder. Raises BadSubmission if the entry is missing or not a folder."""
        kind = self._kind(name)
        if kind and not stat.S_ISDIR(kind):
            raise _not_regular(name, kind, "folder")
        found = object.__new__(Folder)
        found.path, found._fd = os.path.join(self.path, name), -1
        if _BY_DESCRIPTOR:
            found._fd = self._open(name, _DIRECTORY, "folder")
        return found

    def names(self, most: int = MAX_ENTRIES) -> tuple[list[str], bool]:
        """(sorted names of at most ``most`` entries, True if there are more). The file system's order decides."""
        found: list[str] = []
        try:
            with os.scandir(self._fd if _BY_DESCRIPTOR else self.path) as entries:
                for entry in entries:
                    if len(found) == most:
                        return sorted(found), True
                    found.append(os.fsdecode(entry.name))
        except OSError as error:
            raise _unreadable(os.path.basename(self.path), error) from None
        return sorted(found), False

    def kind(self, name: str) -> str:
        """The kind of an entry, without opening it: "file", "folder", "a link", "a pipe" …; "" if it is missing."""
        mode = self._kind(name)
        return _what(mode) if mode else ""

    def read(self, name: str, most: int = MAX_BYTES) -> bytes:
        """Contents of a regular file in this folder. Raises BadSubmission, also if it has more than ``most`` bytes."""
        return b"".join(self._chunks(name, most))

    def digest(self, name: str, most: int = MAX_BYTES) -> str:
        """SHA-256 of the bytes that ``read`` would return, without holding them in memory."""
        digest = hashlib.sha256()
        for chunk in self._chunks(name, most):
            digest.update(chunk)
        return digest.hexdigest()

    def _chunks(self, name: str, most: int) -> Iterator[bytes]:
        kind = self._kind(name)
        if kind and not stat.S_ISREG(kind):  # don't open it: some devices react to that
            raise _not_regular(name, kind, "file")
        fd = self._open(name, 0, "file")
        try:
            about = os.fstat(fd)  # the entry may have been replaced since the first check
            if not stat.S_ISREG(about.st_mode):
                raise _not_regular(name, about.st_mode, "file")
            if about.st_size > most:
                raise _too_large(name, about.st_size, most)
            left = most + 1
            while left and (chunk := os.read(fd, min(left, _CHUNK))):
                left -= len(chunk)
                yield chunk
            if not left:  # it grew, or reported a wrong size
                raise _too_large(name, most + 1, most)
        except OSError as error:
            raise _unreadable(name, error) from None
        finally:
            os.close(fd)

    def _kind(self, name: str) -> int:
        """st_mode of an entry (for a link, of the link itself); 0 if unknown: then opening it raises the reason."""
        try:
            if _BY_DESCRIPTOR:
                return os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode
            return os.lstat(os.path.join(self.path, name)).st_mode
        except (OSError, ValueError):
            return 0

    def _open(self, name: str, more: int, wanted: str) -> int:
        if name in ("", ".", "..") or "/" in name or "\0" in name or (os.altsep and os.altsep in name):
            raise BadSubmission("submission.layout", _("{name} is no name of a file.").format(name=shown(name)))
        try:
            if _BY_DESCRIPTOR:
                return os.open(name, _FLAGS | more, dir_fd=self._fd)
            return os.open(os.path.join(self.path, name), _FLAGS | more)
        except FileNotFoundError:
            raise _missing(name, wanted) from None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.ENODEV, errno.ENOTDIR):
                raise _not_regular(name, 0, wanted) from None
            raise _unreadable(name, error) from None


@contextmanager
def below(root: Path, parts: Sequence[str]) -> Iterator[Folder]:
    """Opens the folder ``root/parts[0]/parts[1]/…``. ``root`` may be a link, but nothing below it.

    Raises BadSubmission, or OSError if ``root`` itself cannot be opened.
    """
    current = Folder(root)
    try:
        for part in parts:
            current, above = current.folder(part), current
            above.close()
        yield current
    finally:
        current.close()


def read_below(root: Path, parts: Sequence[str], most: int = MAX_BYTES) -> bytes:
    """Contents of the regular file ``root/parts[0]/…``. Raises like ``below`` and ``Folder.read``."""
    with below(root, parts[:-1]) as folder:
        return folder.read(parts[-1], most)


def read_submission(path: str | os.PathLike[str]) -> bytes:
    """Bytes of a submitted notebook in a trusted folder.

    Raises BadSubmission if it is missing, too large or not a regular file.
    """
    folder, name = os.path.split(os.path.abspath(path))
    try:
        return read_below(folder, [name])
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise _missing(name, "file") from None
        raise _unreadable(name, error) from None


def _what(mode: int) -> str:
    for test, word in (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISLNK, N_("a link")),
        (stat.S_ISFIFO, N_("a pipe")),
        (stat.S_ISSOCK, N_("a socket")),
    ):
        if test(mode):
            return word
    return N_("a device")


def _missing(name: str, wanted: str) -> BadSubmission:
    sentence = _("There is no file {name}.") if wanted == "file" else _("There is no folder {name}.")
    return BadSubmission("submission.missing", sentence.format(name=shown(name)))


def _not_regular(name: str, mode: int, wanted: str) -> BadSubmission:
    what = _what(mode) if mode else N_("no regular file or folder")
    if what == "folder":
        sentence = _("{name} is a folder, not a notebook: submit the file.").format(name=shown(name))
        return BadSubmission("submission.is_a_folder", sentence)
    if what == "file":
        sentence = _("{name} is a file; it should be a folder.").format(name=shown(name))
        return BadSubmission("submission.layout", sentence)
    if what == "a link":
        sentence = _("{name} is not {expected} but {what}: links to other files are not followed.")
    else:
        sentence = _("{name} is not {expected} but {what}: only regular files are read.")
    expected = _("a regular file") if wanted == "file" else _("a folder")
    return BadSubmission("submission.not_a_file", sentence.format(name=shown(name), expected=expected, what=_(what)))


def _too_large(name: str, size: int, most: int) -> BadSubmission:
    sentence = _(
        "{name} has {size:.3g} MB, more than the {most:.3g} MB that are read. Clear the outputs and submit again."
    )
    return BadSubmission("submission.too_large", sentence.format(name=shown(name), size=size / 1e6, most=most / 1e6))


def _unreadable(name: str, error: OSError) -> BadSubmission:
    sentence = _("{name} cannot be read: {error}.")
    sentence = sentence.format(name=shown(name), error=cut(error.strerror or _("error"), 80))
    return BadSubmission("submission.unreadable", sentence)
