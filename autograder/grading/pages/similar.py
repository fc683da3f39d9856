"""Finds submissions of one unit that are nearly the same, as a hint for a person; no points depend on it.

Answers are compared as tokens. Names that a student made up, comments, strings and layout are ignored, so that renaming
and reformatting change nothing, and so are lines of the released stub. Two similar answers to one exercise say little,
because correct answers are similar if the text leaves little choice. What counts is in how many exercises of the unit
the answers are similar, each weighted by how rare such an answer is among the others (``surprise``). The limits were
tuned on answers that different people wrote for the same exercises; ``python -m benchmarks.similar_answers`` counts the
false alarms.

Where the class's own package holds the whole answers (``c.Release.answers = "all"``), an answer that is nearly one of
them is left out: it was looked up as the course allows, and says nothing of any other student.

Texts are only searched, never parsed or run, and have a maximum length.
"""

import builtins
import json
import keyword
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from anatomy.program.units import grade_id
from anatomy.system.texts import escaped
from anatomy.system.translation import _
from rapidfuzz import process
from rapidfuzz.distance import Indel

from ..base.masters import UnknownUnit
from ..base.names import shown
from ..base.outlines import outline
from ..base.words import amount
from ..book.course import Course
from ..intake.opening import BadSubmission, read_submission

ALIKE = 0.93  # share of tokens in the same order; answers of different people reach it in 1 to 4 % of exercises
MIN_TOKENS = 25  # of an answer, without the stub's; shorter answers leave no choice
MIN_EXERCISES = 4  # with similar answers
MIN_SHARE = 0.5  # of the tokens that were compared
MARGIN = 3.0  # one false alarm in a thousand classes, if exercises were independent
# The prior: one answer in ten is similar. It weighs as much as ten students of the class.
PRIOR, WEIGHT = 0.1, 10.0
MAX_CHARACTERS, MAX_TOKENS, MAX_STUDENTS = 20_000, 2_000, 3_000
MAX_PAIRS = 50  # in the report

_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""(?:[^"]|"(?!""))*"""|' + r"'''(?:[^']|'(?!''))*'''"
    r'|"[^"\n]*"|' + r"'[^'\n]*'"
    r"|[^\W\d]\w*|\d[\w.]*|[-+*/@%=<>!:]=|\*\*|//|->|\S"
)
_KEPT = {*keyword.kwlist, *dir(builtins), "self", "torch", "math", "nn", "F", "np", "numpy", "sympy"}


@dataclass(frozen=True)
class Pair:
    """Two students with similar submissions.

    Attributes:
        alike: exercises whose answers are nearly the same.
        compared: number of exercises that both answered at length.
        share: share of the compared tokens that is in similar answers.
        surprise: −log10 of the probability that this happens by chance.
        shared: names and comments that only these two students have.
    """

    students: tuple[str, str]
    alike: tuple[str, ...]
    compared: int
    share: float
    surprise: float
    shared: tuple[str, ...] = ()


@dataclass
class _Answer:
    """An answer. shape: one character for each token. own: names and comments that the student made up."""

    shape: str
    own: set[str]


@dataclass
class _Exercise:
    """One exercise over the class; a row is a distinct shape.

    places: student → row. sizes: tokens of each row. near: matrix, True where two rows are similar. counts: students
    per row.
    """

    places: dict[str, int]
    sizes: list[int]
    near: np.ndarray
    counts: np.ndarray


@dataclass
class _Found:
    """The similarities between two students."""

    alike: list[str] = field(default_factory=list)
    surprise: float = 0.0
    tokens: int = 0


def pairs(
    sources: Mapping[str, Mapping[str, str]],
    stubs: Mapping[str, str] | None = None,
    given: Mapping[str, str] | None = None,
) -> list[Pair]:
    """The pairs of students whose answers are more similar than chance explains, most surprising first.

    sources: student → exercise → source of the answer, all of one unit. stubs: exercise → source in the released
    notebook. given: exercise → whole answer that students may look up; answers like it are left out. In larger
    classes only the first ``MAX_STUDENTS`` students are compared.
    """
    students = sorted(sources)[:MAX_STUDENTS]
    answers = _answers({s: sources[s] for s in students}, stubs or {}, given or {})
    exercises = {e: _compare(found) for e, found in answers.items() if len(found) > 1}
    together: dict[tuple[str, str], _Found] = defaultdict(_Found)
    for name, exercise in exercises.items():
        _count(name, exercise, together)
    limit = math.log10(max(1, len(students) * (len(students) - 1) // 2)) + MARGIN
    found = []
    for (a, b), common in together.items():
        if len(common.alike) >= MIN_EXERCISES and common.surprise >= limit:
            both = [e for e in exercises.values() if a in e.places and b in e.places]
            share = common.tokens / sum(min(e.sizes[e.places[a]], e.sizes[e.places[b]]) for e in both)
            if share >= MIN_SHARE:
                found.append(Pair((a, b), tuple(common.alike), len(both), share, common.surprise))
    shared = _shared(answers, found)
    whole = [Pair(p.students, p.alike, p.compared, p.share, p.surprise, shared[p.students]) for p in found]
    return sorted(whole, key=lambda p: (-p.surprise, p.students))


def likeness(first: str, second: str, stub: str = "") -> float:
    """The share of two answers' tokens that are the same, in the same order: 0 to 1."""
    numbers: dict[str, int] = {}
    shapes = [_answer(source[:MAX_CHARACTERS], stub, numbers).shape for source in (first, second)]
    return Indel.normalized_similarity(*shapes)


def _answers(
    sources: Mapping[str, Mapping[str, str]], stubs: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, dict[str, _Answer]]:
    """Exercise → student → answer, without short answers and those that were given."""
    numbers: dict[str, int] = {}
    found: dict[str, dict[str, _Answer]] = defaultdict(dict)
    for student, own in sources.items():
        for exercise, source in own.items():
            answer = _answer(source[:MAX_CHARACTERS], stubs.get(exercise, ""), numbers)
            if len(answer.shape) >= MIN_TOKENS and not _is_given(answer, exercise, stubs, given, numbers):
                found[exercise][student] = answer
    return found


def _is_given(
    answer: _Answer, exercise: str, stubs: Mapping[str, str], given: Mapping[str, str], numbers: dict[str, int]
) -> bool:
    if exercise not in given:
        return False
    shape = _answer(given[exercise], stubs.get(exercise, ""), numbers).shape
    return Indel.normalized_similarity(answer.shape, shape) >= ALIKE


def _answer(source: str, stub: str, numbers: dict[str, int]) -> _Answer:
    """Tokenizes an answer, without lines of the stub. numbers: token → number, for the whole class; is extended."""
    given, known = {_tight(line) for line in stub.splitlines()}, _KEPT | set(_TOKEN.findall(stub))
    text = "\n".join(line for line in source.splitlines() if _tight(line) not in given)
    shape, own, before = [], set(), ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token.startswith("#"):
            own.add(token.strip("# ").lower())
            continue
        if token[0] in "\"'":
            token = "'"
        elif (token[0].isalpha() or token[0] == "_") and before != "." and token not in known:
            own.add(token)
            token = "a name"
        shape.append(chr(0x10000 + numbers.setdefault(token, len(numbers)) % 0xF0000))
        before = match[0]
        if len(shape) == MAX_TOKENS:
            break
    return _Answer("".join(shape), own)


def _tight(line: str) -> str:
    return "".join(line.split())


def _compare(answers: Mapping[str, _Answer]) -> _Exercise:
    shapes = sorted({a.shape for a in answers.values()})
    near = process.cdist(shapes, shapes, scorer=Indel.normalized_similarity, score_cutoff=ALIKE) >= ALIKE
    rows = {shape: i for i, shape in enumerate(shapes)}
    counts = np.array([0] * len(shapes))
    places = {student: rows[a.shape] for student, a in answers.items()}
    for place in places.values():
        counts[place] += 1
    return _Exercise(places, [len(s) for s in shapes], near, counts)


def _count(name: str, exercise: _Exercise, together: dict[tuple[str, str], _Found]) -> None:
    """Adds one exercise to the similarities of pairs."""
    others = exercise.near @ exercise.counts  # row → number of students with a similar answer, including its own
    members: dict[int, list[str]] = defaultdict(list)
    for student, place in exercise.places.items():
        members[place].append(student)
    for place in members:
        for other in np.flatnonzero(exercise.near[place]).tolist():
            if other < place or (other == place and len(members[place]) < 2):
                continue
            # Number of other students with a similar answer, without these two.
            frequent = max(int(others[place]), int(others[other])) - 2
            surprise = -math.log10((frequent + PRIOR * WEIGHT) / (len(exercise.places) - 2 + WEIGHT))
            if surprise < 0.1:
                continue  # most of the class writes so; it would only make the table of pairs long
            tokens = min(exercise.sizes[place], exercise.sizes[other])
            for a in members[place]:
                for b in members[other]:
                    if a < b or (other != place and a != b):
                        common = together[min(a, b), max(a, b)]
                        common.alike.append(name)
                        common.surprise += surprise
                        common.tokens += tokens


def _shared(
    answers: Mapping[str, Mapping[str, _Answer]], found: Sequence[Pair]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Pair → names and comments that only these two students have, longest first."""
    own: dict[str, set[str]] = defaultdict(set)
    for by_student in answers.values():
        for student, answer in by_student.items():
            own[student] |= {w for w in answer.own if len(w) > 2}
    users = Counter(w for words in own.values() for w in words)
    return {
        p.students: tuple(
            sorted((w for w in own[p.students[0]] & own[p.students[1]] if users[w] == 2), key=lambda w: (-len(w), w))
        )
        for p in found
    }


# ---- where the sources are, and the report -------------------------------------------------------------------------
def stubs(unit: str) -> dict[str, str]:
    """Exercise → source of its answer cell in the released notebook. Raises masters.UnknownUnit."""
    return {e.id: e.stub for e in outline(unit).exercises}


def read_sources(path: Path, unit: str) -> dict[str, str]:
    """Exercise → source of its answer in a notebook that the grader wrote; {} if it cannot be read."""
    wanted = {grade_id(e.id, "solve"): e.id for e in outline(unit).exercises}
    try:
        cells = json.loads(read_submission(path))["cells"]
        marked = {c["metadata"].get("nbgrader", {}).get("grade_id"): c["source"] for c in cells}
    except (BadSubmission, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    texts = {e: marked[name] for name, e in wanted.items() if name in marked}
    return {e: "".join(t) if isinstance(t, list) else str(t) for e, t in texts.items()}


def _given_out() -> dict[str, str]:
    from autograder.notebooks import answers  # with what reads the units' texts

    return answers.read()


def find(course: Course, submissions: Iterable[tuple[str, str]]) -> dict[str, list[Pair]]:
    """Unit → pairs of similar submissions. submissions: (student, unit) of graded ones."""
    sources: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for student, unit in submissions:
        try:
            path = course.folder("autograded_directory", student, unit) / f"{unit}.ipynb"
            if own := read_sources(path, unit):
                sources[unit][student] = own
        except UnknownUnit:  # the course has changed since
            continue
    given = _given_out() if course.release.answers == "all" else {}
    return {unit: pairs(found, stubs(unit), given) for unit, found in sorted(sources.items()) if len(found) > 1}


def section(found: Mapping[str, Sequence[Pair]], student: Callable[[str, str], str] | None = None) -> list[str]:
    """The report's section as parts of HTML; empty if no two submissions are similar.

    found: unit → pairs. student: (id, unit) → HTML that names a student, for example with a link to the page.
    """
    listed = [(unit, p) for unit, some in sorted(found.items()) for p in some]
    if not listed:
        return []
    listed.sort(key=lambda row: -row[1].surprise)
    name = student or (lambda one, unit: escaped(one))
    rows = "".join(
        f'<tr><td class="name">{escaped(unit)}</td><td class="name">{name(p.students[0], unit)}</td>'
        f'<td class="name">{name(p.students[1], unit)}</td>'
        f'<td class="n">{_("{n} of {points}").format(n=len(p.alike), points=p.compared)}</td>'
        f'<td class="n">{p.share:.0%}</td><td>{escaped(_words(p.alike, 200))}</td>'
        f"<td>{escaped(_words(p.shared, 200))}</td></tr>"
        for unit, p in listed[:MAX_PAIRS]
    )
    more = _("{n} more pairs are not listed.").format(n=len(listed) - MAX_PAIRS)
    more = f"<p>{more}</p>" if len(listed) > MAX_PAIRS else ""
    groups = [g for unit in sorted(found) for g in _groups(found[unit]) if len(g) > 2]
    crowd = _("{n} students resemble each other: {names}.")
    crowds = "".join(f"<p>{crowd.format(n=len(g), names=escaped(_words(g, 600)))}</p>" for g in groups[:10])
    title = _("Submissions that resemble each other ({pairs})").format(pairs=amount(len(listed), "pair"))
    text = _(
        "Their long answers are the same but for names, comments and layout, in more exercises than chance explains, "
        "and few others wrote so. That is a hint to look at both, and no proof: students may work together, use one "
        "source, or follow the same hint. No points hang on it. That a pair is not listed means nothing either."
    )
    titles = "".join(f'<th scope="col">{t}</th>' for t in (_("Answers alike"), _("Part of the text"), _("Which")))
    return [
        f'<h2>{title}</h2><p>{text}</p>{crowds}<table class="scores"><thead><tr><th scope="col">{_("Unit")}</th>'
        f'<th scope="col" colspan="2">{_("Students")}</th>{titles}'
        f'<th scope="col" class="wide">{_("Names and comments that only these two have")}</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{more}"
    ]


def _words(words: Iterable[str], most: int) -> str:
    return shown(", ".join(words), most)


def _groups(found: Sequence[Pair]) -> list[list[str]]:
    """Groups of students who are connected by pairs, largest group first."""
    group: dict[str, set[str]] = {}
    for pair in found:
        a, b = (group.get(s, {s}) for s in pair.students)
        merged = a | b
        group |= dict.fromkeys(merged, merged)
    distinct = {id(g): sorted(g) for g in group.values()}
    return sorted(distinct.values(), key=lambda g: (-len(g), g))
