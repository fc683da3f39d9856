"""Makes the wheel: the learners' package with recordings, trained model and notebooks; every run gives the same bytes.

``python -m autograder.build.wheel [--out dist]`` (make wheel). It is built in a temporary folder, so the checkout
doesn't change. It contains the files of the student package that an installed package needs, the notebooks in every
language, and the whole answers for learners by themselves, unless ``c.Release.answers`` is "none". It doesn't build the
notebooks in course/; if some are stale, it names them and makes no wheel.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from anatomy.system import files

from autograder import ROOT
from autograder.grading.book.course import load_course
from autograder.languages import catalogues, notebooks
from autograder.notebooks import address, own_course
from autograder.notebooks.own_course import OwnCourse

from . import package

DATA = "anatomy/_data"
# Figures for the README or drawn by the notebooks themselves stay out; figures that notebooks load are in large/.
STAYS, GOES = "assets/figures/", "assets/figures/large/"
EPOCH = "1577836800"  # 2020-01-01, as in the student package


def contents(root: Path = ROOT, answers: bool = True, own: OwnCourse | None = None) -> dict[str, bytes]:
    """dict name → bytes of the folder from which the wheel is built. answers: whether it holds the whole answers.

    own: the instructor's selection, else everything.

    Raises RuntimeError like ``package.contents``, and CatalogueError and others like ``languages.notebooks.outputs``.
    """
    made = {}
    for name, content in package.contents(root, answers, own=own).items():
        place = place_of(name)
        if place:
            made[place] = content
    for language in catalogues.languages():
        translated = notebooks.outputs(language, config=own.config() if own else None)
        for name, content in own_course.applied(translated, own or OwnCourse()).items():
            if name == own_course.ORDER:
                continue
            made[f"{DATA}/languages/{language}/{name.removeprefix('course/')}"] = content
    made["pyproject.toml"] += urls(address.read(root)).encode()
    return made


def urls(public: address.Address) -> str:
    """The table ``[project.urls]`` for pyproject.toml; "" while the course has no public address."""
    if not public.repository:
        return ""
    places = {"Homepage": "", "Changelog": f"/blob/{public.branch}/CHANGELOG.md", "Issues": "/issues"}
    lines = (f'{name} = "{public.repository}{place}"\n' for name, place in places.items())
    return f"\n[project.urls]\n{''.join(lines)}"


def place_of(name: str) -> str:
    """The place of a file of the student package in that folder; "" for a file that a wheel doesn't need."""
    if name.startswith("assets/"):
        return "" if name.startswith(STAYS) and not name.startswith(GOES) else f"{DATA}/{name}"
    if name.startswith("course/"):
        inner = name.removeprefix("course/")
        if inner.endswith(".ipynb"):
            return f"{DATA}/notebooks/{inner}"
        return inner if inner.startswith("anatomy/") or inner in ("pyproject.toml", "PACKAGE.md") else ""
    return name if name in ("LICENSE", "LICENSE-TEXT", "NOTICE") else ""


def build(contained: Mapping[str, bytes], out: Path) -> Path:
    """Builds the wheel of ``contents()`` into a folder; returns its path. Raises RuntimeError if pip fails."""
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
        # An archive keeps permissions, which must not depend on the user's umask.
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
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args(argv)
    try:
        answers = load_course().release.answers != "none"
        wrong = package.unfit(ROOT)
        own = own_course.current()
        if not wrong:
            path = build(contents(ROOT, answers, own), options.out)
    except package.UNFIT as error:
        wrong = str(error).split("\n")
    except OSError as error:
        wrong = [f"{error.filename or options.out}: {error.strerror or error}"]
    if wrong:
        print("\n".join(f"wheel: {line}" for line in wrong) + "\nNo wheel was made.", file=sys.stderr)
        return 1
    for line in package.summary(own):
        print(line)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {package.kind(answers)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
