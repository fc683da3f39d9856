"""``python -m autograder.grading.report``: the class report, one HTML page and one CSV (make report).

Scores per exercise, the mistakes that the class made most, and the submissions that carry signs of cheating, each
with its evidence. The page loads nothing and has no script; all that students wrote is escaped.
"""

import argparse
import html
import os
import statistics
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from anatomy.files import replace
from anatomy.texts import escaped
from anatomy.verdict import Verdict

from .course import Course, load_course, write_table
from .database import GradebookError
from .feedback import head, number
from .gradebook import GradebookWriter, Result
from .masters import UnknownUnit, master
from .names import never_fails
from .rebuild import Note
from .signs import WORDS, Sign

Link = Callable[[Result], str]  # the address of a submission's feedback page, or ""

# Signs that honest work seldom carries: they decide the order, and who is listed as suspicious at all.
STRONG = (
    "patching",
    "judge",
    "ban",
    "forgery",
    "examples",
    "reply",
    "notebook machinery",
    "introspection",
    "comparison",
    "network",
    "dynamic code",
    "grader's files",
    "processes",
)


@dataclass
class Row:
    """One exercise over the class. points: what it can give; most: its part of the maximum, 0 for an extension.
    mistakes: Counter of names; words: name → message; tries: where known."""

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
    """(rows per exercise in course order, results) from ``GradebookWriter.results``."""
    results = list(results)
    rows: dict[tuple[str, str], Row] = {}
    for result in results:
        for v in result["verdicts"]:
            row = rows.get((result["unit"], v.exercise))
            if row is None:
                row = rows[result["unit"], v.exercise] = Row(
                    result["unit"], v.exercise, _title(result["unit"], v), v.max_score, result["most"][v.exercise]
                )
            row.scores.append(result["scores"][v.exercise])
            row.passed += v.passed
            # What is wrong with a file is said once, in the table of files, not at each of its exercises.
            if not v.passed and v.mistakes and not v.mistakes[0].name.startswith("submission."):
                row.mistakes[v.mistakes[0].name] += 1
                row.words.setdefault(v.mistakes[0].name, v.mistakes[0].message)
            if result["tries"].get(v.exercise):
                row.tries.append(result["tries"][v.exercise])
    return [rows[k] for k in sorted(rows, key=_order)], results


def _order(key: tuple[str, str]) -> tuple[str, int]:
    unit, exercise = key
    try:
        return unit, [e.id for e in master(unit).exercises].index(exercise)
    except (UnknownUnit, ValueError):
        return unit, 1_000


def _title(unit: str, verdict: Verdict) -> str:
    try:
        return next((e.title for e in master(unit).exercises if e.id == verdict.exercise), verdict.exercise)
    except UnknownUnit:
        return verdict.exercise


def suspicious(results: Iterable[Result]) -> list[tuple[Result, list[Sign]]]:
    """(result, its strong signs), most telling first."""
    found = [(r, [s for s in r["signs"] if s.technique in STRONG]) for r in results]
    return sorted(((r, s) for r, s in found if s), key=lambda p: (-len({x.technique for x in p[1]}), p[0]["student"]))


def page(rows: Sequence[Row], results: Sequence[Result], link: Link = lambda result: "") -> str:
    """The report as HTML."""
    esc = escaped
    out = [
        head("Class report"),
        f"<h1>Class report</h1><p>{len(results)} submissions of "
        f"{len({r['student'] for r in results})} students. Points are those that count: an instructor's where one "
        "was given. Those of extensions are extra: they count beside the maximum.</p>",
    ]
    for unit in sorted({r.unit for r in rows}):
        mine = [r for r in rows if r.unit == unit]
        totals = [sum(r["scores"].values()) for r in results if r["unit"] == unit]
        most = sum(r.most for r in mine)
        out.append(
            f"<h2>{esc(unit)}: {len(totals)} submissions, mean {number(statistics.fmean(totals))} of "
            f"{number(most)}, median {number(statistics.median(totals))}</h2>"
        )
        tried = any(r.tries for r in mine)
        out.append(
            '<table class="scores"><thead><tr><th scope="col">Exercise</th><th scope="col">Passed</th>'
            f'<th scope="col">Mean points</th>{"<th scope=col>Median tries</th>" if tried else ""}'
            '<th scope="col" class="wide">Most frequent mistakes</th></tr></thead><tbody>'
        )
        for r in mine:
            share, count = r.passed / len(r.scores), len(r.scores)
            mistakes = "".join(
                f"<li>{n} × <code>{esc(name)}</code>: {esc(_short(r, name))}</li>"
                for name, n in r.mistakes.most_common(4)
            )
            tries = f'<td class="n">{statistics.median(r.tries):g}</td>' if tried and r.tries else "<td></td>" * tried
            out.append(
                f'<tr><td>{esc(r.title)}<br><code>{esc(r.exercise)}</code></td><td class="n">'
                f'<meter min="0" max="1" value="{share:.3f}">{share:.0%}</meter> {r.passed} of {count}</td>'
                f'<td class="n">{r.mean:.2f} of {r.points:g}{"" if r.most else " extra"}</td>'
                f"{tries}<td><ul>{mistakes}</ul></td></tr>"
            )
        out.append("</tbody></table>")
    out += _odd_files(results, link) + _held(results, link) + _evidence(results, link)
    return "".join(out) + "</body></html>\n"


def _short(row: Row, name: str) -> str:
    # A student's own exception text differs from one to the next: the first is an example, no more.
    words = textwrap.shorten(row.words[name], 200, placeholder=" …")
    return f"for example: {words}" if name.startswith("generic.") else words


def _student(result: Result, link: Link) -> str:
    address, name = link(result), escaped(result["student"])
    return f'<a href="{html.escape(address)}">{name}</a>' if address else name


def _odd_files(results: Sequence[Result], link: Link) -> list[str]:
    notes: list[tuple[Result, Note]] = [(r, n) for r in results for n in r["notes"] if not n.suspicious]
    if not notes:
        return []
    items = "".join(
        f'<tr><td class="name">{_student(r, link)}</td><td class="name">{escaped(r["unit"])}</td>'
        f"<td>{escaped(n.sentence)}</td></tr>"
        for r, n in notes
    )
    return [
        f'<h2>Files with something missing ({len(notes)})</h2><table class="scores"><thead><tr><th scope="col">'
        'Student</th><th scope="col">Unit</th><th scope="col">What</th></tr></thead>'
        f"<tbody>{items}</tbody></table>"
    ]


def _held(results: Sequence[Result], link: Link) -> list[str]:
    rows = [(r, h) for r in results for h in r["held"]]
    if not rows:
        return []
    open_ones = sum(h.exercise not in r["decided"] for r, h in rows)
    out = [
        f"<h2>Points held for a look ({open_ones} open)</h2><p>These answers gave right results, and their source "
        "calls what right answers to an exercise with forbidden built-ins do not need, or what cannot be resolved. "
        "That is no proof of anything: look at the line, then give the points in the formgrader, or with "
        '<code>make held ARGS="release student exercise"</code>. Elsewhere nothing was found.</p>'
        '<table class="scores"><thead><tr><th scope="col">Student</th><th scope="col">Exercise</th>'
        '<th scope="col">Points</th><th scope="col" class="wide">Line</th></tr></thead><tbody>'
    ]
    for r, h in rows:
        given = h.exercise in r["decided"]
        points = f"{number(r['scores'][h.exercise])} given" if given else f"{number(h.points)} held"
        out.append(
            f'<tr><td class="name">{_student(r, link)}</td><td><code>{escaped(h.exercise)}</code></td>'
            f'<td class="n">{points}</td><td>{escaped(h.where)}: {escaped(h.name)}<br>'
            f"<code>{escaped(h.evidence)}</code></td></tr>"
        )
    return [*out, "</tbody></table>"]


def _evidence(results: Sequence[Result], link: Link) -> list[str]:
    listed = suspicious(results)
    out = [
        f"<h2>Signs of cheating ({len(listed)} submissions)</h2><p>A sign is evidence to look at, not a verdict: "
        "scores come from inputs that nobody had seen, and are right whatever is listed here. That a submission is not "
        "listed means that nothing was found in it, no more.</p>"
    ]
    for result, signs in listed:
        total = sum(result["scores"].values())
        most = sum(result["most"].values())
        out.append(
            f"<details><summary><b>{_student(result, link)}</b>, {escaped(result['unit'])} "
            f"({number(total)} of {number(most)} points): {escaped(', '.join(_techniques(signs)))}</summary>"
            "<ul>"
        )
        for s in signs[:20]:
            out.append(
                f"<li>{escaped(WORDS.get(s.technique, s.technique))} ({escaped(s.where)}): "
                f"<code>{escaped(s.evidence)}</code></li>"
            )
        out.append("</ul></details>")
    return out


def _techniques(signs: Iterable[Sign]) -> list[str]:
    return list(dict.fromkeys(s.technique for s in signs))


def write_report(course: Course, writer: GradebookWriter) -> tuple[Path, Path]:
    """Writes report.html and report.csv beside the gradebook; returns their paths. Raises GradebookError where
    nothing is graded yet."""
    results = list(writer.results())
    if not results:
        raise GradebookError("Nothing is graded yet: run `make grade SUBMITTED=dir` first.")
    rows, results = summarize(results)
    paths = course.root / "report.html", course.root / "report.csv"

    def link(result: Result) -> str:
        feedback = course.folder("feedback_directory", result["student"], result["unit"]) / f"{result['unit']}.html"
        return quote(os.path.relpath(feedback, course.root)) if feedback.exists() else ""

    replace(paths[0], page(rows, results, link).encode())
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
    argparse.ArgumentParser(prog="python -m autograder.grading.report", description=__doc__.split("\n")[0]).parse_args(
        argv
    )
    try:
        course = load_course()
        with GradebookWriter(course.db_url, course.directory.course_id or "default_course", course.config) as writer:
            paths = write_report(course, writer)
    except GradebookError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"wrote {paths[0]} and {paths[1].name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
