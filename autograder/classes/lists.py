"""Lists that a platform gives beside a download, and that say whose the files are or when they came (WORKSHEET=)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path

from . import canvas, moodle
from .csvfile import parse_table, read_bytes


@dataclass(frozen=True)
class Lists:
    """rows: Moodle's grading worksheet. uploads: number of an upload to Canvas → its time; None without such a list.
    zone: that of the worksheet's times; None for this machine's."""

    rows: moodle.Worksheet = field(default_factory=dict)
    uploads: Mapping[str, str] | None = None
    zone: tzinfo | None = None


def read_lists(path: Path | None, zone: tzinfo | None = None) -> Lists:
    """The list in a file: Moodle's table, or Canvas's submissions as JSON. Raises UnreadableTable."""
    if path is None:
        return Lists(zone=zone)
    data = read_bytes(path)
    if data.lstrip().startswith((b"while(1);", b"[", b"{")):
        return Lists(uploads=canvas.read_times(data, path.name), zone=zone)
    return Lists(rows=moodle.read_worksheet(parse_table(data, path.name)), zone=zone)
