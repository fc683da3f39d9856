"""Ctrl-C ends a command with one line."""

import os
import signal
import subprocess
import sys

import pytest

from autograder import ROOT
from autograder.classes import collect, roster

LINE = "Stopped; run the same command again.\n"


@pytest.mark.parametrize("command", [collect, roster])
def test_who_stops_a_command_reads_one_line(command, monkeypatch, capsys):
    def stopped():
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "load_course", stopped)
    assert command.main(["file"]) == 130
    assert tuple(capsys.readouterr()) == ("", LINE)


@pytest.mark.parametrize("command", ["collect", "roster"])
def test_so_does_who_stops_it_in_its_imports(command, tmp_path):
    """Imports take most of the time for a small class."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Impatient:\n"
        "    @staticmethod\n"
        "    def find_spec(name, *rest):\n"
        "        if name == 'sqlalchemy':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Impatient)\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", f"autograder.classes.{command}", "file"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (run.returncode, run.stderr) == (-signal.SIGINT, LINE)
