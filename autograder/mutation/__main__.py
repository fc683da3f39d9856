"""``python -m autograder.mutation [--unit UNIT] [--exercise ID] [--show]`` (``make mutate UNIT=…``).

Prints for each exercise how many small mistakes there are, how many fail, how many do nothing, how many pass and are
explained by ``equivalent`` in the spec, and how many pass unexplained. ``--show`` prints the latter with their keys and
what they change, ``--template`` as lines for the spec; ``--prune`` removes stale ones from it. The exit status is 1
where a survivor is not explained, or an entry is stale: its mutant fails now, or is gone.

For each survivor: add the smallest case that it fails; or, if it does the same as the right answer for every input that
the exercise allows, a reason and its line::

    all inputs have two axes: 1 is the last one
        1a2b3c4d5e solution, constant: -1 → 1 in x.mean(-1)

A survivor passes the public examples, the freshly drawn cases, or both: ``passes`` says which. ``told by`` names kinds
of inputs that would reveal it but that no case has: float64, transposed storage, expanded, requires_grad.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

from anatomy.system import files  # noqa: E402

from autograder import exercises  # noqa: E402
from autograder.judge.spec import Exercise  # noqa: E402

from . import explained, processes  # noqa: E402
from .because import BadReason  # noqa: E402
from .explained import Review, Survivor  # noqa: E402

COLUMNS = ("mutants", "killed", "no effect", "explained", "unexplained", "stale", "CPU s")
Entries = dict[str, dict[str, explained.Entry]]  # exercise → key → entry


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(prog="make mutate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--unit", action="append", help="e.g. 02-normalization or 02 (repeatable); without: all")
    parser.add_argument("--exercise", action="append", help="e.g. norm.layer_norm (repeatable)")
    parser.add_argument("--show", action="store_true", help="print each survivor that is not explained")
    parser.add_argument("--template", action="store_true", help="print them as lines for the spec, nothing else")
    parser.add_argument("--prune", action="store_true", help="remove stale entries from the specs")
    parser.add_argument("--workers", type=int, default=processes.WORKERS, help="processes at a time")
    options = parser.parse_args(argv)
    try:
        chosen = _chosen(options.unit, options.exercise)
        entries = {e.id: explained.entries(e) for e in chosen}
    except (exercises.UnknownName, exercises.SpecError, BadReason) as error:
        print(f"mutate: {error}", file=sys.stderr)
        return 2
    start = time.monotonic()
    reviews = _reviews(chosen, entries, options.workers)
    if options.template:
        ordered = list(reviews)
        print(explained.template(s for r in ordered for s in r.unexplained))
    else:
        ordered = _printed(reviews, max(len(e.id) for e in chosen), options.show)
        print(f"{time.monotonic() - start:.0f} s")
    if options.prune:
        for review in ordered:
            if review.stale:
                _prune(exercises.get(review.tally.exercise), review.stale)
    return 0 if all(r.clean for r in ordered) else 1


def _chosen(units: list[str] | None, ids: list[str] | None) -> list[Exercise]:
    if ids:
        return [exercises.get(i) for i in ids]
    known = exercises.units()
    found = [u for u in known if not units or any(u.startswith(asked) for asked in units)]
    if not found:
        raise exercises.UnknownName(f"There is no unit {units}. Units: {', '.join(known)}")
    return [e for u in found for e in exercises.of_unit(u)]


def _reviews(chosen: list[Exercise], entries: Entries, workers: int) -> Iterator[Review]:
    """Each exercise's tally beside its entries, in order, as soon as it is known."""
    ready: dict[str, Review] = {}
    waiting = [e.id for e in chosen]
    for tally in processes.tallies(chosen, workers):
        ready[tally.exercise] = explained.reviewed(tally, entries[tally.exercise])
        while waiting and waiting[0] in ready:
            yield ready[waiting.pop(0)]


def _prune(exercise: Exercise, stale: list[explained.Entry]) -> None:
    path, _ = exercises.place_of(exercise)
    try:
        text = explained.pruned(path.read_text(encoding="utf-8"), exercise, stale)
    except BadReason as error:
        print(error, file=sys.stderr)
        return
    files.replace(path, text.encode())
    print(f"{path.name}: {len(stale)} removed")


def _printed(reviews: Iterable[Review], width: int, show: bool) -> list[Review]:
    """Prints a row for each exercise as it comes, then the totals; returns all reviews."""
    print(f"{'':{width}}  " + "  ".join(COLUMNS))
    done = []
    for r in reviews:
        done.append(r)
        print(_row(r.tally.exercise, _numbers(r), width), flush=True)
        for problem in r.tally.problems:
            print(f"  ! {problem}")
        for entry in r.stale:
            print(f"  stale: {entry.key} {entry.mutant} (it fails now, or is gone: remove the entry)")
        for survivor in r.unexplained if show else ():
            print(_shown(survivor))
    total = [sum(column) for column in zip(*map(_numbers, done), strict=True)]
    print(_row("all", total, width))
    print(f"explained: {100 * total[3] / max(total[0], 1):.1f} % of the mutants")
    return done


def _numbers(r: Review) -> list[float]:
    t = r.tally
    return [t.mutants, t.killed, t.without_effect, len(r.explained), len(r.unexplained), len(r.stale), t.seconds]


def _row(name: str, numbers: Sequence[float], width: int) -> str:
    return f"{name:{width}}  " + "  ".join(f"{n:>{len(c)}.0f}" for n, c in zip(numbers, COLUMNS, strict=True))


def _shown(s: Survivor) -> str:
    told = f"; told by {', '.join(s.told_by)}" if s.told_by else ""
    head = f"\n  {s.key}  {s.place}  passes {' and '.join(s.passes)}{told}\n  {s.what}"
    return head + "".join(f"\n    {line}" for line in s.change.split("\n"))


if __name__ == "__main__":
    sys.exit(main())
