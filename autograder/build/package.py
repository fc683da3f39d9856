"""Makes the student package: a zip with only the learners' files, with the same bytes for the same commit.

``python -m autograder.build.package [--out dist]`` (make release). It doesn't build the notebooks: if a file is stale
or a notebook contains someone's answers, it names the file and makes no package. It is made for a class, so the whole
answers for learners by themselves stay out, unless ``c.Release.answers`` is "all".
"""

import argparse
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from anatomy.app.build_stamp import file_is_as_built
from anatomy.program import units
from anatomy.system import files
from anatomy.system.translation import ENGLISH

from autograder import ROOT, exercises
from autograder.grading.book.course import load_course
from autograder.grading.book.database import GradebookError
from autograder.languages import catalogues, documents, notebooks
from autograder.notebooks import answers as whole
from autograder.notebooks import own_course
from autograder.notebooks.generated import stale_files
from autograder.notebooks.own_course import OwnCourse
from autograder.notebooks.release import release_notebook
from autograder.notebooks.source import SourceError, source_notebook, to_json

from . import __main__ as build

NAME = "transformer-anatomy"
UNFIT = (
    *(SourceError, catalogues.CatalogueError, GradebookError),
    *(exercises.SpecError, exercises.UnknownName, RuntimeError),
)
# Are at the top of the package, and link to each other.
STUDENTS_PAGES = ("docs/students.md", "docs/learners.md", "docs/mirrors.md")
LEARNER_FILES = (
    "Makefile",
    "environment.yml",
    "requirements.lock",
    "LICENSE",
    "LICENSE-TEXT",
    "NOTICE",
    "CITATION.cff",
)
# The contents of these two folders, so that the package can also be made from a source archive without git; a test
# compares the list with the files that git tracks.
LEARNER_FOLDERS = (
    *("course/README*.md", "course/PACKAGE.md", "course/pyproject.toml", "course/[0-9a-z]*/*.ipynb"),
    *(f"course/anatomy/**/*.{kind}" for kind in ("py", "js", "css", "json", "j2", "mo")),
    *(
        f"assets/{folder}/*.json"
        for folder in ("experiments", "figures", "gallery", "recordings", "recordings/widgets", "units")
    ),
    *(
        "assets/figures/*.svg",
        "assets/drawings/*.svg",
        "assets/gallery/*.webp",
        "assets/recordings/**/*.safetensors",
    ),
    *("assets/text/*/*.txt", "assets/text/*/*.json", "assets/text/*/README.md"),
    *("assets/models/*/*.json", "assets/models/*/*.safetensors", "assets/models/*/README.md"),
)

# Tracked files in these folders that learners don't need: weights of the other seeds, which recordings compare, and the
# pictures of the README.
STAYS = ("assets/models/austen/seeds/", "assets/figures/rope-explorer-", "assets/figures/film-")


def contents(
    root: Path = ROOT, answers: bool = False, language: str = ENGLISH, own: OwnCourse | None = None
) -> dict[str, bytes]:
    """dict name in the zip → bytes: the learners' files that are listed above.

    answers: whether the whole answers are among them. language: of the notebooks and the pages to read. own: the
    instructor's selection, else everything. In a git checkout, files that git doesn't track are left out, so that no
    progress or stray notebook is included.
    Raises RuntimeError if the learners' files, or the answers asked for, are missing, and in another language than
    English like ``languages.notebooks.outputs``.
    """
    names, tracked = listed(root), tracked_by_git(root)
    if tracked is not None:
        names = [n for n in names if n in tracked]
    if "course/README.md" not in names:
        raise RuntimeError(f"{root} has no course/README.md: the package is made in the course's own folder")
    made = {n: (root / n).read_bytes() for n in names}
    made["README.md"] = made.get(f"course/README.{language}.md", made["course/README.md"])
    made |= {Path(page).name: (root / page).read_bytes() for page in STUDENTS_PAGES if (root / page).is_file()}
    if language != ENGLISH:
        made |= notebooks.outputs(language, config=own.config() if own else None)
        made |= {Path(page).name: documents.page(Path(page).stem, language).encode() for page in STUDENTS_PAGES}
    if answers:
        file = root / whole.FILE.relative_to(ROOT)
        if not file.is_file():
            raise RuntimeError(f"{file} is missing: run `make build`")
        made[whole.INSIDE] = file.read_bytes()
    return selected(made, own, language) if own else made


def selected(made: Mapping[str, bytes], own: OwnCourse, language: str = ENGLISH) -> dict[str, bytes]:
    """The files of a package for an instructor's own course: units in their order, exercises with their points."""
    found = own_course.applied(made, own)
    for unit in {units.exercise(name)[0] for name in own.points} if language == ENGLISH else ():
        if (name := f"course/{unit}/{unit}.ipynb") in found:
            found[name] = to_json(release_notebook(source_notebook(unit), own.config()))
    return found


def listed(root: Path = ROOT) -> list[str]:
    """Names of the learners' files, sorted, whether git tracks them or not."""
    found = [root / name for name in LEARNER_FILES]
    found += [path for pattern in LEARNER_FOLDERS for path in root.glob(pattern)]
    names = {path.relative_to(root).as_posix() for path in found if path.is_file() and not path.is_symlink()}
    return sorted(n for n in names if not any(part.startswith((".", "__pycache__")) for part in n.split("/")))


def tracked_by_git(root: Path = ROOT) -> set[str] | None:
    """Names of all files that git tracks; None if ``root`` is not the top of a checkout, or without git."""
    try:
        top = subprocess.run(["git", "rev-parse", "--show-toplevel"], cwd=root, capture_output=True)
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True)
    except OSError:
        return None
    # A source archive may have been unpacked inside another checkout, whose list of files doesn't apply to it.
    above = os.fsdecode(top.stdout.removesuffix(b"\n"))
    if top.returncode or listing.returncode or not above or not os.path.samefile(above, root):
        return None
    return {os.fsdecode(name) for name in listing.stdout.split(b"\0") if name}


def unfit(root: Path = ROOT) -> list[str]:
    """Sentences about files that must not be packaged: stale files, and notebooks with content that no build wrote.

    Raises SourceError, exercises.SpecError or exercises.UnknownName if the sources cannot be built.
    """
    stale = stale_files(build.all_outputs())
    books = [root / n for n in contents(root) if n.endswith(".ipynb")]
    changed = {p for p in {*stale, *books} if p.suffix == ".ipynb" and p.exists() and not file_is_as_built(p)}
    return [
        f"{p.relative_to(root)} holds something that no build wrote (answers? `make lab` takes them over)"
        for p in sorted(changed)
    ] + [f"{p.relative_to(root)} is stale: run `make build`" for p in stale if p not in changed]


def archive(contained: dict[str, bytes]) -> bytes:
    """Bytes of the zip made from ``contents()``."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in contained.items():
            info = zipfile.ZipInfo(f"{NAME}/{name}", date_time=(2020, 1, 1, 0, 0, 0))
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            target.writestr(info, content)
    return made.getvalue()


def kind(answers: bool) -> str:
    """Which of the two a package is, for the line that says what was written."""
    return "with the whole answers, for learners by themselves" if answers else "without whole answers, for a class"


def summary(own: OwnCourse) -> list[str]:
    """Lines on what a package has of the course, if that is not all, and on what its units lack then."""
    parts = [f"{len(own.units)} units"] * bool(own.units)
    parts += [f"own points for {', '.join(own.points)}"] * bool(own.points)
    return [*own.remarks(), *([f"Your own course (c.Course): {'; '.join(parts)}."] if parts else [])]


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--language", help="of the notebooks, such as zh_CN; if not given, that of c.Class.language")
    options = parser.parse_args(argv)
    try:
        course = load_course()
        answers, language = course.release.answers == "all", options.language or course.language
        own = own_course.current()
        wrong, contained = unfit(ROOT), contents(ROOT, answers, language, own)
    except UNFIT as error:
        wrong = str(error).split("\n")
    if wrong:
        print("\n".join(f"release: {line}" for line in wrong) + "\nNo package was made.", file=sys.stderr)
        return 1
    path = options.out / f"{NAME}-student{'' if language == ENGLISH else f'-{language}'}.zip"
    try:
        files.replace(path, archive(contained))
    except OSError as error:
        print(f"release: {path} was not written: {error.strerror or error}", file=sys.stderr)
        return 1
    for line in summary(own):
        print(line)
    print(f"{path}: {len(contained)} files, {path.stat().st_size / 1e6:.1f} MB, {kind(answers)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
