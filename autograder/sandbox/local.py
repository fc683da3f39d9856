"""A session in a plain child process: no sandbox, for trusted code and for systems without namespaces.

The processes are the same as in a sandbox (see worker.py), so hangs and crashes are contained in the same way. What
is missing is protection: the code reads and writes whatever the user can, and may leave processes behind.
"""

from __future__ import annotations

import json
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

from .channel import ChannelSession
from .limits import Limits
from .session import SandboxUnavailable

ROOT = Path(__file__).resolve().parents[2]
PRELOAD = ("numpy", "torch", "matplotlib.pyplot")

# No -m: that would put the working directory, and with it the submission, in front of the standard library.
_BOOT = """
import sys
sys.path.append(sys.argv[1])
from autograder.sandbox.local import serve
sys.path.remove(sys.argv[1])
serve()
"""


def clean_environment(home: str, threads: int = 1) -> dict[str, str]:
    """Environment for processes that run student code: nothing of the grader's, which may hold passwords."""
    prefix = Path(sys.prefix)
    return {
        "PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": home,
        "IPYTHONDIR": f"{home}/.ipython",
        "MPLCONFIGDIR": f"{home}/.matplotlib",
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",  # a regrade sees sets in the same order
        "PYTHONNOUSERSITE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        **{f"{lib}_NUM_THREADS": str(threads) for lib in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")},
    }


def learner_paths(root: Path = ROOT) -> list[str]:
    """What of a course checkout student code may import and read: the package ``anatomy`` and the assets."""
    return [str(p) for p in (root / "course" / "anatomy", root / "assets") if p.exists()]


class LocalSession(ChannelSession):
    """Session in a child process of this one. Linux and macOS; raises SandboxUnavailable elsewhere.

    limits: see Limits; memory only on Linux, the number of processes not at all. preload: modules imported before the
    first cell. python_path: appended to sys.path (default: the folder of the package ``anatomy``). workdir: folder
    whose files are copied to the session's working directory, a private one that ``close`` removes.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        preload: Iterable[str] = PRELOAD,
        python_path: Sequence[str] | None = None,
        workdir: str | os.PathLike | None = None,
        seed: int | None = None,
    ):
        if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
            raise SandboxUnavailable(f"a session needs fork and Unix sockets, which {sys.platform} does not have")
        limits = limits or Limits()
        home = tempfile.mkdtemp(prefix="anatomy-local-")
        if workdir is not None:
            copy_files(workdir, home, limits.tmpfs_bytes)
        request = {
            "limits": asdict(limits),
            "preload": list(preload),
            "python_path": [str(ROOT / "course")] if python_path is None else list(python_path),
            "seed": seed,
        }
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-c", _BOOT, str(ROOT), str(theirs.fileno()), json.dumps(request)]
        with theirs:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                cwd=home,
                env=clean_environment(home),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self.home = Path(home)

        def end() -> None:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the number is still ours
            except ProcessLookupError:
                pass
            process.wait()
            shutil.rmtree(home, ignore_errors=True)

        super().__init__(ours, limits, end)


def copy_files(source: str | os.PathLike, target: str | os.PathLike, max_bytes: int) -> None:
    """Copy the regular files under ``source`` to ``target``; links and notebooks stay behind.

    Raises ValueError where they take more than ``max_bytes``.
    """
    total = 0
    for folder, folders, files in os.walk(source):
        folders[:] = [d for d in folders if not os.path.islink(os.path.join(folder, d))]
        to = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(to, exist_ok=True)
        for name in files:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path) or name.endswith(".ipynb"):
                continue
            total += os.path.getsize(path)
            if total > max_bytes:
                raise ValueError(f"the submission's files take more than {max_bytes} bytes")
            shutil.copyfile(path, os.path.join(to, name))


def serve() -> None:
    """Entry of the child process: arguments are the repository root, the control socket's number, the request."""
    from . import worker
    from .limits import apply_rlimits
    from .shell import prepare, reseed

    control, request = socket.socket(fileno=int(sys.argv[2])), json.loads(sys.argv[3])
    sys.argv[:] = ["notebook"]
    sys.path += [*request["python_path"], os.getcwd()]
    run_cell, student_ns = prepare(request["preload"])
    reseed(int.from_bytes(os.urandom(8), "big") if request["seed"] is None else request["seed"])
    apply_rlimits(Limits(**request["limits"]), count_processes=False)
    worker.keeper(control, run_cell, student_ns, own_pid_namespace=False)
