"""Checks whether this machine can sandbox a session, by trying it once per process."""

from __future__ import annotations

import functools
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from autograder import ROOT

from . import bubblewrap, cgroups, worker
from .channel import ChannelSession
from .limits import Limits
from .session import SandboxUnavailable
from .zygote import SandboxedSession, Zygote

log = logging.getLogger(__name__)

_TRIAL = """
import socket, sys
sys.path.append(sys.argv[1])
from autograder.sandbox import namespaces, worker, zygote_server
control = socket.socket(fileno=int(sys.argv[3]))
try:
    namespaces.enter(namespaces.Sandbox(sys.argv[2], sys.argv[4]), [control])
except Exception as error:
    zygote_server.fail(control, error)
else:
    control.sendall(worker.NOTICE.pack(worker.READY, 0, 0))
"""


# The obstacle is nearly always one of these; the kernel's own error message doesn't say what to do about it.
_ADVICE = (
    "In a container, start it with the right to create namespaces (Docker: --privileged, or --security-opt "
    "seccomp=unconfined with apparmor=unconfined and systempaths=unconfined); elsewhere, let users create them (sysctl "
    "user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns=0)"
)


@dataclass(frozen=True)
class Availability:
    """Which kinds of sandbox work here; true if at least one does.

    reason: empty if both work, otherwise one sentence on what is missing. With ``zygote`` False and ``bubblewrap`` True
    sessions work, but each imports torch anew.
    """

    zygote: bool
    bubblewrap: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.zygote or self.bubblewrap


@functools.cache
def sandbox_available() -> Availability:
    """Try both kinds of sandbox. Takes about half a second the first time."""
    if sys.platform != "linux":
        return Availability(False, False, f"sandboxes need Linux namespaces, which {sys.platform} does not have")
    own, bwrap = _try_namespaces(), bubblewrap.probe()
    if own and bwrap:
        why = f"no sandbox on this machine: {own}; bubblewrap: {bwrap.rstrip(' .')}"
        return Availability(False, False, f"{why}. {_ADVICE}")
    return Availability(not own, not bwrap, own or (f"bubblewrap: {bwrap}" if bwrap else ""))


def require_sandbox() -> Availability:
    """Raises SandboxUnavailable, with a one-sentence reason, if no sandbox works here."""
    available = sandbox_available()
    if not available:
        raise SandboxUnavailable(available.reason)
    return available


def _try_namespaces() -> str:
    folder = tempfile.mkdtemp(prefix="anatomy-trial-", dir="/tmp")
    name = f"{os.getpid()}-trial-{os.path.basename(folder)[-8:]}"
    ours, theirs = socket.socketpair()
    try:
        with ours, theirs:
            ours.settimeout(30)
            command = [sys.executable, "-c", _TRIAL, str(ROOT), folder, str(theirs.fileno()), name]
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd="/", stdin=subprocess.DEVNULL)
            theirs.close()
            notice = ours.recv(worker.NOTICE.size)
            if notice[:1] == worker.READY:
                return ""
            text = ours.recv(4096).decode("utf-8", "replace") if notice[:1] == worker.FAILED else ""
            return text or "a process in new namespaces gave no sign of life"
    except OSError as e:
        return str(e)
    finally:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        cgroups.remove(cgroups.folders(name))
        shutil.rmtree(folder, ignore_errors=True)


def open_session(
    zygote: Zygote,
    limits: Limits | None = None,
    *,
    readable: Sequence[str] | None = None,
    python_path: Sequence[str] | None = None,
    workdir: str | os.PathLike[str] | None = None,
    seed: int | None = None,
) -> ChannelSession:
    """Open a SandboxedSession, or a BubblewrapSession (with a warning in the log) if no zygote is available.

    Takes the same arguments as SandboxedSession. Raises SandboxUnavailable if neither works.
    """
    if sandbox_available().zygote:
        try:
            zygote.start()
        except SandboxUnavailable as e:
            log.warning("falling back to bubblewrap, torch is imported for each session: %s", e)
        else:
            return SandboxedSession(
                zygote, limits, readable=readable, python_path=python_path, workdir=workdir, seed=seed
            )
    else:
        require_sandbox()
        log.warning("falling back to bubblewrap, torch is imported for each session: %s", sandbox_available().reason)
    return bubblewrap.BubblewrapSession(limits, readable=readable, python_path=python_path, workdir=workdir, seed=seed)
