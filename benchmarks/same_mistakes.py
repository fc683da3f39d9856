"""Are the known mistakes of a spec the same ones as at another commit, now that they are written as changes?

    python -m benchmarks.same_mistakes norm.layer_norm [...] [--base main] [--draws 3]

Yesterday's judge has to name each mistake of today as it named its own, and today's judge those of yesterday, on the
examples and on fresh draws. Names, messages and their order are compared as well.
"""

import argparse
import subprocess
import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

from anatomy.judge import judging

from autograder import ROOT, exercises
from autograder.judge.drawing import draw_record, student_key
from autograder.judge.spec import Exercise

STUDENTS = ("ada", "grace", "eve", "joan", "mary")


def before(exercise: Exercise, base: str) -> Exercise:
    """The exercise as its file was at a commit; what that file imports is today's."""
    module = next(m for m in exercises.spec_modules(exercise.unit) if _defines(m, exercise.id))
    path = Path(sys.modules[module].__file__ or "").relative_to(ROOT)
    source = subprocess.run(["git", "show", f"{base}:{path}"], cwd=ROOT, capture_output=True, text=True, check=True)
    spec = ModuleSpec(f"{module}_before", None)
    old = module_from_spec(spec)
    old.__package__ = module.rpartition(".")[0]
    sys.modules[old.__name__] = old
    exec(compile(source.stdout, f"{base}:{path}", "exec"), vars(old))
    found = next(v for v in vars(old).values() if isinstance(v, Exercise) and v.id == exercise.id)
    found.unit = exercise.unit
    return found


def _defines(module: str, exercise_id: str) -> bool:
    __import__(module)
    return any(isinstance(v, Exercise) and v.id == exercise_id for v in vars(sys.modules[module]).values())


def problems(old: Exercise, new: Exercise, draws: int) -> list[str]:
    """Sentences on what differs."""
    said = []
    was, now = ({m.name: " ".join(m.message.split()) for m in e.mutants} for e in (old, new))
    said += [f"{n} is gone" for n in was.keys() - now.keys()] + [f"{n} is new" for n in now.keys() - was.keys()]
    said += [
        f"{n} says other words: {now[n]!r}, it was {was[n]!r}" for n in was.keys() & now.keys() if was[n] != now[n]
    ]
    if not said and [*was] != [*now]:
        said.append(f"the order differs: {[*now]}, it was {[*was]}")
    new = replace(new, cases=old.cases)
    for key in [None, *(student_key("secret", name, old.unit) for name in STUDENTS[:draws])]:
        a, b = draw_record(old, key), draw_record(new, key)
        for who, judge, given in (("yesterday's judge", a, b), ("today's judge", b, a)):
            for name in was.keys() & now.keys():
                verdict = judging.judge(judge, [c.outcomes[name] for c in given.cases])
                named = verdict.mistakes[0].name if verdict.mistakes else "nothing: it passes"
                if named != name:
                    said.append(f"{name}, {'examples' if key is None else 'fresh inputs'}: {who} names {named}")
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ids", nargs="+")
    parser.add_argument("--base", default="main")
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    failed = False
    for name in options.ids:
        new = exercises.get(name)
        said = problems(before(new, options.base), new, options.draws)
        failed |= bool(said)
        changes = sum(bool(m.change) for m in new.mutants)
        print(
            f"{name}: {changes} of {len(new.mutants)} mistakes are changes; "
            + ("the same" if not said else "DIFFERENT")
        )
        print(*(f"  {s}" for s in said), sep="\n", end="\n" if said else "")
    return failed


if __name__ == "__main__":
    sys.exit(main())
