"""Follow-through: a slip in one answer does not cost those that build on it.

Where an exercise lost points, and an earlier exercise of the same notebook that it builds on lost some too, it is run
once more with the values of the course's own functions in the place of the earlier ones (``judge/proxies.py``), and
gets the better score. What counts is what is observed: an exercise that never calls such a function keeps its score.

The walls: an exercise's own score is settled before the first value goes out. Only functions of *earlier* exercises
that the course's own solution builds on are offered, never the exercise's own: nobody earns points for an alias of an
empty answer. Exercises are taken in order and one question holds one exercise, so that no process that is told what a
function gives is ever asked for that function again.
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
TOTAL_SECONDS = 20.0  # for all of it in one submission; a question takes a tenth of a second
MAX_ROUNDS = 24  # questions for one record; each goes at least one call further
MAX_KNOWN = 800  # calls with a value, in one exercise
MAX_TABLE_BYTES = 32 << 20  # of their values, as they are sent in each round
_WAIT = "Wait"  # see proxies.py
_STILL = "Some cases fail with the course's own functions in the place of your earlier ones, too."


@cache
def builds_on(unit: str) -> dict[str, frozenset[str]]:
    """Exercise → the earlier ones whose functions the course's own solution uses, directly or through others.

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
    """Exercise → what it earns with the course's values in the place of earlier answers that do not pass, where that
    is more. Never raises on account of the student's code.

    exercises, verdicts: of a whole unit, in order; all of the verdicts are settled. session: the one that they come
    from. key: that of their inputs. work: is told of each better verdict, and knows those of an earlier attempt.
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
            continue  # no earlier answer is to blame for that
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
        except Exception:  # a reply that this was not written for, in the worst case: the exercise keeps its score
            continue
        if followed is not None:
            found[exercise.id] = followed
            work.better(followed)
        if time.monotonic() > deadline:
            break
    return found


def given_for(exercises: Sequence[Exercise]) -> dict[str, Given]:
    """Name → the course's own function, of all targets of these exercises."""
    found: dict[str, Given] = {}
    for exercise in exercises:
        results = [r for c in public_record(exercise).cases for r in c.outcomes["expected"][0]["results"]]
        refusals = frozenset(r["raises"][0] for r in results if "raises" in r)
        found |= {n: Given(f, refusals) for n, f in exercise.functions(exercise.reference).items()}
    return found


class _Rerun:
    """One exercise with values in the place of earlier answers."""

    def __init__(self, exercise: Exercise, replaced: Sequence[Exercise], session: Session, deadline: float) -> None:
        self.exercise, self.session, self.deadline = exercise, session, deadline
        self.given = given_for(replaced)
        self.used: list[str] = []

    def better(self, own: Verdict, key: bytes) -> Followed | None:
        """What it earns, where that is more than before. Raises SessionError or MalformedReply."""
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
        """The verdict in words that show no hidden input."""
        try:
            examples = self._outcomes(public, [])
        except (SessionError, MalformedReply):
            examples = None
        if examples is None:
            return trusted.without_details(verdict, [Mistake("generic.still_fails", _STILL)])
        shown = judging.judge(public, examples, verdict.seconds)
        return trusted.worded(self.exercise, fresh, verdict, outcomes, shown, examples)

    def _outcomes(self, record: ExerciseRecord, right: Sequence[int]) -> Outcomes | None:
        """Outcomes of a record's cases, or None where none of them calls what is stood in for. right: numbers of the
        cases that pass without it. Raises SessionError or MalformedReply."""
        table = _Table()
        found: dict[int, tuple[Outcome, Tensors]] = {i: record.cases[i].outcomes["expected"] for i in right}
        waiting = [i for i in range(len(record.cases)) if i not in found]
        for _ in range(MAX_ROUNDS):
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
                break  # nothing new: it would wait for ever
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
    """What the student's process may look up: key of a call → its entry, and tensors by key and name."""

    entries: dict[str, Entry] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=dict)
    size: int = 0

    def add(self, call: Call, given: Given, deadline: float) -> bool:
        """Works out a call's value, unless it is known or there are too many. Is there one more now?"""
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
        """As safetensors bytes."""
        return save({"_": torch.zeros(1)} | self.tensors, metadata={"table": json.dumps(self.entries)})
