"""The wheel: the learner's package with recordings, trained model and notebooks in it, the same bytes at every run.

``python -m autograder.build.wheel [--out dist]`` (make wheel). It is made in a folder of its own, so the checkout stays
as it is. It holds what the student package holds, and the notebooks of every language; what lies in course/ it does not
build, and names what is stale there.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from anatomy.system import files

from autograder import ROOT, exercises
from autograder.languages import catalogues, notebooks
from autograder.notebooks.source import SourceError

from . import package

DATA = "anatomy/_data"
# Pictures of the README and of figures that notebooks draw themselves; what they show from a file is in large/.
STAYS, GOES = "assets/figures/", "assets/figures/large/"
EPOCH = "1577836800"  # 2020-01-01, as in the student package


def contents(root: Path = ROOT) -> dict[str, bytes]:
    """dict name → bytes of the folder that the wheel is built from.

    Raises RuntimeError as ``package.contents``, CatalogueError and others as ``languages.notebooks.outputs``.
    """
    made = {}
    for name, content in package.contents(root).items():
        place = place_of(name)
        if place:
            made[place] = content
    for language in catalogues.languages():
        for name, content in notebooks.outputs(language).items():
            made[f"{DATA}/languages/{language}/{name.removeprefix('course/')}"] = content
    return made


def place_of(name: str) -> str:
    """Where a file of the student package goes; "" for one that a wheel does without."""
    if name.startswith("assets/"):
        return "" if name.startswith(STAYS) and not name.startswith(GOES) else f"{DATA}/{name}"
    if name.startswith("course/"):
        inner = name.removeprefix("course/")
        if inner.endswith(".ipynb"):
            return f"{DATA}/notebooks/{inner}"
        return inner if inner.startswith("anatomy/") or inner in ("pyproject.toml", "README.md") else ""
    return name if name in ("LICENSE", "LICENSE-TEXT") else ""


def build(contained: Mapping[str, bytes], out: Path) -> Path:
    """Builds the wheel of ``contents()`` into a folder; returns its path. Raises RuntimeError where pip fails."""
    with tempfile.TemporaryDirectory(prefix="anatomy-wheel-") as made:
        tree, wheels = Path(made) / "tree", Path(made) / "wheels"
        for name, content in contained.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o644)
        line = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
        line += ["--disable-pip-version-check", "--wheel-dir", str(wheels), str(tree)]
        env = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "PIP_NO_INPUT": "1"}
        # An archive keeps permissions, which nobody's umask may decide.
        done = subprocess.run(
            line, env=env, umask=0o022, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
        )
        found = list(wheels.glob("*.whl"))
        if done.returncode or len(found) != 1:
            raise RuntimeError(f"pip made no wheel: {(done.stderr or done.stdout).strip()[-2000:]}")
        target = out / found[0].name
        files.replace(target, found[0].read_bytes())
        return target


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args(argv)
    try:
        wrong = package.unfit(ROOT)
        if not wrong:
            path = build(contents(ROOT), options.out)
    except (SourceError, catalogues.CatalogueError, exercises.SpecError, exercises.UnknownName, RuntimeError) as error:
        wrong = str(error).split("\n")
    except OSError as error:
        wrong = [f"{error.filename or options.out}: {error.strerror or error}"]
    if wrong:
        print("\n".join(f"wheel: {line}" for line in wrong) + "\nNo wheel was made.", file=sys.stderr)
        return 1
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
