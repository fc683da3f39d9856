"""What all processes of a session use together, watched from outside where no control group can bound it.

What holds for one session, with the defaults of ``Limits``:

                  with control groups (usually: as root)      without
memory            4 GiB, by the kernel: what asks for more    4 GiB and what can be filled until the next look (a tenth
                  gets MemoryError or is killed               of a second, sooner the closer it gets): the session ends
processors        one: what asks for more waits               one, by pinning it there; a session that frees itself
                                                              ends once it has taken 10 s more than one gives
processes         64, by the kernel                           the same

Memory is what no other session shares: the libraries that every process inherits from the zygote count once there, not
64 times here. CPU time comes from a performance counter that all descendants inherit. Where that is refused (Docker's
default filter, ``kernel.perf_event_paranoid`` above 2) it is summed over /proc, which never hears of a child whose
parent ignores SIGCHLD: a storm of those is counted by what its parents spend on starting them, and bounded by the
session's wall time, by ``processes``, and by being the least urgent work on the machine (nice 19) once it is many.
Kernel memory (sockets' and pipes' buffers) is bounded by ``processes`` times ``open_files`` only.
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

#: Where the processes of this namespace are listed. A guard's root folder becomes the sandbox's, so that it keeps the
#: outer /proc as its working folder.
PROC = "/proc"
INTERVAL = 0.15  # seconds between two looks
_SHORTEST = 0.02
_FILL_RATE = 2 * GIB  # bytes per second and processor that touching fresh pages can reach
_PROBES = 4  # processes measured exactly per look, 6 ms each, when all together could be above the bound
_SLACK = 1.0  # seconds of CPU time beyond the quota before a session is pinned to one processor
_CROWD = 8  # of more tasks than these, and when half as many want to run at once, other work goes first
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
    """Contents, "" where the process has gone or its file is closed to us."""
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
    """The fields after the name (which may contain anything): state, parent, ..., [] for a process that has gone."""
    return read(f"{PROC}/{pid}/stat").rpartition(")")[2].split()


def _children_by_parent() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for pid in (int(p) for p in os.listdir(PROC) if p.isdigit()):
        if fields := _stat(pid):
            found.setdefault(int(fields[1]), []).append(pid)
    return found


def tree(root: int) -> list[tuple[int, list[int]]]:
    """(process, its threads) of ``root`` and all its descendants, as far as they hold still."""
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
    """CPU time by /proc, in seconds: never more than what was used, and less where a process came and went unseen."""

    def __init__(self) -> None:
        self.own: dict[int, int] = {}  # pid: ticks of the process itself
        self.dead = 0  # the same of those that have gone
        self.highest = 0  # of the sum that also counts, for each, the children that it waited for

    def seconds(self, pids: list[int]) -> float:
        """Of these processes and all that were given before. Each number may miss what the other sees."""
        together = 0
        for pid in pids:
            if fields := _stat(pid):
                own = int(fields[11]) + int(fields[12])
                if own < self.own.get(pid, 0):  # the number was given to another process
                    self.dead += self.own[pid]
                self.own[pid] = own
                together += own + int(fields[13]) + int(fields[14])
        self.highest = max(self.highest, together)
        for pid in self.own.keys() - set(pids):  # some are alive and were only overlooked
            if not os.path.exists(f"{PROC}/{pid}"):
                self.dead += self.own.pop(pid)
        return max(self.highest, self.dead + sum(self.own.values())) / _TICK


class Clock:
    """CPU time of everything that this process forks from now on, waited for or not. Raises OSError where refused."""

    def __init__(self) -> None:
        number = _PERF_EVENT_OPEN.get(os.uname().machine)
        if number is None:
            raise OSError("no performance counters on this architecture")
        software, task_clock, inherited, no_kernel, no_hypervisor, close_on_exec = 1, 1, 1 << 1, 1 << 5, 1 << 6, 8
        flags = inherited | no_kernel | no_hypervisor  # the clock runs in the kernel too, but we need no right to it
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
        """Also in a fork, which could stop the clock."""
        os.close(self.fd)


def clock_or_none() -> Clock | None:
    try:
        return Clock()
    except OSError:
        return None


class Memory:
    """Measures what a session's processes hold that they do not share with the zygote or with each other.

    /proc/PID/status is quick (0.05 ms) but does not say what is shared; smaps_rollup does, but is slow (6 ms). So a
    fork of the session's first process is taken to share what that one had at the start, a process that was measured
    keeps its share, and what any of them grows by is its own.
    """

    def __init__(self, root: int):
        self.stack, self.shared = _stack(root), _resident(root)
        self.measured: dict[int, tuple[int, int, float]] = {}  # pid: resident then, its own then, when
        self.resident: dict[int, int] = {}

    def used(self, pids: list[int]) -> int:
        """Bytes, by the quick way."""
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
        """Those whose measurement is the oldest: they may have changed, and so own, what they shared."""
        return sorted(self.measured, key=lambda pid: self.measured[pid][2])[:count]


def _stack(pid: int) -> int:
    """Where a process's stack begins: the same after a fork, another after an exec, 0 where we may not know."""
    fields = _stat(pid)
    return int(fields[25]) if len(fields) > 25 else 0


def _resident(pid: int) -> int:
    """Bytes of a process in memory or swapped out, without mapped files; with its page tables."""
    total = 0
    for line in read(f"{PROC}/{pid}/status").splitlines():
        if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:", "VmPTE:")):
            total += int(line.split()[1]) << 10
    return total


def _own(pid: int, otherwise: int) -> int:
    """Proportional share of memory that is no mapped file; ``otherwise`` where the process does not let us look."""
    text, total = read(f"{PROC}/{pid}/smaps_rollup"), 0
    for line in text.splitlines():
        if line.startswith(("Pss_Anon:", "Pss_Shmem:", "SwapPss:")):
            total += int(line.split()[1]) << 10
    return total if text else otherwise


class Watch:
    """Looks at a session's processes, slows them down, and says when they use too much.

    root: the process whose descendants they are. resources: "cpu", "memory". clock: counts their CPU time.
    """

    def __init__(self, root: int, limits: Limits, resources: Iterable[str], clock: Clock | None = None):
        self.root, self.limits, self.resources, self.clock = root, limits, set(resources), clock
        self.rate = limits.session_cpu_percent / 100
        # Files in the private folders are memory too; they have bounds of their own.
        self.bound = max(limits.session_memory_bytes - 2 * limits.tmpfs_bytes, limits.memory_bytes)
        self.memory = Memory(root)
        self.pause = INTERVAL
        self.began = self.at = time.monotonic()
        self.times, self.taken, self.debt = Times(), 0.0, 0.0
        self.pinned: set[int] = set()

    def look(self) -> str:
        """ "" or, where a limit is exceeded, one sentence that says which and what to do."""
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
            # Never more than half of a processor for looking, however much there is to see.
            self.pause = min(INTERVAL, max(_SHORTEST, left, time.monotonic() - self.at))
        return ""

    def _memory_used(self, pids: list[int]) -> int:
        used = self.memory.used(pids)
        if used > self.bound:  # so it seems: nothing may grow while we look closely
            _each(pids, lambda pid: os.kill(pid, signal.SIGSTOP))
            self.memory.measure(pids)
            used = self.memory.used(pids)
            if used <= self.bound:
                _each(pids, lambda pid: os.kill(pid, signal.SIGCONT))
        elif sum(self.memory.resident.values()) > self.bound:
            self.memory.measure(self.memory.oldest(_PROBES))
        return used

    def account(self, spent: float, passed: float) -> str:
        """Count CPU and wall seconds. What goes beyond the quota is a debt, which pauses pay back but do not bank."""
        self.debt = max(0.0, self.debt + spent - passed * self.rate)
        if self.debt <= self.limits.session_cpu_burst_seconds:
            return ""
        return CPU_OVERRUN.format(cpu=self.taken, wall=self.at - self.began)

    def _slow_down(self, tasks: list[int]) -> None:
        """Pin what is in debt to one processor until it has paid; let a busy crowd go last. Children inherit both."""
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
            pass  # it has gone


class Note:
    """A sentence from the one who ends a session to whoever asks why it ended: a file that both have open."""

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
    """Call before the file system changes; ``attend`` then sees this namespace's processes."""
    global PROC
    os.chdir("/proc")
    PROC = "."


def attend(child: int, limits: Limits, resources: set[str], clock: Clock | None, note: Note | None) -> None:
    """Wait for the end of process 1 of a sandbox, a child of the caller; end it, with a note, if it uses too much."""
    if resources:
        try:
            why = _watch(child, Watch(child, limits, resources, clock))
        except Exception as error:  # nobody would bound it any longer
            why = f"the session could not be watched ({type(error).__name__})"
        if why:
            if note is not None:
                note.write(why)
            kill_tree(child)
    os.waitpid(child, 0)


def _watch(child: int, watch: Watch) -> str:
    """The first sentence of ``watch``, "" when the child ends before."""
    ended = os.pidfd_open(child)
    while not select.select([ended], [], [], watch.pause)[0]:
        if why := watch.look():
            return why
    return ""


def kill_tree(root: int) -> None:
    """Kill a process of ours that is not reaped yet, and all its descendants."""
    for pid, _ in tree(root):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


class Thread:
    """Watches a process of ours and its descendants from a thread, until ``stop``; kills them if they use too much.

    root: the process, which must not be reaped before ``stop``. say: called with the sentence before they are killed.
    """

    def __init__(self, root: int, limits: Limits, resources: set[str], say: Callable[[str], object]):
        self._stopped = threading.Event()
        self._arguments = root, limits, resources
        self._say = say
        self._thread = threading.Thread(target=self._run, daemon=True, name="anatomy-usage")
        if resources and os.path.isdir(f"{PROC}/{root}"):  # nothing to see on other systems
            self._thread.start()

    def _run(self) -> None:
        watch = Watch(*self._arguments)
        while not self._stopped.wait(watch.pause) and os.path.isdir(f"{PROC}/{watch.root}"):
            if why := watch.look():
                self._say(why)
                kill_tree(self._arguments[0])
                return

    def stop(self) -> None:
        """Returns once nothing more can be killed: the process's number may then be given to another."""
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(5)
