"""Imports torch once for two processes: the grader, and the zygote that it forks before it has loaded any secret.

``restart`` replaces this process with a fresh interpreter that has a zygote's environment (a fork inherits it in
``/proc/self/environ``). The new interpreter imports the modules that both processes need (``SHARED``), forks the
zygote, and only then becomes the grader: it reads the environment, path and arguments that ``restart`` left in an
unnamed file, and continues with the grader's own modules. So no reference solution, secret or student name is in
memory at the fork.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

from autograder import ROOT

from . import zygote_server
from .packages import hide_staff_modules
from .session import SandboxUnavailable
from .zygote import ERRORS, SCRATCH, Forked, Zygote, new_folder, zygote_environment

# Modules that students' code and the judge both use, if asked for: their import takes nearly all of the start-up time.
SHARED = ("numpy", "torch", "safetensors.torch", "sympy", "torch._dynamo")
_BOOT = """
import sys
sys.path.append(sys.argv[1])
from autograder.sandbox.launch import main
sys.path.remove(sys.argv[1])
main()
"""
_STREAMS = ("stdout", "stderr")


def available() -> bool:
    """True if this system supports ``restart``."""
    return sys.platform == "linux" and hasattr(os, "memfd_create")


def restart(module: str, arguments: Sequence[str], preload: Sequence[str], python_path: Sequence[str]) -> None:
    """Becomes a process that calls ``module.main(arguments, zygote)`` and exits with its return value.

    module: imported after the zygote was forked. preload, python_path: as for ``Zygote``. Returns only if the system
    refuses; the caller then continues without it.
    """
    try:
        folder = new_folder()
    except (OSError, SandboxUnavailable):
        return
    about = {"module": module, "preload": list(preload), "python_path": list(python_path), "folder": folder}
    about |= {**_of_this_process(), "arguments": _texts(arguments)}
    try:
        with os.fdopen(os.memfd_create("start", 0), "w+b", buffering=0) as state:  # open beyond the exec
            state.write(json.dumps(about).encode())
            state.seek(0)
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(AttributeError, OSError):
                    stream.flush()
            command = [sys.executable, "-c", _BOOT, str(ROOT), folder, str(state.fileno()), *preload]
            os.execve(sys.executable, command, zygote_environment(folder, python_path))
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Entry point that ``restart`` starts. Arguments: repository root, private folder, state descriptor, preload."""
    _, _, folder, state, *preload = sys.argv
    gc.disable()  # imports produce no garbage
    zygote = fork_zygote(folder, preload)
    with open(int(state), "rb") as file:
        about = json.load(file)
    if zygote is not None:
        zygote.python_path = tuple(about["python_path"])
    _become(about)
    run = importlib.import_module(about["module"]).main
    gc.freeze()
    gc.enable()
    status = run([_name(a) for a in about["arguments"]], zygote)
    # What was registered for the end runs; taking torch's modules apart, a third of a second, does not.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(status)


def fork_zygote(folder: str, preload: Sequence[str]) -> StartedZygote | None:
    """Imports what is ``SHARED`` of ``preload`` and forks the zygote, which then runs by itself.

    Call it before any other import.

    Returns None if an import started threads: a fork would copy their locks but not the threads.
    """
    finders = list(sys.meta_path)
    hide_staff_modules()
    for name in [n for n in SHARED if n in preload]:
        importlib.import_module(name)
    if len(os.listdir("/proc/self/task")) != 1:
        shutil.rmtree(folder, ignore_errors=True)
        sys.meta_path[:] = finders
        return None
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            _be_the_zygote(folder, theirs.fileno(), list(preload))
        finally:
            os._exit(1)
    theirs.close()
    sys.meta_path[:] = finders
    return StartedZygote(Forked(pid), ours, folder, preload)


class StartedZygote(Zygote):
    """A zygote that was forked from this process. If it dies, the next session starts an ordinary new one."""

    def __init__(self, process: Forked, lifeline: socket.socket, folder: str, preload: Sequence[str]):
        super().__init__(preload)
        self._process, self._lifeline, self._folder = process, lifeline, folder
        self._ready = False

    def start(self) -> None:
        """Waits until the zygote can fork; starts a new one if it died. Raises SandboxUnavailable with the reason."""
        with self._lock:
            if not self._ready:
                self._ready = True
                with contextlib.suppress(SandboxUnavailable):  # super().start() tries again and reports the reason
                    self._await_start()
        super().start()


def leave_behind(keep: Sequence[int]) -> None:
    """In a fork: redirects all inherited descriptors except ``keep``, standard ones included, to /dev/null. They are
    not closed, because one of the parent's objects may still close that number."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd != null and fd not in keep:
            with contextlib.suppress(OSError):  # the listing's own descriptor
                os.fstat(fd)
                os.dup2(null, fd, inheritable=fd < 3)


def _be_the_zygote(folder: str, lifeline: int, preload: list[str]) -> None:
    os.setsid()  # an interrupt at the keyboard is for the grader alone
    errors = os.open(os.path.join(folder, ERRORS), os.O_WRONLY | os.O_CREAT, 0o600)
    leave_behind([lifeline, errors])
    os.dup2(errors, 2)
    os.chdir(os.path.join(folder, SCRATCH))
    sys.argv[:] = ["notebook"]
    try:
        server = zygote_server.Server(folder, lifeline, preload)
        gc.enable()
        os.write(lifeline, b"+")
        server.serve()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace"))
        raise
    os._exit(0)


# ---- the state of a process, as JSON ---------------------------------------------------------------------------------
def _text(name: str) -> str:
    """Encode an operating system string, whatever its bytes, in characters that JSON accepts."""
    return os.fsencode(name).decode("latin-1")


def _name(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))


def _texts(names: Sequence[str]) -> list[str]:
    return [_text(n) for n in names]


def _of_this_process() -> dict[str, Any]:
    """The state that the new process has to restore: everything that a zygote's environment lacks."""
    streams = {}
    for which in _STREAMS:
        stream = getattr(sys, which)
        if hasattr(stream, "reconfigure"):
            streams[which] = {
                "encoding": stream.encoding,
                "errors": stream.errors,
                "line_buffering": stream.line_buffering,
                "write_through": stream.write_through,
            }
    return {
        "environment": [[k.decode("latin-1"), v.decode("latin-1")] for k, v in os.environb.items()],
        "path": _texts(sys.path),
        "no_bytecode": sys.dont_write_bytecode,
        "streams": streams,
    }


def _become(about: dict[str, Any]) -> None:
    os.environb.clear()
    for key, value in about["environment"]:
        os.environb[key.encode("latin-1")] = value.encode("latin-1")
    time.tzset()
    sys.path[:] = map(_name, about["path"])
    sys.dont_write_bytecode = about["no_bytecode"]
    for which, settings in about["streams"].items():
        if hasattr(getattr(sys, which), "reconfigure"):
            getattr(sys, which).reconfigure(**settings)
    sys.argv[:] = [about["module"], *map(_name, about["arguments"])]
