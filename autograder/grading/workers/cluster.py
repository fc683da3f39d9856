"""Workers on many machines: those of a running Dask scheduler (``--scheduler``).

A worker gets the notebook's bytes and a key, never the secret, and grades the submission in a separate process
(``pool.py``), so that no submission can kill a worker. Tasks and answers are bytes: the only thing of ours that is
pickled is the name of ``grade_here``.
"""

import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Self

import dask
from distributed import Client, Future
from distributed.scheduler import KilledWorker

from ..intake.collect import Submission
from .jobs import GraderFailed, NoWorkers, WorkerLost, pack, result_of, unpack
from .pool import Make, Nursery, Outcome, Runner

LOOK_SECONDS = 2.0  # between two checks of which workers are alive
# A worker that the scheduler has not heard from for this long is gone. Workers send heartbeats every 0.5 to 5 seconds.
SILENCE_SECONDS = 10.0
PATIENCE_SECONDS = 120.0  # how long a run waits for a worker if all are gone
ASK_SECONDS = 8.0  # timeout for an answer from the scheduler
SETTINGS = {"distributed.comm.timeouts.connect": "30s"}

GONE = (
    "No worker of the scheduler {address} answers any more. Waiting up to {seconds:.0f} s for one; what is graded is "
    "stored."
)
BACK = "The scheduler {address} has a worker again; going on."
LOST = "All workers of the scheduler {address} were lost. What is graded is stored; run the same command again."
CUT_OFF = "The scheduler {address} was lost. What is graded is stored; run the same command again for the rest."


class Cluster:
    """The workers of a scheduler; the counterpart of ``pool.Pool`` for many machines. A context manager.

    tell: called with sentences for the instructor. Raises NoWorkers if there is no scheduler or it has no workers.
    """

    def __init__(self, address: str, tell: Callable[[str], None]):
        self.address, self.tell = address, tell
        self._heard: dict[str, tuple[float, float]] = {}  # worker → (its last heartbeat, when we first saw that)
        self._looked = self._gone_since = 0.0
        try:
            with dask.config.set(SETTINGS):
                self.client = Client(address)
        except (OSError, ValueError) as error:
            raise NoWorkers(f"The scheduler {address} cannot be reached ({error}).") from None
        self.threads = self._count()
        if not self.threads:
            self.client.close()
            raise NoWorkers(f"The scheduler {address} has no workers.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.client.close(timeout=ASK_SECONDS)  # without a timeout, it would wait for a dead scheduler

    def results(self, submissions: Iterable[Submission], make: Make) -> Iterator[tuple[Submission, Outcome]]:
        """Yields (submission, outcome) in the order in which they finish. Raises NoWorkers if all workers are lost.

        If a worker dies, Dask blames all tasks that it held, although most of them were only waiting there. So these
        submissions are retried once at the end, one at a time; if one loses its worker again, its outcome is
        WorkerLost.
        """
        suspects: list[Submission] = []
        for submission, outcome in self._round(submissions, make, together=True):
            if isinstance(outcome, WorkerLost):
                suspects.append(submission)
            else:
                yield submission, outcome
        yield from self._round(suspects, make, together=False)

    def _round(
        self, submissions: Iterable[Submission], make: Make, together: bool
    ) -> Iterator[tuple[Submission, Outcome]]:
        waiting = iter(submissions)
        ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        of: dict[str, Submission] = {}
        following = next(waiting, None)
        while True:
            # Two tasks per worker thread: one that runs and one that waits.
            while following is not None and len(of) < (2 * self.threads if together else 1):
                future = self._submit(following, make)
                of[future.key] = following
                future.add_done_callback(ended.put)
                following = next(waiting, None)
            if not of:
                return
            self._look()
            try:
                future = ended.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                continue
            yield of.pop(future.key), self._outcome(future)

    def _submit(self, submission: Submission, make: Make) -> Future:
        job = make(submission)
        # The key must not have the student's name, because the scheduler's dashboard shows it.
        return self.client.submit(
            grade_here, pack(job), job["data"] or b"", key=f"grade-{uuid.uuid4().hex}", pure=False
        )

    def _outcome(self, future: Future) -> Outcome:
        try:
            if future.status == "cancelled":
                raise NoWorkers(CUT_OFF.format(address=self.address))
            error = future.exception(timeout=ASK_SECONDS) if future.status == "error" else None
            if isinstance(error, KilledWorker):
                return WorkerLost()
            if error is not None:
                return GraderFailed(f"{type(error).__name__}: {error}")
            said = future.result(timeout=ASK_SECONDS)
        except NoWorkers:
            raise
        except Exception as error:  # the result did not arrive completely
            return GraderFailed(f"{type(error).__name__}: {error}")
        finally:
            future.release()
        return WorkerLost() if said is None else result_of(said)

    def _look(self) -> None:
        """Checks for live workers and reports changes; raises NoWorkers after PATIENCE_SECONDS without a worker."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        if threads := self._count():
            self.threads = threads
            if self._gone_since:
                self._gone_since = 0.0
                self.tell(BACK.format(address=self.address))
        elif not self._gone_since:
            self._gone_since = now
            self.tell(GONE.format(address=self.address, seconds=PATIENCE_SECONDS))
        elif now - self._gone_since > PATIENCE_SECONDS:
            raise NoWorkers(LOST.format(address=self.address))

    def _count(self) -> int:
        """Number of threads of the live workers: those that the scheduler lists and has heard from recently."""
        try:
            about = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=ASK_SECONDS)
        except Exception:  # the scheduler does not answer, for any reason
            return 0
        now, threads = time.monotonic(), 0
        for worker, known in about["workers"].items():
            if self._heard.get(worker, (None,))[0] != known["last_seen"]:
                self._heard[worker] = known["last_seen"], now
            if now - self._heard[worker][1] < SILENCE_SECONDS:
                threads += known["nthreads"]
        return threads


# ---- in the workers --------------------------------------------------------------------------------------------------
_idle: list[Runner] = []
_nursery: Nursery | None = None
_lock = threading.Lock()


def grade_here(job: bytes, data: bytes) -> bytes | None:
    """Grades a job in a local process; runs in a thread of a Dask worker. Returns None if the process died twice."""
    global _nursery
    with _lock:
        if _nursery is None:
            _nursery = Nursery()
        runner = _idle.pop() if _idle else Runner(_nursery)
    said = runner.run(unpack(job, data))
    with _lock:
        _idle.append(runner)
    return said
