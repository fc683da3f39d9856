"""The student package: a zip of the learner's wing alone, the same bytes for the same commit.

``python -m autograder.build.package [--out dist]`` (make release).
"""

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "transformer-anatomy"
LEARNER_FILES = ("Makefile", "environment.yml", "requirements.lock", "LICENSE", "LICENSE-TEXT", "CITATION.cff")
LEARNER_FOLDERS = ("course/", "assets/")


def contents(root=ROOT):
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


def main(argv=None):
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{NAME}-student.zip"
    files = contents()
    with zipfile.ZipFile(path.with_suffix(".tmp"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(f"{NAME}/{name}", date_time=(2020, 1, 1, 0, 0, 0))
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, content)
    path.with_suffix(".tmp").replace(path)
    print(f"{path}: {len(files)} files, {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
