"""One submission's way to a worker and back, as JSON: what a worker is told, what it does, what it answers.

Both sides are our own, but the worker has been near an enemy's data: nothing is unpickled. ``result_json.py`` checks
every field of what comes back. Imports nothing of the gradebook: workers have no business with it.
"""

import hashlib
import json
from typing import TypedDict

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

# A worker that is still at one submission after this, on the clock on the wall, has met a mistake of ours, or a machine
# on which nothing moves: it is given up without points lost, and the others go on. What a submission may take is less
# by far, but counts no time in which other programs had the processor.
WATCHDOG_SECONDS = 1800
Graded = tuple[GradedNotebook, str]  # with the digest of the bytes that were graded


class GraderFailed(RuntimeError):
    """A mistake of the grader's at one submission; the message names the exception."""


class WorkerLost(RuntimeError):
    """The process that graded a submission ended, or was given up, before it had an answer."""


class NoWorkers(RuntimeError):
    """Nothing is there that grades; the message is one sentence."""


class Job(TypedDict):
    """What a worker is told. data: the notebook's bytes where the worker is on another machine, else it reads ``parts``
    below ``root``. key: the student's for this unit. zygote: folder of a shared one, or "". follow: the setting
    ``follow_through``."""

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


def make_job(
    submission: Submission,
    secret: str,
    sandbox: bool = True,
    zygote: str = "",
    remote: bool = False,
    follow: bool = False,
) -> Job:
    """The Job of a submission; remote: for a worker on another machine, which gets the bytes."""
    # A key for this student and unit, never the secret: workers may be other people's machines.
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
    }
    if remote:
        try:
            job["data"] = read_below(submission.root, submission.parts)
        except BadSubmission as error:  # it was there when the run began
            job["problem"] = (error.name, str(error))
    return job


def evaluate(job: Job) -> Graded:
    """Runs in a worker: (GradedNotebook, digest of the bytes that were graded)."""
    try:
        if job["problem"]:
            raise BadSubmission(*job["problem"])
        data = job["data"] if job["data"] is not None else read_below(job["root"], job["parts"])
    except BadSubmission as error:  # it was there when the run began
        return ungraded(job["unit"], job["student"], error.name, str(error)), _changed(job["digest"])
    opener = factory(job["sandbox"], job["zygote"])
    submitted = of_bytes(data, job["unit"], job["student"], job["key"], job["follow"])
    return contained.grade(submitted, opener), hashlib.sha256(data).hexdigest()


def _changed(digest: str) -> str:
    """Another digest, so that the next run looks at the file again."""
    return hashlib.sha256(f"not {digest}".encode()).hexdigest()


# ---- as bytes --------------------------------------------------------------------------------------------------------
def pack(job: Job) -> bytes:
    """A Job but for its ``data``, which travels beside it."""
    return json.dumps({**job, "key": job["key"].hex(), "data": job["data"] is not None}).encode()


def unpack(text: bytes, data: bytes) -> Job:
    """The Job of ``pack``; data: its own, empty where it has none."""
    job: Job = json.loads(text)
    job["key"] = bytes.fromhex(str(job["key"]))
    job["parts"] = tuple(job["parts"])
    job["problem"] = tuple(job["problem"]) if job["problem"] else None  # type: ignore[typeddict-item]
    job["data"] = data if job["data"] else None
    return job


def answer(job: Job) -> bytes:
    """``evaluate`` whose result, or exception, is the bytes that ``result_of`` reads."""
    try:
        graded, digest = evaluate(job)
        said = {"graded": to_json(graded), "digest": digest}
    except SandboxUnavailable as error:
        said = {"unavailable": str(error)}
    except Exception as error:
        said = {"failed": f"{type(error).__name__}: {error}"}
    return packed(said)


def result_of(said: bytes) -> Graded | Exception:
    """What an answer says: a result; SandboxUnavailable, which concerns everybody; or GraderFailed."""
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
