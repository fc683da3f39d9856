"""Generic messages about an exercise's cases and arguments are true."""

import itertools
import random

from anatomy.judge import fingerprint_match, judging, probing
from anatomy.judge.naming import expects_error, functions_of
from anatomy.program.codec import Memory

from autograder.messages import CHANGES, changed, verdict_on


def test_an_example_that_passes_is_one_of_the_same_function(exercise, drawn):
    """A message about a wrong number cites no case of another function, and none that only expects an error."""
    functions = exercise.functions(exercise.reference)
    for target in exercise.targets:
        wrong = [changed(f, CHANGES["wrong last column"]) if n == target else f for n, f in functions.items()]
        verdict = verdict_on(exercise.id, wrong)
        if verdict.passed or verdict.mistakes[0].name != "generic.partly":
            continue
        record = drawn.recorded
        first = next(c for c, r in zip(record.cases, verdict.cases, strict=True) if not r.passed)
        cited = [c for c in record.cases if f"(for example: {c.shows})" in verdict.mistakes[0].message]
        assert cited and all(functions_of(c) == functions_of(first) and not expects_error(c) for c in cited)


def test_the_reference_depends_on_every_argument(exercise, drawn, monkeypatch):
    """Otherwise a learner would be blamed for ignoring an argument that may be ignored."""
    monkeypatch.setattr(probing, "SECONDS", 60)
    record, functions = drawn.recorded, exercise.functions(exercise.reference)
    for group in {functions_of(c) for c in record.cases}:
        first = next(i for i, c in enumerate(record.cases) if functions_of(c) == group)
        passed = [i != first for i in range(len(record.cases))]
        assert probing.ignored(record, functions, passed) == []


PAIRS = 4  # pairs of known mistakes tested per exercise
NEITHER = {"raises": ["RuntimeError", "what two mistakes give together", "a line"]}


def test_of_two_mistakes_at_once_no_third_one_is_named(exercise, drawn):
    """Cases that only one mistake changes show that mistake; cases that both change may give anything."""
    record = drawn.recorded
    wrong = {name: problems for name in record.mistakes if (problems := _problems(record, name))}
    pairs = list(itertools.combinations(sorted(wrong), 2))
    for pair in random.Random(exercise.id).sample(pairs, min(PAIRS, len(pairs))):
        outcomes = []
        for i, case in enumerate(record.cases):
            made = [name for name in pair if wrong[name][i]]
            outcome, tensors = case.outcomes[made[0] if made else "expected"]
            skipped = [{"skipped": True}] * (len(case.program["steps"]) - 1)
            outcomes.append(({"results": [NEITHER, *skipped]}, {}) if len(made) == 2 else (outcome, tensors))
        verdict = judging.judge(record, outcomes)
        told = verdict.mistakes[0].name
        assert told.startswith("generic.") or any(_gives_the_same(record, told, name, wrong) for name in pair), pair


def _problems(record, name):
    """For each case, whether a known mistake fails it; None if the mistake was not tried in all cases."""
    if any(name not in c.outcomes for c in record.cases):
        return None
    return [p is not None for p in judging.problems_of(record, [c.outcomes[name] for c in record.cases], Memory())]


def _gives_the_same(record, told, name, wrong):
    """Whether the named mistake has the result of the one made, in a case that the one made fails."""
    return told == name or any(
        fingerprint_match.of_outcomes(
            c, c.outcomes[told], c.outcomes[name], {"ValueError"}, Memory(), range(len(steps))
        )
        for c, is_wrong in zip(record.cases, wrong[name], strict=True)
        if is_wrong and (steps := c.program["steps"])
    )
