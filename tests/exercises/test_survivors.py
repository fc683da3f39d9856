"""No small mistake in a right answer passes its cases, but for those that were read and are none."""

import pytest

from autograder import exercises
from autograder.mutation import explained, processes
from autograder.mutation.survivors import count

from .. import proofs
from ..conftest import every_one

SHARE, SHARE_OF_KNOWN = 12, 4


@pytest.fixture(scope="module")
def entries():
    """Unit → exercise → key → entry; a reason that is too short fails here."""
    return {u: explained.read(explained.path_of(u)) for u in exercises.units()}


def test_every_survivor_is_explained(exercise, entries, request):
    """All of them take three quarters of an hour: a usual run tries one in SHARE, and one in SHARE_OF_KNOWN of those
    with a reason. Which one, the contents of the exercise decide, so that each change of it asks others."""
    known = entries[exercise.unit].get(exercise.id, {})
    share, of_known = (1, 1) if every_one(request.config) else (SHARE, SHARE_OF_KNOWN)
    turn = int(proofs.of_exercise(exercise.unit), 16)
    wanted = lambda key: (int(key, 16) - turn) % (of_known if key in known else share) == 0
    known = {key: entry for key, entry in known.items() if wanted(key)}
    (tally,) = processes.tallies([exercise], workers=1, wanted=wanted, known=known)
    assert not tally.problems, "\n".join(tally.problems)
    assert share > 1 or tally.killed > tally.mutants / 2 > 5  # of a few that are tried, few may be killed
    review = explained.reviewed(tally, known)
    said = [f"{s.key} {s.place} {s.what}" for s in review.unexplained]
    said += [f"{e.key} fails now, or is gone: {e.mutant}" for e in review.stale]
    assert not said, "\n".join([*said, f"Read them: python -m autograder.mutation --exercise {exercise.id} --show"])


def test_few_survivors_need_a_reason(entries):
    """One in twenty at most; there are many more mutants than need to be counted to see it."""
    reasons, mutants = sum(len(known) for unit in entries.values() for known in unit.values()), 0
    for exercise in exercises.all_exercises():
        mutants += count(exercise)
        if reasons < 0.05 * mutants:
            return
    pytest.fail(f"{reasons} reasons for {mutants} mutants")


def test_entries_are_of_exercises_that_there_are(entries):
    known = {u: {e.id for e in exercises.of_unit(u)} for u in entries}
    assert {u: set(of) - known[u] for u, of in entries.items() if set(of) - known[u]} == {}
    assert {p.name for p in explained.FOLDER.iterdir()} <= {explained.path_of(u).name for u in entries}
