"""A process that runs nbgrader's commands one after the other."""

import subprocess
import sys
from pathlib import Path

from ..waiting import patiently
from . import stock

SECONDS = 280  # for one command; each takes a small part of this


class Commands:
    """A process that runs nbgrader's commands, possibly as another user. A context manager."""

    def __init__(self, folder, environment, become=lambda line: line):
        self.folder, self.environment, self.become = folder, environment, become
        self.log = folder.parent / f"{folder.name}.log"

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                self.become([sys.executable, "-B", "-c", Path(stock.__file__).read_text(encoding="utf-8")]),
                cwd=self.folder,
                env=self.environment,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.communicate()

    def run(self, command, check=True):
        """Runs ``nbgrader command``; returns its output, and fails if the command fails or never ends."""
        before = self.log.stat().st_size
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        try:
            status = patiently(self.process.stdout.readline, seconds=SECONDS)
        finally:
            said = self.log.read_bytes()[before:].decode("utf-8", "replace")
        assert status == "0\n" or (not check and status), f"nbgrader {command}: {status}\n{said[-3000:]}"
        return said
