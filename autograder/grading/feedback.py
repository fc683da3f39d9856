"""One self-contained HTML page for a student: each exercise's verdict in the words of the instant check.

Everything that a student wrote or printed is escaped, TeX included; the page has no script and loads nothing.
"""

import html
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import nbformat
from anatomy.texts import escaped, printable, short
from anatomy.units import grade_id
from anatomy.verdict import Verdict

from . import pictures
from .grade import GradedNotebook
from .inert import as_typed
from .masters import master
from .rebuild import MARK
from .standing import Standing
from .stored import Attempt, untouched
from .words import amount, number

MAX_CODE = 1_000_000  # characters of code and output on a page; a student has the notebook as well
_NOTHING = Standing()  # what the gradebook says where it was never asked
END = "</main></body></html>\n"
STYLE = (Path(__file__).parent / "feedback.css").read_text(encoding="utf-8")


def page(graded: GradedNotebook, standing: Standing = _NOTHING, attempts: Sequence[Attempt] = ()) -> str:
    """The page as text.

    Args:
        graded: GradedNotebook of the attempt that counts.
        standing: what the gradebook says of the submission: points that count, comments, lateness.
        attempts: all files that the student handed in for the unit.
    """
    esc = escaped
    points = {v.exercise: standing.points.get(grade_id(v.exercise), v.score) for v in graded.verdicts}
    written = _written(graded)
    extra = sum(p for e, p in points.items() if e in graded.extensions)
    core = sum(points.values()) - extra + sum(standing.points.get(name, 0.0) for name in written)
    most = graded.max_score + sum(standing.most.get(name, 0.0) for name in written)
    late = standing.penalty
    # What is taken off for lateness is taken off the whole; it is shown with the core path as long as that has enough.
    core, extra = (core - late, extra) if core >= late else (0.0, max(0.0, core + extra - late))
    beyond = f", and {number(extra)} extra" if extra else ""
    # An answer that nobody has read yet has lost no points.
    open_ = sum(standing.most[name] for name in written if _is_open(name, standing))
    so_far = " so far" if open_ else ""
    out = [
        head(f"{graded.unit}: feedback"),
        f"<h1>{esc(graded.unit)}: {number(core)} of {amount(most - open_, 'point')}{so_far}{beyond}"
        f"</h1><p>Submitted by {esc(graded.student)}{_when(standing)}.</p>",
    ]
    if open_:
        out.append(f"<p>Waiting for your instructor: your written answer, for up to {amount(open_, 'point')} more.</p>")
    if extra:
        out.append(f"<p>For extensions: {amount(extra, 'extra point')}, {number(core + extra)} in all.</p>")
    if late:
        out.append(f"<p>Taken off for a late submission: {amount(late, 'point')}.</p>")
    out += [f'<p class="note">{esc(remark)}</p>' for remark in _remarks(attempts)]
    out += [f'<p class="note">{esc(n.sentence)}</p>' for n in graded.notes if not n.exercise]
    out += _table(graded, points, standing)
    cells, code = _answers(graded), _Code()
    for v in graded.verdicts:
        out += _exercise(v, graded, points[v.exercise], standing)
        if v.exercise in cells:
            out += code.of(cells[v.exercise])
    for name, cell in written.items():
        out += _of_a_person(name, cell, standing)
    own = [c for c in graded.notebook.cells if _role(c) == "extra"] if graded.notebook else []
    if own:
        out.append(f"<h2>Your own cells ({len(own)})</h2>")
        for cell in own:
            out += code.of(cell)
    return "".join(out) + END


def _when(standing: Standing) -> str:
    return f" on {standing.submitted:%Y-%m-%d at %H:%M} UTC" if standing.submitted else ""


def _remarks(attempts: Sequence[Attempt]) -> list[str]:
    """What there is to say where a student handed in more than once."""
    counted = next((a for a in attempts if a.counts), None)
    if counted is None or len(attempts) < 2:
        return []
    last = max(attempts, key=lambda a: a.graded_at)
    best = max(attempts, key=lambda a: (a.score, a.graded_at))
    if counted is not last:
        return [
            f"The submission of {counted.when} counts, which has the most points. The last one, of {last.when}, had "
            f"{number(last.score)}."
        ]
    if best.score > counted.score:
        return [
            f"An earlier submission, of {best.when}, had {amount(best.score, 'point')}, and this one has "
            f"{number(counted.score)}: the last one counts."
        ]
    return []


def _of_a_person(name: str, cell: nbformat.NotebookNode, standing: Standing) -> list[str]:
    """The written answer: what was written, its points, and what was said about it."""
    most, waits = standing.most.get(name, 0.0), name in standing.waiting
    if most:
        points = (
            f"not graded yet, {amount(most, 'point')}"
            if waits
            else f"{number(standing.points[name])} of {amount(most, 'point')}"
        )
    title = f"Your written answer: {points}" if most else "Your written answer"
    said = _comments([standing.comments[name]] if standing.comments.get(name) else [])
    text = code_block(short(as_typed(cell.source), MAX_CODE))
    images = [
        f'<p><img alt="{name}, from your answer" src="data:{kind};base64,{data}"></p>'
        for name, kind, data in pictures.taken_from(cell)
    ]
    return [f'<h2 id="{escaped(name)}">{title}</h2>', *said, text, *images]


def _is_open(name: str, standing: Standing) -> bool:
    """Does a written answer wait for its first points?"""
    return name in standing.waiting and name not in standing.decided and bool(standing.most.get(name))


def _written(graded: GradedNotebook) -> dict[str, nbformat.NotebookNode]:
    """Name of a cell that a person grades → the cell."""
    cells = graded.notebook.cells if graded.notebook else []
    return {c.metadata.nbgrader.grade_id: c for c in cells if _role(c) == "written"}


def _role(cell: nbformat.NotebookNode) -> str:
    return cell.metadata.get(MARK, {}).get("role", "")


def _table(graded: GradedNotebook, points: Mapping[str, float], standing: Standing) -> list[str]:
    out = [
        '<table class="scores"><thead><tr><th scope="col">Exercise</th><th scope="col">Result</th>'
        '<th scope="col" class="n">Points</th></tr></thead><tbody>'
    ]
    for v in graded.verdicts:
        result = "passed" if v.passed else (v.mistakes[0].message if v.mistakes else "not yet")
        # What is wrong with the file as a whole stands above the table, once.
        result = "not graded" if graded.problem else result
        if v.exercise in graded.followed:
            result += ", with the course's own function in the place of an earlier answer"
        name = _title(graded, v)
        link = name if graded.problem else f'<a href="#{grade_id(v.exercise)}">{name}</a>'
        out.append(
            f"<tr><td>{link}</td><td>{escaped(result)}</td>"
            f'<td class="n">{number(points[v.exercise])} of {_most(graded, v)}</td></tr>'
        )
    for name, cell in _written(graded).items():
        if standing.most.get(name):
            result = "waits for your instructor" if name in standing.waiting else "read by your instructor"
            result = result if cell.source.strip() and name not in untouched(graded) else "not written"
            out.append(
                f'<tr><td><a href="#{escaped(name)}">Your written answer</a></td><td>{result}</td>'
                f'<td class="n">{"–" if _is_open(name, standing) else number(standing.points[name])} of '
                f"{number(standing.most[name])}</td></tr>"
            )
    return [*out, "</tbody></table>"]


def _exercise(v: Verdict, graded: GradedNotebook, points: float, standing: Standing) -> list[str]:
    most = amount(v.max_score, "extra point" if v.exercise in graded.extensions else "point")
    out = [f'<h2 id="{grade_id(v.exercise)}">{_title(graded, v)}: {number(points)} of {most}</h2>']
    if not math.isclose(points, v.score, abs_tol=1e-9):
        out.append(
            f'<p class="comment">Your instructor gave {amount(points, "point")}; the computed score was '
            f"{number(v.score)}.</p>"
        )
    names = grade_id(v.exercise), grade_id(v.exercise, "solve")
    remarks = [standing.comments[n] for n in names if standing.comments.get(n)]
    if not graded.problem:
        out.append(v.html())
    elif not remarks and points == v.score:
        return []
    out += [f'<p class="note">{escaped(n.sentence)}</p>' for n in graded.notes if n.exercise == v.exercise]
    return out + _comments(remarks)


def _comments(remarks: Sequence[str]) -> list[str]:
    """An instructor's comments. The formgrader says that it takes Markdown; HTML in it stays text."""
    if not remarks:
        return []
    import mistune  # only pages with a comment need it

    made = mistune.create_markdown(escape=True)
    return [f'<div class="comment">{made(printable(r))}</div>' for r in remarks]


def _title(graded: GradedNotebook, verdict: Verdict) -> str:
    return escaped(next(e.title for e in master(graded.unit).exercises if e.id == verdict.exercise))


def _most(graded: GradedNotebook, verdict: Verdict) -> str:
    return number(verdict.max_score) + (" extra" if verdict.exercise in graded.extensions else "")


def head(title: str) -> str:
    """Start of a page, to be closed by ``END``."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{html.escape(printable(title))}</title><style>{STYLE}</style></head><body><main>'
    )


def code_block(text: str) -> str:
    """Text as it was typed. Long lines scroll sideways, and it takes the focus so that keys can do that."""
    return f'<pre tabindex="0">{escaped(text)}</pre>'


def _answers(graded: GradedNotebook) -> dict[str, nbformat.NotebookNode]:
    cells = graded.notebook.cells if graded.notebook else []
    return {c.metadata[MARK]["exercise"]: c for c in cells if _role(c) == "answer"}


class _Code:
    """What the student wrote and what it printed, as long as there is room on the page."""

    def __init__(self) -> None:
        self.room = MAX_CODE

    def of(self, cell: nbformat.NotebookNode) -> list[str]:
        """A cell with its output, folded up."""
        parts = list[str]()
        if cell.source.strip():
            parts.append(f"<details><summary>Your code</summary>{self._pre(cell.source)}</details>")
        for output in cell.get("outputs", ()):
            if output.output_type == "stream" and output.text.strip():
                parts.append(f"<details><summary>What it printed</summary>{self._pre(output.text)}</details>")
            elif output.output_type == "error":
                parts.append(self._pre(f"{output.ename}: {output.evalue}"))
        return parts

    def _pre(self, text: str) -> str:
        room, self.room = self.room, max(0, self.room - len(text))
        return code_block(short(text, room) if room else "…")
