"""``python -m autograder.grading.pages.report``: the class report, one HTML page and one CSV (make report).

It shows scores per exercise, the most frequent mistakes, and submissions with signs of cheating, with the evidence.
The page loads nothing and has no script; everything that students wrote is escaped.
"""

import argparse
import html
import os
import statistics
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from anatomy.judge.verdict import Verdict
from anatomy.program.units import grade_id
from anatomy.system.files import replace
from anatomy.system.texts import escaped
from anatomy.system.translation import _, listed, said, speaking

from ..base.masters import UnknownUnit
from ..base.names import never_fails, shown
from ..base.notes import Note
from ..base.outlines import outline
from ..base.words import amount, number
from ..book.course import Course, load_course, write_table
from ..book.database import GradebookError
from ..book.gradebook import GradebookWriter
from ..book.stored import Result
from ..book.tables import counts, missing
from ..book.unstored import Problem, remembered
from . import similar
from .feedback import END, head
from .report_signs import Link, place_of, signs

MAX_NAMES = 20  # of students in one line
FOLLOWED = "follow_through"  # name of the notes that have their own section


@dataclass
class Row:
    """One exercise over the whole class.

    points: its maximum. most: its part of the unit's maximum, 0 for an extension. mistakes: Counter of names. words:
    name → message. tries: numbers of checks, if known.
    """

    unit: str
    exercise: str
    title: str
    points: float
    most: float
    scores: list[float] = field(default_factory=list)
    passed: int = 0
    mistakes: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    tries: list[int] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.scores) if self.scores else 0.0


def summarize(results: Iterable[Result]) -> tuple[list[Row], list[Result]]:
    """(a Row per exercise in course order, results as a list) from ``GradebookWriter.results``.

    The rows leave out unreadable files, which say nothing about the class's skills.
    """
    results = list(results)
    rows: dict[tuple[str, str], Row] = {}
    for result in results:
        for v in result["verdicts"] if counts(result) else ():
            row = rows.get((result["unit"], v.exercise))
            if row is None:
                row = rows[result["unit"], v.exercise] = Row(
                    result["unit"], v.exercise, _title(result["unit"], v), v.max_score, result["most"][v.exercise]
                )
            row.scores.append(result["scores"][v.exercise])
            row.passed += v.passed
            # A problem with a file is listed once, in the table of files, not for each of its exercises.
            if not v.passed and v.mistakes and not v.mistakes[0].name.startswith("submission."):
                row.mistakes[v.mistakes[0].name] += 1
                row.words.setdefault(v.mistakes[0].name, said(v.exercise, v.mistakes[0].message))
            if result["tries"].get(v.exercise):
                row.tries.append(result["tries"][v.exercise])
    return [rows[k] for k in sorted(rows, key=_order)], results


def _order(key: tuple[str, str]) -> tuple[str, int]:
    unit, exercise = key
    try:
        return unit, [e.id for e in outline(unit).exercises].index(exercise)
    except (UnknownUnit, ValueError):
        return unit, 1_000


def _title(unit: str, verdict: Verdict) -> str:
    try:
        title = next((e.title for e in outline(unit).exercises if e.id == verdict.exercise), verdict.exercise)
        return said(verdict.exercise, title)
    except UnknownUnit:
        return verdict.exercise


def page(
    rows: Sequence[Row],
    results: Sequence[Result],
    link: Link = lambda result: "",
    absent: Mapping[str, Sequence[str]] = MappingProxyType({}),
    unstored: Sequence[Problem] = (),
    hints: str = "",
) -> str:
    """The report as HTML. absent: unit → students without a submission. unstored: entries of the folder without a
    result. hints: HTML section about similar submissions."""
    esc = escaped
    begin = _(
        "{submissions} of {students}. Points are those that count: an instructor's where one was given. Those of "
        "extensions are extra: they count beside the maximum."
    ).format(
        submissions=amount(len(results), "submission"), students=amount(len({r["student"] for r in results}), "student")
    )
    out = [head(_("Class report")), f"<h1>{_('Class report')}</h1><p>{begin}</p>"]
    for unit in sorted({r["unit"] for r in results}):
        mine = [r for r in rows if r.unit == unit]
        stands = [r["standing"] for r in results if r["unit"] == unit and counts(r)]
        if not stands:
            none = _("{unit}: no submission could be read").format(unit=esc(unit))
            out += [f"<h2>{none}</h2>", *_left_out(unit, results, absent)]
            continue
        cores, extra = [s.core for s in stands], statistics.fmean(s.score - s.core for s in stands)
        title = _("{unit}: {submissions}, mean {mean} of {most}, median {median}").format(
            unit=esc(unit),
            submissions=amount(len(stands), "submission"),
            mean=number(statistics.fmean(cores)),
            most=number(stands[0].max_score),
            median=number(statistics.median(cores)),
        )
        title = _("{score}, and {n} extra").format(score=title, n=number(extra)) if extra else title
        out.append(f"<h2>{title}</h2>")
        out += _left_out(unit, results, absent)
        out += _of_exercises(mine)
    out += (
        _odd_files(results, link)
        + _without_result(unstored)
        + _waiting(results, link)
        + _held(results, link)
        + _followed(results, link)
        + [hints]
    )
    out += signs(results, link)
    return "".join(out) + END


def _of_exercises(rows: Sequence[Row]) -> list[str]:
    """Table of a unit's exercises."""
    esc, tried = escaped, any(r.tries for r in rows)
    titles = [_("Exercise"), _("Passed"), _("Mean points"), *([_("Median tries")] if tried else [])]
    out = [_table_of(*titles, _("Most frequent mistakes"))]
    for r in rows:
        share = r.passed / len(r.scores)
        passed = _("{n} of {points}").format(n=r.passed, points=len(r.scores))
        mean = _("{n} of {points}") if r.most else _("{n} of {points} extra")
        mistakes = "".join(
            f"<li>{n} × <code>{esc(name)}</code>: {esc(_short(r, name))}</li>" for name, n in r.mistakes.most_common(4)
        )
        tries = f'<td class="n">{statistics.median(r.tries):g}</td>' if tried and r.tries else "<td></td>" * tried
        out.append(
            f'<tr><td>{esc(r.title)}<br><code>{esc(r.exercise)}</code></td><td class="n">'
            f'<meter min="0" max="1" value="{share:.3f}">{share:.0%}</meter> {passed}</td>'
            f'<td class="n">{mean.format(n=f"{r.mean:.2f}", points=f"{r.points:g}")}</td>'
            f"{tries}<td><ul>{mistakes}</ul></td></tr>"
        )
    return [*out, "</tbody></table>"]


def _table_of(*titles: str) -> str:
    """The start of a table, whose last column is wide."""
    *first, last = titles
    cells = "".join(f'<th scope="col">{title}</th>' for title in first)
    return f'<table class="scores"><thead><tr>{cells}<th scope="col" class="wide">{last}</th></tr></thead><tbody>'


def _left_out(unit: str, results: Sequence[Result], absent: Mapping[str, Sequence[str]]) -> list[str]:
    """Notes about students who are not in the figures of a unit, with the reason."""
    unread = [r["student"] for r in results if r["unit"] == unit and not counts(r)]
    some = (
        (_("Not in these figures: {n} could not be read ({names})."), unread),
        (_("Not in these figures: {n} handed nothing in ({names})."), absent.get(unit, ())),
    )
    return [
        f'<p class="note">{what.format(n=len(names), names=escaped(_few(names)))}</p>' for what, names in some if names
    ]


def _few(names: Sequence[str]) -> str:
    return listed([*names[:MAX_NAMES], *(["…"] if len(names) > MAX_NAMES else [])])


def _without_result(problems: Sequence[Problem]) -> list[str]:
    """Table of the folder's entries for which nothing could be stored."""
    if not problems:
        return []
    items = "".join(
        f'<tr><td class="name">{escaped(s)}</td><td class="name">{escaped(u)}</td><td>{escaped(sentence)}</td></tr>'
        for s, u, _, sentence in problems
    )
    title = _("Entries without a result ({n})").format(n=len(problems))
    return [f"<h2>{title}</h2>{_table_of(_('Entry'), _('Unit'), _('What'))}{items}</tbody></table>"]


def _waiting(results: Sequence[Result], link: Link) -> list[str]:
    """Table of cells that wait for a person, without held points, which have their own table."""
    rows = [(r, sorted(r["standing"].waiting - {grade_id(h.exercise) for h in r["held"]})) for r in results]
    items = "".join(
        f'<tr><td class="name">{_student(r, link)}</td><td class="name">{escaped(r["unit"])}</td>'
        f"<td><code>{escaped(', '.join(cells))}</code></td></tr>"
        for r, cells in rows
        if cells
    )
    if not items:
        return []
    text = _(
        "Written answers without points, and cells with an instructor's points whose answer was graded again since: "
        "look at them in the formgrader, then run {command}."
    ).format(command="<code>make publish</code>")
    return [
        f"<h2>{_('Waiting for a person')}</h2><p>{text}</p>"
        f"{_table_of(_('Student'), _('Unit'), _('Cells'))}{items}</tbody></table>"
    ]


def _short(row: Row, name: str) -> str:
    # Error messages differ between students: the first one is quoted as an example.
    words = textwrap.shorten(row.words[name], 200, placeholder=" …")
    return _("“{words}”").format(words=words) if name.startswith("generic.") else words


def _student(result: Result, link: Link) -> str:
    address, name = link(result), escaped(result["student"])
    return f'<a href="{html.escape(address)}">{name}</a>' if address else name


def _odd_files(results: Sequence[Result], link: Link) -> list[str]:
    notes: list[tuple[Result, Note]] = [
        (r, n) for r in results for n in r["notes"] if not n.suspicious and n.name != FOLLOWED
    ]
    if not notes:
        return []
    items = "".join(
        f'<tr><td class="name">{_student(r, link)}</td><td class="name">{escaped(r["unit"])}</td>'
        f"<td>{escaped(n.sentence)}</td></tr>"
        for r, n in notes
    )
    title = _("Files with something odd ({n})").format(n=len(notes))
    return [f"<h2>{title}</h2>{_table_of(_('Student'), _('Unit'), _('What'))}{items}</tbody></table>"]


def _held(results: Sequence[Result], link: Link) -> list[str]:
    rows = [(r, h) for r in results for h in r["held"]]
    if not rows:
        return []
    open_ones = sum(h.exercise not in r["decided"] for r, h in rows)
    title = _("Points held for a look ({n} open)").format(n=open_ones)
    text = _(
        "These answers gave right results, and their source calls what right answers to an exercise with forbidden "
        "built-ins do not need, or what cannot be resolved. That is no proof of anything: look at the line, then give "
        "the points in the formgrader, or with {command}. Elsewhere nothing was found."
    ).format(command='<code>make held ARGS="release student exercise"</code>')
    out = [
        f"<h2>{title}</h2><p>{text}</p>",
        _table_of(_("Student"), _("Exercise"), _("Points"), _("Line")),
    ]
    for r, h in rows:
        given = h.exercise in r["decided"]
        points = _("{n} given") if given else _("{n} held")
        points = points.format(n=number(r["scores"][h.exercise] if given else h.points))
        out.append(
            f'<tr><td class="name">{_student(r, link)}</td><td><code>{escaped(h.exercise)}</code></td>'
            f'<td class="n">{points}</td><td>{escaped(place_of(h.where))}: {escaped(_(h.name))}<br>'
            f"<code>{escaped(h.evidence)}</code></td></tr>"
        )
    return [*out, "</tbody></table>"]


def _followed(results: Sequence[Result], link: Link) -> list[str]:
    """Table of exercises that earned more with the course's own function instead of an earlier answer."""
    items = "".join(
        f'<tr><td class="name">{_student(r, link)}</td><td><code>{escaped(e)}</code></td>'
        f'<td class="n">{number(alone)} → {number(next(v.score for v in r["verdicts"] if v.exercise == e))}</td></tr>'
        for r in results
        for e, alone in r["followed"].items()
    )
    if not items:
        return []
    text = _(
        "These exercises failed because an earlier answer of the same notebook is missing or wrong, and earned their "
        "points with the values of the course's own function in its place ({setting})."
    ).format(setting="<code>c.Grading.follow_through</code>")
    titles = "".join(f'<th scope="col">{t}</th>' for t in (_("Student"), _("Exercise"), _("Computed points")))
    return [
        f'<h2>{_("Followed through")}</h2><p>{text}</p><table class="scores"><thead><tr>{titles}</tr></thead>'
        f"<tbody>{items}</tbody></table>"
    ]


def _alike(course: Course, results: Iterable[Result], link: Link) -> str:
    """The section about similar submissions, from the notebooks in autograded/."""
    known = {(r["student"], r["unit"]): r for r in results if counts(r)}
    found = similar.find(course, known)
    return "".join(similar.section(found, lambda student, unit: _student(known[student, unit], link)))


def write_report(course: Course, writer: GradebookWriter) -> tuple[Path, Path]:
    """Writes report.html and report.csv; returns their paths. Raises GradebookError if nothing is graded yet."""
    results = list(writer.results())
    if not results:
        raise GradebookError("Nothing is graded yet: run `make grade SUBMITTED=dir` first.")
    absent = missing(results, writer.students())
    with speaking(course.language):
        return _write(course, writer, *summarize(results), absent)


def _write(
    course: Course,
    writer: GradebookWriter,
    rows: Sequence[Row],
    results: list[Result],
    absent: Mapping[str, Sequence[str]],
) -> tuple[Path, Path]:
    paths = course.root / "report.html", course.root / "report.csv"

    def link(result: Result) -> str:
        feedback = course.folder("feedback_directory", result["student"], result["unit"]) / f"{result['unit']}.html"
        return quote(os.path.relpath(feedback, course.root)) if feedback.exists() else ""

    replace(paths[0], page(rows, results, link, absent, remembered(writer), _alike(course, results, link)).encode())
    write_table(
        paths[1],
        (
            "unit",
            "exercise",
            "submissions",
            "passed",
            "mean_score",
            "max_score",
            "max_extra",
            "median_tries",
            "mistake",
            "times_made",
        ),
        [
            (
                r.unit,
                r.exercise,
                len(r.scores),
                r.passed,
                f"{r.mean:.3f}",
                f"{r.most:g}",
                "0" if r.most else f"{r.points:g}",
                f"{statistics.median(r.tries):g}" if r.tries else "",
                name,
                n,
            )
            for r in rows
            for name, n in (r.mistakes.most_common() or [("", 0)])
        ],
    )
    return paths


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    never_fails(sys.stdout, sys.stderr)
    argparse.ArgumentParser(
        prog="python -m autograder.grading.pages.report", description=__doc__.split("\n")[0]
    ).parse_args(argv)
    try:
        course = load_course()
        with GradebookWriter(course.db_url, course.course_id, course.config) as writer:
            paths = write_report(course, writer)
    except GradebookError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{shown(str(error.filename or 'A file'), 500)} could not be written: {error.strerror}.", file=sys.stderr)
        return 2
    print(f"wrote {paths[0]} and {paths[1].name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
