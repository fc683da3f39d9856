"""``python -m autograder.languages [--check] [--begin zh_CN 02-normalization]`` (make catalogs).

Copies all translatable texts from the sources into the catalogues of every language, compiles the file that the package
reads at run time, and prints how much of each catalogue is translated. ``--check`` writes nothing; if files are stale,
it lists them and fails. In both cases translations that would break something (a missing formula, link or placeholder)
are listed, and the command fails.
"""

import argparse
import sys
from collections.abc import Sequence

from anatomy.system import files

from autograder import ROOT, exercises
from autograder.notebooks.source import SourceError

from . import catalogues, everything


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m autograder.languages", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a catalogue is stale")
    parser.add_argument(
        "--begin", nargs="+", metavar=("LANGUAGE", "UNIT"), help="add a language, and catalogues of these units"
    )
    options = parser.parse_args(argv)
    language, *units = options.begin or [""]
    try:
        if language:
            catalogues.checked(language)
        for unit in units:
            exercises.unit_module(unit)
        made = everything.updated(language, units)
    except (catalogues.CatalogueError, SourceError, exercises.SpecError, exercises.UnknownName) as error:
        print("\n".join(f"catalogs: {line}" for line in str(error).split("\n")), file=sys.stderr)
        return 2
    stale = [p for p, content in made.files.items() if not p.is_file() or p.read_bytes() != content]
    for path in stale:
        if options.check:
            print(f"stale: {path.relative_to(ROOT)} (run `make catalogs`)")
        else:
            files.replace(path, made.files[path])
            print(f"wrote {path.relative_to(ROOT)}")
    for line in [*made.report, *made.problems]:
        print(line)
    return 1 if made.problems or options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
