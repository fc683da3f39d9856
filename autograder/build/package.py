"""The student package: a zip of the learner's wing alone, the same bytes for the same commit.

``python -m autograder.build.package [--out dist]`` (make release). It builds nothing: a stale file or a notebook with
anybody's answers in it is named, and no package is made.
"""

import argparse
import io
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from anatomy import files
from anatomy.fingerprint import file_is_as_built

from autograder import ROOT, exercises

from . import __main__ as build
from .source import SourceError

NAME = "transformer-anatomy"
LEARNER_FILES = ("Makefile", "environment.yml", "requirements.lock", "LICENSE", "LICENSE-TEXT", "CITATION.cff")
LEARNER_FOLDERS = ("course/", "assets/")


def contents(root: Path = ROOT) -> dict[str, bytes]:
    """dict name in the zip → bytes. Only files that git tracks: nobody's progress or stray notebook travels.

    Raises RuntimeError where ``root`` is no git checkout.
    """
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True)
    if listing.returncode:
        raise RuntimeError(f"{root} is not a git checkout: the package is made of tracked files only")
    names = [n for n in listing.stdout.split("\0") if n in LEARNER_FILES or n.startswith(LEARNER_FOLDERS)]
    made = {n: (root / n).read_bytes() for n in sorted(names) if (root / n).is_file()}
    made["README.md"] = (root / "course" / "README.md").read_bytes()
    return made


def unfit(root: Path = ROOT) -> list[str]:
    """Sentences on the files that may not travel: stale ones, and notebooks that hold what no build wrote.

    Raises SourceError, exercises.SpecError or exercises.UnknownName where the sources cannot be built.
    """
    stale = build.stale_files(build.all_outputs())
    books = [root / n for n in contents(root) if n.endswith(".ipynb")]
    changed = {p for p in {*stale, *books} if p.suffix == ".ipynb" and p.exists() and not file_is_as_built(p)}
    return [
        f"{p.relative_to(root)} holds something that no build wrote (answers? `make lab` takes them over)"
        for p in sorted(changed)
    ] + [f"{p.relative_to(root)} is stale: run `make build`" for p in stale if p not in changed]


def archive(contained: dict[str, bytes]) -> bytes:
    """Bytes of the zip of ``contents()``."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in contained.items():
            info = zipfile.ZipInfo(f"{NAME}/{name}", date_time=(2020, 1, 1, 0, 0, 0))
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            target.writestr(info, content)
    return made.getvalue()


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args(argv)
    try:
        wrong, contained = unfit(ROOT), contents(ROOT)
    except (SourceError, exercises.SpecError, exercises.UnknownName, RuntimeError) as error:
        wrong = str(error).split("\n")
    if wrong:
        print("\n".join(f"release: {line}" for line in wrong) + "\nNo package was made.", file=sys.stderr)
        return 1
    path = options.out / f"{NAME}-student.zip"
    try:
        files.replace(path, archive(contained))
    except OSError as error:
        print(f"release: {path} was not written: {error.strerror or error}", file=sys.stderr)
        return 1
    print(f"{path}: {len(contained)} files, {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
