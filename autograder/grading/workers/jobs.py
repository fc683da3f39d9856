"""Sends a submission to a worker and its result back, as JSON: the job, its evaluation, the answer.

Both sides are our own, but the worker has handled untrusted data: so nothing is unpickled, and ``result_json.py``
checks every field of an answer. This module imports nothing of the gradebook, which workers must not use.
"""

import hashlib
import json
from typing import TypedDict

from anatomy.system.translation import ENGLISH, speaking

from autograder.judge.drawing import student_key
from autograder.sandbox import SandboxUnavailable

from ..intake.collect import Submission
from ..intake.opening import BadSubmission, Problem, read_below
from ..judging import contained
from ..judging.grade import ungraded
from ..judging.result_json import graded_from, packed, to_json
from ..judging.results import GradedNotebook
from ..judging.sessions import factory
from ..judging.submitted import of_bytes

# If a worker is still busy with one submission after this wall-clock time, the grader has a bug or the machine is
# stuck: the submission is given up without losing points, and the others are graded. The limits for a submission are
# far lower, but don't count time in which other programs had the processor.
WATCHDOG_SECONDS = 1800
Graded = tuple[GradedNotebook, str]  # with the digest of the bytes that were graded


class GraderFailed(RuntimeError):
    """The grader failed on one submission because of a bug; the message names the exception."""


class WorkerLost(RuntimeError):
    """The process that graded a submission died, or was given up, before it answered."""


class NoWorkers(RuntimeError):
    """There are no workers; the message is one sentence."""


class Job(TypedDict):
    """The task for a worker.

    data: the notebook's bytes if the worker is on another machine; else None, and it reads ``parts`` below ``root``.
    key: the student's key for this unit. zygote: folder of a shared zygote, or "". follow: the setting
    ``follow_through``. language: the class's, for submissions that name none.
    """

    student: str
    unit: str
    root: str
    parts: tuple[str, ...]
    digest: str
    data: bytes | None
    problem: Problem | None
    key: bytes
    sandbox: bool
    zygote: str
    follow: bool
    language: str


def make_job(
    submission: Submission,
    secret: str,
    sandbox: bool = True,
    zygote: str = "",
    remote: bool = False,
    follow: bool = False,
    language: str = ENGLISH,
) -> Job:
    """The Job for a submission. remote: True for a worker on another machine, which gets the notebook's bytes."""
    # The worker gets a key for this student and unit, never the secret: its machine may not be ours.
    job: Job = {
        "student": submission.student,
        "unit": submission.unit,
        "sandbox": sandbox,
        "root": submission.root,
        "parts": submission.parts,
        "key": student_key(secret, submission.student, submission.unit),
        "data": None,
        "problem": None,
        "digest": submission.digest,
        "zygote": "" if remote else zygote,
        "follow": follow,
        "language": language,
    }
    if remote:
        try:
            job["data"] = read_below(submission.root, submission.parts)
        except BadSubmission as error:  # the file has changed since the run began
            job["problem"] = (error.name, str(error))
    return job


def evaluate(job: Job) -> Graded:
    """Grades a job; runs in a worker. Returns (GradedNotebook, digest of the bytes that were graded)."""
    with speaking(job["language"]):
        return _evaluated(job)


def _evaluated(job: Job) -> Graded:
    try:
        if job["problem"]:
            raise BadSubmission(*job["problem"])
        data = job["data"] if job["data"] is not None else read_below(job["root"], job["parts"])
    except BadSubmission as error:  # the file has changed since the run began
        return ungraded(job["unit"], job["student"], error.name, str(error)), _changed(job["digest"])
    opener = factory(job["sandbox"], job["zygote"])
    submitted = of_bytes(data, job["unit"], job["student"], job["key"], job["follow"])
    return contained.grade(submitted, opener), hashlib.sha256(data).hexdigest()


def _changed(digest: str) -> str:
    """A different digest, so that the next run grades the file again."""
    return hashlib.sha256(f"not {digest}".encode()).hexdigest()


# ---- as bytes --------------------------------------------------------------------------------------------------------
def pack(job: Job) -> bytes:
    """A Job as JSON bytes, without its ``data``, which is sent separately."""
    return json.dumps({**job, "key": job["key"].hex(), "data": job["data"] is not None}).encode()


def unpack(text: bytes, data: bytes) -> Job:
    """Restores a Job from ``pack``'s bytes. data: the Job's ``data``, or b"" if it has none."""
    job: Job = json.loads(text)
    job["key"] = bytes.fromhex(str(job["key"]))
    job["parts"] = tuple(job["parts"])
    job["problem"] = tuple(job["problem"]) if job["problem"] else None  # type: ignore[typeddict-item]
    job["data"] = data if job["data"] else None
    return job


def answer(job: Job) -> bytes:
    """Runs ``evaluate``; returns its result or exception as bytes for ``result_of``."""
    try:
        graded, digest = evaluate(job)
        said = {"graded": to_json(graded), "digest": digest}
    except SandboxUnavailable as error:
        said = {"unavailable": str(error)}
    except Exception as error:
        said = {"failed": f"{type(error).__name__}: {error}"}
    return packed(said)


def result_of(said: bytes) -> Graded | Exception:
    """Parses an answer: a result, SandboxUnavailable (which affects all submissions) or GraderFailed."""
    try:
        found = json.loads(said)
        if "unavailable" in found:
            return SandboxUnavailable(str(found["unavailable"]))
        if "failed" in found:
            return GraderFailed(str(found["failed"]))
        digest = bytes.fromhex(found["digest"]).hex()
        return graded_from(found["graded"]), digest
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return GraderFailed(f"an answer that cannot be read, {type(error).__name__}: {error}")
