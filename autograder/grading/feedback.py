"""One self-contained HTML page for a student: each exercise's verdict in the words of the instant check.

Everything that a student wrote or printed is escaped, TeX included; the page has no script and loads nothing.
"""

import html
from collections.abc import Mapping
from pathlib import Path

import nbformat
from anatomy.texts import escaped, printable, short
from anatomy.units import grade_id
from anatomy.verdict import Verdict

from .grade import GradedNotebook
from .masters import master
from .rebuild import MARK

MAX_CODE = 1_000_000  # characters of code and output on a page; a student has the notebook as well
STYLE = (Path(__file__).parent / "feedback.css").read_text(encoding="utf-8")


def page(
    graded: GradedNotebook,
    comments: Mapping[str, str] | None = None,
    manual: Mapping[str, float] | None = None,
    penalty: float = 0.0,
) -> str:
    """The page as text.

    Args:
        graded: GradedNotebook.
        comments: dict cell name → what an instructor wrote in the formgrader.
        manual: dict cell name → points that count instead of the computed ones: an instructor gave them.
        penalty: points taken off for a late submission.
    """
    comments, manual, esc = comments or {}, manual or {}, escaped
    points = {v.exercise: manual.get(grade_id(v.exercise), v.score) for v in graded.verdicts}
    total = number(sum(points.values()) - penalty)
    out = [
        head(f"{graded.unit}: feedback"),
        f"<h1>{esc(graded.unit)}: {total} of {number(graded.max_score)} points"
        f"</h1><p>Submitted by {esc(graded.student)}.</p>",
    ]
    extra = sum(p for e, p in points.items() if e in graded.extensions)
    if extra:
        out.append(f"<p>{number(extra)} of the points are extra, for extensions.</p>")
    if penalty:
        out.append(f"<p>{number(penalty)} points were taken off for a late submission.</p>")
    out += [f'<p class="note">{esc(n.sentence)}</p>' for n in graded.notes if not n.exercise]
    out += _table(graded, points)
    cells, code = _answers(graded), _Code(graded)
    for v in graded.verdicts:
        out += _exercise(v, graded, points[v.exercise], comments)
        if v.exercise in cells:
            out += code.of(cells[v.exercise])
    own = [c for c in graded.notebook.cells if c.metadata[MARK]["role"] == "extra"] if graded.notebook else []
    if own:
        out.append(f"<h2>Your own cells ({len(own)})</h2>")
        for cell in own:
            out += code.of(cell)
    return "".join(out) + "</body></html>\n"


def number(points: float) -> str:
    """Points for people: two decimals at most (the tables keep them all)."""
    return f"{round(points, 2):g}"


def _table(graded: GradedNotebook, points: Mapping[str, float]) -> list[str]:
    out = [
        '<table class="scores"><thead><tr><th scope="col">Exercise</th><th scope="col">Result</th>'
        '<th scope="col" class="n">Points</th></tr></thead><tbody>'
    ]
    for v in graded.verdicts:
        result = "passed" if v.passed else (v.mistakes[0].message if v.mistakes else "not yet")
        # What is wrong with the file as a whole stands above the table, once.
        result = "not graded" if graded.problem else result
        name = _title(graded, v)
        link = name if graded.problem else f'<a href="#{grade_id(v.exercise)}">{name}</a>'
        out.append(
            f"<tr><td>{link}</td><td>{escaped(result)}</td>"
            f'<td class="n">{number(points[v.exercise])} of {_most(graded, v)}</td></tr>'
        )
    return [*out, "</tbody></table>"]


def _exercise(v: Verdict, graded: GradedNotebook, points: float, comments: Mapping[str, str]) -> list[str]:
    out = [f'<h2 id="{grade_id(v.exercise)}">{_title(graded, v)}: {number(points)} of {_most(graded, v)} points</h2>']
    if points != v.score:
        out.append(
            f'<p class="comment">Your instructor gave {number(points)} points; the computed score was '
            f"{number(v.score)}.</p>"
        )
    remarks = [comments[n] for n in (grade_id(v.exercise), grade_id(v.exercise, "solve")) if comments.get(n)]
    if not graded.problem:
        out.append(v.html())
    elif not remarks and points == v.score:
        return []
    out += [f'<p class="note">{escaped(n.sentence)}</p>' for n in graded.notes if n.exercise == v.exercise]
    return out + [f'<p class="comment">{escaped(r)}</p>' for r in remarks]


def _title(graded: GradedNotebook, verdict: Verdict) -> str:
    return escaped(next(e.title for e in master(graded.unit).exercises if e.id == verdict.exercise))


def _most(graded: GradedNotebook, verdict: Verdict) -> str:
    return number(verdict.max_score) + (" extra" if verdict.exercise in graded.extensions else "")


def head(title: str) -> str:
    """Start of a page, to be closed by ``</body></html>``."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{html.escape(printable(title))}</title><style>{STYLE}</style></head><body>'
    )


def _answers(graded: GradedNotebook) -> dict[str, nbformat.NotebookNode]:
    cells = graded.notebook.cells if graded.notebook else []
    return {c.metadata[MARK]["exercise"]: c for c in cells if c.metadata[MARK]["role"] == "answer"}


class _Code:
    """What the student wrote and what it printed, as long as there is room on the page."""

    def __init__(self, graded: GradedNotebook):
        self.outputs, self.room = graded.outputs, MAX_CODE

    def of(self, cell: nbformat.NotebookNode) -> list[str]:
        """A cell with its output, folded up."""
        output, parts = self.outputs.get(cell.id), list[str]()
        if cell.source.strip():
            parts.append(f"<details><summary>Your code</summary>{self._pre(cell.source)}</details>")
        if output and output.text.strip():
            parts.append(f"<details><summary>What it printed</summary>{self._pre(output.text)}</details>")
        if output and output.error:
            name, text, _ = output.error
            parts.append(self._pre(f"{name}: {text}"))
        return parts

    def _pre(self, text: str) -> str:
        room, self.room = self.room, max(0, self.room - len(text))
        return f"<pre>{escaped(short(text, room) if room else '…')}</pre>"
