"""``python -m autograder.build [--check | --replace]``: writes every generated file, or says which ones are stale.

A notebook with content that the last build did not write (an answer, an output, a moved cell) is not overwritten: the
build then writes nothing, except with ``--replace``, which keeps a copy first.
"""

import argparse
import contextlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from anatomy.app.build_stamp import sign
from anatomy.system import files

from autograder import ROOT, exercises, measured
from autograder.notebooks import address, answers
from autograder.notebooks.generated import changed_by_hand, keep_copies, stale_files
from autograder.notebooks.release import release_notebook
from autograder.notebooks.source import SourceError, read_unit, source_path, to_json
from autograder.notebooks.unit_text import to_bytes

from . import badges

HOW_TO_GO_ON = """Nothing was written. If these are answers, `make lab` takes those in course/ over into work/.
Then write over them, with a copy of each under build/replaced/: make build ARGS=--replace"""


def outputs(unit: str) -> dict[Path, bytes]:
    """Path → bytes of all generated files of one unit. Raises like ``read_unit``."""
    book, text = read_unit(unit)
    sign(book, unit)
    return {
        ROOT / "assets" / "units" / f"{unit}.json": to_bytes(text),
        ROOT / "solutions" / unit / f"{unit}.ipynb": to_json(book),
        ROOT / "course" / unit / f"{unit}.ipynb": to_json(release_notebook(book)),
    }


def all_outputs() -> dict[Path, bytes]:
    """The same for every unit that has a source, the gallery, the answers to look up, and the files with the course's
    public address."""
    public = address.read()
    made = {address.FILE: public.to_json(), **badges.readmes(public)}
    made[ROOT / "CITATION.cff"] = badges.citation(public)
    made |= outputs_of(exercises.units())
    made[answers.FILE] = answers.to_bytes()
    gallery = ROOT / "solutions" / "gallery.py"
    if gallery.exists():
        from autograder.notebooks.gallery import gallery_notebook, listing

        book = gallery_notebook(gallery)
        made[ROOT / "course" / "gallery" / "gallery.ipynb"] = to_json(book)
        made[ROOT / "assets" / "gallery" / "gallery.json"] = listing(book)
    return made


def _some_outputs(units: Iterable[str]) -> dict[Path, bytes]:
    """What building only these units writes: their files and the answers to look up, which all units share."""
    made = outputs_of(units)
    with contextlib.suppress(SourceError):  # of another unit, which doesn't keep this one from being built
        made[answers.FILE] = answers.to_bytes()
    return made


def outputs_of(units: Iterable[str]) -> dict[Path, bytes]:
    """The same for some units. Raises SourceError with the problems of all of them; a single SpecError is passed on."""
    made: dict[Path, bytes] = {}
    wrong: list[SourceError | exercises.SpecError] = []
    for unit in units:
        try:
            made |= outputs(unit)
        except (SourceError, exercises.SpecError) as error:
            wrong.append(error)
    if wrong:
        raise wrong[0] if len(wrong) == 1 else SourceError(*map(str, wrong))
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m autograder.build", description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a generated file is stale")
    parser.add_argument("--replace", action="store_true", help="write over changed notebooks too, after a copy of each")
    parser.add_argument("--unit", action="append", help="only this unit")
    options = parser.parse_args(argv)
    units = options.unit or exercises.units()
    try:
        made = _some_outputs(units) if options.unit else all_outputs()
        unrecorded = exercises.not_recorded(e for unit in units for e in exercises.of_unit(unit))
    except (SourceError, exercises.SpecError, exercises.UnknownName, measured.LostSentence) as error:
        print("\n".join(f"build: {line}" for line in str(error).split("\n")), file=sys.stderr)
        return 2
    stale = stale_files(made)
    if options.check:
        for path in stale:
            print(f"stale: {path.relative_to(ROOT)} (run `make build`)")
    elif not _write(made, stale, options.replace):
        return 1
    if not stale:
        print(f"{len(made)} generated files are up to date")
    for sentence in unrecorded:
        print(sentence)
    return 1 if options.check and (stale or unrecorded) else 0


def _write(made: dict[Path, bytes], stale: list[Path], replace: bool) -> bool:
    changed = changed_by_hand(stale)
    if changed and not replace:
        for path in changed:
            print(f"build: {path.relative_to(ROOT)} holds something that the last build did not write", file=sys.stderr)
        print(HOW_TO_GO_ON, file=sys.stderr)
        return False
    try:
        if changed:
            print(f"kept copies of {len(changed)} changed notebooks in {keep_copies(changed, ROOT).relative_to(ROOT)}")
        for path in stale:
            files.replace(path, made[path])
            print(f"wrote {path.relative_to(ROOT)}")
    except OSError as error:
        print(
            f"build: {error.filename or ''}: {error.strerror or error}; run it again when this is mended",
            file=sys.stderr,
        )
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())


__all__ = [
    "all_outputs",
    "changed_by_hand",
    "keep_copies",
    "main",
    "outputs",
    "outputs_of",
    "source_path",
    "stale_files",
]
