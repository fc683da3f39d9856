"""What a session may use up, and how the part of it that the operating system can enforce is set."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

if sys.platform != "win32":  # there, the session classes explain themselves before they get here
    import resource

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Upper bounds of one session (bytes, seconds, counts). They are integers so that they travel as plain JSON.

    memory_bytes   what one process may map on top of the libraries already loaded when it starts
    cpu_seconds    CPU time of one process
    wall_seconds   time that all calls of the session may take together; the rest of the submission gets zero
    processes      processes and threads alive at once (sandboxed sessions only)
    file_bytes     size of one written file
    open_files     open descriptors of one process
    tmpfs_bytes    size of the private home directory and of the shared memory directory, each
    output_bytes   what is kept of one cell's printed output
    """

    memory_bytes: int = 2 * GIB
    cpu_seconds: int = 120
    wall_seconds: int = 300
    processes: int = 64
    file_bytes: int = 64 * MIB
    open_files: int = 256
    tmpfs_bytes: int = 128 * MIB
    output_bytes: int = 64 << 10

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise ValueError(f"Limits.{name} must be a positive integer, got {value!r}")


def mapped_bytes() -> int:
    """Address space of this process in bytes, 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as f:
            return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def apply_rlimits(limits: Limits, *, count_processes: bool) -> None:
    """Set this process's resource limits, soft and hard, for good; children inherit them.

    ``count_processes`` sets RLIMIT_NPROC too. It counts every process of the user id, so it only makes sense where
    the session has a user id or a user namespace of its own.
    """
    bounds = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
    }
    if sys.platform == "linux":
        # The libraries' own mappings are not the student's doing: torch alone maps 0.7 GiB, a CUDA build far more.
        bounds["RLIMIT_AS"] = mapped_bytes() + limits.memory_bytes
    if count_processes:
        bounds["RLIMIT_NPROC"] = limits.processes
    for name, value in bounds.items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
