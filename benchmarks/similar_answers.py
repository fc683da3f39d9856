"""Measures how often the report calls independent submissions similar, and how many copies it finds.

``python -m benchmarks.similar_answers [--classes 40]``. The answers in ``benchmarks/answers`` were written by three
people independently of each other. Students are drawn from them: each takes one answer to every exercise of a unit, all
from the same writer, and no two students take the same answer. Pairs of students from two writers are independent;
pairs from one writer share a style, and half of a writer's answers are variants of another one.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from autograder import exercises
from autograder.grading.pages import similar
from benchmarks.written_answers import read

SETS = ("first", "second", "third")
Sources = dict[str, dict[str, str]]
_HEAD = re.compile(r"^def .*$", re.M)


def drawn(unit: str, rng: random.Random, most: int) -> Sources:
    """A class: student "first 0", … → exercise → source. most: maximum number of students per writer."""
    found: Sources = defaultdict(dict)
    wanted = {e.id for e in exercises.of_unit(unit)}
    for name in SETS:
        by_exercise = defaultdict(list)
        for answer in read(name):
            if answer.exercise in wanted:
                by_exercise[answer.exercise].append(answer.source)
        for exercise, sources in by_exercise.items():
            for n, source in enumerate(rng.sample(sources, min(most, len(sources)))):
                found[f"{name} {n}"][exercise] = source
    return found


def disguised(source: str, rng: random.Random) -> str:
    """The same answer with other names for assigned variables, without comments, and with different spacing."""
    own = set(re.findall(r"^\s+(\w+) = ", source, re.M)) - set(re.findall(r"\w+", " ".join(_HEAD.findall(source))))
    for name in own:
        source = re.sub(rf"(?<![.\w]){name}\b(?!=[^=])", f"{name}_{rng.randrange(99)}", source)
    lines = [re.sub(r"\s*#.*", "", line) for line in source.splitlines()]
    return "\n\n".join(line.replace(" * ", "*").replace(", ", ",") for line in lines if line.strip())


def copied(original: Mapping[str, str], other: Mapping[str, str], part: float, rng: random.Random) -> dict[str, str]:
    """A submission that copies ``part`` of the answers, disguised; the rest comes from another student."""
    taken = set(rng.sample(sorted(original), round(part * len(original))))
    return {e: disguised(original[e], rng) if e in taken else other.get(e, "") for e in original}


def false_alarms(units: Sequence[str], classes: int, most: int) -> Counter[str]:
    """Number of pairs, and of pairs that would be listed, for students from two writers and from one."""
    count = Counter[str]()
    for unit in units:
        stubs, rng = similar.stubs(unit), random.Random(unit)
        for _ in range(classes):
            students = drawn(unit, rng, most)
            names = sorted(students)
            listed = {p.students for p in similar.pairs(students, stubs)}
            for i, a in enumerate(names):
                for b in names[i + 1 :]:
                    kind = "one writer" if a.split()[0] == b.split()[0] else "two writers"
                    count[kind] += 1
                    count[f"{kind}, listed"] += (a, b) in listed
    return count


def finds(units: Sequence[str], classes: int, part: float) -> tuple[int, int]:
    """(number of copies listed, number of copies). The class contains no variants of the copied answers."""
    hits = total = 0
    for unit in units:
        stubs, rng = similar.stubs(unit), random.Random(unit)
        for _ in range(classes):
            students = {s: a for s, a in drawn(unit, rng, 12).items() if not s.startswith("first") or s == "first 0"}
            students["zz copy"] = copied(students["first 0"], students["second 0"], part, rng)
            total += 1
            hits += ("first 0", "zz copy") in {p.students for p in similar.pairs(students, stubs)}
    return hits, total


def closest(unit: str) -> int:
    """How many of three pairs are listed. For every two writers, a class of two students whose right answers to each
    exercise are the most similar ones, as if both had always had the same idea."""
    stubs = similar.stubs(unit)
    right: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in SETS:
        for answer in read(name):
            if answer.right and answer.exercise in stubs:
                right[name, answer.exercise].append(answer.source)
    listed = 0
    for i, a in enumerate(SETS):
        for b in SETS[i + 1 :]:
            pair: Sources = {a: {}, b: {}}
            for exercise in stubs:
                both = [(x, y) for x in right[a, exercise] for y in right[b, exercise]]
                pair[a][exercise], pair[b][exercise] = max(
                    both, key=lambda t: similar.likeness(t[0], t[1], stubs[exercise])
                )
            listed += bool(similar.pairs(pair, stubs))
    return listed


def seconds(students: int, unit: str = "06-rope") -> float:
    """Seconds for a class of ``students``; its answers are combined from pieces of the written ones, so all differ."""
    rng, stubs, base = random.Random(0), similar.stubs(unit), drawn(unit, random.Random(0), 12)
    pool = list(base.values())
    made: Sources = {}
    for n in range(students):
        parts = {e: rng.choice(pool).get(e, "").splitlines() for e in stubs}
        more = {e: rng.choice(pool).get(e, "").splitlines() for e in stubs}
        made[f"s{n}"] = {e: "\n".join(lines[: rng.randint(1, len(lines) or 1)] + more[e]) for e, lines in parts.items()}
    began = time.perf_counter()
    similar.pairs(made, stubs)
    return time.perf_counter() - began


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.similar_answers", description=__doc__.split("\n")[0])
    parser.add_argument("--classes", type=int, default=20, help="classes that are drawn for each unit")
    parser.add_argument("--unit", action="append", help="only this unit (may be repeated)")
    options = parser.parse_args(argv)
    # A unit with fewer exercises than must be similar can never be listed.
    units = options.unit or [u for u in exercises.units() if len(exercises.of_unit(u)) >= similar.MIN_EXERCISES]
    for most, words in ((12, "23 students"), (1, "3 students")):
        count = false_alarms(units, options.classes, most)
        for kind in ("two writers", "one writer"):
            if count[kind]:
                print(f"{words}, {kind}: {count[f'{kind}, listed']} of {count[kind]} pairs listed")
    print(
        f"closest answers of two writers to each exercise: {sum(map(closest, units))} of {3 * len(units)} pairs listed"
    )
    for part in (1.0, 0.75, 0.5):
        hits, total = finds(units, options.classes, part)
        print(f"copies of {part:.0%}, disguised: {hits} of {total} listed")
    print(f"300 students of 06-rope: {seconds(300):.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
