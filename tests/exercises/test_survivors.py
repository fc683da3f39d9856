"""No small change of a right answer passes its cases, except changes that were reviewed and are no mistakes."""

import pytest

from autograder import exercises
from autograder.mutation import explained, processes
from autograder.mutation.survivors import count

from .. import proofs
from ..conftest import every_one

SHARE, SHARE_OF_KNOWN = 12, 4


def test_every_survivor_is_explained(exercise, request):
    """All of them take three quarters of an hour: a usual run tries one in SHARE, and one in SHARE_OF_KNOWN of those
    with a reason. Which one, the contents of the exercise decide, so that each change of it asks others."""
    known = explained.entries(exercise)  # a reason that is too short fails here
    share, of_known = (1, 1) if every_one(request.config) else (SHARE, SHARE_OF_KNOWN)
    turn = int(proofs.of_exercise(exercise.unit), 16)
    wanted = lambda key: (int(key, 16) - turn) % (of_known if key in known else share) == 0
    known = {key: entry for key, entry in known.items() if wanted(key)}
    (tally,) = processes.tallies([exercise], workers=1, wanted=wanted, known=known)
    assert not tally.problems, "\n".join(tally.problems)
    assert share > 1 or tally.killed > tally.mutants / 2 > 5  # if few are tried, few may be killed
    review = explained.reviewed(tally, known)
    said = [f"{s.key} {s.place} {s.what}" for s in review.unexplained]
    said += [f"{e.key} fails now, or is gone: {e.mutant}" for e in review.stale]
    assert not said, "\n".join([*said, f"Read them: python -m autograder.mutation --exercise {exercise.id} --show"])


def test_few_survivors_need_a_reason():
    """One in twenty at most; there are many more mutants than need to be counted to see it."""
    reasons, mutants = sum(len(explained.entries(e)) for e in exercises.all_exercises()), 0
    for exercise in exercises.all_exercises():
        mutants += count(exercise)
        if reasons < 0.05 * mutants:
            return
    pytest.fail(f"{reasons} reasons for {mutants} mutants")
