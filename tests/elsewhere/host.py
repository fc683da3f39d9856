"""Imitates Colab and Kaggle: a cell runs in its own process, with their variables, Google's module and their pip.

pip records its arguments. As there, the course cannot be imported until pip has been asked for its wheel.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from autograder import ROOT

COLAB = {"COLAB_RELEASE_TAG": "release-colab_20260901", "COLAB_GPU": ""}
KAGGLE = {"KAGGLE_KERNEL_RUN_TYPE": "Interactive", **COLAB}  # its image is based on Colab's
GOOGLE = {
    "drive.py": """
import os, pathlib
def mount(place):
    print("MOUNTED")
    if os.environ.get("DECLINES"):
        raise ValueError("mount failed")
    (pathlib.Path(place) / "MyDrive" / "Colab Notebooks").mkdir(parents=True, exist_ok=True)
""",
    "output.py": "def enable_custom_widget_manager(): print('WIDGETS')\n",
    "__init__.py": "",
}
# Fails like pip without a network; with a network, requesting the wheel makes the course importable.
PIP = """
import json, os, sys
with open(os.environ["PIP_LOG"], "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
if os.environ.get("OFFLINE"):
    print("ERROR: Could not find a version that satisfies the requirement", file=sys.stderr)
    sys.exit(1)
if any("transformer" in argument for argument in sys.argv):
    os.symlink(os.environ["COURSE"], os.path.join(os.environ["SITE"], "anatomy"))
"""
# Hides the course of the checkout's environment, as on a machine where it is not installed.
START = """
import sys
sys.path[:] = [p for p in sys.path if not p.endswith("/course")]
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in repr(f)]
"""


@dataclass
class Ran:
    """The result of a cell. pip: the arguments of each call."""

    status: int
    out: str
    error: str
    pip: list[list[str]] = field(default_factory=list)


class Host:
    """A machine under ``folder``. drive: where its Drive is mounted; home: the default location of progress."""

    def __init__(self, folder: Path, installed: bool = False) -> None:
        self.folder, self.drive, self.home = folder, folder / "drive", folder / "home"
        self.site, self.log = folder / "site", folder / "pip.log"
        colab = self.site / "google" / "colab"
        colab.mkdir(parents=True)
        (self.site / "google" / "__init__.py").touch()
        for name, text in GOOGLE.items():
            (colab / name).write_text(text)
        (self.site / "pip").mkdir()
        (self.site / "pip" / "__init__.py").touch()
        (self.site / "pip" / "__main__.py").write_text(PIP)
        command = folder / "bin" / "pip"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{self.site}/pip/__main__.py" "$@"\n')
        command.chmod(0o755)
        if installed:
            (self.site / "anatomy").symlink_to(ROOT / "course" / "anatomy")

    def run(self, code: str, before: str = "", after: str = "", **env: str) -> Ran:
        """Runs a cell's code, with other code before and after it."""
        program = "\n".join([START, before, code, after])
        known = {k: v for k, v in os.environ.items() if not k.startswith(("ANATOMY", "JUPYTER", "VSCODE", "PYTHON"))}
        known |= {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.site),
            "PIP_LOG": str(self.log),
            "SITE": str(self.site),
            "COURSE": str(ROOT / "course" / "anatomy"),
            "XDG_DATA_HOME": str(self.home),
            "KAGGLE_WORKING_DIR": str(self.folder / "working"),
            "OMP_NUM_THREADS": "1",
        }
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self.folder,
            env={**known, **env},
            capture_output=True,
            text=True,
            timeout=120,
        )
        calls = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return Ran(done.returncode, done.stdout, done.stderr, calls)

    @property
    def mounts(self) -> str:
        """Code that moves the Drive below this folder as soon as the course is importable."""
        return (
            "import importlib.abc, sys\n"
            "class Mounted(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        module = sys.modules.get('anatomy.system.hosted')\n"
            f"        if module is not None: module.DRIVE = __import__('pathlib').Path({str(self.drive)!r})\n"
            "sys.meta_path.insert(0, Mounted())\n"
        )
