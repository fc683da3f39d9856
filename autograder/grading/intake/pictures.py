"""Copies pictures that were pasted into a written answer, so that graders see them, and see nothing but pictures.

Only the two formats that nbgrader's pages show are accepted, recognized by their first bytes, and stored under our own
names.
"""

import base64
import binascii
import io
import re
from collections.abc import Iterator

from anatomy.system.translation import _
from nbformat import NotebookNode
from PIL import Image

from ..base.notes import Note
from .raw import RawCell, source_of

MAX_PICTURES = 6
MAX_ENCODED = 6 << 20  # characters of all pictures in the notebook: two photographs, or a dozen screenshots
MAX_PIXELS = 40_000_000  # of all pictures: 30 kB of PNG can become a gigabyte in the grader's browser
_FORMATS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
}
_USED = re.compile(r"\(attachment:([^)\s]{1,200})\)")  # how Jupyter shows an attachment in the text
_ENDS = {kind: kind.removeprefix("image/") for kind in _FORMATS}


def take(cell: RawCell, target: NotebookNode) -> list[Note]:
    """Copies the pictures that the text of a submitted cell shows to ``target``; returns a note if any are left out."""
    attached = cell.get("attachments")
    asked = dict.fromkeys(_USED.findall(source_of(cell)))
    taken: dict[str, dict[str, str]] = {}
    room, pixels, left = MAX_ENCODED, MAX_PIXELS, 0
    for name in asked:
        picture = _picture(attached.get(name)) if isinstance(attached, dict) else None
        if picture is None or len(picture[1]) > room or picture[2] > pixels or len(taken) == MAX_PICTURES:
            left += 1
            continue
        kind, data, size = picture
        room, pixels = room - len(data), pixels - size
        taken[f"picture-{len(taken) + 1}.{_ENDS[kind]}"] = {kind: data}
    target.pop("attachments", None)  # those of an earlier copy of the cell
    if taken:
        target["attachments"] = taken
    if not left:
        return []
    sentence = _(
        "{n} of the {all} pictures in the written answer could not be taken over: PNG and JPEG are, up to {most}, of "
        "together {megabytes} MB and {pixels} million pixels at most."
    )
    sentence = sentence.format(
        n=left,
        all=len(asked),
        most=MAX_PICTURES,
        megabytes=MAX_ENCODED * 3 // 4 >> 20,
        pixels=MAX_PIXELS // 1_000_000,
    )
    return [Note("submission.picture_left_out", sentence)]


def taken_from(cell: NotebookNode) -> Iterator[tuple[str, str, str]]:
    """(name, kind, Base64) of each picture that ``take`` copied."""
    for name, data in cell.get("attachments", {}).items():
        for kind, encoded in data.items():
            yield name, kind, encoded


def _picture(data: object) -> tuple[str, str, int] | None:
    """(kind, clean Base64, number of pixels) of an attachment; None if it is not a picture."""
    for kind, begin in _FORMATS.items():
        encoded = data.get(kind) if isinstance(data, dict) else None
        if isinstance(encoded, list) and all(isinstance(part, str) for part in encoded):
            encoded = "".join(encoded)
        if not isinstance(encoded, str) or len(encoded) > 2 * MAX_ENCODED:
            continue
        try:
            raw = base64.b64decode("".join(encoded.split()), validate=True)
        except (binascii.Error, ValueError):
            continue
        if raw.startswith(begin) and (pixels := _pixels(raw, _ENDS[kind])):
            return kind, base64.b64encode(raw).decode(), pixels
    return None


def _pixels(raw: bytes, kind: str) -> int:
    """Width times height, read from a picture's header; 0 if that cannot be read."""
    try:
        with Image.open(io.BytesIO(raw), formats=[kind]) as picture:
            return picture.width * picture.height
    except Exception:  # whatever a parser raises for hostile bytes, such as too many pixels
        return 0
