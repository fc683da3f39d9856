"""A session in a plain child process: no sandbox, for trusted code and for systems without namespaces.

The processes are the same as in a sandbox (see worker.py), so hangs and crashes are contained in the same way. But
there is no protection: the code reads and writes whatever the user can, and may leave processes behind.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from autograder import ROOT

from . import usage
from .channel import ChannelSession
from .limits import Limits
from .session import SandboxUnavailable

log = logging.getLogger(__name__)
PRELOAD = ("numpy", "torch", "matplotlib.pyplot")

# No -m: that would put the working directory, and so the submission, before the standard library.
_BOOT = """
import sys
sys.path.append(sys.argv[1])
from autograder.sandbox.local import serve
sys.path.remove(sys.argv[1])
serve()
"""


def clean_environment(home: str, threads: int = 1) -> dict[str, str]:
    """Environment for processes that run student code: without the grader's variables, which may hold passwords."""
    prefix = Path(sys.prefix)
    return {
        "PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": home,
        "IPYTHONDIR": f"{home}/.ipython",
        "MPLCONFIGDIR": f"{home}/.matplotlib",
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",  # so that a regrade sees sets in the same order
        "PYTHONNOUSERSITE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "TORCH_COMPILE_DISABLE": "1",  # it changes no result, needs a compiler, and takes longer than an answer may
        **{f"{lib}_NUM_THREADS": str(threads) for lib in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")},
    }


def learner_paths(root: Path = ROOT) -> list[str]:
    """The parts of a course checkout that student code may import and read: package ``anatomy`` and the assets."""
    return [str(p) for p in (root / "course" / "anatomy", root / "assets") if p.exists()]


class LocalSession(ChannelSession):
    """Session in a child process of this one. Linux and macOS; raises SandboxUnavailable elsewhere.

    Args:
        limits: see Limits; memory is limited only on Linux, the number of processes not at all.
        preload: modules imported before the first cell.
        python_path: appended to sys.path (default: the folder of the package ``anatomy``).
        workdir: folder whose files are copied to the session's private working directory; ``close`` removes the copy.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        preload: Iterable[str] = PRELOAD,
        python_path: Sequence[str] | None = None,
        workdir: str | os.PathLike[str] | None = None,
        seed: int | None = None,
    ):
        if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
            raise SandboxUnavailable(f"a session needs fork and Unix sockets, which {sys.platform} does not have")
        limits = limits or Limits()
        if workdir is not None:
            files_to_copy(workdir, limits.tmpfs_bytes)  # raises before anything has to be cleaned up
        home = tempfile.mkdtemp(prefix="anatomy-local-")
        if workdir is not None:
            copy_files(workdir, home, limits.tmpfs_bytes)
        request = worker_request(limits, preload, python_path, seed)
        ours, process = start_worker([sys.executable], clean_environment(home), home, request)
        self.home, note = Path(home), usage.Note()
        watch = usage.Thread(process.pid, limits, {"cpu", "memory"}, note.write)

        def end() -> None:
            watch.stop()
            end_group(process)
            remove_folder(home)

        super().__init__(ours, limits, end, note=note, root=process.pid)


def worker_request(limits: Limits, preload: Iterable[str], python_path: Sequence[str] | None, seed: int | None) -> dict:
    """The settings that ``serve`` needs, as plain JSON."""
    return {
        "limits": asdict(limits),
        "preload": list(preload),
        "python_path": [str(ROOT / "course")] if python_path is None else [str(p) for p in python_path],
        "seed": int.from_bytes(os.urandom(8), "big") if seed is None else seed,
    }


def start_worker(
    python: Sequence[str],
    environment: dict[str, str],
    cwd: str,
    request: dict,
    root: Path = ROOT,
    pass_fds: Sequence[int] = (),
) -> tuple[socket.socket, subprocess.Popen]:
    """Start ``serve`` with the given Python command, in its own process group. Returns the control socket and the
    process. root: the folder from which the package ``autograder`` is imported."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [*python, "-c", _BOOT, str(root), str(theirs.fileno()), json.dumps(request)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=environment,
            pass_fds=[theirs.fileno(), *pass_fds],
            start_new_session=True,
        )
    return ours, process


def end_group(process: subprocess.Popen) -> None:
    """Kill the process, its descendants and its group, and wait for it."""
    usage.kill_tree(process.pid)
    try:
        os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the id is still ours
    except ProcessLookupError:
        pass
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:  # it hangs in the kernel; the grader must not wait for it
        log.warning("process %d does not end", process.pid)


def remove_folder(path: str) -> None:
    """Remove a folder that student code has filled, however deep, as far as possible."""
    try:
        shutil.rmtree(path, ignore_errors=True)
    except RecursionError:
        subprocess.run(["rm", "-rf", "--", path], stderr=subprocess.DEVNULL)


def files_to_copy(source: str | os.PathLike[str], max_bytes: int) -> list[str]:
    """The regular files under ``source``, relative to it; links and notebooks are skipped.

    Raises ValueError if there are more than 2,000 or they take more than ``max_bytes``.
    """
    found, total = [], 0
    for folder, folders, files in os.walk(source):
        folders[:] = [d for d in folders if not os.path.islink(os.path.join(folder, d))]
        for name in files:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path) or name.endswith(".ipynb"):
                continue
            found.append(os.path.relpath(path, source))
            total += os.path.getsize(path)
            if total > max_bytes or len(found) > 2000:
                raise ValueError(f"the submission's files are more than 2,000 or take more than {max_bytes} bytes")
    return found


def copy_files(source: str | os.PathLike[str], target: str | os.PathLike[str], max_bytes: int) -> None:
    """Copy ``files_to_copy`` to the folder ``target``."""
    for name in files_to_copy(source, max_bytes):
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(os.path.join(source, name), path)


def serve() -> None:
    """Entry point of the child process. Arguments: repository root, the control socket's number, the request."""
    from . import worker
    from .limits import apply_rlimits
    from .shell import prepare, reseed

    control, request = socket.socket(fileno=int(sys.argv[2])), json.loads(sys.argv[3])
    sys.argv[:] = ["notebook"]
    home = os.getcwd()
    sys.path += [*request["python_path"], home]
    run_cell, student_ns = prepare(request["preload"])
    reseed(request["seed"])
    sandboxed = os.getpid() == 1  # bubblewrap starts this as process 1 of its namespace
    apply_rlimits(Limits(**request["limits"]), count_processes=sandboxed)
    worker.head(
        control,
        run_cell,
        student_ns,
        own_pid_namespace=sandboxed,
        # Usually the grader removes the folder; this helps if it was killed.
        at_end=lambda: None if sandboxed else remove_folder(home),
    )
