"""``python -m autograder.authoring ID [--unit UNIT] [--after OTHER_ID]`` (make exercise).

The first run for an id writes its spec and its text, with a marker at each place to fill in. Every later run says what
is missing, with file and line; if nothing is missing, it records the unit, builds it and runs the tests of the
exercise.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence

from autograder import ROOT, exercises
from autograder.notebooks.cells import SourceError, shown
from autograder.notebooks.source import source_path

from . import review, scaffold, trial
from .templates import MARK

# Tests that run once for each exercise, and tests that an author's text can break.
OF_EXERCISE = (
    "tests/exercises",
    "tests/course/test_diagnosis.py",
    "tests/course/test_naming.py",
)
OF_UNIT = ("tests/course/test_notebooks.py", "tests/course/test_build.py", "tests/evidence/test_verdicts.py")


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 0 if it began an exercise, or if nothing is missing and all tests pass."""
    parser = argparse.ArgumentParser(prog="make exercise", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("id", help="topic.name, e.g. activation.relu_squared")
    parser.add_argument("--unit", help="e.g. 04-ffn-and-gating; needed for a new exercise")
    parser.add_argument("--after", help="the exercise that a new one follows; without it, it stands before the recap")
    options = parser.parse_args(argv)
    start = time.monotonic()
    try:
        unit = scaffold.unit_of(options.id, options.unit)
        return _begin_or_finish(options.id, unit, options.after, start)
    except (scaffold.Refused, exercises.UnknownName) as error:
        print(f"exercise: {error}\nNothing was written.", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"exercise: {error.filename or ''}: {error.strerror or error}; run it again when this is mended")
        return 2
    except KeyboardInterrupt:
        return 130


def _begin_or_finish(exercise_id: str, unit: str, after: str | None, start: float) -> int:
    try:
        return 0 if begin(exercise_id, unit, after) else finish(exercise_id, unit, start)
    except SourceError as error:
        return _missing(exercise_id, str(error).split("\n"))
    except exercises.SpecError as error:
        # Report problems of the text in the same run.
        return _missing(exercise_id, [*str(error).split("\n"), *map(str, review.of_text_alone(source_path(unit)))])


def begin(exercise_id: str, unit: str, after: str | None) -> bool:
    """Writes the files of a new exercise; returns whether there was anything to write."""
    made = scaffold.plan(exercise_id, unit, after)
    if not made.new and not made.changed:
        return False
    for path in scaffold.write(made):
        print(f"wrote {shown(path)}" if path in made.new else f"added {exercise_id} to {shown(path)}")
    for note in made.notes:
        print(note)
    print(f"Now write what {MARK} marks there. What is left, and what fails, is said by: {_again(exercise_id)}")
    return True


def finish(exercise_id: str, unit: str, start: float) -> int:
    """Says what is missing; if nothing is, records, builds and tests. Returns the exit status."""
    spec = next(e for e in exercises.of_unit(unit) if e.id == exercise_id)
    missing = review.problems(unit, spec)
    missing += [p for p in trial.problems(spec) if p not in missing]
    if missing:
        return _missing(exercise_id, [str(p) for p in missing])
    for module in ("autograder.recording", "autograder.build"):
        if subprocess.run([sys.executable, "-m", module, "--unit", unit], cwd=ROOT, env=_environment()).returncode:
            print(f"{exercise_id}: it stopped here, as said above. Then again: {_again(exercise_id)}")
            return 1
    passed = _tests(exercise_id, unit)
    seconds = time.monotonic() - start
    if not passed:
        print(f"{exercise_id}: recorded and built, but tests fail, as shown above ({seconds:.0f} s).")
        print(f"Mend it, then again: {_again(exercise_id)}")
        return 1
    print(f"{exercise_id}: nothing is missing. Recorded, built, tests passed, in {seconds:.0f} s.")
    print(f"Next, read as a learner would: make messages UNIT={unit}, then make preview UNIT={unit}")
    return 0


def _missing(exercise_id: str, sentences: Sequence[str]) -> int:
    print(*sentences, sep="\n")
    count = len(sentences)
    print(f"{exercise_id}: {count} thing{'s' * (count != 1)} to mend; nothing was recorded or built.")
    print(f"Then again: {_again(exercise_id)}")
    return 1


def _again(exercise_id: str) -> str:
    return f"make exercise ID={exercise_id}"


def _tests(exercise_id: str, unit: str) -> bool:
    """Runs the tests of one exercise and of its unit's notebook; shows their whole output if one fails."""
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:warnings", "-n", "2"]
    command += ["--unit", unit, "--exercise", exercise_id, *OF_EXERCISE, *OF_UNIT]
    done = subprocess.run(command, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, text=True)
    lines = done.stdout.rstrip().split("\n")
    print(*(lines[-1:] if done.returncode == 0 else lines), sep="\n")
    return done.returncode == 0


def _environment() -> dict[str, str]:
    return {"OMP_NUM_THREADS": "1", **os.environ}


if __name__ == "__main__":
    sys.exit(main())
