"""Jupyter kernel provisioners that start kernels in a sandbox, for programs that use standard Jupyter kernels.

A kernel specification chooses one by name (see ``kernelspec.py``); nbgrader's ``ExecutePreprocessor.kernel_name``
chooses the specification. Settings go into nbgrader_config.py, e.g. ``c.BubblewrapProvisioner.limits``.

A sandboxed kernel has no network and shares no folder with the grader: its Unix sockets are in its own temporary
folder, and the client reaches them from outside through /proc/PID/root.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from traitlets import Dict, List, Unicode

from autograder import ROOT

from . import bubblewrap, cgroups, usage, worker, zygote
from .clients import BoundedKernelClient
from .limits import Limits
from .local import learner_paths
from .namespaces import HOME
from .session import SandboxUnavailable
from .view import View, hidden_folders

_CONNECTION_PLACE = "/run/kernel.json"


def submission_folder(cwd: str | None) -> str:
    """The folder whose files a kernel may see, or "": never a folder of the staff, nor one that contains such."""
    if not cwd or not os.path.isdir(cwd):
        return ""
    path = Path(cwd).resolve()
    staff = [ROOT / "solutions", ROOT / "autograder", ROOT / ".git"]
    inside = any(path.is_relative_to(wing) or wing.is_relative_to(path) for wing in staff)
    return "" if inside else str(path)


class BubblewrapProvisioner(LocalProvisioner):
    """Runs the kernel specification's command in bubblewrap, with a fresh interpreter."""

    readable = List(Unicode(), help="Paths that the kernel sees read-only, besides Python itself.").tag(config=True)
    python_path = List(Unicode(), help="Folders put on the kernel's module path.").tag(config=True)
    limits = Dict(help="Fields of autograder.sandbox.Limits, e.g. {'memory_bytes': 1 << 30}.").tag(config=True)

    connection_info: dict[str, Any]
    pid: int | None
    pgid: int | None
    _wrapped: bubblewrap.Wrapped | None = None
    _workdir = ""
    _timer: threading.Timer | None = None
    _watch: usage.Thread | None = None

    def _readable_default(self) -> list[str]:
        return learner_paths()

    def _python_path_default(self) -> list[str]:
        return [str(ROOT / "course")]

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        manager = self.parent
        manager.transport = "ipc"
        # A random name, so that no other user can create it before the sandbox's own /tmp is mounted.
        manager.ip = self._inside = f"/tmp/kernel-{secrets.token_hex(8)}"
        manager.transport_encryption = "disabled"
        if isinstance(manager, AsyncKernelManager):  # used to execute whole notebooks
            manager.client_factory = BoundedKernelClient
        self._workdir = submission_folder(kwargs.get("cwd"))
        return await super().pre_launch(**kwargs)

    def _connection(self) -> dict[str, Any]:
        """The connection file's contents, as the kernel needs them."""
        info = {k: v.decode() if isinstance(v, bytes) else v for k, v in self.connection_info.items()}
        return info | {"ip": self._inside}

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        file = os.path.realpath(self.parent.connection_file)
        command = [_CONNECTION_PLACE if part == file else part for part in cmd]
        if any("ipykernel" in part for part in command):
            # Last on the path, so that a submission's torch.py can't replace torch.
            command.append(f"--IPKernelApp.exec_lines=import sys; sys.path.append({HOME!r})")
            command.append("--HistoryManager.enabled=False")
        view = View(tuple(self.readable), hidden_folders(), self._workdir)
        status_r, status_w = os.pipe()
        try:
            self._wrapped = bubblewrap.wrap(
                command,
                view,
                Limits(**self.limits),
                set_rlimits=True,
                files=[(json.dumps(self._connection()).encode(), _CONNECTION_PLACE)],
                environment={"PYTHONPATH": os.pathsep.join(self.python_path)},
                status_fd=status_w,
            )
        except BaseException:
            os.close(status_r)
            os.close(status_w)
            raise
        self.process = subprocess.Popen(
            self._wrapped.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            pass_fds=self._wrapped.pass_fds,
            start_new_session=True,
        )
        self.pid = self.pgid = self.process.pid
        self._wrapped.started()
        unbounded = {"cpu", "memory"} - cgroups.covered(self._wrapped.groups)
        self._watch = usage.Thread(self.process.pid, Limits(**self.limits), unbounded, self._overrun)
        pid = await asyncio.to_thread(bubblewrap.read_child_pid, status_r)
        return self._launched(pid)

    def _launched(self, pid: int) -> dict[str, Any]:
        """Start the timer and return the connection. pid: a process whose root directory is the sandbox's."""
        self._timer = threading.Timer(Limits(**self.limits).wall_seconds, self._expire)
        self._timer.daemon = True
        self._timer.start()
        self.connection_info = self.connection_info | {"ip": f"/proc/{pid}/root{self._inside}"}
        return self.connection_info

    def _expire(self) -> None:
        """End the kernel, whose time is used up."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def _overrun(self, why: str) -> None:
        self.log.warning("the kernel is ended: %s", why)

    async def cleanup(self, restart: bool = False) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        await super().cleanup(restart)
        if self._timer is not None:
            self._timer.cancel()
        if self._wrapped is not None:
            await asyncio.to_thread(self._wrapped.remove_groups)
            self._wrapped = None


class ZygoteProvisioner(BubblewrapProvisioner):
    """Forks the kernel from this process's zygote, which has torch already imported, instead of executing the kernel
    specification's command. Without a zygote it works like BubblewrapProvisioner, with a warning in the log."""

    _guard: int | None = None
    _note: usage.Note | None = None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        try:
            pid = await asyncio.to_thread(self._fork)
        except SandboxUnavailable as e:
            self.log.warning("falling back to bubblewrap, torch is imported for each kernel: %s", e)
            return await super().launch_kernel(cmd, **kwargs)
        self.pid, self.pgid = pid, None
        return self._launched(pid)

    def _expire(self) -> None:
        if self._guard is None:
            super()._expire()
        else:
            signal.pidfd_send_signal(self._guard, signal.SIGKILL)

    def _fork(self) -> int:
        workdir = self._workdir or None
        request = zygote.sandbox_request(
            "kernel", Limits(**self.limits), self.readable, self.python_path, workdir, seed=None
        )
        request["connection"] = self._connection()
        ours, theirs = socket.socketpair()
        with theirs:
            self._note = usage.Note()
            pid, self._guard = zygote.shared_zygote().fork(request, theirs, self._note)
        ours.settimeout(30)
        try:
            notice = ours.recv(worker.NOTICE.size)
            if notice[:1] != worker.READY:
                raise OSError(ours.recv(4096).decode("utf-8", "replace") or "it gave no sign of life")
        except OSError as e:
            self._release()
            raise SandboxUnavailable(f"the kernel was not forked: {e}") from None
        finally:
            ours.close()
        return pid

    def _release(self) -> None:
        if self._guard is not None:
            zygote.end_guard(self._guard)
            self._guard = None
        if self._note is not None:
            if why := self._note.read():
                self._overrun(why)
            self._note.close()
            self._note = None

    @property
    def has_process(self) -> bool:
        return self._guard is not None or super().has_process

    async def poll(self) -> int | None:
        if self._guard is None:
            return await super().poll()
        return 0 if usage.ready(self._guard, 0) else None

    async def wait(self) -> int | None:
        if self._guard is None:
            return await super().wait()
        while await self.poll() is None:
            await asyncio.sleep(0.01)
        self._release()
        return 0

    async def send_signal(self, signum: int) -> None:
        """Handles only signals that end the kernel; interrupts are sent as messages."""
        if self._guard is None:
            await super().send_signal(signum)
        elif signum in (signal.SIGKILL, signal.SIGTERM):
            try:
                signal.pidfd_send_signal(self._guard, signal.SIGKILL)
            except ProcessLookupError:
                pass

    async def kill(self, restart: bool = False) -> None:
        await self.send_signal(signal.SIGKILL)

    async def terminate(self, restart: bool = False) -> None:
        await self.send_signal(signal.SIGTERM)

    async def cleanup(self, restart: bool = False) -> None:
        self._release()
        await super().cleanup(restart)
