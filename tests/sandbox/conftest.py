"""Fixtures of the sandbox tests. Without a sandbox these tests fail, since skipping them would hide the problem."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from autograder import ROOT
from autograder.sandbox import BubblewrapSession, LocalSession, SandboxedSession, Zygote, require_sandbox

from .. import ordinary_user


@pytest.fixture(scope="session")
def zygote():
    require_sandbox()
    with Zygote() as z:
        yield z


@pytest.fixture(scope="session")
def open_sandbox(zygote):
    """open_sandbox(kind, *limits, **options) -> a session. Kinds: zygote, bubblewrap, local."""

    def make(kind, *args, **options):
        if kind == "zygote":
            return SandboxedSession(zygote, *args, **options)
        options.setdefault("preload", ("numpy",))  # torch would take seconds each time
        return {"bubblewrap": BubblewrapSession, "local": LocalSession}[kind](*args, **options)

    return make


@pytest.fixture(scope="session")
def as_nobody():
    """as_nobody(command) -> CompletedProcess, run by an ordinary user (by ``nobody`` if the tests run as root).

    Folders that only root can enter, such as the one with this Python, are opened for that process alone, in a
    separate mount namespace.
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
        return subprocess.run(
            ordinary_user.as_nobody(command),
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
        )

    yield run
    shutil.rmtree(private, ignore_errors=True)
