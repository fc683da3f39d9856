"""``python -m autograder.build [--check]``: writes every generated notebook, or says which ones are stale."""

import argparse
import os
import sys

from autograder import exercises

from .release import release_notebook
from .source import ROOT, SourceError, source_notebook, source_path, to_json


def outputs(unit):
    """dict path → bytes of everything that is generated for one unit."""
    book = source_notebook(unit)
    return {ROOT / "solutions" / unit / f"{unit}.ipynb": to_json(book),
            ROOT / "course" / unit / f"{unit}.ipynb": to_json(release_notebook(book))}


def all_outputs():
    """The same for every unit that has a source, and for the gallery."""
    made = {}
    for unit in exercises.units():
        made |= outputs(unit)
    gallery = ROOT / "solutions" / "gallery.py"
    if gallery.exists():
        from .gallery import gallery_notebook

        made[ROOT / "course" / "gallery" / "gallery.ipynb"] = to_json(gallery_notebook(gallery))
    return made


def main(argv=None):
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a generated file is stale")
    parser.add_argument("--unit", action="append", help="only this unit")
    options = parser.parse_args(argv)
    try:
        made = all_outputs() if not options.unit else {p: b for u in options.unit for p, b in outputs(u).items()}
    except (SourceError, exercises.UnknownName) as error:
        print(f"build: {error}", file=sys.stderr)
        return 2
    stale = [p for p, content in made.items() if not p.exists() or p.read_bytes() != content]
    for path in stale:
        name = path.relative_to(ROOT)
        if options.check:
            print(f"stale: {name} (run `make build`)")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(made[path])
        os.replace(temporary, path)
        print(f"wrote {name}")
    if not stale:
        print(f"{len(made)} notebooks are up to date")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())


__all__ = ["all_outputs", "main", "outputs", "source_path"]
