"""The judge: compares the outcomes of a learner's code with a record; returns a Verdict that names the mistake.

One implementation for the instant check (public cases from the recording) and for trusted grading (fresh cases,
references run live by the grader). Outcomes are data that may come from a hostile process; anything malformed is a
failed case with a sentence, never an exception.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..program import codec, cost, distributions, runner
from ..program.codec import Memory, Tensors
from ..program.records import CaseRecord, ExerciseRecord
from ..program.runner import Outcome, Outcomes, Step
from ..program.symbolic import NotAnExpression
from ..system.texts import short
from ..system.translation import N_, _, listed, none_of, said
from . import diagnosis, edits, error_advice, naming
from .case_text import spelled
from .compare import RESULT, RESULT_OF_CALL, Difference, difference, expectation, show
from .verdict import CaseResult, Mistake, Verdict

ORDINALS = (N_("first"), N_("second"), N_("third"), N_("fourth"))


_UNTOLD = ("generic.partly", "generic.values")  # these say that the cause is unknown: not true once a change is found


def judge(record: ExerciseRecord, outcomes: Outcomes, seconds: float = 0.0) -> Verdict:
    """Verdict for one exercise. Never raises because of an outcome.

    record: ExerciseRecord. outcomes: for each case ``(outcome, tensors)`` as ``runner.run_program`` returns them, or
    ``({"missing": [names]}, {})``.
    """
    verdict, problems, memory = _scored(record, outcomes, seconds)
    if any(p is not None for p in problems):
        known = naming.named(record, outcomes, problems, memory)
        told = [] if known else edits.found(record, outcomes, problems, memory)
        if not told and (known := known or naming.in_part(record, outcomes, problems, memory)):
            told = [known]
        if known is None and not any(m.name in record.mistakes for m in told):
            more = diagnosis.generic(record, outcomes, problems, memory)
            told += [m for m in more if not (told and m.name in _UNTOLD)]
        return replace(verdict, mistakes=verdict.mistakes + told)  # __post_init__ then limits the texts as a whole
    return verdict


def scored(record: ExerciseRecord, outcomes: Outcomes, seconds: float = 0.0) -> Verdict:
    """As ``judge``, but without looking for the cause of a failure, which is most of the work: the only mistake in the
    verdict is a forbidden call."""
    return _scored(record, outcomes, seconds)[0]


def _scored(
    record: ExerciseRecord, outcomes: Outcomes, seconds: float
) -> tuple[Verdict, list[Difference | None], Memory]:
    memory = Memory()
    problems = problems_of(record, outcomes, memory)
    used = _forbidden_used(record, outcomes)
    total = sum(c.weight for c in record.cases) or 1.0
    cases = []
    for number, (case, problem) in enumerate(zip(record.cases, problems, strict=True), 1):
        worth = record.points * case.weight / total
        points = worth if problem is None and not used else 0.0
        if problem is None:
            cases.append(CaseResult(case.name, case.shows, True, points, worth))
            continue
        call = spelled(record, number, problem.step, problem.gradient)
        if problem.kind == "cost":
            call = f'case("{record.id}", {number}).cost({", ".join(record.targets)})'
        told = problem.sentence, call, problem.expected, problem.got
        cases.append(CaseResult(case.name, case.shows, False, points, worth, *told))
    mistakes = [_forbidden(record, used)] if used else []
    passed = not used and all(p is None for p in problems)
    score = record.points if passed else sum(c.points for c in cases)
    verdict = Verdict(record.id, passed, round(score, 6), record.points, mistakes, cases, seconds, record.extension)
    return verdict, problems, memory


def passes(record: ExerciseRecord, outcomes: Outcomes) -> bool:
    """True if ``judge`` would pass the answer; does not look at the known mistakes."""
    memory = Memory()
    problems = (_problem(c, *o, memory) for c, o in zip(record.cases, outcomes, strict=True))
    return not _forbidden_used(record, outcomes) and all(p is None for p in problems)


def problems_of(record: ExerciseRecord, outcomes: Outcomes, memory: Memory) -> list[Difference | None]:
    """What is wrong in each case, or None. Never raises because of an outcome."""
    return [_problem(c, *o, memory) for c, o in zip(record.cases, outcomes, strict=True)]


def _forbidden_used(record: ExerciseRecord, outcomes: Outcomes) -> list[str]:
    """Forbidden names that ran, according to the outcomes, which may say anything."""
    forbidden = runner.forbidden_names(record.forbidden)
    readable = [outcome for outcome, *__ in outcomes if isinstance(outcome, dict)]
    reported = [name for outcome in readable for name in outcome.get("used") or ()]
    return sorted({name for name in reported if isinstance(name, str) and name in forbidden})


def _forbidden(record: ExerciseRecord, used: list[str]) -> Mistake:
    derivatives = runner.forbidden_names(["autograd"]) if "autograd" in record.forbidden else frozenset()
    names = [n for n in used if n not in derivatives] + ["autograd"] * any(n in derivatives for n in used)
    return Mistake(
        "forbidden_builtin",
        _("This exercise asks you to write it yourself, but {names} ran. {why}")
        .format(names=listed(names), why=said(record.id, record.forbidden_message))
        .strip(),
    )


def _problem(case: CaseRecord, outcome: Outcome, tensors: Tensors, memory: Memory) -> Difference | None:
    """Difference between a case's expectation and an outcome, or None."""
    expected, got = case.outcomes["expected"], (outcome, tensors)
    try:
        if case.least is not None and outcome_difference(case, expected, got, case.least, case.rtol, memory) is None:
            return None
        return outcome_difference(case, expected, got, case.atol, case.rtol, memory)
    except (codec.MalformedTree, NotAnExpression) as error:
        return Difference("type", _("the result cannot be read: {error}").format(error=error))
    except Exception as error:  # the outcome may be anything that JSON and tensors can hold
        return Difference("type", _("the result cannot be compared ({error})").format(error=type(error).__name__))


def outcome_difference(
    case: CaseRecord,
    expected: tuple[Outcome, Tensors],
    got: tuple[Outcome, Tensors],
    atol: Mapping[str, float],
    rtol: float | None,
    memory: Memory | None = None,
) -> Difference | None:
    """First Difference between two outcomes of a case's program, or None. memory: where decoded values are kept."""
    memory = memory or Memory()
    (want, want_tensors), (have, have_tensors) = expected, got
    if have.get("missing"):
        return Difference(
            "missing",
            _("the notebook defines no {names}: was it renamed or deleted?").format(names=none_of(have["missing"][:8])),
        )
    if have.get("signature"):
        return Difference("signature", str(have["signature"]))
    allowed = {id(want_tensors[n]): a for n, a in atol.items()}
    for i, step in enumerate(want["results"]):
        where = _where(case.program["steps"], i)
        law = case.program["steps"][i].get("law")
        theirs = have["results"][i]
        found = _step_difference(step, want_tensors, theirs, have_tensors, allowed, rtol, where, memory, law)
        found = found or _untold(case.program["steps"][i], theirs)
        if found:
            found.step = i
            return found
        if "raises" in step:
            break
    changed = have.get("mutated", [])
    if changed and not want.get("mutated"):
        return Difference("mutated", error_advice.changed(changed))
    return _cost_difference(case.program["steps"], have["results"])


def _cost_difference(steps: list[Step], results: list[dict[str, Any]]) -> Difference | None:
    """Difference for the first call that cost more than its limit, where all values are right; or None."""
    calls = [i for i, s in enumerate(steps) if "call" in s]
    for i, step in enumerate(steps):
        if "cost" not in step or "raises" in results[i] or results[i].get("skipped"):
            continue
        number = calls.index(i) + 1 if len(calls) > 1 else None
        found = cost.sentence(step["cost"]["limits"], results[i].get("cost"), step["cost"]["because"], number)
        if found:
            return Difference("cost", *found, step=i)
    return None


def _untold(step: Step, theirs: dict[str, Any]) -> Difference | None:
    """Difference for an error that was asked for but whose text lacks something, or None."""
    asked = step.get("tells", [])
    message = str(theirs["raises"][1]) if asked else ""
    left_out = [text for text in asked if text not in message]
    if not left_out:
        return None
    error = theirs["raises"][0]
    told = _("the {error} is raised, but its text lacks {names}").format(error=error, names=listed(left_out))
    return Difference("untold", told, f"{error}: … {' … '.join(asked)} …", short(f"{error}: {message}", 200))


def _where(steps: list[Step], i: int) -> str:
    """Name of the value of a step in a sentence: learners count calls."""
    calls = [k for k, s in enumerate(steps) if "call" in s]
    if i in calls and len(calls) > 1:
        return _(RESULT_OF_CALL).format(n=calls.index(i) + 1)
    return _(RESULT)


def _step_difference(
    step: dict[str, Any],
    want_tensors: Tensors,
    theirs: dict[str, Any],
    have_tensors: Tensors,
    allowed: dict[int, float],
    rtol: float | None,
    where: str,
    memory: Memory,
    law: distributions.Law | None = None,
) -> Difference | None:
    if "raises" in step or "raises" in theirs:
        return _raise_difference(step, theirs, want_tensors, memory)
    want, have = memory.value(step["value"], want_tensors), memory.value(theirs["value"], have_tensors)
    if law is not None:
        return _law_difference(law, want, have, where)
    found = difference(want, have, allowed, rtol, where)
    if found or "grads" not in step:
        return found
    found = _cut_off(step.get("carries"), theirs.get("carries"))
    if found:
        return found
    want, have = memory.value(step["grads"], want_tensors), memory.value(theirs["grads"], have_tensors)
    for label, gradient in want.items():
        if not isinstance(have, dict) or label not in have:
            found = Difference("keys", _("the gradient for {place} is missing").format(place=_place(label)))
        elif have[label] is None and gradient is not None:
            found = Difference(
                "gradient",
                _(
                    "no gradient reaches {place}: it does not take part in the result, or was cut off (detach, .data, "
                    "torch.tensor, no_grad)"
                ).format(place=_place(label)),
                show(gradient),
                "None",
            )
        else:
            found = difference(
                gradient, have[label], allowed, rtol, _("the gradient for {place}").format(place=_place(label))
            )
        if found:
            found.gradient = label
            return found
    return None


def _law_difference(law: distributions.Law, want: Any, have: Any, where: str) -> Difference | None:
    """As for values, but the numbers may be any draws from the law."""
    loose = {id(t): math.inf for t in runner.floating(want)}
    found = difference(want, have, loose, 0.0, where)
    if found:
        return found
    for t, asked in zip(runner.floating(have), runner.floating(want), strict=True):
        wrong = distributions.problem(law, t)
        if wrong:
            told = _("{where} is drawn from another distribution: {what}").format(where=where, what=wrong)
            return Difference("law", told, show(asked), show(t))
    return None


def _cut_off(wanted: Any, carried: Any) -> Difference | None:
    """Difference for a result from which a gradient should flow back and none does, or None."""
    if not isinstance(wanted, list) or not isinstance(carried, list) or len(carried) != len(wanted):
        return None  # the gradients themselves are compared anyway
    lost = [i for i, (w, c) in enumerate(zip(wanted, carried, strict=True)) if w and c is not True]
    if not lost:
        return None
    told = _(
        "the numbers are right, but no gradient flows back from the result: it was cut off (detach, .data, "
        "torch.tensor, numpy, no_grad). Stay with torch operations on the inputs themselves"
    )
    if len(wanted) > 1:
        told = _(
            "the numbers are right, but no gradient flows back from the {nth} of the {n} floating results: it was cut "
            "off (detach, .data, torch.tensor, numpy, no_grad). Stay with torch operations on the inputs themselves"
        ).format(nth=_ordinal(lost[0]), n=len(wanted))
    return Difference("gradient", told, _("part of the graph"), _("cut off"))


def _ordinal(i: int) -> str:
    return _(ORDINALS[i]) if i < 4 else _("{n}th").format(n=i + 1)


def _place(label: str) -> str:
    """A gradient's label in words."""
    words = {f"argument {i}": _("the {nth} argument").format(nth=_(n)) for i, n in enumerate(ORDINALS)}
    return words.get(label, label)


def _raise_difference(
    step: dict[str, Any], theirs: dict[str, Any], want_tensors: Tensors, memory: Memory
) -> Difference | None:
    if "raises" in step:
        should = _("a {error} should be raised here")
        if step["raises"][0][:1] in "AEIOU":
            should = _("an {error} should be raised here")
        should = should.format(error=step["raises"][0])
        if "raises" not in theirs:
            return Difference("raises", should, step["raises"][0], _("no error"))
    name, message, line = (str(p) for p in theirs["raises"])
    if "raises" not in step:
        asked = step["value"]
        expected = expectation(memory.value(asked, want_tensors)) if asked is not None else _("no error")
        if name == "NotImplementedError":
            return Difference("not_written", "", expected, _("nothing yet"))
        at = f" (at: {line})" if line else ""
        first_line = f"{name}: {message}".split("\n")[0][:200]
        return Difference(
            "raised",
            _("Your code raised {name}: {message}{at}").format(name=name, message=message, at=at),
            expected,
            first_line,
        )
    if name != step["raises"][0]:
        return Difference(
            "raises",
            _("{sentence}, not {error}").format(sentence=should, error=name),
            step["raises"][0],
            f"{name}: {message}"[:200],
        )
    return None
