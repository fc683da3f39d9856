"""Runs database transactions with retries, and explains database errors in one sentence."""

import fcntl
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import sqlalchemy as sa
from nbgrader.api import InvalidEntry

LOCK = 1706_03762  # any number that all graders agree on
PATIENCE = 60.0  # seconds to wait for another process's transaction
T = TypeVar("T")


class GradebookError(RuntimeError):
    """The gradebook cannot be used; the message is one sentence that says what to do."""


@contextmanager
def alone(db_url: str) -> Iterator[None]:
    """Locks out other graders of the same gradebook while tables, a course, an assignment or a student are created.

    nbgrader creates them in many transactions, and logs a traceback if another process was first.
    """
    url = sa.engine.make_url(db_url)
    if url.get_backend_name() == "postgresql":
        engine = sa.create_engine(db_url, poolclass=sa.pool.NullPool)  # closing the connection releases the lock
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT pg_advisory_lock(:n)"), {"n": LOCK})
            yield
    elif url.get_backend_name() == "sqlite" and os.path.isdir(folder := os.path.dirname(url.database or "") or "."):
        with _folder_locked(folder):
            yield
    else:
        yield


@contextmanager
def _folder_locked(folder: str) -> Iterator[None]:
    """Holds an advisory lock on the gradebook's folder itself: a file of its own would lie about there for ever."""
    handle, deadline = os.open(folder, os.O_RDONLY), time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:  # after that, ``patiently`` does what it can without
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:  # another grader has it
                time.sleep(0.02)
            except OSError:  # this file system has no such locks
                break
        yield
    finally:
        os.close(handle)


def patiently(work: Callable[[], T], db_url: str, undo: Callable[[], None] = lambda: None) -> T:
    """Runs a transaction; retries it while the database is locked or another process created the same rows first.

    Raises GradebookError for lasting database errors. Other errors, such as OSError from writing files, pass through.
    undo: called after each failure.
    """
    deadline, pause = time.monotonic() + PATIENCE, 0.05
    while True:
        try:
            return work()
        except (sa.exc.SQLAlchemyError, InvalidEntry) as error:
            undo()
            if time.monotonic() > deadline or not _passing(error):
                raise GradebookError(_sentence(error, db_url)) from error
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, 2.0)
        except Exception:  # an error of the work itself: the next transaction must not find half of it
            undo()
            raise


def patient_url(db_url: str) -> str:
    """The address with a longer timeout: SQLite waits 5 s for a lock, and an open formgrader can hold it longer."""
    if db_url.startswith("sqlite:///") and "timeout=" not in db_url:
        return db_url + ("&" if "?" in db_url else "?") + "timeout=30"
    return db_url


_PASSING = ("locked", "busy", "deadlock", "serialize", "already exists", "server closed the connection")


def _passing(error: Exception) -> bool:
    return isinstance(error, sa.exc.IntegrityError | InvalidEntry) or any(w in str(error).lower() for w in _PASSING)


def _sentence(error: Exception, db_url: str) -> str:
    text = str(getattr(error, "orig", None) or error).split("\n")[0]
    try:
        name = sa.engine.make_url(db_url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return (
            "CourseDirectory.db_url in nbgrader_config.py is not the address of a database: write it like "
            "sqlite:///gradebook.db or postgresql+psycopg2://user@host/name."
        )
    if "not a database" in text or "malformed" in text or "corrupt" in text:
        return (
            f"The gradebook {name} is damaged ({text}). It was left as it is: move it away and grade again (manual "
            "scores and comments in it are lost), or restore a copy."
        )
    if "full" in text:
        return f"The disk is full, the gradebook {name} could not be written ({text}). Make room and run again."
    return f"The gradebook {name} could not be used: {text}."
