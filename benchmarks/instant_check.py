"""Measures how long a learner waits for a check: every exercise, reference and first mutant, in one warm process.

``make bench``. Prints the median and the slowest time; the goal is a median of 100 ms, the limit 200 ms.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ["ANATOMY_HOME"] = tempfile.mkdtemp()

from anatomy import evaluate  # noqa: E402
from anatomy.progress.standing import note  # noqa: E402

from autograder import exercises  # noqa: E402
from autograder.judge.spec import Exercise, Implementation  # noqa: E402

REPEATS = 5


def seconds(
    exercise: Exercise,
    implementation: Implementation,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Median time of a check that reads its recording again, like the first press of Shift+Enter."""
    functions = implementation if isinstance(implementation, tuple) else (implementation,)
    times = []
    for _ in range(REPEATS):
        start = clock()
        verdict = evaluate(exercise.id, *functions)
        note(verdict)
        verdict.html()
        times.append(clock() - start)
    return statistics.median(times)


def measure() -> list[tuple[str, float, float]]:
    """List of (exercise id, seconds for the reference, seconds for the first mutant)."""
    return [(e.id, seconds(e, e.reference), seconds(e, e.mutants[0].fn)) for e in exercises.all_exercises()]


def main() -> None:
    """Prints a table and the summary line."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    rows = measure()
    print(f"{'exercise':40} {'right':>8} {'wrong':>8}   (ms, median of {REPEATS})")
    for name, right, wrong in rows:
        print(f"{name:40} {right * 1e3:8.1f} {wrong * 1e3:8.1f}")
    every = sorted(t for row in rows for t in row[1:])
    p95 = every[int(0.95 * (len(every) - 1))]
    print(
        f"{len(rows)} exercises: median {statistics.median(every) * 1e3:.1f} ms, p95 {p95 * 1e3:.1f} ms, "
        f"slowest {every[-1] * 1e3:.1f} ms"
    )


if __name__ == "__main__":
    main()
