"""The judge: outcomes of a learner's code against a record → a Verdict that names the mistake.

One implementation for the instant check (public cases from the recording) and for trusted grading (fresh cases,
references run live by the grader). Outcomes are data that may come from a hostile process; anything malformed is a
failed case with a sentence, never an exception.
"""

from . import codec, diagnosis, runner
from .compare import Difference, difference, show
from .symbolic import NotAnExpression
from .verdict import CaseResult, Mistake, Verdict


def judge(record, outcomes, seconds=0.0):
    """Verdict for one exercise.

    record: ExerciseRecord. outcomes: for each case ``(outcome, tensors)`` as ``runner.run`` returns them, or
    ``({"missing": [names]}, {})``.
    """
    cases, first, used = [], None, set()
    forbidden = runner.forbidden_names(record.forbidden)
    total = sum(c.weight for c in record.cases) or 1.0
    for case, (outcome, tensors) in zip(record.cases, outcomes, strict=True):
        problem = _problem(case, outcome, tensors)
        used |= set(outcome.get("used") or []) & forbidden if isinstance(outcome, dict) else set()
        worth = record.points * case.weight / total
        result = CaseResult(case.name, case.shows, problem is None, worth if problem is None else 0.0, worth)
        if problem is not None:
            result.sentence, result.expected, result.got = problem.sentence, problem.expected, problem.got
            result.call = case.call
            first = first or (case, outcome, tensors, problem)
        cases.append(result)
    mistakes = []
    if used:
        mistakes.append(Mistake("forbidden_builtin", f"This exercise asks you to write it yourself, but "
                                f"{', '.join(sorted(used))} ran. {record.forbidden_message}".strip()))
        for c in cases:
            c.points = 0.0
    if first:
        mistakes += _named(record, outcomes, [c.passed for c in cases])
        if len(mistakes) == bool(used):
            mistakes += diagnosis.generic(record, *first, passed=[c.passed for c in cases])
    passed = not used and first is None
    score = record.points if passed else sum(c.points for c in cases)
    return Verdict(record.id, passed, round(score, 6), record.points, mistakes, cases, seconds)


def _problem(case, outcome, tensors):
    """Difference between a case's expectation and an outcome, or None."""
    try:
        return outcome_difference(case, case.outcomes["expected"], (outcome, tensors), case.atol, case.rtol)
    except (codec.MalformedTree, NotAnExpression) as error:
        return Difference("type", f"the result cannot be read: {error}")
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, RecursionError, OverflowError) as error:
        return Difference("type", f"the result cannot be compared ({type(error).__name__})")


def outcome_difference(case, expected, got, atol, rtol):
    """First Difference between two outcomes of a case's program, or None."""
    (want, want_tensors), (have, have_tensors) = expected, got
    if have.get("missing"):
        return Difference("missing", f"the notebook defines no {' and no '.join(map(str, have['missing']))}: "
                          "was it renamed or deleted?")
    if have.get("signature"):
        return Difference("signature", have["signature"])
    allowed = {id(want_tensors[n]): a for n, a in atol.items()}
    single = len(want["results"]) == 1
    for i, step in enumerate(want["results"]):
        theirs = have["results"][i]
        where = "the result" if single else f"the result of step {i + 1}"
        if "raises" in step or "raises" in theirs:
            found = _raise_difference(step, theirs, want_tensors)
        else:
            found = difference(codec.decode(step["value"], want_tensors), codec.decode(theirs["value"], have_tensors),
                               allowed, rtol, where)
            if not found and "grads" in step:
                found = difference(codec.decode(step["grads"], want_tensors),
                                   codec.decode(theirs["grads"], have_tensors), allowed, rtol, "the gradient of")
        if found:
            return found
        if "raises" in step:
            break
    if have.get("mutated") and not want.get("mutated"):
        return Difference("mutated", "your code changes its input in place; work on a new tensor instead "
                          "(x = x * 2, not x *= 2)")
    return None


def _raise_difference(step, theirs, want_tensors):
    if "raises" not in theirs:
        return Difference("raises", f"a {step['raises'][0]} should be raised here", step["raises"][0], "no error")
    name, message, line = (str(p) for p in theirs["raises"])
    if "raises" not in step:
        expected = show(codec.decode(step["value"], want_tensors)) if step["value"] is not None else "a result"
        if name == "NotImplementedError":
            return Difference("not_written", "", expected, "nothing yet")
        at = f" (at: {line})" if line else ""
        return Difference("raised", f"Your code raised {name}: {message}{at}", expected, f"{name}: {message}"[:200])
    if name != step["raises"][0]:
        return Difference("raises", f"a {step['raises'][0]} should be raised here, not {name}",
                          step["raises"][0], f"{name}: {message}"[:200])
    return None


def _named(record, outcomes, passed):
    """Known mistakes whose outcomes equal the learner's: on every case, else on every case that failed, else on those
    that call what the first failure calls (an exercise may ask for several functions, each with its own mistake), else
    on the first failure and most of the others (a second, smaller mistake lies on top). Where several are left, the one
    that equals the learner's on most cases: a missing check at the end looks the same in every mistake without it."""
    first = passed.index(False)
    near = [not p and _calls(c) == _calls(record.cases[first]) for c, p in zip(record.cases, passed, strict=True)]
    whole, failing, own, most = [], [], [], []
    for name, message in record.mistakes.items():
        same = []
        for case, got in zip(record.cases, outcomes, strict=True):
            theirs = case.outcomes.get(name)
            same.append(theirs is not None and _same_outcome(case, theirs, got))
        if not any(s and not p for s, p in zip(same, passed, strict=True)):
            continue
        if all(same):
            found = whole
        elif all(s or p for s, p in zip(same, passed, strict=True)):
            found = failing
        elif all(s or not n for s, n in zip(same, near, strict=True)):
            found = own
        elif same[first] and 2 * sum(s and not p for s, p in zip(same, passed, strict=True)) > passed.count(False):
            found = most
        else:
            continue
        found.append((sum(same), Mistake(name, message)))
    nearest = max(whole or failing or own or most, key=lambda found: found[0], default=None)
    return [nearest[1]] if nearest else []


def _calls(case):
    return {step.get("call") or step.get("new") for step in case.program["steps"]} - {None}


def _same_outcome(case, theirs, got):
    # A fingerprint is met more loosely than an expectation: another order of summation is still the same mistake.
    loose = {n: 10 * a + 1e-6 for n, a in case.atol.items()}
    try:
        pairs = zip(theirs[0]["results"], got[0]["results"], strict=False)
        if any(("raises" in a) != ("raises" in b) for a, b in pairs):
            return False  # at once: a Difference would put both into words
        if "raises" in theirs[0]["results"][-1]:
            last = next((r for r in got[0]["results"] if "raises" in r), None)
            return last is not None and last["raises"][0] == theirs[0]["results"][-1]["raises"][0] and bool(
                theirs[0]["results"][-1]["raises"][1][:40] == last["raises"][1][:40])
        wide = {n: loose.get(n, 1e-6) for n in theirs[1]}
        return outcome_difference(case, theirs, got, wide, case.rtol or 1e-5) is None
    except Exception:  # a malformed outcome equals no fingerprint
        return False


__all__ = ["judge", "outcome_difference", "show"]
