"""Untrusted names of files and folders: checks which can be a student's name, and makes all of them safe to show.

A name is the result of ``os.fsdecode``, so that it still opens the file. Only names that went through this module are
shown or stored.
"""

import os
import re
import unicodedata
from typing import TextIO

MAX_NAME = 100  # bytes of a student's name in UTF-8; the gradebook has room for 128
MAX_SHOWN = 100  # characters of any name in a line
# Characters that are invisible or change what the reader sees: control and direction characters, blank marks and
# letters, tags, halves of a surrogate pair (bytes that are not UTF-8), code points that are not characters.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Path separators, and characters that would be markup in the nbgrader pages that don't escape names.
_NO_NAME = re.compile(r'[/\\<>"]')
# Files that operating systems leave in folders and archives.
_JUNK = {"__macosx", "thumbs.db", "desktop.ini", "ehthumbs.db", "icon\r", "$recycle.bin", "system volume information"}
ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz", ".gz", ".xz")


class NoName(ValueError):
    """Raised for a name that cannot be a student's; the message says in one sentence why and what to do."""


def shown(name: str, most: int = MAX_SHOWN) -> str:
    """Any name or text on one line, safe to print, store and read: hidden characters become escape sequences.

    >>> shown("a\\x1b[31m")
    'a\\\\x1b[31m'
    """
    return cut(_HIDDEN.sub(lambda m: _spelled(m[0]), name[: most + 1]), most)


def cut(text: str, most: int) -> str:
    """The text, cut to ``most`` characters with an ellipsis if it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _spelled(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as os.fsdecode keeps it
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def identifier(name: str) -> str:
    """The student's (or unit's) name that a folder name stands for, in Unicode's composed form (NFC).

    macOS and archives made there spell é as e plus an accent, which the gradebook would take for another student.
    Raises NoName.
    """
    try:
        text = os.fsencode(name).decode("utf-8")
    except UnicodeError:
        raise NoName(
            "its name is not UTF-8, as in an archive from another system: unpack it again with the right encoding, "
            "or rename it"
        ) from None
    text = unicodedata.normalize("NFC", text)
    if _HIDDEN.search(text):
        raise NoName("its name has characters that cannot be seen or that change the reading direction: rename it")
    if _NO_NAME.search(text) or text in ("", ".", ".."):
        raise NoName("its name has a slash, a quotation mark or an angle bracket: rename it")
    if text != text.strip():
        raise NoName("its name begins or ends with a space: rename it")
    if len(text.encode()) > MAX_NAME:
        raise NoName(f"its name is longer than {MAX_NAME} bytes: rename it")
    return text


def is_junk(name: str) -> bool:
    """True for files left by a system or a program, and for hidden files: they are ignored without a remark."""
    return name.startswith((".", "~$")) or name.lower() in _JUNK  # ~$: lock file of Office


def is_archive(name: str) -> bool:
    """True if the name ends like an archive's."""
    return name.lower().endswith(ARCHIVES)


def is_notebook(name: str) -> bool:
    """True if the name ends like a notebook's."""
    return name.lower().endswith(".ipynb")


def never_fails(*streams: TextIO) -> None:
    """Makes consoles print ``\\xe9`` if their encoding has no é, instead of raising UnicodeEncodeError."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
