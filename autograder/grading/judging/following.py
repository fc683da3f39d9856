"""Follow-through: an error in one answer does not cost points in the answers that build on it.

If an exercise lost points, and so did an earlier exercise of the same notebook that it builds on, it is run once more
with values of the course's own functions instead of the earlier answers (``judge/proxies.py``), and gets the better
score. Only observed calls count: an exercise that never calls such a function keeps its score.

Safeguards: an exercise's own score is settled before the first value is sent. Only functions of *earlier* exercises
that the course's own solution builds on are offered, never the exercise's own, so that an alias of an empty answer
earns nothing. Exercises run in order and each question is about one exercise, so that a process that has received a
function's values is never asked for that function again.
"""

import ast
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import torch
from anatomy.judge import judging
from anatomy.judge.verdict import Mistake, Verdict
from anatomy.program.codec import Tensors
from anatomy.program.records import CaseRecord, ExerciseRecord
from anatomy.program.runner import Outcome, Outcomes
from anatomy.program.units import grade_id
from anatomy.system.translation import N_, _
from safetensors.torch import save

from autograder.judge import trusted
from autograder.judge.ban import ban_of, note_refusals
from autograder.judge.drawing import draw_record
from autograder.judge.examples import public_record
from autograder.judge.reply import MalformedReply, parse_reply, split_replies
from autograder.judge.spec import Exercise
from autograder.judge.values import STOP, Call, Entry, Given, parse_calls, value_of
from autograder.sandbox import DeadSession, Session, SessionError, StudentError

from ..base.masters import master, source_notebook_path
from .work import FOLLOWING, Followed, Work

PROXIES = (Path(trusted.__file__).parent / "proxies.py").read_text(encoding="utf-8")
TOTAL_SECONDS = 20.0  # for all follow-through in one submission; a question takes a tenth of a second
MAX_ROUNDS = 24  # questions for one record; each gets at least one call further
MAX_KNOWN = 800  # calls with a value, in one exercise
MAX_TABLE_BYTES = 32 << 20  # size of their values, which are sent in each round
_WAIT = "Wait"  # see proxies.py
_STILL = N_("Some cases fail with the course's own functions in the place of your earlier ones, too.")


@cache
def builds_on(unit: str) -> dict[str, frozenset[str]]:
    """Exercise → the earlier exercises whose functions the course's own solution uses, directly or indirectly.

    Raises UnknownUnit.
    """
    exercises = master(unit).exercises
    cells = json.loads(source_notebook_path(unit).read_text(encoding="utf-8"))["cells"]
    sources = {c["metadata"].get("nbgrader", {}).get("grade_id"): "".join(c["source"]) for c in cells}
    found: dict[str, frozenset[str]] = {}
    for exercise in exercises:
        tree = ast.parse(sources[grade_id(exercise.id, "solve")])
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        used = [e.id for e in exercises if e.id in found and names & set(e.targets)]
        found[exercise.id] = frozenset(used).union(*(found[u] for u in used))
    return found


def follow_through(
    exercises: Sequence[Exercise], verdicts: Sequence[Verdict], session: Session, key: bytes, work: Work
) -> dict[str, Followed]:
    """Exercise → Followed, for exercises that earn more with the course's values instead of wrong earlier answers.

    Never raises because of the student's code.

    Args:
        exercises, verdicts: of the whole unit, in order; all verdicts are settled.
        session: the session that the verdicts come from.
        key: the key that their inputs were drawn from.
        work: is notified of each better verdict, and knows those of an earlier attempt.
    """
    found = dict(work.followed)
    broken = {v.exercise for v in verdicts if not v.passed} | set(found)
    if not broken or FOLLOWING in work.skipped:
        return found
    deadline = time.monotonic() + TOTAL_SECONDS
    for exercise, verdict in zip(exercises, verdicts, strict=True):
        if verdict.passed or exercise.id in found:
            continue
        if verdict.mistakes and verdict.mistakes[0].name == "generic.missing":
            continue  # not caused by an earlier answer
        base = builds_on(exercise.unit)[exercise.id]
        replaced = [e for e in exercises if e.id in broken & base]
        if not replaced:
            continue
        work.step(FOLLOWING)
        try:
            followed = _Rerun(exercise, replaced, session, deadline).better(verdict, key)
        except DeadSession:
            break
        except MemoryError:
            raise  # the child ends, and the next one leaves this part out
        except Exception:  # such as an unforeseen reply: the exercise keeps its score
            continue
        if followed is not None:
            found[exercise.id] = followed
            work.better(followed)
        if time.monotonic() > deadline:
            break
    return found


def given_for(exercises: Sequence[Exercise]) -> dict[str, Given]:
    """Name → the course's own function, for all targets of these exercises."""
    found: dict[str, Given] = {}
    for exercise in exercises:
        results = [r for c in public_record(exercise).cases for r in c.outcomes["expected"][0]["results"]]
        refusals = frozenset(r["raises"][0] for r in results if "raises" in r)
        found |= {n: Given(f, refusals) for n, f in exercise.functions(exercise.reference).items()}
    return found


class _Rerun:
    """Runs one exercise again, with the course's values instead of earlier answers."""

    def __init__(self, exercise: Exercise, replaced: Sequence[Exercise], session: Session, deadline: float) -> None:
        self.exercise, self.session, self.deadline = exercise, session, deadline
        self.given = given_for(replaced)
        self.used: list[str] = []

    def better(self, own: Verdict, key: bytes) -> Followed | None:
        """The exercise's Followed if it earns more than before, else None. Raises SessionError or MalformedReply."""
        fresh = draw_record(self.exercise, key, with_mutants=False, graded=True)
        public = public_record(self.exercise)
        forbidden = any(m.name == "forbidden_builtin" for m in own.mistakes)
        right = [] if forbidden else [i for i, c in enumerate(own.cases) if c.passed]
        outcomes = self._outcomes(fresh, right)
        if outcomes is None:
            return None
        verdict = judging.scored(fresh, outcomes, own.seconds)
        trusted.no_points_for_examples(verdict, fresh, public)
        if verdict.score <= own.score:
            return None
        if not verdict.passed:
            verdict = self._worded(fresh, public, verdict, outcomes)
        return Followed(verdict, own.score, tuple(n for n in self.given if n in self.used), tuple(self.given))

    def _worded(self, fresh: ExerciseRecord, public: ExerciseRecord, verdict: Verdict, outcomes: Outcomes) -> Verdict:
        """The verdict with messages that show no hidden inputs."""
        try:
            examples = self._outcomes(public, [])
        except (SessionError, MalformedReply):
            examples = None
        if examples is None:
            return trusted.without_details(verdict, [Mistake("generic.still_fails", _(_STILL))])
        shown = judging.judge(public, examples, verdict.seconds)
        return trusted.worded(self.exercise, fresh, verdict, outcomes, shown, examples)

    def _outcomes(self, record: ExerciseRecord, right: Sequence[int]) -> Outcomes | None:
        """Outcomes of a record's cases, or None if none of them calls a replaced function.

        right: numbers of the cases that passed before; they are not run again. Raises SessionError or MalformedReply.
        """
        table = _Table()
        found: dict[int, tuple[Outcome, Tensors]] = {i: record.cases[i].outcomes["expected"] for i in right}
        waiting = [i for i in range(len(record.cases)) if i not in found]
        for __ in range(MAX_ROUNDS):
            if not waiting or time.monotonic() > self.deadline:
                break
            calls, answers = self._asked(record, waiting, table)
            if not self.used:
                return None
            for number, answer in zip(waiting, answers, strict=True):
                if not (isinstance(answer, StudentError) and answer.name == _WAIT):
                    found[number] = _outcome(record, record.cases[number], answer)
            waiting = [i for i in waiting if i not in found]
            if not any([table.add(call, self.given[call.name], self.deadline) for call in calls]):
                break  # no new values: asking again would not get further
        return [found.get(i) or _unfinished(c) for i, c in enumerate(record.cases)]

    def _asked(
        self, record: ExerciseRecord, numbers: Sequence[int], table: "_Table"
    ) -> tuple[list[Call], list[bytes | StudentError | MalformedReply]]:
        names = {n: g.is_class for n, g in self.given.items()}
        ban = ban_of(record.forbidden) or None
        code = f"{trusted.ASKED}\n{PROXIES}\nreply = follow(payload, student_ns, {ban!r}, {names!r}, answer)"
        cases = [record.cases[i] for i in numbers]
        parts = [table.data(), *(trusted.payload_of(replace(record, cases=[c])) for c in cases)]
        payload = b"".join(len(p).to_bytes(8, "little") + p for p in parts)
        expected = sum(t.nbytes for c in cases for t in c.outcomes["expected"][1].values())
        left = max(0.1, self.deadline - time.monotonic())
        reply = self.session.ask(code, payload, min(trusted.SECONDS, left), 2 * trusted.SPARE_BYTES + 8 * expected)
        wanted, *answers = split_replies(reply, 1 + len(cases))
        if isinstance(wanted, Exception):
            raise wanted
        used, calls = parse_calls(wanted, self.given)
        self.used += [u for u in used if u not in self.used]
        return calls, answers


def _outcome(
    record: ExerciseRecord, case: CaseRecord, answer: bytes | StudentError | MalformedReply
) -> tuple[Outcome, Tensors]:
    if isinstance(answer, bytes):
        try:
            ((outcome, tensors),) = parse_reply(answer, [case.program])
            note_refusals(outcome, record.forbidden)
            return outcome, tensors
        except MalformedReply:
            pass
    return _unfinished(case)


def _unfinished(case: CaseRecord) -> tuple[Outcome, Tensors]:
    raised = {"raises": ["RuntimeError", "a value of the course's own function could not be had", ""]}
    return {"results": [raised] * len(case.program["steps"]), "used": [], "mutated": []}, {}


@dataclass
class _Table:
    """Values that the student's process may look up. entries: key of a call → entry. tensors: by "key/name"."""

    entries: dict[str, Entry] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=dict)
    size: int = 0

    def add(self, call: Call, given: Given, deadline: float) -> bool:
        """Computes a call's value, unless it is known or there are too many; True if a value was added."""
        if call.key in self.entries or len(self.entries) >= MAX_KNOWN or time.monotonic() > deadline:
            return False
        entry, tensors = value_of(call, given)
        size = sum(t.nbytes for t in tensors.values()) + len(json.dumps(entry))
        if self.size + size > MAX_TABLE_BYTES:
            entry, tensors, size = STOP, {}, 0
        self.entries[call.key] = entry | {"like": call.like}
        self.tensors |= {f"{call.key}/{n}": t for n, t in tensors.items()}
        self.size += size
        return True

    def data(self) -> bytes:
        """The table as safetensors bytes."""
        return save({"_": torch.zeros(1)} | self.tensors, metadata={"table": json.dumps(self.entries)})
