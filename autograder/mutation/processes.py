"""Runs the mutants of exercises in separate, memory-limited processes; one that dies costs only a single mutant."""

import faulthandler
import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

import torch

from autograder.judge.spec import Exercise
from autograder.sandbox.limits import mapped_bytes

from .subjects import subjects
from .survivors import KILLED, Tally, Trials, Wanted

WORKERS = 2
MEMORY = 2 << 30  # bytes beyond those mapped already: as much as grading grants a submission
SILENCE = 120.0  # seconds without a result after which a process counts as hung, in code that no timer interrupts

_fork = multiprocessing.get_context("fork")  # the specs and torch are loaded once


class Series(Protocol):
    """Runs an exercise's mutants in a process. problems: sentences on answers that fail even unchanged."""

    problems: list[str]

    def run(self, start: int) -> Iterator[Any]:
        """One result per mutant, beginning with mutant number ``start``."""


class Gathering(Protocol):
    """Collects the results. mutants: how many there were. seconds: processor time."""

    mutants: int
    problems: list[str]
    seconds: float

    def add(self, result: Any) -> None:
        """Adds one result; KILLED for a mutant that ended its process."""


G = TypeVar("G", bound=Gathering)


def _work(exercise: Exercise, begin: Callable[[Exercise], Series], start: int, out: Connection) -> None:
    begun = time.process_time()
    torch.set_num_threads(1)
    faulthandler.disable()  # a mutant that ends the process counts as killed; its stack is of no interest
    warnings.simplefilter("ignore")  # mutants cause many
    for stream in (1, 2):  # libraries write errors past Python's own streams
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    try:
        trials = begin(exercise)
        out.send(trials.problems)
        limit = mapped_bytes() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for result in trials.run(start):
            out.send(result)
        out.send(time.process_time() - begun)
    except Exception as error:  # cases that cannot be drawn, or an answer that cannot be read
        out.send(RuntimeError(f"{type(error).__name__}: {error}"))


class _Worker(Generic[G]):
    """A process that works on one exercise."""

    def __init__(self, exercise: Exercise, begin: Callable[[Exercise], Series], tally: G) -> None:
        self.exercise, self.begin, self.tally = exercise, begin, tally
        self._start()

    def _start(self) -> None:
        self.results, theirs = _fork.Pipe(duplex=False)
        begin = self.exercise, self.begin, self.tally.mutants, theirs
        self.process = _fork.Process(target=_work, args=begin, daemon=True)
        self.process.start()
        theirs.close()
        self.heard = time.monotonic()
        self.ready = False

    def read(self) -> bool:
        """Reads one message from the process; returns whether it was the last."""
        self.heard = time.monotonic()
        try:
            said = self.results.recv()
        except EOFError:
            return self._died()
        if isinstance(said, list):
            self.tally.problems, self.ready = said, True
        elif isinstance(said, Exception):
            self.tally.problems.append(f"{self.exercise.id}: {said}")
            return self._done()
        elif isinstance(said, float):
            self.tally.seconds += said
            return self._done()
        else:
            self.tally.add(said)
        return False

    def hung(self) -> bool:
        """Whether the process should be ended; its current mutant then counts as killed."""
        return time.monotonic() - self.heard > SILENCE

    def end(self) -> None:
        """Ends the process; the end of its pipe is read next."""
        self.process.kill()
        self.heard = time.monotonic()

    def _died(self) -> bool:
        self.process.join()
        self.results.close()
        if not self.ready:
            self.tally.problems.append(f"{self.exercise.id}: its cases or answers end the process")
            return True
        self.tally.add(KILLED)
        self._start()
        return False

    def _done(self) -> bool:
        self.process.join()
        self.results.close()
        return True


def tallies(
    exercises: Sequence[Exercise],
    workers: int = WORKERS,
    wanted: Wanted = lambda key: True,
    known: Container[str] = (),
) -> Iterator[Tally]:
    """Yields each exercise's tally as it is finished.

    wanted: selects the mutants to try, by their keys; default all. known: see ``Trials``.
    """
    return gathered(exercises, partial(Trials, wanted=wanted, known=known), lambda e: Tally(e.id), workers)


def gathered(
    exercises: Sequence[Exercise],
    begin: Callable[[Exercise], Series],
    empty: Callable[[Exercise], G],
    workers: int = WORKERS,
) -> Iterator[G]:
    """Yields the collected results of each exercise's mutants as they are finished.

    begin: makes the series, in the process that runs it. empty: makes the object that collects its results here.
    """
    torch.set_num_threads(1)
    for exercise in exercises:
        if exercise.unit not in _loaded:  # the cells of a unit run here, once for all processes
            _loaded.add(exercise.unit)
            subjects(exercise)
    waiting, running = list(exercises), list[_Worker[G]]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                exercise = waiting.pop(0)
                running.append(_Worker(exercise, begin, empty(exercise)))
            said = wait([w.results for w in running], timeout=5.0)
            for worker in [w for w in running if w.results in said]:
                if worker.read():
                    running.remove(worker)
                    yield worker.tally
            for worker in running:
                if worker.hung():
                    worker.end()
    finally:
        for worker in running:
            worker.process.kill()
            worker.process.join()


_loaded: set[str] = set()
