"""Reads nbgrader's exchange on one machine as untrusted: every student can write into its folder.

Stock ``nbgrader collect`` follows links with the instructor's rights (a link to the solution earns full marks), trusts
the student's name in an entry's name, and stops for the whole class at one odd name, pipe or large folder. Here an
invalid entry costs one line of output, and the rest is collected.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from anatomy.system.files import replace
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.exchange.default import ExchangeCollect, ExchangeList

from ..base.names import NoName, identifier, is_notebook, shown
from ..intake.opening import BadSubmission, Folder
from ..intake.stamps import MAX_STAMP, STAMP, parse_stamp
from .files import SECRET

MAX_NOTEBOOKS = 20  # of one entry; a unit has one
_FOREIGN = (
    "it is named after {} but belongs to {}. If students have no accounts of their own on this machine, set "
    "c.ExchangeCollect.check_owner = False in nbgrader_config.py"
)

Record = dict[str, Any]  # nbgrader's: username, filename, timestamp


class CarefulCollect(ExchangeCollect):
    """``nbgrader collect``: copies the notebooks, time stamp and secret of each valid entry, nothing else."""

    def init_src(self) -> None:
        """Finds the entry to collect for each student. Raises ExchangeError if there is no inbound/."""
        if not self.coursedir.course_id:
            self.fail("No course is named: add --course, or set c.CourseDirectory.course_id in nbgrader_config.py.")
        self.course_path = os.path.join(self.root, self.coursedir.course_id)
        self.inbound_path = os.path.join(self.course_path, "inbound")
        if not os.path.isdir(self.inbound_path):
            self.fail(f"There is no {self.inbound_path}: run `nbgrader release_assignment` first.")
        self.duedate = None
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            with suppress(MissingEntry):
                self.duedate = book.find_assignment(self.coursedir.assignment_id).duedate
        records: dict[str, list[Record]] = {}
        for record in self._sound(self.coursedir.student_id or "*"):
            records.setdefault(record["username"], []).append(record)
        self.src_records = [self._chosen(some) for some in records.values()]

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copies one entry, completely or not at all."""
        target = Path(dest)
        building = target.with_name(f".{target.name}.collecting")
        building.mkdir(parents=True, exist_ok=True)
        for left in building.iterdir():  # left by a run that was stopped
            left.unlink()
        try:
            with Folder(os.path.dirname(src)) as inbound, inbound.folder(os.path.basename(src)) as folder:
                self._copy_files(folder, building, f"{target.name}.ipynb")
        except BadSubmission as error:  # it was changed after the check
            self.log.error("%s was not collected: %s", shown(os.path.basename(src), 200), error)
            building.rmdir()
            return
        if self.coursedir.groupshared:
            for path in (building, *building.iterdir()):
                os.chmod(path, 0o2770 if path.is_dir() else 0o660)
        os.rename(building, target)

    def _copy_files(self, folder: Folder, building: Path, first: str) -> None:
        names = sorted(filter(is_notebook, folder.names()[0]), key=lambda name: name != first)
        room = 1000 * self.coursedir.max_dir_size  # bytes
        for name in [STAMP, SECRET, *names[:MAX_NOTEBOOKS]]:
            if not folder.kind(name):
                continue
            try:
                data = folder.read(name, min(room, MAX_STAMP) if name in (STAMP, SECRET) else room)
            except BadSubmission as error:
                self.log.warning("%s: %s", shown(os.path.basename(folder.path), 200), error)
                continue
            room -= len(data)
            replace(building / name, data)

    def _sound(self, wanted: str) -> Iterator[Record]:
        """Records of the entries that may be collected; the others are logged with a reason."""
        try:
            inbound = Folder(self.inbound_path)
        except OSError as error:
            self.fail(f"{self.inbound_path} cannot be read: {error.strerror}.")
        with inbound:
            for name in inbound.names(most=1_000_000)[0]:
                if not fnmatch(name, f"*+{self.coursedir.assignment_id}+*"):
                    continue
                try:
                    record = self._record(name)
                    if not fnmatch(record["username"], wanted):
                        continue
                    inbound.folder(name).close()
                    if self.check_owner:
                        _check_owner(self.inbound_path, record)
                    yield record
                except (NoName, BadSubmission) as error:
                    self.log.error("%s was not collected: %s", shown(name, 200), error)

    def _record(self, name: str) -> Record:
        unit = self.coursedir.assignment_id
        for parts in (name.rsplit("+", 3), name.rsplit("+", 2)):  # nbgrader may add a random part
            if len(parts) > 2 and parts[1] == unit and len(parts[2]) <= MAX_STAMP and (when := parse_stamp(parts[2])):
                return {"username": identifier(parts[0]), "filename": name, "timestamp": when}
        raise NoName("its name is not student+unit+time, as `nbgrader submit` gives it")

    def _chosen(self, records: list[Record]) -> Record:
        records = self._sort_by_timestamp(records)
        due: datetime | None = self.duedate if self.before_duedate else None
        in_time = [r for r in records if due is not None and r["timestamp"] <= due]
        return (in_time or records)[0]


class CarefulList(ExchangeList):
    """``nbgrader list``: lists only submissions that can be read without following links or blocking."""

    assignments: list[str]

    def init_dest(self) -> None:
        """Finds the entries."""
        super().init_dest()
        if self.inbound:
            self.assignments = [path for path in self.assignments if self._sound(path)]

    def _sound(self, path: str) -> bool:
        folder, name = os.path.split(path)
        try:
            with Folder(folder) as inbound, inbound.folder(name) as entry:
                for file in entry.names()[0]:
                    if is_notebook(file) or file == SECRET:  # stock nbgrader reads these without checks
                        entry.digest(file)
            return True
        except BadSubmission as error:
            self.log.error("%s was left out: %s", shown(name, 200), error)
            return False


def _check_owner(inbound: str, record: Record) -> None:
    """Raises BadSubmission if an entry does not belong to the student in its name."""
    import pwd  # the exchange works only on POSIX

    about = os.stat(os.path.join(inbound, record["filename"]), follow_symlinks=False)
    assert stat.S_ISDIR(about.st_mode)
    try:
        owner = pwd.getpwuid(about.st_uid).pw_name
    except KeyError:
        owner = f"user number {about.st_uid}"
    if owner != record["username"]:
        raise BadSubmission("submission.owner", _FOREIGN.format(shown(record["username"]), shown(owner)))
