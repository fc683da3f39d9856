"""The same sandbox, built by the program bubblewrap: for stock Jupyter kernels, and where no zygote is available.

Unlike ``namespaces.py`` it executes a fresh interpreter for every session, so that torch is imported each time.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import cgroups, seccomp, usage
from .channel import ChannelSession
from .limits import GIB, MIB, NICE, NO_CORE, Limits, process_bounds
from .local import PRELOAD, clean_environment, end_group, files_to_copy, learner_paths, start_worker, worker_request
from .namespaces import HOME, may_change_user, session_uid
from .session import SandboxUnavailable
from .view import Step, View, hidden_folders, staff_folder, steps

#: Where the interpreter of a bubblewrapped session sees this package; it sees nothing else of the staff's code.
PACKAGE_PLACE = Path("/run/anatomy")
# Where a working directory is mounted read-only before it is copied.
SUBMISSION = "/run/submission"
# A fresh interpreter maps its libraries after the limit is set: torch and a kernel's threads take about 1.2 GiB.
_LIBRARIES = 2 * GIB


def sandbox_environment() -> dict[str, str]:
    """Environment of a process inside any sandbox."""
    environment = clean_environment(HOME)
    environment |= {"TMPDIR": "/tmp", "USER": "student", "LOGNAME": "student", "MALLOC_ARENA_MAX": "2"}
    return environment


def _parents(paths: Iterable[str]) -> list[str]:
    """Arguments that make parent folders with mode 0755: by default bubblewrap makes them unreadable (0700)."""
    arguments, seen = [], {"/", "/tmp", "/proc", "/dev"}
    for path in paths:
        for parent in reversed([str(p) for p in Path(path).parents]):
            if parent not in seen:
                seen.add(parent)
                arguments += ["--perms", "0755", "--dir", parent]
    return arguments


@dataclass
class Wrapped:
    """A command line that runs something in a sandbox, with the resources it needs while it starts.

    pass_fds: descriptors that the program inherits (their numbers appear in ``command``).
    groups: folders of the control groups, to be removed afterwards.
    """

    command: list[str]
    pass_fds: list[int] = field(default_factory=list)
    groups: list[Path] = field(default_factory=list)

    def hand_down(self, contents: bytes) -> int:
        """Returns a descriptor from which the program can read these bytes."""
        fd = os.memfd_create("anatomy")
        self.pass_fds.append(fd)
        os.write(fd, contents)
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def started(self) -> None:
        """Close this side's copies of the descriptors."""
        while self.pass_fds:
            os.close(self.pass_fds.pop())

    def remove_groups(self) -> None:
        """Remove the control groups once their killed processes are gone."""
        cgroups.release(self.groups)
        deadline = time.monotonic() + 2.0
        while (left := cgroups.remove(self.groups)) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.groups = left


def wrap(
    command: Sequence[str],
    view: View,
    limits: Limits,
    *,
    set_rlimits: bool,
    process_1: bool = False,
    shown: Iterable[tuple[str, str]] = (),
    files: Iterable[tuple[bytes, str]] = (),
    environment: dict[str, str] | None = None,
    status_fd: int = -1,
) -> Wrapped:
    """Wrap a command so that it runs in a sandbox that sees ``view``.

    Args:
        set_rlimits: False for a command that sets its own limits.
        process_1: if True, the command runs as process 1 of its namespace and must itself notice when the grader is
            gone; otherwise bubblewrap's own process 1 ends it together with the thread that started it.
        shown: (path, place) pairs: paths mounted read-only at another place.
        files: (contents, place) pairs, also read-only.
        environment: added to ``sandbox_environment``.
        status_fd: bubblewrap writes a JSON object with the process id ("child-pid") to it.

    Raises SandboxUnavailable if bubblewrap is not installed.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxUnavailable("bubblewrap (the program bwrap) is not installed")
    root = may_change_user()
    uid = session_uid(random.getrandbits(22)) if root else 1000
    wrapped = Wrapped([])
    args = [program, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    args += ["--new-session", "--hostname", "sandbox", "--cap-drop", "ALL"]
    args.append("--as-pid-1" if process_1 else "--die-with-parent")
    if root:
        # The change of user below needs these capabilities and then drops them. We use no user namespace here: it
        # would make root's files the student's own.
        args += [x for c in ("SETUID", "SETGID", "SETPCAP") for x in ("--cap-add", "CAP_" + c)]
    else:
        args += ["--unshare-user", "--uid", str(uid), "--gid", str(uid)]
    args += _mounts(view, limits, wrapped, list(shown), files)
    if seccomp.supported():
        args += ["--seccomp", str(wrapped.hand_down(seccomp.program()))]
    if status_fd >= 0:
        wrapped.pass_fds.append(status_fd)
        args += ["--info-fd", str(status_fd)]
    variables = sandbox_environment() | (environment or {})
    args += ["--clearenv", *(x for item in variables.items() for x in ("--setenv", *item))]
    # /dev is a memory file system without a size limit, which the sandbox's user may own.
    args += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME, "--"]
    args += _inner(command, view, limits if set_rlimits else None, uid if root else None)
    if root:
        cgroups.sweep()  # groups left by graders that were killed
        wrapped.groups = cgroups.create(f"{os.getpid()}-{random.getrandbits(32):08x}", limits)
        if wrapped.groups:
            joins = "".join(f"echo $$ > '{g}/cgroup.procs' && " for g in wrapped.groups)
            args = ["/bin/sh", "-c", joins + 'exec "$@"', "sh", *args]
    # Set outside the sandbox, because the filter refuses to change this limit.
    wrapped.command = [shutil.which("prlimit") or "prlimit", f"--core={NO_CORE}", *args]
    return wrapped


def _mounts(view: View, limits: Limits, wrapped: Wrapped, shown: list, files: Iterable) -> list[str]:
    """bubblewrap's arguments for the file system that the command sees; their order matters."""
    size = str(limits.tmpfs_bytes)
    args = _parents([HOME]) + ["--proc", "/proc", "--dev", "/dev"]
    for place in (HOME, "/tmp", "/dev/shm"):
        args += ["--perms", "1777", "--size", size, "--tmpfs", place]
    args += _parents(place for _, place in shown)
    covers = [arg for step in steps(view) for arg in _step(step, args)]
    for path, place in shown:
        args += ["--ro-bind", path, place]
    for contents, place in files:
        fd = wrapped.hand_down(contents)
        args += [*_parents([place]), "--perms", "0444", "--ro-bind-data", str(fd), place]
    args += covers
    if view.workdir:
        # Mounted read-only and copied inside the sandbox, where a student's links lead nowhere.
        args += [*_parents([SUBMISSION]), "--ro-bind", os.path.realpath(view.workdir), SUBMISSION]
    return args


def _step(step: Step, args: list[str]) -> list[str]:
    """Append the arguments for one entry of the view; returns those that must come after all entries."""
    if step.kind == "bind":
        args += [*_parents([step.place]), "--ro-bind", step.source, step.place]
    elif step.kind == "link":
        args += [*_parents([step.place]), "--symlink", step.source, step.place]
    elif not os.path.isdir(step.place):  # a file of a package
        args += ["--ro-bind", os.devnull, step.place]
    else:
        args += [*_parents([step.place]), "--perms", "0755", "--size", str(MIB), "--tmpfs", step.place]
        for name in step.names:
            args += [
                "--ro-bind",
                os.path.join(step.source, name.rstrip("/")),
                os.path.join(step.place, name.rstrip("/")),
            ]
        return ["--remount-ro", step.place]
    return []


def _inner(command: Sequence[str], view: View, limits: Limits | None, uid: int | None) -> list[str]:
    """The command, prefixed with the set-up inside the sandbox. uid: user to become; limits: resource limits."""
    inner = ["choom", "--adjust", "1000", "--", *command]  # if the machine runs short of memory, this goes first
    if uid is not None:
        change = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs"]
        inner = [*change, "--inh-caps=-all", "--bounding-set=-all", *inner]
    if limits is not None:
        numbers = {"as": _LIBRARIES + limits.memory_bytes, "nproc": limits.processes}
        numbers |= {name.removeprefix("RLIMIT_").lower(): value for name, value in process_bounds(limits).items()}
        del numbers["core"]
        inner = ["nice", f"-n{NICE}", "prlimit", *(f"--{name}={value}" for name, value in numbers.items()), *inner]
    if view.workdir:
        copy = f'cp -rP {SUBMISSION}/. "$HOME" && chmod -R a+rwX "$HOME"; exec "$@"'
        inner = ["/bin/sh", "-c", copy, "sh", *inner]
    return inner


class BubblewrapSession(ChannelSession):
    """A session like SandboxedSession, with a fresh interpreter in bubblewrap instead of a fork of the zygote.

    Takes the same arguments as SandboxedSession, and preload: modules imported before the first cell.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        readable: Sequence[str] | None = None,
        python_path: Sequence[str] | None = None,
        workdir: str | os.PathLike[str] | None = None,
        seed: int | None = None,
        preload: Iterable[str] = PRELOAD,
    ):
        limits = limits or Limits()
        if workdir is not None:
            files_to_copy(workdir, limits.tmpfs_bytes)
        visible = learner_paths() if readable is None else [str(p) for p in readable]
        view = View(tuple(visible), (staff_folder(), *hidden_folders()), "" if workdir is None else str(workdir))
        package = PACKAGE_PLACE / "autograder"
        here = Path(__file__).resolve().parent
        shown = [(str(p), str(package / p.relative_to(here.parent))) for p in (here.parent / "__init__.py", here)]
        wrapped = wrap([sys.executable], view, limits, set_rlimits=False, process_1=True, shown=shown)
        request = worker_request(limits, preload, python_path, seed)
        try:
            control, process = start_worker(wrapped.command, {}, "/", request, PACKAGE_PLACE, wrapped.pass_fds)
        finally:
            wrapped.started()

        note = usage.Note()
        watch = usage.Thread(process.pid, limits, {"cpu", "memory"} - cgroups.covered(wrapped.groups), note.write)

        def end() -> None:
            watch.stop()
            end_group(process)
            wrapped.remove_groups()

        super().__init__(control, limits, end, note=note, root=process.pid, watcher=process.pid)


def probe() -> str:
    """Run ``true`` in a sandbox. Returns "" or the reason why it failed."""
    try:
        wrapped = wrap(["/bin/true"], View(), Limits(), set_rlimits=True)
        try:
            done = subprocess.run(
                wrapped.command,
                pass_fds=wrapped.pass_fds,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=30,
            )
        finally:
            wrapped.started()
            wrapped.remove_groups()
    except (OSError, subprocess.SubprocessError, SandboxUnavailable) as e:
        return str(e)
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1] if lines else f"bwrap ended with exit status {done.returncode}")


def read_child_pid(fd: int) -> int:
    """The process id that bubblewrap writes to its info descriptor. Raises SandboxUnavailable if it writes none."""
    with open(fd, "rb") as f:
        data = f.read()
    try:
        return int(json.loads(data)["child-pid"])
    except (ValueError, KeyError, TypeError):
        raise SandboxUnavailable(f"bubblewrap did not start: {probe() or 'no reason given'}") from None
