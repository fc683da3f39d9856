"""``anatomy check``: runs the answers of saved notebooks, prints a line for each, and says by its status if all pass.

A notebook is only read. Its answers run with the public checks, as in a notebook: this is for feedback (before handing
in, or at each push), and no grade, because whoever can change the notebook can change what runs here.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from ..app import build_stamp
from ..app.build_stamp import Notebook
from ..program import units
from ..program.assets import MissingRecording
from ..program.units import Known
from ..progress import page
from ..progress.standing import is_extension
from ..system import installation
from ..system.texts import tell
from ..system.translation import ENGLISH, _, listed, spoken_by, usually
from .apart import Outcome, Saved, outcomes

MARKS = {"passed": "✓", "failed": "✗", "open": "·"}


class BadInput(Exception):
    """What was named cannot be checked; the message says why, and what to name instead."""


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of ``anatomy check``; returns 0 if all that was asked for passes, 1 if not, 2 for bad input."""
    options = _parser().parse_args(argv)
    place = installation.place()
    with usually(place.language):
        try:
            found = list(_found(options.notebook or [place.own]))
            asked = [(saved, _exercises(saved, options.only)) for saved in found]
            if not any(exercises for _saved, exercises in asked):
                named = _("none of these notebooks asks for {names}.")
                raise BadInput(named.format(names=listed(options.only)))
        except (BadInput, MissingRecording) as problem:
            tell(_("check: {problem}").format(problem=problem), sys.stderr)
            return 2
    rows, is_right = [], True
    for saved, exercises in asked:
        with usually(saved.language):
            done = [(e, o) for e, o in _judged(saved, exercises, options.json)]
            if not options.json and not options.only:
                print(_summary(saved, done), flush=True)
        rows += [_row(saved, e, o) for e, o in done]
        is_right &= all(o.state == "passed" for e, o in done if options.only or not is_extension(e))
    if options.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    return 0 if is_right else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="anatomy check",
        description=_("Run the answers of saved notebooks with their checks. The notebooks are only read."),
        epilog=_(
            "The exit status is 0 if all exercises of the core path pass, 1 if some do not yet, 2 if a notebook cannot "
            "be checked."
        ),
    )
    what = _("notebooks, folders with notebooks, or units such as 06-rope; without any, your usual folder")
    parser.add_argument("notebook", nargs="*", type=Path, help=what)
    only = _("only this exercise, also if it is an extension; may be given several times")
    parser.add_argument("--only", action="append", default=[], metavar="EXERCISE", help=only)
    parser.add_argument("--json", action="store_true", help=_("print one JSON list instead of lines"))
    return parser


# ---- which notebooks, which exercises --------------------------------------------------------------------------


def _found(named: Sequence[Path]) -> Iterator[Saved]:
    known = units.names()
    for path in named:
        if not path.exists() and str(path) in known:
            path = installation.place().own / path / f"{path}.ipynb"
        if path.is_dir():
            some = [p for u in known for p in (path / u / f"{u}.ipynb", path / f"{u}.ipynb") if p.is_file()]
            if not some:
                none = _("there is no notebook of the course in {folder}. Name a notebook or another folder.")
                raise BadInput(none.format(folder=path))
            yield from map(_saved, some)
        else:
            yield _saved(path)


def _saved(path: Path) -> Saved:
    try:
        book = build_stamp.parse(path.read_bytes())
    except FileNotFoundError:
        raise BadInput(_("there is no file {file}. Name a notebook, a folder or a unit.").format(file=path)) from None
    except OSError as error:
        wrong = _("{file} cannot be read: {error}.").format(file=path, error=error.strerror or error)
        raise BadInput(wrong) from None
    except build_stamp.NotANotebook as error:
        raise BadInput(_("{file} cannot be read, {error}.").format(file=path, error=error)) from None
    unit = _unit_of(book, path)
    if not unit:
        raise BadInput(_("{file} is no notebook of a unit, so it has no answers to check.").format(file=path))
    codes = (build_stamp.text_of(c) for c in book["cells"] if c["cell_type"] == "code")
    return Saved(path.resolve(), unit, next(filter(None, map(spoken_by, codes)), ENGLISH))


def _unit_of(book: Notebook, path: Path) -> str:
    """The unit of a notebook, also if it was renamed, or lost what the course wrote into its metadata; else ""."""
    known = units.names()
    if build_stamp.unit_of(book) in known:
        return build_stamp.unit_of(book)
    ids = {cell.get("id") for cell in book["cells"]}
    held = {u: sum(units.cell_id("solve", e["id"]) in ids for e in units.load(u)["exercises"]) for u in known}
    best = max(held, key=lambda unit: held[unit], default="")
    return best if best and held[best] else path.stem if path.stem in known else ""


def _exercises(saved: Saved, only: Sequence[str]) -> list[Known]:
    for name in only:
        try:
            units.exercise(name)
        except KeyError:
            raise BadInput(_("there is no exercise {name}.").format(name=repr(name))) from None
    return [e for e in units.load(saved.unit)["exercises"] if not only or e["id"] in only]


# ---- what is said ----------------------------------------------------------------------------------------------


def _judged(saved, exercises, silent):
    by_id = {e["id"]: e for e in exercises}
    for outcome in outcomes(saved, list(by_id)):
        if not silent:
            tell(_line(by_id[outcome.exercise], outcome))
            sys.stdout.flush()
        yield by_id[outcome.exercise], outcome


def _line(exercise: Known, outcome: Outcome) -> str:
    name = exercise["id"]
    if is_extension(exercise):
        name = _("{exercise} (extension)").format(exercise=name)
    words = {"passed": _("passed"), "open": _("nothing is written yet")}
    said = words.get(outcome.state) or first_sentence(outcome.said)
    return f"{MARKS[outcome.state]} {name}: {said}"


def first_sentence(text: str) -> str:
    """``first_sentence("No scaling. Divide by it.")`` is ``"No scaling."``; a dot in code ends none."""
    found = re.match(r".+?(?:[.?!](?=\s+[^a-z\s])|。)", " ".join(text.split()))
    return found[0] if found else text


def _summary(saved, done):
    core = [o for e, o in done if not is_extension(e)]
    more = [o for e, o in done if is_extension(e)]
    passes = [sum(o.state == "passed" for o in some) for some in (core, more)]
    parts = [page.exercises(passes[0], len(core)), *page.extensions(passes[1], len(more))]
    return f"{saved.unit}: {listed(parts)}"


def _row(saved, exercise, outcome):
    about = {"unit": saved.unit, "extension": is_extension(exercise), "points": exercise["points"]}
    return asdict(outcome) | about


if __name__ == "__main__":
    sys.exit(main())
