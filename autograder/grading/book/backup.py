"""``python -m autograder.grading.book.backup`` (make backup): zips everything that a course cannot recreate.

The zip has the gradebook (a consistent copy, even while it is written to), ``.secret``, the settings, the submissions
and every graded attempt. Pages and tables are left out, because ``make publish`` writes them again.
"""

import argparse
import os
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from ..base.names import never_fails, shown
from .course import Course, load_course
from .database import GradebookError

FILES = (".secret", "nbgrader_config.py", "class_settings.py", "students.csv")


def backup(course: Course, target: Path) -> Path:
    """Writes the zip, completely or not at all; returns its path. Raises GradebookError and OSError."""
    url = sa.engine.make_url(course.db_url)
    if url.get_backend_name() != "sqlite" or not url.database:
        raise GradebookError(
            f"The gradebook is in {url.get_backend_name()}: save it with that database's own program (pg_dump), and "
            "copy .secret, nbgrader_config.py, class_settings.py, submitted/ and attempts/ beside it."
        )
    book = Path(url.database)
    if not book.exists():
        raise GradebookError(f"There is no gradebook {book.name} yet: nothing to save.")
    target.parent.mkdir(parents=True, exist_ok=True)
    building = target.with_name(f".{target.name}.building")
    try:
        # Readable only by its owner, because it contains .secret.
        opened = os.open(building, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(opened, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            with tempfile.TemporaryDirectory(dir=target.parent) as folder:
                copy = Path(folder) / "gradebook.db"
                with closing(sqlite3.connect(book)) as source, closing(sqlite3.connect(copy)) as other:
                    source.backup(other)
                archive.write(copy, book.name)
            for path in _files(course):
                archive.write(path, path.relative_to(course.root))
        building.replace(target)
    finally:
        building.unlink(missing_ok=True)
    return target


def _files(course: Course) -> Iterator[Path]:
    for name in FILES:
        if (course.root / name).is_file():
            yield course.root / name
    for folder in (course.directory.submitted_directory, "earlier", "attempts"):
        # Only regular files: submissions may contain links and pipes.
        for where, _, names in os.walk(course.root / folder):
            for name in sorted(names):
                path = Path(where) / name
                if path.is_file() and not path.is_symlink():
                    yield path


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status: 0 done, 2 refused."""
    never_fails(sys.stdout, sys.stderr)
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m autograder.grading.book.backup", description=summary)
    parser.add_argument("target", nargs="?", help="the zip to write (default: backups/DATE.zip)")
    options = parser.parse_args(argv)
    try:
        course = load_course()
        default = course.root / "backups" / f"{datetime.now():%Y-%m-%d-%H%M%S}.zip"
        path = backup(course, Path(options.target) if options.target else default)
    except GradebookError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"{shown(str(error.filename or 'The zip'), 500)} could not be written: {error.strerror}.", file=sys.stderr
        )
        return 2
    print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB). Keep it private: .secret and all grades are in it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
