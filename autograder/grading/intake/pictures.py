"""Pictures that were pasted into a written answer: they reach the graders, as pictures and nothing else.

Only the two formats that nbgrader's pages show are taken, by what their bytes begin with, under names of ours.
"""

import base64
import binascii
import io
import re
from collections.abc import Iterator

from nbformat import NotebookNode
from PIL import Image

from ..base.notes import Note
from .raw import RawCell, source_of

MAX_PICTURES = 6
MAX_ENCODED = 6 << 20  # characters of all of them in the notebook: two photographs, or a dozen screenshots
MAX_PIXELS = 40_000_000  # of all of them: 30 kB of PNG can be a gigabyte in the browser of whoever looks
_FORMATS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
}
_USED = re.compile(r"\(attachment:([^)\s]{1,200})\)")  # how Jupyter shows an attachment in the text
_ENDS = {kind: kind.removeprefix("image/") for kind in _FORMATS}


def take(cell: RawCell, target: NotebookNode) -> list[Note]:
    """Puts the pictures that the text of a submitted cell shows into ``target``; says what was left out."""
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
    sentence = (
        f"{left} of the {len(asked)} pictures in the written answer could not be taken over: PNG and JPEG are, up to "
        f"{MAX_PICTURES}, of together {MAX_ENCODED * 3 // 4 >> 20} MB and {MAX_PIXELS // 1_000_000} million pixels at "
        "most."
    )
    return [Note("submission.picture_left_out", sentence)]


def taken_from(cell: NotebookNode) -> Iterator[tuple[str, str, str]]:
    """(name, kind, Base64) of each picture that ``take`` took."""
    for name, data in cell.get("attachments", {}).items():
        for kind, encoded in data.items():
            yield name, kind, encoded


def _picture(data: object) -> tuple[str, str, int] | None:
    """(kind, Base64 without any other character, pixels) of an attachment; None for what is no picture."""
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
    """Width times height, from a picture's header alone; 0 where there is none to be read."""
    try:
        with Image.open(io.BytesIO(raw), formats=[kind]) as picture:
            return picture.width * picture.height
    except Exception:  # whatever a parser says of an enemy's bytes: too many pixels among them
        return 0
