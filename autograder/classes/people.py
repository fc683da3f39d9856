"""The students of the gradebook, and how to find one by a name, an address or a number from another program."""

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from nbgrader.api import Gradebook, Student

from autograder.grading.base.environment import find_alembic
from autograder.grading.book.course import Course
from autograder.grading.book.database import alone, patient_url, patiently


@dataclass(frozen=True)
class Person:
    """A student as stored by nbgrader; unknown fields are empty strings.

    id: the name of the folder in submitted/, which is the login, or the number or the address where a roster has no
    login. lms_user_id: Canvas's ID, or Moodle's ID number.
    """

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def login(self) -> str:
        """The id where it is a login; "" where it is the number or the address."""
        return "" if self.id in (self.lms_user_id, self.email) else self.id

    def shares_name(self, text: str) -> bool:
        """True if a text contains the first or the last name, or no name is known. Two platforms may use the same
        number for different students; comparing a part of the name detects that."""
        known = [n for n in (letters(self.first_name), letters(self.last_name)) if n]
        return not known or any(n in letters(text) for n in known)


class Roster:
    """The students of a class, with searches by id, number, address and name."""

    def __init__(self, people: Iterable[Person]):
        self.people = {p.id: p for p in people}
        self._keys: dict[tuple[str, str], set[str]] = defaultdict(set)
        for p in self.people.values():
            self._add("id", p.id.casefold(), p.id)
            self._add("lms", p.lms_user_id.casefold(), p.id)
            self._add("email", p.email.casefold(), p.id)
            self._add("words", words(p.full_name), p.id)
            self._add("letters", letters(p.last_name + p.first_name), p.id)
            if not p.full_name:  # graded before there was a roster: only the id is known, which may be a name
                self._add("words", words(p.id), p.id)
                self._add("letters", letters(p.id), p.id)

    def __bool__(self) -> bool:
        return bool(self.people)

    def _add(self, kind: str, key: str, student: str) -> None:
        if key:
            self._keys[kind, key].add(student)

    def by_id(self, text: str) -> set[str]:
        """Ids of the students with this id; upper and lower case only matter if both exist."""
        return {text} if text in self.people else set(self._keys.get(("id", text.casefold()), ()))

    def by_number(self, text: str) -> set[str]:
        """Ids of the students with this number in the learning platform; else with this id."""
        return set(self._keys.get(("lms", text.casefold()), ())) or self.by_id(text)

    def by_email(self, text: str) -> set[str]:
        """Ids of the students with this email address; else with this id."""
        return set(self._keys.get(("email", text.casefold()), ())) or self.by_id(text)

    def by_name(self, text: str) -> set[str]:
        """Ids of the students with this full name; order of words, accents and case don't matter."""
        return set(self._keys.get(("words", words(text)), ()))

    def by_letters(self, text: str) -> set[str]:
        """Ids of the students whose last and first name, written as one word, has these letters."""
        return set(self._keys.get(("letters", letters(text)), ()))


def words(name: str) -> str:
    """The words of a name in sorted order, without accents, case and punctuation.

    >>> words("Müller, Anna-Lena") == words("anna lena Muller")
    True
    """
    return " ".join(sorted(re.findall(r"\w+", _bare(name).replace("_", " "))))


def letters(name: str) -> str:
    """The letters and digits of a name, without accents and case."""
    return "".join(re.findall(r"[^\W_]", _bare(name)))


def _bare(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.casefold().replace("ı", "i"))
    return "".join(c for c in apart if not unicodedata.combining(c))


@contextmanager
def opened(course: Course) -> Iterator[Gradebook]:
    """Open the course's gradebook. Raises GradebookError if that fails."""
    find_alembic()

    def connect() -> Gradebook:
        with alone(course.db_url):
            return Gradebook(patient_url(course.db_url), course.course_id)

    gradebook = patiently(connect, course.db_url)
    try:
        yield gradebook
    finally:
        gradebook.close()


def exists(course: Course) -> bool:
    """True if there is a gradebook; for a database on a server always True."""
    url = sa.engine.make_url(course.db_url)
    return url.get_backend_name() != "sqlite" or os.path.exists(url.database or "")


def students(gradebook: Gradebook) -> list[Person]:
    """All students of the gradebook, by id."""
    columns = (Student.id, Student.first_name, Student.last_name, Student.email, Student.lms_user_id)
    rows = gradebook.db.execute(sa.select(*columns).order_by(Student.id)).all()
    gradebook.db.commit()
    return [Person(*(cell or "" for cell in row)) for row in rows]


def roster_of(course: Course) -> Roster:
    """The students of the course's gradebook; empty if there is no gradebook yet. Raises GradebookError."""
    if not exists(course):
        return Roster(())
    with opened(course) as gradebook:
        return Roster(students(gradebook))
