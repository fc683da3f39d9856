"""The gallery's contents: which widgets it shows, in the order of the course, and why each is worth a look.

Written by the build into ``assets/gallery/gallery.json``, from the text of the gallery's notebook: so a list needs no
import of the widgets. The stills in the same folder are pictures of the widgets (``make stills``).
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..system.installation import how_to_repair
from ..system.translation import _, said
from .assets import MissingRecording, assets_dir

CONTEXT = "gallery"  # of the titles and reasons in the catalogues
THEMES = ("light", "dark")


class Entry(NamedTuple):
    """One widget. name: of its class; folder: of its code; units: that use it; title and why are in English."""

    name: str
    folder: str
    units: Sequence[str]
    title: str
    why: str

    @property
    def called(self) -> str:
        """The title in the language in use."""
        return said(CONTEXT, self.title)

    @property
    def reason(self) -> str:
        """The sentence on why to look at it, in the language in use."""
        return said(CONTEXT, self.why)


def folder() -> Path:
    """The folder of the list and the stills."""
    return assets_dir() / "gallery"


def entries() -> list[Entry]:
    """All widgets of the gallery. Raises MissingRecording if the list is missing or damaged."""
    path = folder() / "gallery.json"
    try:
        return [Entry(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        broken = _("{path} is missing or damaged. {repair}").format(path=path, repair=how_to_repair("make build"))
        raise MissingRecording(broken) from None


def stills(entry: Entry) -> dict[str, Path]:
    """theme → picture of the widget; {} if none was taken yet."""
    found = {theme: folder() / f"{entry.name}-{theme}.webp" for theme in THEMES}
    return found if all(path.is_file() for path in found.values()) else {}
