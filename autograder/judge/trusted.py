"""Trusted judging: scores one exercise by the answers of a student's process to fresh, unseen inputs.

The judge runs in the grader's process. It draws fresh inputs (a key per submission), has the session evaluate
the student's function on them, and compares the answers with the reference run here. Scores come from these fresh
cases alone. Feedback comes from the public cases, those of the instant check, so that no hidden input is ever shown.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from anatomy.judge import judging
from anatomy.judge.naming import functions_of
from anatomy.judge.verdict import CaseResult, Mistake, Verdict
from anatomy.program import runner
from anatomy.program.codec import Tensors
from anatomy.program.records import CaseRecord, ExerciseRecord
from anatomy.program.runner import Outcome, Outcomes
from anatomy.system.translation import N_, _, language, languages, load, said
from safetensors.torch import save

from autograder.judge.ban import ban_of, note_refusals
from autograder.judge.drawing import draw_record
from autograder.judge.examples import is_drawn, public_record
from autograder.judge.reasons import reason
from autograder.judge.reply import MalformedReply, parse_reply, split_replies
from autograder.judge.spec import Exercise
from autograder.sandbox import AskTimeout, Session, SessionError, StudentError

ASKED = (Path(__file__).parent / "asked.py").read_text(encoding="utf-8")
SECONDS = 10.0  # for all cases of one exercise; honest answers take milliseconds
TOGETHER_SECONDS = 6.0  # for all exercises of a unit in one question; if that fails, each is asked alone
# For trying the known mistakes on one submission's own inputs: less than the time limit of a child of the grader.
NAMING_SECONDS = 4.0
SPARE_BYTES = 16 << 20  # a wrong shape is larger than the right one, and still deserves a verdict

Begin = Callable[[str], None]  # called with the id of each exercise before its reply is examined, or with one of these:
INPUTS, REPLIES = "inputs", "replies"
Done = Callable[[Verdict], None]  # called with each verdict once it is final
Answer = bytes | StudentError | MalformedReply  # the reply to one exercise's question


def _nothing(about: object) -> None:
    pass


def judge_exercises(
    exercises: Sequence[Exercise],
    session: Session,
    key: bytes,
    timeout: float = SECONDS,
    device: str = "cpu",
    begin: Begin = _nothing,
    done: Done = _nothing,
) -> list[Verdict]:
    """Verdicts on all exercises of a unit, in order: equal to ``judge_exercise`` for each, at a fraction of the cost.

    One question asks for all of them, a second one for the examples of those that fail. If such a question fails as a
    whole, each of its exercises is asked alone, so that no exercise suffers from another one. begin, done: called with
    what is examined next and with each final verdict, for a caller that may be killed halfway.
    """
    if not exercises:
        return []
    records = []
    for exercise in exercises:
        begin(INPUTS)  # each exercise's inputs get time of their own, since the student is not to blame for them
        records.append(draw_record(exercise, key, device, with_mutants=False, graded=True))
    begin(REPLIES)
    together = min(timeout, TOGETHER_SECONDS)
    try:
        answers = _ask(records, session, together)
    except SessionError:
        return [_alone(e, r, session, timeout, device, begin, done) for e, r in zip(exercises, records, strict=True)]
    found = []
    for record, answer in zip(records, answers, strict=True):
        begin(record.id)
        found.append(_verdict(record, answer, 0.0, judging.scored))
        if found[-1][0].passed:
            done(found[-1][0])
    failed = [i for i, (verdict, _) in enumerate(found) if not verdict.passed]
    verdicts = [verdict for verdict, __ in found]
    if not failed:
        return verdicts
    try:
        examples: Sequence[Answer | None] = _ask(
            [public_record(exercises[i], device) for i in failed], session, together
        )
    except SessionError:
        examples = [None] * len(failed)
    for i, example in zip(failed, examples, strict=True):
        if example is None:
            verdicts[i] = _alone(exercises[i], records[i], session, timeout, device, begin, done)
        else:
            begin(exercises[i].id)
            verdicts[i] = _explained(exercises[i], records[i], *found[i], example, device)
            done(verdicts[i])
    return verdicts


def _alone(
    exercise: Exercise,
    fresh: ExerciseRecord,
    session: Session,
    timeout: float,
    device: str,
    begin: Begin,
    done: Done,
) -> Verdict:
    begin(exercise.id)
    verdict = judge_drawn(exercise, fresh, session, timeout, device)
    done(verdict)
    return verdict


def judge_exercise(
    exercise: Exercise, session: Session, key: bytes, timeout: float = SECONDS, device: str = "cpu"
) -> Verdict:
    """Verdict on what the session's process defines for one exercise.

    Args:
        exercise: autograder.judge.spec.Exercise.
        session: autograder.sandbox.Session in which the student's cells ran.
        key: bytes from ``submission_key``; they determine the fresh inputs.
        timeout: seconds for all cases together.
        device: where the reference runs.

    Never raises because of the student's process: a hang, a crash or a forged reply gives a score of zero with a
    sentence that says why.
    """
    return judge_drawn(
        exercise, draw_record(exercise, key, device, with_mutants=False, graded=True), session, timeout, device
    )


def judge_drawn(
    exercise: Exercise, fresh: ExerciseRecord, session: Session, timeout: float = SECONDS, device: str = "cpu"
) -> Verdict:
    """``judge_exercise`` on inputs that are already drawn."""
    began = time.perf_counter()
    try:
        verdict, outcomes = _answered(fresh, session, timeout)
        if verdict.passed or outcomes is None:
            return verdict
    except SessionError as error:
        return zero(exercise, *reason(error, timeout), time.perf_counter() - began)
    try:
        # A separate question: the process keeps nothing of the first one.
        (examples,) = _ask([public_record(exercise, device)], session, timeout)
    except SessionError as error:
        return without_details(verdict, [Mistake(*reason(error, timeout))])
    return _explained(exercise, fresh, verdict, outcomes, examples, device)


def _answered(fresh: ExerciseRecord, session: Session, timeout: float) -> tuple[Verdict, Outcomes | None]:
    """(verdict, outcomes) on fresh inputs; outcomes is None if there are none to examine. Raises SessionError.

    An answer that is too slow on a large case loses only that case: the other cases are asked again without it.
    """
    began = time.perf_counter()
    try:
        (answer,) = _ask([fresh], session, timeout)
        return _verdict(fresh, answer, time.perf_counter() - began, judging.scored)
    except AskTimeout:
        rest = replace(fresh, cases=[c for c in fresh.cases if not c.is_large])
        if len(rest.cases) == len(fresh.cases):
            raise
    (answer,) = _ask([rest], session, timeout)
    verdict, outcomes = _verdict(rest, answer, time.perf_counter() - began, judging.scored)
    if outcomes is None:
        return verdict, None
    answered = iter(outcomes)
    outcomes = [_too_slow(c, timeout) if c.is_large else next(answered) for c in fresh.cases]
    return judging.scored(fresh, outcomes, verdict.seconds), outcomes


def _too_slow(case: CaseRecord, timeout: float) -> tuple[Outcome, Tensors]:
    raised = {"raises": ["TimeoutError", f"not finished within {timeout:g} seconds", ""]}
    return {"results": [raised] * len(case.program["steps"]), "used": [], "mutated": []}, {}


def _explained(
    exercise: Exercise,
    fresh: ExerciseRecord,
    verdict: Verdict,
    outcomes: Outcomes | None,
    answer: Answer,
    device: str,
) -> Verdict:
    """The failed verdict, worded without any hidden input. answer: the reply on the public cases."""
    if outcomes is None:
        return verdict
    public = public_record(exercise, device)
    no_points_for_examples(verdict, fresh, public)
    shown, public_outcomes = _verdict(public, answer, verdict.seconds)
    if public_outcomes is None:  # only the examples could not be read: keep the score
        return without_details(verdict, shown.mistakes)
    return worded(exercise, fresh, verdict, outcomes, shown, public_outcomes, device)


def worded(
    exercise: Exercise,
    fresh: ExerciseRecord,
    verdict: Verdict,
    outcomes: Outcomes,
    shown: Verdict,
    public_outcomes: Outcomes,
    device: str = "cpu",
) -> Verdict:
    """The failed verdict on fresh inputs, worded like the one on the public cases (``shown``) if that fails too."""
    public = public_record(exercise, device)
    if not shown.passed:
        if _run_mutants(public, exercise, device):  # else ``shown`` has seen them
            shown = judging.judge(public, public_outcomes, verdict.seconds)
        return _shown_by_examples(verdict, shown)
    _run_mutants(fresh, exercise, device, NAMING_SECONDS)
    named = judging.judge(*_drawn_alone(fresh, public, outcomes)).mistakes
    return without_details(verdict, [_beyond_examples(m, verdict) for m in named[:1]])


def _drawn_alone(fresh: ExerciseRecord, public: ExerciseRecord, outcomes: Outcomes) -> tuple[ExerciseRecord, Outcomes]:
    """(record, outcomes) of the cases with drawn answers if one of them fails, else of all cases. Code that passes the
    examples also passes the cases with fixed answers, so these rule out no mistake."""
    drawn = [i for i, (f, p) in enumerate(zip(fresh.cases, public.cases, strict=True)) if is_drawn(f, p)]
    chosen = replace(fresh, cases=[fresh.cases[i] for i in drawn]), [outcomes[i] for i in drawn]
    return (fresh, outcomes) if judging.passes(*chosen) else chosen


def warm(exercises: Sequence[Exercise], device: str = "cpu") -> None:
    """Prepares everything for judging these exercises that does not depend on a submission."""
    for name in languages():
        load(name)
    for exercise in exercises:
        ban_of(exercise.forbidden)
        public_record(exercise, device)


def zero(exercise: Exercise | ExerciseRecord, name: str, sentence: str, seconds: float = 0.0) -> Verdict:
    """Verdict of zero for an exercise that could not be evaluated at all: none of its cases was tried."""
    return Verdict(exercise.id, False, 0.0, exercise.points, [Mistake(name, sentence)], [], seconds)


def _ask(records: Sequence[ExerciseRecord], session: Session, timeout: float) -> list[Answer]:
    """The reply for each record. Raises SessionError."""
    bans = [ban_of(r.forbidden) for r in records]
    # The runner words what is wrong with a signature there, so it has to know the language.
    code = f"{ASKED}\nfrom anatomy.system.translation import speaking\nwith speaking({language()!r}):"
    code += f"\n    reply = answer(payload, student_ns, {bans!r})"
    requests = [payload_of(r) for r in records]
    payload = b"".join(len(r).to_bytes(8, "little") + r for r in requests)
    expected = sum(t.nbytes for r in records for c in r.cases for t in c.outcomes["expected"][1].values())
    return split_replies(session.ask(code, payload, timeout, SPARE_BYTES + 8 * expected), len(records))


def _verdict(
    record: ExerciseRecord,
    answer: Answer,
    seconds: float,
    judge: Callable[[ExerciseRecord, Outcomes, float], Verdict] = judging.judge,
) -> tuple[Verdict, Outcomes | None]:
    """(verdict, outcomes); outcomes is None if there are none to examine. judge: ``judging.scored`` for fresh inputs,
    which need no wording: students read about the public cases."""
    try:
        if isinstance(answer, Exception):
            raise answer
        outcomes = parse_reply(answer, [c.program for c in record.cases])
        for outcome, __ in outcomes:
            note_refusals(outcome, record.forbidden)
        return judge(record, outcomes, seconds), outcomes
    except (SessionError, MalformedReply) as error:
        return zero(record, *reason(error, 0), seconds), None
    except Exception as error:
        # The judge met a reply that it cannot handle. That must affect this student alone, not the whole class.
        sentence = _("Your results could not be compared ({error}).").format(error=type(error).__name__)
        return zero(record, "generic.malformed", sentence, seconds), None


def payload_of(record: ExerciseRecord) -> bytes:
    """The request to ``anatomy.program.runner.serve`` for all cases of a record, as bytes."""
    tensors, request = {"_": torch.zeros(1)}, []
    for i, case in enumerate(record.cases):
        tensors |= {f"{i}/{n}": t for n, t in case.tensors.items()}
        request.append(
            {
                "program": case.program,
                "targets": record.targets,
                "forbidden": record.forbidden,
                "signature": record.signature,
            }
        )
    return save(tensors, metadata={"request": json.dumps(request)})


def _run_mutants(record: ExerciseRecord, exercise: Exercise, device: str, seconds: float = math.inf) -> bool:
    """Adds missing outcomes of the known mistakes to a record; returns whether it added any. Call it only for answers
    that fail: it takes time. seconds: limit on processor time; mistakes not reached by then cannot be named."""
    added, until = False, time.process_time() + seconds
    for mutant in exercise.mutants:
        missing = [c for c in record.cases if mutant.name not in c.outcomes and not c.is_large]
        if missing and time.process_time() > until:
            break
        for case in missing:
            inputs = {n: t.to(device) for n, t in case.tensors.items()}
            case.outcomes[mutant.name] = runner.run_program(case.program, inputs, exercise.functions(mutant.fn))
            added = True
    return added


def no_points_for_examples(verdict: Verdict, fresh: ExerciseRecord, public: ExerciseRecord) -> None:
    """Takes the points of cases with a fixed answer, or that only ask for an error, unless a drawn case passes too.

    Such answers can be memorized (or produced by always raising), so alone they prove nothing. If an exercise asks for
    several functions, the drawn case has to test the same function, if there is one.
    """
    cases = list(zip(fresh.cases, public.cases, strict=True))
    drawn = [i for i, (f, p) in enumerate(cases) if f.weight and is_drawn(f, p)]
    functions = [functions_of(f) for f, __ in cases]
    lost = 0.0
    for i, case in enumerate(verdict.cases):
        beside = [k for k in drawn if functions[k] & functions[i]] or drawn
        if beside and case.points and not any(verdict.cases[k].passed for k in beside):
            lost += case.points
            case.points = 0.0
    if not lost:
        return
    verdict.score = round(sum(c.points for c in verdict.cases), 6)
    sentence = _(
        "No points yet: the cases that pass have fixed numbers, and count once a case with other numbers passes too."
    )
    if verdict.score:
        sentence = _(
            "Some cases that pass earn nothing: they have fixed numbers, and count once a case with other numbers "
            "passes too."
        )
    verdict.mistakes.append(Mistake("generic.examples_alone", sentence))


def _shown_by_examples(verdict: Verdict, shown: Verdict) -> Verdict:
    """The score of the fresh cases with the wording of the public cases."""
    cases = []
    for scored, seen in zip(verdict.cases, shown.cases, strict=True):
        case = CaseResult(seen.name, seen.shows, scored.passed, scored.points, scored.max_points)
        if not scored.passed and not seen.passed:
            case.sentence, case.call, case.expected, case.got = seen.sentence, seen.call, seen.expected, seen.got
        elif not scored.passed:
            case.sentence = _(_BUT[_excess(scored)])
        cases.append(case)
    mistakes = [*shown.mistakes, *_examples_alone(verdict)]
    return Verdict(verdict.exercise, False, verdict.score, verdict.max_score, mistakes, cases, verdict.seconds)


def _beyond_examples(mistake: Mistake, verdict: Verdict) -> Mistake:
    """Words a mistake on fresh inputs without any hidden number; a known mistake keeps its sentence."""
    start = _("Your code passes the examples of the check but not other inputs: {what}")
    if not mistake.name.startswith("generic.") and mistake.name != "forbidden_builtin":
        return Mistake(mistake.name, start.format(what=said(verdict.exercise, mistake.message)))
    if mistake.name == "forbidden_builtin":
        return mistake
    failure = next(c for c in verdict.cases if not c.passed)
    excess, shows = _excess(failure), said(verdict.exercise, failure.shows)
    if excess:
        return Mistake(f"generic.{excess.replace(' ', '_')}", _(_LARGER[excess]).format(what=shows))
    return Mistake("generic.only_examples", start.format(what=_("{what}.").format(what=shows)))


MEMORY, TIME = "runs out of memory", "takes too long"
_BUT = {
    "": N_("your code passes this example of the check, but not other inputs"),
    MEMORY: N_("your code passes this example of the check, but runs out of memory on a larger one"),
    TIME: N_("your code passes this example of the check, but takes too long on a larger one"),
}
_LARGER = {
    MEMORY: N_("Your code runs out of memory where the inputs are larger than in the check: {what}."),
    TIME: N_("Your code takes too long where the inputs are larger than in the check: {what}."),
}


def _excess(case: CaseResult) -> str:
    """What a failed case shows: out of memory, too slow, or "". (torch has no exception class for lack of memory.)"""
    if "allocate memory" in case.sentence or case.got.startswith("MemoryError:"):
        return MEMORY
    return TIME if case.got.startswith("TimeoutError:") else ""


def without_details(verdict: Verdict, mistakes: list[Mistake]) -> Verdict:
    """The verdict without anything that could reveal a hidden input."""
    cases = [CaseResult(c.name, c.shows, c.passed, c.points, c.max_points) for c in verdict.cases]
    mistakes = [*mistakes, *_examples_alone(verdict)]
    return Verdict(verdict.exercise, False, verdict.score, verdict.max_score, mistakes, cases, verdict.seconds)


def _examples_alone(verdict: Verdict) -> list[Mistake]:
    return [m for m in verdict.mistakes if m.name == "generic.examples_alone"]
