"""Limits for a whole session (memory, processes, CPU time), through Linux control groups of version 1 or 2.

Resource limits bound one process, but a session may have many. Where the grader may create control groups (usually as
root), each session gets its own, and the kernel limits it to ``session_memory_bytes`` of memory, to ``processes``
and to ``session_cpu_percent`` of one processor: a session that asks for more waits, and is not accused of anything.
Each controller that is missing or not writable is skipped; ``usage.py`` watches the limits that no group covers.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

from .limits import MIB, Limits

log = logging.getLogger(__name__)
MOUNT = Path("/sys/fs/cgroup")
PREFIX = "anatomy-"
PERIOD = 100_000  # microseconds over which CPU time is counted
#: With a quota of exactly one processor, a single thread would have to wait whenever it moves to another processor.
_ROUNDING = 1.05
#: False: make no groups, as on a machine that doesn't permit them (the tests of ``usage.py`` need that).
ENABLED = True
_OLD = 3600  # seconds; a new group is empty only for a moment
_MEMORY = ("memory.max", "memory.limit_in_bytes")
_CPU = ("cpu.max", "cpu.cfs_quota_us")


def group_memory(limits: Limits) -> int:
    """The group's limit in bytes: above that of one process, so that a greedy cell gets MemoryError, not a kill."""
    # Libraries belong to the zygote, but library data that a process changes (up to 0.2 GiB) counts as its own.
    return max(limits.session_memory_bytes, limits.memory_bytes + 2 * limits.tmpfs_bytes + 256 * MIB)


def _settings(limits: Limits, mount: Path) -> list[tuple[Path, dict[str, int | str]]]:
    """(parent folder, {file: value}) for each hierarchy, in the order in which the values must be written."""
    memory, pids, quota = group_memory(limits), limits.processes, int(limits.session_cpu_percent * 1000 * _ROUNDING)
    if (mount / "cgroup.controllers").exists():  # version 2: one tree
        for controller in ("memory", "pids", "cpu"):
            try:
                (mount / "cgroup.subtree_control").write_text(f"+{controller}")
            except OSError as e:
                log.debug("no control groups for %s: %s", controller, e)
        both: dict[str, int | str] = {"memory.max": memory, "memory.swap.max": 0, "pids.max": pids}
        return [(mount, both | {"cpu.max": f"{quota} {PERIOD}", "cpu.weight": 50})]
    return [
        (mount / "memory", {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory}),
        (mount / "pids", {"pids.max": pids}),
        (mount / "cpu", {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": quota, "cpu.shares": 512}),
    ]


def create(name: str, limits: Limits, mount: Path = MOUNT) -> list[Path]:
    """Make a group and set its limits. Returns its folders: one in version 2, up to three in version 1, none if not
    permitted. Processes join with ``join``, ``remove`` deletes the empty folders, and ``covered`` says which limits
    are in force."""
    made: list[Path] = []
    for parent, settings in _settings(limits, mount) if ENABLED else []:
        folder = parent / (PREFIX + name)
        try:
            folder.mkdir()
        except OSError as e:
            log.debug("no control group %s: %s", folder, e)
            continue
        written = [_write(folder / file, value) for file, value in settings.items()]
        if any(written):
            made.append(folder)
        else:
            remove([folder])
    return made


def _write(file: Path, value: int | str) -> bool:
    try:
        file.write_text(str(value))
        return True
    except OSError as e:  # a kernel without this feature: swap accounting, bandwidth control, ...
        log.debug("%s is not set: %s", file, e)
        return False


def covered(folders: list[Path]) -> set[str]:
    """Which of "memory" and "cpu" these groups limit, according to the kernel."""

    def limited(folder: Path, file: str) -> bool:
        try:
            text = (folder / file).read_text()
        except OSError:
            return False
        return text[:1].isdigit() and int(text.split()[0]) < 1 << 60  # "max", -1 and a huge number mean no limit

    found = set()
    for what, files in (("memory", _MEMORY), ("cpu", _CPU)):
        if any(limited(folder, file) for folder in folders for file in files):
            found.add(what)
    return found


def folders(name: str, mount: Path = MOUNT) -> list[Path]:
    """The folders that ``create`` made for this name and that still exist."""
    return [f for f in (mount / p / (PREFIX + name) for p in (".", "memory", "pids", "cpu")) if f.is_dir()]


def open_for_join(folders: list[Path]) -> list[int]:
    """Descriptors: a process id written to each of them moves that process into the group."""
    return [os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for folder in folders]


def join(pid: int, folders: list[Path], descriptors: list[int]) -> list[Path]:
    """Move a process into the groups, using the descriptors of ``open_for_join``. Returns the groups it joined."""
    joined = []
    for folder, fd in zip(folders, descriptors, strict=True):
        try:
            os.write(fd, str(pid).encode())
            joined.append(folder)
        except OSError as e:
            log.debug("control group %s does not take process %d: %s", folder, pid, e)
    return joined


def release(folders: list[Path]) -> None:
    """Let killed processes use all processors: dying takes CPU time too, with a quota a minute for 60 processes."""
    for folder in folders:
        for file, value in (("cpu.max", "max"), ("cpu.cfs_quota_us", "-1")):
            if (folder / file).exists():
                _write(folder / file, value)


def remove(folders: list[Path]) -> list[Path]:
    """Remove empty groups. Returns those that still hold processes; try again later."""
    left = []
    for folder in folders:
        try:
            folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            left.append(folder)
    return left


def sweep(mount: Path = MOUNT) -> None:
    """Remove groups whose creator (the process id after the prefix) is gone, and old groups too, because another
    process may have that id by now. The system never removes a group that holds a process."""
    for folder in [*mount.glob(PREFIX + "*"), *mount.glob("*/" + PREFIX + "*")]:
        creator = folder.name.removeprefix(PREFIX).split("-")[0]
        try:
            old = time.time() - folder.stat().st_mtime > _OLD
        except OSError:
            continue  # another grader removed it
        if creator.isdigit() and (old or not os.path.exists(f"/proc/{creator}")):
            remove([folder])
