"""A session's resource limits, and how to set those that the operating system can enforce."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass

if sys.platform != "win32":  # on Windows the session classes raise an explanation before they get here
    import resource

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Upper bounds of one session (bytes, seconds, counts). They are integers so that they can be sent as plain JSON.

    memory_bytes   what one process may map on top of the libraries already loaded when it starts
    cpu_seconds    CPU time of one process
    wall_seconds   time that all calls of the session may take together; once it is used up, the rest gets zero
    processes      processes and threads alive at once (sandboxed sessions only)
    file_bytes     size of one written file
    open_files     open descriptors of one process
    tmpfs_bytes    size of the private home directory and of the shared memory directory, each
    output_bytes   how much of one cell's printed output is kept

    For all processes of the session together (``cgroups.py`` where the system permits it, else ``usage.py``):

    session_memory_bytes        memory, including files in the private folders, excluding the zygote's libraries
    session_cpu_percent         CPU time, in percent of one processor
    session_cpu_burst_seconds   CPU time beyond that; a session without a control group that exceeds it is ended
    """

    memory_bytes: int = 2 * GIB
    cpu_seconds: int = 120
    wall_seconds: int = 300
    processes: int = 64
    file_bytes: int = 64 * MIB
    open_files: int = 256
    tmpfs_bytes: int = 128 * MIB
    output_bytes: int = 64 << 10
    session_memory_bytes: int = 4 * GIB
    session_cpu_percent: int = 100
    session_cpu_burst_seconds: int = 10

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
                raise ValueError(f"Limits.{name} must be a positive integer, got {value!r}")


def mapped_bytes() -> int:
    """Address space of this process in bytes, 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as f:
            return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


#: No core dump. For a file 1 byte is as good as 0 (Linux writes no dump below a page), but where ``core_pattern`` names
#: a program (apport, systemd-coredump) Linux ignores the limit, even 0, and starts it as root for each crash. Only the
#: value 1 stops that: the kernel reserves it for the crash of such a program itself ("RLIMIT_CORE is set to 1,
#: aborting core"). A process could also make itself undumpable, but then it cannot read its own /proc/self.
NO_CORE = 1 if sys.platform == "linux" else 0
#: Student code gets a slightly lower priority than the grader (1 of 19 steps costs about a tenth of a contended
#: processor): enough for the judge to go first, too little for an honest notebook to run into its time limits.
NICE = 1


def process_bounds(limits: Limits) -> dict[str, int]:
    """The limits of one process that do not depend on its mapped memory, by their names in module ``resource``."""
    bounds = {
        "RLIMIT_CORE": NO_CORE,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
    }
    if sys.platform == "linux":
        # Locked memory cannot be swapped out; queues of messages and signals are kernel memory that outlives a
        # process or counts toward the user, who may be the grader; no priority above the grader's.
        bounds |= {"RLIMIT_MEMLOCK": 64 << 10, "RLIMIT_MSGQUEUE": 0, "RLIMIT_SIGPENDING": 256}
        bounds |= {"RLIMIT_NICE": 0, "RLIMIT_RTPRIO": 0}
    return {name: _permitted(getattr(resource, name), value) for name, value in bounds.items()}


def _permitted(which: int, value: int) -> int:
    """The value, or this process's own hard limit if that is lower."""
    hard = resource.getrlimit(which)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def apply_rlimits(limits: Limits, *, count_processes: bool) -> None:
    """Set this process's resource limits, soft and hard, irrevocably; children inherit them.

    ``count_processes`` sets RLIMIT_NPROC too. It counts every process of the user id, so it only makes sense where
    the session has a user id or a user namespace of its own.
    """
    bounds = process_bounds(limits)
    if sys.platform == "linux":
        # The libraries' own mappings are not the student's doing: torch alone maps 0.7 GiB, a CUDA build far more.
        bounds["RLIMIT_AS"] = mapped_bytes() + limits.memory_bytes
    if count_processes:
        bounds["RLIMIT_NPROC"] = limits.processes
    for name, value in bounds.items():
        which = getattr(resource, name)
        both = (_permitted(which, value),) * 2
        if resource.getrlimit(which) != both:  # the system call filter refuses to change the core dump limit
            resource.setrlimit(which, both)
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/coredump_filter", "w", encoding="ascii") as f:
            f.write("0")  # so that core dumps sent to a socket (Linux 6.16 on) hold next to nothing
    os.nice(NICE)
