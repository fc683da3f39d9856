"""The recorded results of single changes to right answers are up to date, and an answer with such a change is told."""

import contextlib
import itertools

import torch
from anatomy.judge import edits
from safetensors import safe_open

from autograder.messages import verdict_on
from autograder.mutation.subjects import subjects
from autograder.mutation.trial import OutOfTime
from autograder.recording import edits as recorder

TRIED = 12  # changes per exercise, one of which is made again


def test_the_recorded_changes_are_those_of_the_present_code(exercise, drawn):
    with safe_open(str(drawn.recorded.edits), framework="pt") as store:
        recorded = recorder.digests(store.metadata())
    assert recorded[exercise.id] == recorder.digest(exercise), "run: python -m autograder.recording.edits"


def test_of_two_changes_at_once_each_is_a_known_mistake(drawn):
    changes = edits.known(drawn.recorded.edits, drawn.recorded.id)[0]
    pairs = [code.split() for kind, code in changes if kind == "both"]
    assert all(one != other and {one, other} <= set(drawn.recorded.mistakes) for one, other in pairs)


def test_whoever_makes_a_change_is_told_it(exercise, drawn):
    changes, forms, numbers = edits.known(drawn.recorded.edits, exercise.id)
    for subject, mutant, made in itertools.islice(_made_again(exercise, drawn.recorded), 1):
        same = (forms == torch.tensor([p[0] for p in made], dtype=torch.int32)).all(1)
        same &= ((numbers - torch.tensor([p[1:] for p in made])).abs() < 1e-3).all(2).all(1)
        words = [code for (_kind, code), is_same in zip(changes, same.tolist(), strict=True) if is_same]
        assert words, f"{mutant.what} is not recorded"
        functions = exercise.functions(subject.implementation(mutant)).values()
        mistake = verdict_on(exercise.id, list(functions)).mistakes[0]
        assert mistake.name != "generic.edit" or any(code in mistake.message for code in words), mistake.message


def _made_again(exercise, record):
    """Yields (subject, mutant, its prints) for every seventh change of the solution, if it fails without a name."""
    solution = subjects(exercise)[0]
    for mutant in itertools.islice(solution.mutants(), 0, 7 * TRIED, 7):
        with contextlib.suppress(OutOfTime, Exception, SystemExit):
            if recorder.is_steady(mutant) and recorder.described(mutant):
                made = recorder.prints(record, solution, mutant)
                if made:
                    yield solution, mutant, made
