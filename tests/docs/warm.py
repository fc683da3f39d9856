"""A ``python`` with slow imports already done, for a test that runs many commands, each still in its own process.

``Warm(folder)`` writes a program to use instead of Python. It sends its arguments, folder, environment and streams to
a server (this file), which forks for it. Nothing of the project is imported before the fork.
"""

import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
from pathlib import Path

SLOW = ("torch", "jupytext", "nbconvert", "nbgrader.apps.api", "nbgrader.plugins")
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    status = server.recv(10)
sys.exit(int(status or 70))
"""


class Warm:
    """The program in ``folder``, and its server. A context manager."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        address = str(folder / "server")
        folder.mkdir(parents=True)
        (folder / "python").write_text(CLIENT.format(python=sys.executable, address=address))
        (folder / "python").chmod(0o755)
        self._command = [sys.executable, __file__, address]
        self._environment = environment

    def __enter__(self) -> "Warm":
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        assert self._process.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.communicate()


def serve(address: str) -> None:
    """Serves requests until killed; returns only in the forks, after ``become`` has run the requested module."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        print("ready", flush=True)
        while True:
            client, _ = server.accept()
            with client:
                _, streams, *_ = socket.recv_fds(client, 1, 3)
                asked = b"".join(iter(lambda: client.recv(1 << 16), b""))
                child = os.fork()
                if child == 0:
                    return become(*json.loads(asked), streams)
                for stream in streams:
                    os.close(stream)
                _, status = os.waitpid(child, 0)
                client.sendall(str(os.waitstatus_to_exitcode(status) & 0xFF).encode())


def become(arguments: list[str], folder: str, environment: dict[str, str], streams: list[int]) -> None:
    """Takes over the client's streams, folder and environment, and runs ``-m module …``."""
    for own, stream in enumerate(streams):
        os.dup2(stream, own)
        os.close(stream)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    dash, module, *rest = arguments
    assert dash == "-m", arguments
    sys.path[0] = folder
    sys.argv[:] = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    for name in SLOW:
        importlib.import_module(name)
    gc.freeze()
    serve(sys.argv[1])
