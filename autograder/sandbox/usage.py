"""Measures the resources that all processes of a session use together, where no control group can limit them.

Limits of one session, with the defaults of ``Limits``:

                  with control groups (usually as root)       without
memory            4 GiB, by the kernel: beyond that           4 GiB, plus what can be filled until the next look (a
                  MemoryError or a kill                       tenth of a second, less near the limit): session ended
processors        one: a session that asks for more waits     one, by pinning; a session that undoes the pinning is
                                                              ended 10 s of CPU time beyond that
processes         64, by the kernel                           the same

Memory here means memory that is not shared with other sessions: the libraries that every process inherits from the
zygote count once there, not 64 times here. CPU time comes from a performance counter that all descendants inherit.
Where that is refused (Docker's default filter, ``kernel.perf_event_paranoid`` above 2) it is summed over /proc, which
misses children whose parent ignores SIGCHLD. Of a flood of such children only the time that their parents spend on
starting them counts; the flood is bounded by the session's wall time, by ``processes``, and by the lowest priority
(nice 19), which a crowd of processes gets. Kernel memory (buffers of sockets and pipes) is bounded only by
``processes`` times ``open_files``.
"""

from __future__ import annotations

import ctypes
import os
import random
import select
import signal
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterable

from .limits import GIB, MIB, Limits

#: Where the processes of this namespace are listed. A guard's root folder becomes that of the sandbox, so the guard
#: keeps the outer /proc as its working directory.
PROC = "/proc"
INTERVAL = 0.15  # seconds between two looks
_SHORTEST = 0.02
_FILL_RATE = 2 * GIB  # bytes per second and processor at which a process can touch new pages
_PROBES = 4  # processes measured exactly per look, 6 ms each, if their sum could be above the bound
_SLACK = 1.0  # seconds of CPU time beyond the quota before a session is pinned to one processor
_CROWD = 8  # more tasks than this, of which more than half this number want to run, get the lowest priority
_PROCESSORS = os.cpu_count() or 1
_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_TICK = os.sysconf("SC_CLK_TCK")

CPU_OVERRUN = (
    "the notebook's processes took more than one processor's time ({cpu:.0f} s within {wall:.0f} s): "
    "compute in one process, start no other processes and threads, or wait for them to end"
)
MEMORY_OVERRUN = (
    "the notebook's processes filled more than {limit} MiB of memory together: keep smaller tensors, "
    "and start no processes that each hold data of their own"
)


def read(path: str) -> str:
    """Contents of a file, "" if the process is gone or we may not read the file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def _tasks(pid: int) -> list[int]:
    try:
        return [int(t) for t in os.listdir(f"{PROC}/{pid}/task")]
    except OSError:
        return []


def _stat(pid: int) -> list[str]:
    """The fields after the name (which may contain anything): state, parent, ...; [] if the process is gone."""
    return read(f"{PROC}/{pid}/stat").rpartition(")")[2].split()


def _children_by_parent() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for pid in (int(p) for p in os.listdir(PROC) if p.isdigit()):
        if fields := _stat(pid):
            found.setdefault(int(fields[1]), []).append(pid)
    return found


def tree(root: int) -> list[tuple[int, list[int]]]:
    """(process, its threads) for ``root`` and all its descendants; processes that start or end now may be missed."""
    listed = None if os.path.exists(f"{PROC}/self/task/{threading.get_native_id()}/children") else _children_by_parent()
    found, todo = {}, [root]
    while todo:
        pid = todo.pop()
        if pid in found:
            continue
        if tasks := _tasks(pid):
            found[pid] = tasks
            if listed is None:
                for task in tasks:
                    todo += [int(c) for c in read(f"{PROC}/{pid}/task/{task}/children").split()]
            else:
                todo += listed.get(pid, [])
    return list(found.items())


class Times:
    """CPU time from /proc, in seconds: never too high, but too low if a process came and went unnoticed."""

    def __init__(self) -> None:
        self.own: dict[int, int] = {}  # pid: ticks of the process itself
        self.dead = 0  # ticks of all processes that are gone
        self.highest = 0  # highest sum so far that includes the children that each process waited for

    def seconds(self, pids: list[int]) -> float:
        """CPU time of these processes and those of earlier calls: the larger of two sums, as each may miss some."""
        together = 0
        for pid in pids:
            if fields := _stat(pid):
                own = int(fields[11]) + int(fields[12])
                if own < self.own.get(pid, 0):  # the id now belongs to another process
                    self.dead += self.own[pid]
                self.own[pid] = own
                together += own + int(fields[13]) + int(fields[14])
        self.highest = max(self.highest, together)
        for pid in self.own.keys() - set(pids):  # some may be alive and were only missed
            if not os.path.exists(f"{PROC}/{pid}"):
                self.dead += self.own.pop(pid)
        return max(self.highest, self.dead + sum(self.own.values())) / _TICK


class Clock:
    """CPU time of all processes that this one forks from now on, waited for or not. Raises OSError if refused."""

    def __init__(self) -> None:
        number = _PERF_EVENT_OPEN.get(os.uname().machine)
        if number is None:
            raise OSError("no performance counters on this architecture")
        software, task_clock, inherited, no_kernel, no_hypervisor, close_on_exec = 1, 1, 1 << 1, 1 << 5, 1 << 6, 8
        flags = inherited | no_kernel | no_hypervisor  # needs fewer rights; the clock counts kernel time anyway
        attributes = struct.pack("IIQQQQQ", software, 128, task_clock, 0, 0, 0, flags).ljust(128, b"\0")
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.syscall(ctypes.c_long(number), attributes, 0, -1, -1, ctypes.c_ulong(close_on_exec))
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "perf_event_open")
        self._before = time.process_time()

    def seconds(self) -> float:
        own = time.process_time() - self._before
        return int.from_bytes(os.read(self.fd, 8), "little") / 1e9 - own

    def close(self) -> None:
        """Close the counter; call it in forks too, which could otherwise stop the clock."""
        os.close(self.fd)


def clock_or_none() -> Clock | None:
    try:
        return Clock()
    except OSError:
        return None


class Memory:
    """Measures the memory of a session's processes that they share neither with the zygote nor with each other.

    /proc/PID/status is fast (0.05 ms) but does not say what is shared; smaps_rollup does, but is slow (6 ms). So we
    assume that a fork of the session's first process shares the memory that one had at the start, that a measured
    process keeps its share, and that any growth belongs to the process itself.
    """

    def __init__(self, root: int):
        self.stack, self.shared = _stack(root), _resident(root)
        self.measured: dict[int, tuple[int, int, float]] = {}  # pid: resident, own bytes, time of measurement
        self.resident: dict[int, int] = {}

    def used(self, pids: list[int]) -> int:
        """Bytes of all processes, estimated by the fast method."""
        self.resident = {pid: _resident(pid) for pid in pids}
        self.measured = {pid: seen for pid, seen in self.measured.items() if pid in self.resident}
        total = 0
        for pid, now in self.resident.items():
            if pid not in self.measured:
                self.measured[pid] = (self.shared if self.stack and _stack(pid) == self.stack else 0, 0, 0.0)
            before, own, _ = self.measured[pid]
            total += own + max(0, now - before)
        return total

    def measure(self, pids: Iterable[int]) -> None:
        for pid in pids:
            resident = _resident(pid)
            self.measured[pid] = (resident, _own(pid, resident), time.monotonic())

    def oldest(self, count: int) -> list[int]:
        """Processes with the oldest measurements: they may have changed shared memory since and now own it."""
        return sorted(self.measured, key=lambda pid: self.measured[pid][2])[:count]


def _stack(pid: int) -> int:
    """Start of a process's stack: the same after a fork, different after an exec, 0 if we may not read it."""
    fields = _stat(pid)
    return int(fields[25]) if len(fields) > 25 else 0


def _resident(pid: int) -> int:
    """Bytes of a process in memory or swapped out, including page tables, without mapped files."""
    total = 0
    for line in read(f"{PROC}/{pid}/status").splitlines():
        if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:")):
            total += int(line.split()[1]) << 10
    return total


def _own(pid: int, otherwise: int) -> int:
    """Proportional share of memory without mapped files; ``otherwise`` if we may not read it."""
    text, total = read(f"{PROC}/{pid}/smaps_rollup"), 0
    for line in text.splitlines():
        if line.startswith(("Pss_Anon:", "Pss_Shmem:", "SwapPss:")):
            total += int(line.split()[1]) << 10
    return total if text else otherwise


class Watch:
    """Watches a session's processes, slows them down, and reports when they use too much.

    root: their common ancestor. resources: which of "cpu" and "memory" to watch. clock: counts their CPU time.
    """

    def __init__(self, root: int, limits: Limits, resources: Iterable[str], clock: Clock | None = None):
        self.root, self.limits, self.resources, self.clock = root, limits, set(resources), clock
        self.rate = limits.session_cpu_percent / 100
        # Files in the private folders are memory too, with their own bounds.
        self.bound = max(limits.session_memory_bytes - 2 * limits.tmpfs_bytes, limits.memory_bytes)
        self.memory = Memory(root)
        self.pause = INTERVAL
        self.began = self.at = time.monotonic()
        self.times, self.taken, self.debt = Times(), 0.0, 0.0
        self.pinned: set[int] = set()

    def look(self) -> str:
        """Measure once. Returns "", or one sentence that says which limit is exceeded and what to do."""
        passed, self.at = time.monotonic() - self.at, time.monotonic()
        found = tree(self.root)
        pids = [pid for pid, _ in found]
        if "cpu" in self.resources:
            taken = max(self.times.seconds(pids), self.clock.seconds() if self.clock else 0.0, self.taken)
            spent, self.taken = taken - self.taken, taken
            if why := self.account(spent, passed):
                return why
            self._slow_down([task for _, tasks in found for task in tasks])
        if "memory" in self.resources:
            used = self._memory_used(pids)
            if used > self.bound:
                return MEMORY_OVERRUN.format(limit=self.limits.session_memory_bytes // MIB)
            left = (self.bound - used) / (_PROCESSORS * _FILL_RATE)
            # Pause at least as long as the look took, so that watching never takes more than half a processor.
            self.pause = min(INTERVAL, max(_SHORTEST, left, time.monotonic() - self.at))
        return ""

    def _memory_used(self, pids: list[int]) -> int:
        used = self.memory.used(pids)
        if used > self.bound:  # apparently: stop the processes while we measure exactly
            _each(pids, lambda pid: os.kill(pid, signal.SIGSTOP))
            self.memory.measure(pids)
            used = self.memory.used(pids)
            if used <= self.bound:
                _each(pids, lambda pid: os.kill(pid, signal.SIGCONT))
        elif sum(self.memory.resident.values()) > self.bound:
            self.memory.measure(self.memory.oldest(_PROBES))
        return used

    def account(self, spent: float, passed: float) -> str:
        """Count CPU and wall seconds. CPU time beyond the quota is a debt; pauses reduce it, but never below zero."""
        self.debt = max(0.0, self.debt + spent - passed * self.rate)
        if self.debt <= self.limits.session_cpu_burst_seconds:
            return ""
        return CPU_OVERRUN.format(cpu=self.taken, wall=self.at - self.began)

    def _slow_down(self, tasks: list[int]) -> None:
        """Pin a session in debt to one processor until the debt is 0; give a busy crowd the lowest priority. Children
        inherit both."""
        if self.debt > _SLACK and not self.pinned:
            self.pinned = {random.choice(sorted(os.sched_getaffinity(0)))}
            _each(tasks, lambda task: os.sched_setaffinity(task, self.pinned))
        elif self.debt == 0 and self.pinned:
            self.pinned = set()
            _each(tasks, lambda task: os.sched_setaffinity(task, os.sched_getaffinity(0)))
        if len(tasks) > _CROWD and sum(_stat(t)[:1] == ["R"] for t in tasks) > _CROWD // 2:
            _each(tasks, lambda task: os.setpriority(os.PRIO_PROCESS, task, 19))


def _each(tasks: list[int], do: Callable[[int], object]) -> None:
    for task in tasks:
        try:
            do(task)
        except OSError:
            pass  # it is gone


class Note:
    """The reason why a session was ended, from the watcher to the grader: a file that both have open."""

    def __init__(self, fd: int = -1):
        if fd < 0:
            with tempfile.TemporaryFile() as f:
                fd = os.dup(f.fileno())
        self.fd = fd

    def write(self, text: str) -> None:
        os.pwrite(self.fd, text.encode()[:1000], 0)

    def read(self) -> str:
        try:
            return os.pread(self.fd, 1000, 0).decode("utf-8", "replace")
        except OSError:
            return ""

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def keep_outer_proc() -> None:
    """Keep /proc of this namespace for ``attend``. Call it before the file system changes."""
    global PROC
    os.chdir("/proc")
    PROC = "."


def attend(child: int, limits: Limits, resources: set[str], clock: Clock | None, note: Note | None) -> None:
    """Wait until process 1 of a sandbox, a child of the caller, ends; if it uses too much, kill it and write a note."""
    if resources:
        try:
            why = _watch(child, Watch(child, limits, resources, clock))
        except Exception as error:  # otherwise the session would continue without limits
            why = f"the session could not be watched ({type(error).__name__})"
        if why:
            if note is not None:
                note.write(why)
            kill_tree(child)
    os.waitpid(child, 0)


def _watch(child: int, watch: Watch) -> str:
    """Watch until a limit is exceeded; returns the sentence of ``watch``, or "" if the child ends first."""
    ended = os.pidfd_open(child)
    while not ready(ended, watch.pause):
        if why := watch.look():
            return why
    return ""


def ready(fd: int, seconds: float | None = None) -> bool:
    """Whether ``fd`` can be read within ``seconds`` (None: waits for it); a pidfd can once its process has ended.

    ``select.select`` would do, but it fails for numbers above 1023, which a process with many open files has.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def kill_tree(root: int) -> None:
    """Kill one of our processes that is not reaped yet, and all its descendants."""
    for pid, _ in tree(root):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


class Thread:
    """Watches one of our processes and its descendants in a thread until ``stop``; kills them if they use too much.

    root: the process, which must not be reaped before ``stop``. say: called with the reason before they are killed.
    """

    def __init__(self, root: int, limits: Limits, resources: set[str], say: Callable[[str], object]):
        self._stopped = threading.Event()
        self._arguments = root, limits, resources
        self._say = say
        self._thread = threading.Thread(target=self._run, daemon=True, name="anatomy-usage")
        if resources and os.path.isdir(f"{PROC}/{root}"):  # other systems have no /proc
            self._thread.start()

    def _run(self) -> None:
        watch = Watch(*self._arguments)
        while not self._stopped.wait(watch.pause) and os.path.isdir(f"{PROC}/{watch.root}"):
            if why := watch.look():
                self._say(why)
                kill_tree(self._arguments[0])
                return

    def stop(self) -> None:
        """Stop the thread. After that it kills nothing, so the process may be reaped and its id reused."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(5)
