"""Memory and process limits for a whole session, through Linux control groups of version 1 or 2.

RLIMIT_AS bounds one process; a session may have many. Where the grader may create control groups (usually: as root)
each session gets one of its own. Where it may not, the per-process limits have to do: memory is then bounded by
``processes`` times ``memory_bytes``.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from .limits import Limits, mapped_bytes

log = logging.getLogger(__name__)
MOUNT = Path("/sys/fs/cgroup")
PREFIX = "anatomy-"


def group_memory(limits: Limits) -> int:
    """Bytes for the group: above one process's own limit, so that a greedy cell gets MemoryError, not a kill."""
    return mapped_bytes() + limits.memory_bytes + 2 * limits.tmpfs_bytes


def create(name: str, limits: Limits, mount: Path = MOUNT) -> list[Path]:
    """Make a group and set its limits. Returns its folders (one in version 2, up to two in version 1, none where not
    permitted); processes join by ``join``, and ``remove`` takes the folders away once they are empty."""
    memory, pids = group_memory(limits), limits.processes
    if (mount / "cgroup.controllers").exists():  # version 2: one tree
        wanted = [(mount, {"memory.max": memory, "memory.swap.max": 0, "pids.max": pids})]
        try:
            (mount / "cgroup.subtree_control").write_text("+memory +pids")
        except OSError as e:
            log.debug("control groups are not ours to set up: %s", e)
            return []
    else:
        wanted = [(mount / "memory", {"memory.limit_in_bytes": memory}), (mount / "pids", {"pids.max": pids})]
    made: list[Path] = []
    for parent, settings in wanted:
        folder = parent / (PREFIX + name)
        try:
            folder.mkdir()
            made.append(folder)
            for file, value in settings.items():
                if file == "memory.swap.max" and not (folder / file).exists():
                    continue  # a kernel without swap accounting
                (folder / file).write_text(str(value))
        except OSError as e:
            log.debug("no control group %s: %s", folder, e)
            if folder in made:
                remove([made.pop()])
    return made


def folders(name: str, mount: Path = MOUNT) -> list[Path]:
    """The folders that ``create`` made for this name and that still exist."""
    return [f for f in (mount / p / (PREFIX + name) for p in (".", "memory", "pids")) if f.is_dir()]


def open_for_join(folders: list[Path]) -> list[int]:
    """Descriptors: a process id written to each of them moves that process into the group."""
    return [os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for folder in folders]


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
    """Remove groups whose creator (the number after the prefix) no longer lives."""
    for folder in [*mount.glob(PREFIX + "*"), *mount.glob("*/" + PREFIX + "*")]:
        creator = folder.name.removeprefix(PREFIX).split("-")[0]
        if creator.isdigit() and not os.path.exists(f"/proc/{creator}"):
            remove([folder])
