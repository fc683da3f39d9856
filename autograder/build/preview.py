"""``python -m autograder.build.preview [--unit 06-rope] [-- options of jupyter lab]`` (make preview).

Builds the units from ``solutions/*.py`` into ``build/preview/``, as learners get them (``course/``) and solved
(``solved/``), and opens JupyterLab there. It changes neither ``course/`` nor any ``work/`` folder.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from anatomy.app import lab
from anatomy.system import files

from autograder import ROOT, exercises
from autograder.notebooks import generated
from autograder.notebooks.source import SourceError

from . import __main__ as build

FOLDERS = {"course": "course", "solutions": "solved", "assets": "texts"}


def preview_files(made: dict[Path, bytes], root: Path = ROOT) -> dict[Path, bytes]:
    """dict path under build/preview → bytes, for the build's outputs: notebooks, and the package's data on units."""
    return {
        root / "build" / "preview" / FOLDERS[p.relative_to(root).parts[0]] / p.parent.name / p.name: content
        for p, content in made.items()
    }


def write(made: dict[Path, bytes], root: Path = ROOT) -> None:
    """Writes the preview; first copies changed notebooks of an earlier preview to build/replaced. Raises OSError."""
    stale = generated.stale_files(made)
    changed = generated.changed_by_hand(stale)
    if changed:
        print(f"what you wrote into the last preview is in {generated.keep_copies(changed, root).relative_to(root)}")
    for path in stale:
        files.replace(path, made[path])


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    given, extra = list(sys.argv[1:] if argv is None else argv), list[str]()
    if "--" in given:
        at = given.index("--")
        given, extra = given[:at], given[at + 1 :]
    parser = argparse.ArgumentParser(prog="python -m autograder.build.preview", description=__doc__.split("\n")[0])
    parser.add_argument("--unit", help="only this unit")
    parser.add_argument("--no-lab", action="store_true", help="write the notebooks, open nothing")
    options = parser.parse_args(given)
    try:
        write(preview_files(build.outputs(options.unit) if options.unit else build.all_outputs()))
    except (SourceError, exercises.SpecError, exercises.UnknownName, OSError) as error:
        print(f"preview: {error}", file=sys.stderr)
        return 2
    folder, unit = ROOT / "build" / "preview", options.unit or exercises.units()[0]
    print(f"the preview is in {folder}")
    texts = {"ANATOMY_UNITS": str(folder / "texts" / "units")}
    return (
        0
        if options.no_lab
        else lab.launch(lab.command(folder, f"course/{unit}/{unit}.ipynb", extra), lab.environment() | texts)
    )


if __name__ == "__main__":
    sys.exit(main())
