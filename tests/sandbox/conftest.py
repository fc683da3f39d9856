"""Fixtures of the sandbox tests. Where no sandbox can be had these tests fail: skipping would hide what matters."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import ROOT
from autograder.sandbox import BubblewrapSession, LocalSession, SandboxedSession, Zygote, require_sandbox


@pytest.fixture(scope="session")
def zygote():
    require_sandbox()
    with Zygote() as z:
        yield z


@pytest.fixture(scope="session")
def open_sandbox(zygote):
    """open_sandbox(kind, *limits, **options) -> a session; kinds: zygote, bubblewrap, local."""

    def make(kind, *args, **options):
        if kind == "zygote":
            return SandboxedSession(zygote, *args, **options)
        options.setdefault("preload", ("numpy",))  # torch would take seconds each time
        return {"bubblewrap": BubblewrapSession, "local": LocalSession}[kind](*args, **options)

    return make


def _reachable(path: Path) -> Path | None:
    """The outermost folder above ``path`` that other users cannot enter, if there is one."""
    for folder in reversed([path, *path.parents]):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


@pytest.fixture(scope="session")
def as_nobody(tmp_path_factory):
    """as_nobody(command) -> CompletedProcess of it, run by an ordinary user (by ``nobody`` if the tests run as root).

    Folders that root keeps to itself, such as the one where this Python is installed, are opened for that process
    alone, in a mount namespace of its own.
    """

    private = f"/tmp/anatomy-nobody-{os.getpid()}"

    def run(command, timeout=120):
        environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": "/tmp",
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "JUPYTER_RUNTIME_DIR": private,
            "IPYTHONDIR": private,
            "MPLCONFIGDIR": private,
        }
        if os.geteuid() == 0:
            script = ["set -e"]
            for needed in dict.fromkeys(
                [Path(sys.base_prefix), Path(os.path.realpath(sys.executable)).parents[1], ROOT]
            ):
                closed = _reachable(needed)
                if closed:
                    aside = tmp_path_factory.mktemp("aside")
                    script += [
                        f"mount --bind '{needed}' '{aside}'",
                        f"mount -t tmpfs -o mode=755 none '{closed}'",
                        f"mkdir -p '{needed}'",
                        f"mount --move '{aside}' '{needed}'",
                    ]
            script.append('exec setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all "$@"')
            command = ["unshare", "--mount", "/bin/sh", "-c", "\n".join(script), "sh", *command]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
        )

    yield run
    shutil.rmtree(private, ignore_errors=True)
