"""Reads the files of a download, a folder or a zip, one at a time, and never unpacks them under their own names.

nbgrader's own ``zip_collect`` unpacks everything in an archive, of any size, before it checks a name. Here names are
only compared with patterns, and only ``collecting`` decides where a file goes. A problem (a link, a name that leads
elsewhere, damaged or endless contents) affects only its own file.
"""

import contextlib
import io
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from autograder.grading.base.names import is_junk, shown
from autograder.grading.intake.opening import MAX_BYTES, BadSubmission, Folder, below

MAX_FILES = 100_000  # files in a download
MAX_NESTED = 2_000  # files in an archive that a student handed in
MAX_LIST = 32 << 20  # bytes of an archive's list of contents; zipfile reads it at once
MAX_DEPTH = 8  # folders above a file
MAX_TOTAL = 20 << 30  # bytes read from one download in total
# Compression ratios: deflate reaches about 1,000, a notebook full of output 20. Small files may have any ratio.
MAX_RATIO, SMALL = 200, 4 << 20
_CHUNK = 1 << 20
_READABLE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # other methods may need gigabytes to unpack a kilobyte
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


class BadArchive(ValueError):
    """The whole download cannot be read; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Entry:
    """A file in a download. parts: its path, as spelled there. contents: returns its bytes; raises BadSubmission.
    problem: why it cannot be read, or ""."""

    parts: tuple[str, ...]
    contents: Callable[[], bytes]
    problem: str = ""

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def path(self) -> str:
        """The path, safe to show."""
        return shown("/".join(self.parts), 200)

    def read(self) -> bytes:
        """The file's bytes. Raises BadSubmission."""
        if self.problem:
            raise BadSubmission("submission.archive", f"{self.path} {self.problem}.")
        return self.contents()


@contextmanager
def opened(path: Path) -> Iterator[list[Entry]]:
    """The files of a folder or zip, without those that systems leave there.

    The entries can be read while the context is open. Raises BadArchive.
    """
    with contextlib.ExitStack() as stack:
        if path.is_dir():
            found = list(_in_folder(path))
        else:
            try:
                file = stack.enter_context(open(path, "rb"))
            except OSError as error:
                raise BadArchive(f"{shown(str(path), 500)} cannot be read: {error.strerror or error}.") from None
            found = list(_in_zip(file, path.name, MAX_FILES, [MAX_TOTAL]))
        yield [e for e in found if _matters(e)]


def unpacked(entry: Entry) -> list[Entry]:
    """The files in an archive that a student handed in; archives inside it stay closed. Raises BadSubmission."""
    if not entry.name.lower().endswith(".zip"):
        raise BadSubmission("submission.archive", f"{entry.path} is an archive of another kind than zip: unpack it.")
    data = entry.read()
    try:
        found = list(_in_zip(io.BytesIO(data), entry.path, MAX_NESTED, [2 * MAX_BYTES]))
    except BadArchive as error:
        raise BadSubmission("submission.archive", str(error)) from None
    return [Entry((*entry.parts, *e.parts), e.contents, e.problem) for e in found if _matters(e)]


def _matters(entry: Entry) -> bool:
    return ".." in entry.parts or not any(is_junk(part) for part in entry.parts)


def _in_folder(path: Path) -> Iterator[Entry]:
    try:
        with Folder(path) as top:
            yield from _below(top, str(path), (), [MAX_FILES])
    except OSError as error:
        raise BadArchive(f"{shown(str(path), 500)} cannot be read: {error.strerror}.") from None
    except BadSubmission as error:
        raise BadArchive(str(error)) from None


def _below(folder: Folder, top: str, parts: tuple[str, ...], left: list[int]) -> Iterator[Entry]:
    for name in folder.names(most=MAX_FILES)[0]:
        left[0] -= 1
        if left[0] < 0:
            raise BadArchive(f"The folder has more than {MAX_FILES} files: name the one with the submissions.")
        kind, here = folder.kind(name), (*parts, name)
        if kind == "folder" and len(here) > MAX_DEPTH:
            yield Entry(here, _nothing, f"lies below more than {MAX_DEPTH} folders")
        elif kind == "folder":
            if not is_junk(name):
                try:
                    with folder.folder(name) as inner:
                        yield from _below(inner, top, here, left)
                except BadSubmission as error:
                    yield Entry(here, _nothing, f"cannot be opened ({error})")
        elif kind == "file":
            yield Entry(here, lambda here=here: _file(top, here))  # type: ignore[misc]
        else:
            yield Entry(here, _nothing, f"is {kind or 'gone'}, not a file")


def _file(top: str, parts: tuple[str, ...]) -> bytes:
    with below(top, parts[:-1]) as folder:
        return folder.read(parts[-1])


def _nothing() -> bytes:
    return b""


class _Careful(io.BufferedIOBase):
    """A file for zipfile that refuses too large reads: zipfile reads an archive's whole list of contents at once."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int | None = -1) -> bytes:
        here = self._file.tell()
        left = self._file.seek(0, io.SEEK_END) - here
        self._file.seek(here)
        if left > MAX_LIST and (size is None or size < 0 or size > MAX_LIST):
            raise zipfile.BadZipFile("its list of contents is too long")
        return self._file.read(-1 if size is None else size)


def _in_zip(file: BinaryIO, name: str, most: int, budget: list[int]) -> Iterator[Entry]:
    """The files of a zip. budget: number of bytes that may still be read; each read reduces it. Raises BadArchive."""
    name = shown(name)
    try:
        archive = zipfile.ZipFile(_Careful(file))
    except _BROKEN as error:
        raise BadArchive(f"{name} is no zip that can be read ({shown(str(error), 80)}): download it again.") from None
    size = file.seek(0, io.SEEK_END)
    infos = [i for i in archive.infolist() if not i.is_dir()]
    if len(infos) > most:
        raise BadArchive(f"{name} has more than {most} files.")
    if sum(i.compress_size for i in infos) > size:
        raise BadArchive(f"{name} says that its files overlap, which no honest program writes.")
    seen: set[tuple[str, ...]] = set()
    for info in infos:
        text = _decoded(info)
        parts = tuple(p for p in text.split("/") if p not in ("", "."))
        problem = _problem(info, text, parts)
        if not problem and parts in seen:
            problem = "stands in the archive more than once"
        seen.add(parts)
        yield Entry(parts or ("?",), lambda info=info: _member(archive, info, budget), problem)  # type: ignore[misc]


def _decoded(info: zipfile.ZipInfo) -> str:
    """The intended name: macOS writes UTF-8 without declaring it, Windows sometimes writes backslashes."""
    text = info.orig_filename if "\0" in info.orig_filename else info.filename
    if not info.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            text = text.encode("cp437").decode("utf-8")
    return text.replace("\\", "/")


def _problem(info: zipfile.ZipInfo, text: str, parts: tuple[str, ...]) -> str:
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        return "is a link, which is not followed" if stat.S_ISLNK(mode) else "is not a regular file"
    if text.startswith("/") or ".." in parts or not parts or "\0" in text or text[1:2] == ":":
        return "has a name that leads out of the archive"
    if len(parts) > MAX_DEPTH + 1:
        return f"lies below more than {MAX_DEPTH} folders"
    if info.flag_bits & 0x1:
        return "is encrypted"
    if info.compress_type not in _READABLE:
        return "is compressed in a way that is not read: make the zip with another program"
    if info.file_size > MAX_BYTES:
        return f"has {info.file_size / 1e6:.3g} MB, more than the {MAX_BYTES / 1e6:.3g} MB that are read"
    if info.file_size > SMALL and info.file_size > MAX_RATIO * info.compress_size:
        return f"would be more than {MAX_RATIO} times as large as it is packed"
    return ""


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: list[int]) -> bytes:
    where = shown(info.filename, 200)
    most = min(info.file_size, MAX_BYTES)
    if budget[0] < most:
        raise BadSubmission("submission.archive", f"{where} was not read: the archive holds too much altogether.")
    found = bytearray()
    try:
        with archive.open(info) as file:
            while len(found) <= most and (chunk := file.read(_CHUNK)):
                found += chunk
    except _BROKEN as error:
        raise BadSubmission(
            "submission.archive", f"{where} is damaged ({shown(str(error), 80)}): download it again."
        ) from None
    finally:
        budget[0] -= len(found)
    if len(found) > most:
        raise BadSubmission("submission.archive", f"{where} is larger than the archive says.")
    return bytes(found)
