"""A copy of the repository in which a test does what CONTRIBUTING tells an author to do."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from autograder import ROOT


class Clone:
    """A copy of the working tree: every file that git tracks or doesn't ignore.

    made: an earlier clone's folder to copy instead, with everything done there.
    """

    def __init__(self, folder: Path, made: Path | None = None) -> None:
        self.folder = folder
        if made:
            shutil.copytree(made, folder, dirs_exist_ok=True)
            return
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                for path in (ROOT / name, *_compiled(ROOT / name)):
                    target = folder / path.relative_to(ROOT)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, target)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def take(self, example: str) -> None:
        """Copies the files of ``docs/examples/<example>`` to the same paths from the clone's root."""
        folder = ROOT / "docs" / "examples" / example
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.parent != folder):
            if "__pycache__" not in path.parts:
                target = self.folder / path.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)

    def python(self, *arguments: str, fails: bool = False) -> str:
        """Runs ``python arguments`` on the clone's own code; returns its output. fails: whether it has to fail."""
        own = [str(self.folder), str(self.folder / "course")]
        inherited = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))  # tests/lighter
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*own, *inherited]), "OMP_NUM_THREADS": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # with bytecode kept, the next call starts faster
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True
        )
        said = done.stdout + done.stderr
        assert bool(done.returncode) == fails, said
        return said

    def tests(self, *arguments: str, fails: bool = False) -> str:
        """Runs pytest on the clone's own tests; returns its output. fails: whether it has to fail."""
        quiet = ("-q", "-p", "no:cacheprovider", "-p", "no:warnings")
        return self.python("-m", "pytest", "--all", *quiet, *arguments, fails=fails)


def with_unit(folder: Path) -> None:
    """Makes a clone with the example unit, recorded and built."""
    clone = Clone(folder)
    clone.take("unit")
    for module in ("recording", "build"):
        clone.python("-m", f"autograder.{module}", "--unit", "90-sampling")


def _compiled(path: Path) -> Iterable[Path]:
    """A module's bytecode files, from Python and from pytest; both stay valid for the source's time and size."""
    return path.parent.glob(f"__pycache__/{path.stem}.*.pyc") if path.suffix == ".py" else ()
