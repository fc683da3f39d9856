"""Handles files written by a build: finds stale and hand-edited ones, and keeps copies of the latter."""

import time
from collections.abc import Iterable
from pathlib import Path

from anatomy.app.build_stamp import file_is_as_built
from anatomy.system import files


def stale_files(made: dict[Path, bytes]) -> list[Path]:
    """Paths in ``made`` that are missing or differ."""
    return [p for p, content in made.items() if not p.is_file() or p.read_bytes() != content]


def changed_by_hand(stale: Iterable[Path]) -> list[Path]:
    """Notebooks among ``stale`` files that hold anything not written by a build, or that cannot be read."""
    return [p for p in stale if p.suffix == ".ipynb" and (p.exists() or p.is_symlink()) and not file_is_as_built(p)]


def keep_copies(paths: Iterable[Path], root: Path) -> Path:
    """Copies files to ``build/replaced/<time>/`` under ``root``; returns that folder. Raises OSError."""
    stamp, n = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), 1
    folder = root / "build" / "replaced" / stamp
    while folder.exists():
        n += 1
        folder = folder.with_name(f"{stamp}-{n}")
    for path in paths:
        if path.is_file():  # a dangling link holds nothing
            files.write_new(folder / path.relative_to(root), path.read_bytes())
    return folder
