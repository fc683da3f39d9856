"""Makes a gradebook accept this machine's secret if the old one is lost: ``python -m`` this module.

Graders that share a gradebook have to share the course's secret, too: with a different secret a student gets different
inputs, and a regrade may give different points. So a gradebook stores a fingerprint of the secret that it was first
graded with; the secret cannot be computed from it.
"""

import hashlib
import hmac
import sys
from datetime import UTC, datetime

import sqlalchemy as sa

from .database import GradebookError, alone, patiently
from .stored import METADATA

_PURPOSE = b"fingerprint for the gradebook"
SECRETS = sa.Table(
    "anatomy_secret",
    METADATA,
    sa.Column("course_id", sa.String(128), primary_key=True),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("since", sa.DateTime, nullable=False),
)


def fingerprint(secret: str) -> str:
    """The fingerprint of a secret that a gradebook stores: 64 hexadecimal digits."""
    return hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256).hex()


def require_same(engine: sa.Engine, course_id: str, secret: str) -> None:
    """Stores the secret's fingerprint if the gradebook has none. Raises GradebookError if it has a different one."""
    mine = fingerprint(secret)

    def first_or_same() -> str:
        with alone(_url(engine)), engine.begin() as connection:
            SECRETS.create(connection, checkfirst=True)
            known = connection.execute(
                sa.select(SECRETS.c.fingerprint).where(SECRETS.c.course_id == course_id)
            ).scalar_one_or_none()
            if known is None:
                row = {"course_id": course_id, "fingerprint": mine, "since": _now()}
                connection.execute(sa.insert(SECRETS).values(row))
            return known or mine

    if not hmac.compare_digest(patiently(first_or_same, _url(engine)), mine):
        raise GradebookError(
            "This gradebook was graded with another secret: copy the file .secret from the machine that graded first, "
            "or from a backup, and run `chmod 600 .secret`. If it is lost, "
            "`python -m autograder.grading.book.one_secret` goes on with the one that is here; regrades then draw "
            "other inputs than before."
        )


def replace(engine: sa.Engine, course_id: str, secret: str) -> None:
    """Makes the gradebook use ``secret`` from now on."""

    def forget() -> None:
        with alone(_url(engine)), engine.begin() as connection:
            SECRETS.create(connection, checkfirst=True)
            connection.execute(sa.delete(SECRETS).where(SECRETS.c.course_id == course_id))

    patiently(forget, _url(engine))
    require_same(engine, course_id, secret)


def _url(engine: sa.Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def main() -> int:
    """Command line; returns an exit status."""
    from .course import load_course  # slow imports
    from .gradebook import GradebookWriter
    from .secret import course_secret

    try:
        course = load_course()
        secret = course_secret(course.root)
        with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
            replace(writer.gradebook.engine, course.course_id, secret)
    except GradebookError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or 'A file'} could not be written: {error.strerror}.", file=sys.stderr)
        return 2
    print("The gradebook goes on with the secret that is here. Copy it to the other machines that grade, and keep it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
