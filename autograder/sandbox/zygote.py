"""Sandboxed sessions from a zygote, which imports torch once; each submission gets a fork of it in a new sandbox."""

from __future__ import annotations

import array
import atexit
import functools
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from autograder import ROOT

from . import cgroups, usage
from .bubblewrap import sandbox_environment
from .channel import ChannelSession
from .limits import Limits
from .local import clean_environment, files_to_copy, learner_paths
from .session import SandboxUnavailable
from .view import hidden_folders, staff_folder
from .zygote_server import MESSAGE_BYTES, PING

log = logging.getLogger(__name__)

PRELOAD = (
    "numpy",
    "torch",
    "safetensors.torch",
    "matplotlib.pyplot",
    "ipywidgets",
    "anywidget",
    "ipykernel.kernelapp",
    "ipykernel.zmqshell",
    "IPython.core.completer",
)
_BOOT = """
import sys
sys.path.append(sys.argv[1])
from autograder.sandbox.zygote_server import main
sys.path.remove(sys.argv[1])
main()
"""


# In a zygote's folder: its home and working directory, and its error output until it can fork.
SCRATCH, ERRORS = "home", "stderr"


def new_folder() -> str:
    """Make a private folder for a zygote, with ``SCRATCH`` in it. Raises SandboxUnavailable."""
    if sys.platform != "linux":
        raise SandboxUnavailable(f"a zygote needs Linux namespaces, which {sys.platform} does not have")
    # Not below TMPDIR, whose path may be long: a socket's path has at most 107 bytes.
    folder = tempfile.mkdtemp(prefix="anatomy-zygote-", dir="/tmp")
    os.mkdir(os.path.join(folder, SCRATCH))
    return folder


# A fork copies an entry for each page in use. With large pages for what malloc gives (glibc 2.35 and later), a fork of
# a process that has imported torch takes 8 ms instead of 13, and an answer 6 ms instead of 11.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def zygote_environment(folder: str, python_path: Sequence[str] = ()) -> dict[str, str]:
    """The whole environment of a zygote's process; students can read it."""
    environment = clean_environment(os.path.join(folder, SCRATCH)) | HUGE_PAGES
    if python_path:
        environment["PYTHONPATH"] = os.pathsep.join(python_path)
    return environment


class Forked:
    """A forked child of this process, with an interface like ``subprocess.Popen``."""

    def __init__(self, pid: int):
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status (negative: the signal that ended it), or None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits at most ``timeout`` seconds until it ends. Raises subprocess.TimeoutExpired."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
            time.sleep(0.005)
        return code

    def kill(self) -> None:
        """Kills it. While ``poll`` returns None it is not reaped, so the process id is still its own."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class Zygote:
    """The process from which sessions are forked. A context manager; starts on first use.

    preload: modules imported once for all sessions; modules that are not installed are skipped. python_path: further
    folders to search for them. Several threads may share a zygote. If it died, the next session restarts it.
    """

    def __init__(
        self,
        preload: Iterable[str] = PRELOAD,
        python_path: Sequence[str] = (),
        start_timeout: float = 120.0,
    ):
        self.preload, self.python_path, self.start_timeout = tuple(preload), tuple(python_path), start_timeout
        self.restarts = 0
        self._lock = threading.Lock()
        self._process: subprocess.Popen | Forked | None = None
        self._lifeline: socket.socket | None = None
        self._folder = ""

    def __enter__(self) -> Zygote:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def folder(self) -> str:
        """The private folder (mode 0700) with the socket; "" while the zygote is not running."""
        return self._folder

    def start(self) -> None:
        """Start the process unless it runs. Raises SandboxUnavailable, with the reason, if that fails."""
        with self._lock:
            if self._process is not None:
                if self._process.poll() is None:
                    return
                log.warning("the zygote died (exit status %s), starting another", self._process.returncode)
                self.restarts += 1
                self._stop()
            self._start()

    def _start(self) -> None:
        self._folder = new_folder()
        ours, theirs = socket.socketpair()
        self._lifeline = ours
        command = [sys.executable, "-c", _BOOT, str(ROOT), self._folder, str(theirs.fileno()), *self.preload]
        with theirs, open(os.path.join(self._folder, ERRORS), "wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd=os.path.join(self._folder, SCRATCH),
                env=zygote_environment(self._folder, self.python_path),
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a keyboard interrupt should reach only the grader
            )
        self._await_start()

    def _await_start(self) -> None:
        """Waits until the process can fork. Raises SandboxUnavailable with the last line of its error output."""
        assert self._lifeline is not None
        self._lifeline.settimeout(self.start_timeout)
        try:
            if self._lifeline.recv(1) == b"+":
                return
        except OSError:
            pass
        lines = Path(self._folder, ERRORS).read_bytes().decode("utf-8", "replace").strip().splitlines()
        self._stop()
        raise SandboxUnavailable(f"the zygote did not start: {lines[-1] if lines else 'no reason given'}")

    def _stop(self) -> None:
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None
        if self._process is not None:
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = ""

    def close(self) -> None:
        """End the process, every sandbox that it forked, and its folder."""
        with self._lock:
            self._stop()

    def healthy(self, timeout: float = 5.0) -> bool:
        """True if the process answers, which includes a fork."""
        try:
            with self._connect(timeout) as connection:
                connection.send(PING)
                return bool(connection.recv(64))
        except OSError:
            return False

    def _connect(self, timeout: float) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.settimeout(timeout)
        try:
            connection.connect(os.path.join(self._folder, "zygote"))
        except BaseException:
            connection.close()
            raise
        return connection

    def fork(self, request: dict, control: socket.socket, note: usage.Note) -> tuple[int, int]:
        """Fork a sandbox that communicates over ``control``. Returns (process id, pidfd) of its guard: the sandbox
        ends with that process, which writes to ``note`` if the sandbox used too much. The caller closes the pidfd.
        Raises SandboxUnavailable."""
        message = json.dumps(request).encode()
        if len(message) > MESSAGE_BYTES:
            raise ValueError("the request has too many paths")
        for attempt in (1, 2):
            self.start()
            try:
                with self._connect(10.0) as connection:
                    socket.send_fds(connection, [message], [control.fileno(), note.fd])
                    data, ancillary, *_ = connection.recvmsg(64, socket.CMSG_SPACE(4))
                    if data and ancillary:
                        return int(data), array.array("i", ancillary[0][2][:4])[0]
                    error: Exception = OSError("the connection was closed")
            except OSError as e:
                error = e
            if attempt == 1:  # it may have died between the check and the request
                time.sleep(0.05)
        raise SandboxUnavailable(f"the zygote does not fork: {error}")


def sandbox_request(
    role: str,
    limits: Limits,
    readable: Sequence[str],
    python_path: Sequence[str],
    workdir: str | os.PathLike[str] | None,
    seed: int | None,
) -> dict:
    """The message to the zygote, as plain JSON."""
    return {
        "role": role,
        "limits": asdict(limits),
        "groups": cgroups.ENABLED,
        "view": {
            "readable": [str(p) for p in readable],
            "hidden": [staff_folder(), *hidden_folders()],
            "workdir": "" if workdir is None else str(workdir),
        },
        "env": sandbox_environment(),
        "python_path": [str(p) for p in python_path],
        "argv": ["notebook"],
        "seed": int.from_bytes(os.urandom(8), "big") if seed is None else seed,
    }


@functools.cache
def shared_zygote() -> Zygote:
    """One zygote for this process, started by its first user and closed at exit."""
    zygote = Zygote()
    atexit.register(zygote.close)
    return zygote


class SandboxedSession(ChannelSession):
    """Session in its own sandbox: no network, no other process, no files except Python, the system's libraries and
    ``readable``; a private home directory in memory; bounded memory, processes, files and time.

    Args:
        zygote: shared by many sessions.
        readable: paths that are visible read-only (default: the package ``anatomy`` and the assets).
        python_path: appended to sys.path (default: the folder of ``anatomy``).
        workdir: folder whose files are copied to the session's working directory.
        seed: for Python's, NumPy's and torch's generators (default: random).

    Raises SandboxUnavailable, or ValueError if workdir is too big.
    """

    def __init__(
        self,
        zygote: Zygote,
        limits: Limits | None = None,
        *,
        readable: Sequence[str] | None = None,
        python_path: Sequence[str] | None = None,
        workdir: str | os.PathLike[str] | None = None,
        seed: int | None = None,
    ):
        limits = limits or Limits()
        readable = learner_paths() if readable is None else readable
        python_path = [str(ROOT / "course")] if python_path is None else python_path
        if workdir is not None:
            files_to_copy(workdir, limits.tmpfs_bytes)
        ours, theirs = socket.socketpair()
        note = usage.Note()
        with theirs:
            try:
                request = sandbox_request("session", limits, readable, python_path, workdir, seed)
                self.pid, guard = zygote.fork(request, theirs, note)
            except BaseException:
                ours.close()
                note.close()
                raise
        super().__init__(ours, limits, lambda: end_guard(guard), note=note, root=self.pid, watcher=self.pid)


def end_guard(guard: int, timeout: float = 1.0) -> None:
    """Kill the process of a pidfd, wait until it ends, close the pidfd."""
    try:
        signal.pidfd_send_signal(guard, signal.SIGKILL)
        usage.ready(guard, timeout)
    except ProcessLookupError:
        pass
    finally:
        os.close(guard)
