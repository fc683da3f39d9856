"""What a generic message says of an exercise's cases and arguments is true of them."""

from anatomy import probing
from anatomy.naming import expects_error, functions_of

from autograder.messages import CHANGES, changed, verdict_on


def test_an_example_that_passes_is_one_of_the_same_function(exercise, drawn):
    """No case of another function, and none that only asks for an error, is held against a wrong number."""
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
    """Else a learner would be told that an argument is ignored which may be ignored."""
    monkeypatch.setattr(probing, "SECONDS", 60)
    record, functions = drawn.recorded, exercise.functions(exercise.reference)
    for group in {functions_of(c) for c in record.cases}:
        first = next(i for i, c in enumerate(record.cases) if functions_of(c) == group)
        passed = [i != first for i in range(len(record.cases))]
        assert probing.ignored(record, functions, passed) == []
