"""Makes a student's feedback page: self-contained HTML with each exercise's verdict in the words of the instant check.

Everything that a student wrote or printed is escaped, including TeX; the page has no script and loads nothing.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import nbformat
from anatomy.judge.verdict import Verdict
from anatomy.program.units import grade_id
from anatomy.system import translation
from anatomy.system.texts import escaped, printable, short, with_code
from anatomy.system.translation import _, said

from ..base.inert import as_typed
from ..base.masters import MARK, master
from ..base.outlines import outline
from ..base.words import amount, number
from ..book.standing import Standing, counts
from ..book.stored import Attempt, untouched
from ..intake import pictures
from ..intake.rebuild import is_stub, language_of
from ..judging.results import GradedNotebook

MAX_CODE = 1_000_000  # characters of code and output on a page; a student has the notebook as well
_NOTHING = Standing()  # default, if the page is made without a gradebook
END = "</main></body></html>\n"
STYLE = (Path(__file__).parent / "feedback.css").read_text(encoding="utf-8")


def page(graded: GradedNotebook, standing: Standing = _NOTHING, attempts: Sequence[Attempt] = ()) -> str:
    """The page as HTML text, in the language of the submitted notebook.

    Args:
        graded: GradedNotebook of the attempt that counts.
        standing: the submission in the gradebook: points that count, comments, lateness.
        attempts: all files that the student submitted for the unit.
    """
    with translation.speaking(language_of(graded.notebook)):
        # Without the exercises whose scores were set aside: they count no more.
        counted = [v for v in graded.verdicts if counts(v.exercise, standing)]
        return _page(replace(graded, verdicts=counted), standing, attempts)


def _page(graded: GradedNotebook, standing: Standing, attempts: Sequence[Attempt]) -> str:
    esc = escaped
    points = {v.exercise: standing.points.get(grade_id(v.exercise), v.score) for v in graded.verdicts}
    written = _written(graded)
    extra = sum(p for e, p in points.items() if e in graded.extensions)
    core = sum(points.values()) - extra + sum(standing.points.get(name, 0.0) for name in written)
    most = graded.max_score + sum(standing.most.get(name, 0.0) for name in written)
    late = standing.penalty
    # The late penalty reduces the total; it is taken off the core path's points first, then off the extra points.
    core, extra = (core - late, extra) if core >= late else (0.0, max(0.0, core + extra - late))
    # A written answer that is not graded yet does not count towards the maximum.
    open_ = sum(standing.most[name] for name in written if _is_open(name, standing))
    score = _of(core, amount(most - open_, "point"))
    score = _("{score} so far").format(score=score) if open_ else score
    score = _("{score}, and {n} extra").format(score=score, n=number(extra)) if extra else score
    by = _("Submitted by {student}.").format(student=esc(graded.student))
    if standing.submitted:
        by = _("Submitted by {student} on {day} at {time} UTC.").format(
            student=esc(graded.student), day=f"{standing.submitted:%Y-%m-%d}", time=f"{standing.submitted:%H:%M}"
        )
    out = [
        head(_("{unit}: feedback").format(unit=graded.unit)),
        f"<h1>{esc(graded.unit)}: {score}</h1><p>{by}</p>",
    ]
    if open_:
        more = _("Waiting for your instructor: your written answer, for up to {points} more.")
        out.append(f"<p>{more.format(points=amount(open_, 'point'))}</p>")
    if extra:
        more = _("For extensions: {points}, {n} in all.")
        out.append(f"<p>{more.format(points=amount(extra, 'extra point'), n=number(core + extra))}</p>")
    if late:
        taken = _("Taken off for a late submission: {points}.")
        out.append(f"<p>{taken.format(points=amount(late, 'point'))}</p>")
    out += [f'<p class="note">{esc(remark)}</p>' for remark in _remarks(attempts)]
    out += [f'<p class="note">{esc(n.sentence)}</p>' for n in graded.notes if not n.exercise]
    out += _table(graded, points, standing)
    cells, code = _answers(graded), _Code()
    for v in graded.verdicts:
        out += _exercise(v, graded, points[v.exercise], standing)
        if v.exercise in cells:
            out += code.of(cells[v.exercise])
    for name, cell in written.items():
        typed = as_typed(cell.source)
        blank = not typed.strip() or is_stub(typed, name, master(graded.unit))
        out += _of_a_person(name, cell, standing, blank)
    own = [c for c in graded.notebook.cells if _role(c) == "extra"] if graded.notebook else []
    if own:
        out.append(f"<h2>{_('Your own cells ({n})').format(n=len(own))}</h2>")
        for cell in own:
            out += code.of(cell)
    return "".join(out) + END


def _of(points: float, most: str) -> str:
    return _("{n} of {points}").format(n=number(points), points=most)


def _remarks(attempts: Sequence[Attempt]) -> list[str]:
    """Remarks about which attempt counts, if a student submitted more than once."""
    counted = next((a for a in attempts if a.counts), None)
    if counted is None or len(attempts) < 2:
        return []
    last = max(attempts, key=lambda a: a.graded_at)
    best = max(attempts, key=lambda a: (a.score, a.graded_at))
    if counted is not last:
        told = _("The submission of {time} counts, which has the most points. The last one, of {last}, had {n}.")
        return [told.format(time=counted.when, last=last.when, n=number(last.score))]
    if best.score > counted.score:
        told = _("An earlier submission, of {time}, had {points}, and this one has {n}: the last one counts.")
        return [told.format(time=best.when, points=amount(best.score, "point"), n=number(counted.score))]
    return []


def _of_a_person(name: str, cell: nbformat.NotebookNode, standing: Standing, blank: bool) -> list[str]:
    """The written answer: its text and pictures, its points, and the instructor's comment."""
    most, waits = standing.most.get(name, 0.0), name in standing.waiting
    title = _("Your written answer")
    if most and waits:
        title = _("Your written answer: not graded yet, {points}").format(points=amount(most, "point"))
    elif most:
        title = _("Your written answer: {score}").format(score=_of(standing.points[name], amount(most, "point")))
    told = _comments([standing.comments[name]] if standing.comments.get(name) else [])
    nothing = f"<p>{_('Nothing was written here.')}</p>"
    text = nothing if blank else code_block(short(as_typed(cell.source), MAX_CODE))
    images = [
        f'<p><img alt="{_image(name)}" src="data:{kind};base64,{data}"></p>'
        for name, kind, data in pictures.taken_from(cell)
    ]
    return [f'<h2 id="{escaped(name)}">{title}</h2>', *told, text, *images]


def _image(name: str) -> str:
    return html.escape(_("{name}, from your answer").format(name=name))


def _is_open(name: str, standing: Standing) -> bool:
    """True if a written answer waits for its first points."""
    return name in standing.waiting and name not in standing.decided and bool(standing.most.get(name))


def _written(graded: GradedNotebook) -> dict[str, nbformat.NotebookNode]:
    """Name of a cell that a person grades → the cell."""
    cells = graded.notebook.cells if graded.notebook else []
    return {c.metadata.nbgrader.grade_id: c for c in cells if _role(c) == "written"}


def _role(cell: nbformat.NotebookNode) -> str:
    return cell.metadata.get(MARK, {}).get("role", "")


def _table(graded: GradedNotebook, points: Mapping[str, float], standing: Standing) -> list[str]:
    out = [
        f'<table class="scores"><thead><tr><th scope="col">{_("Exercise")}</th><th scope="col">{_("Result")}</th>'
        f'<th scope="col" class="n">{_("Points")}</th></tr></thead><tbody>'
    ]
    for v in graded.verdicts:
        result = _("passed") if v.passed else _("not yet")
        if v.mistakes and not v.passed:
            result = said(v.exercise, v.mistakes[0].message)
        # A problem of the whole file is shown once, above the table.
        result = _("not graded") if graded.problem else result
        if v.exercise in graded.followed:
            result += _(", with the course's own function in the place of an earlier answer")
        name = _title(graded, v)
        link = name if graded.problem else f'<a href="#{grade_id(v.exercise)}">{name}</a>'
        out.append(
            f"<tr><td>{link}</td><td>{with_code(result)}</td>"
            f'<td class="n">{_of(points[v.exercise], _most(graded, v))}</td></tr>'
        )
    for name, cell in _written(graded).items():
        if standing.most.get(name):
            result = _("waits for your instructor") if name in standing.waiting else _("read by your instructor")
            result = result if cell.source.strip() and name not in untouched(graded) else _("not written")
            got = "–" if _is_open(name, standing) else number(standing.points[name])
            score = _("{n} of {points}").format(n=got, points=number(standing.most[name]))
            out.append(
                f'<tr><td><a href="#{escaped(name)}">{_("Your written answer")}</a></td><td>{result}</td>'
                f'<td class="n">{score}</td></tr>'
            )
    return [*out, "</tbody></table>"]


def _exercise(v: Verdict, graded: GradedNotebook, points: float, standing: Standing) -> list[str]:
    most = amount(v.max_score, "extra point" if v.exercise in graded.extensions else "point")
    out = [f'<h2 id="{grade_id(v.exercise)}">{_title(graded, v)}: {_of(points, most)}</h2>']
    if not math.isclose(points, v.score, abs_tol=1e-9):
        gave = _("Your instructor gave {points}; the computed score was {n}.")
        out.append(f'<p class="comment">{gave.format(points=amount(points, "point"), n=number(v.score))}</p>')
    names = grade_id(v.exercise), grade_id(v.exercise, "solve")
    remarks = [standing.comments[n] for n in names if standing.comments.get(n)]
    if not graded.problem:
        out.append(v.html())
    elif not remarks and points == v.score:
        return []
    out += [f'<p class="note">{escaped(n.sentence)}</p>' for n in graded.notes if n.exercise == v.exercise]
    return out + _comments(remarks)


def _comments(remarks: Sequence[str]) -> list[str]:
    """An instructor's comments as HTML. They are Markdown, as the formgrader says; HTML in them is escaped."""
    if not remarks:
        return []
    import mistune  # only pages with a comment need it

    made = mistune.create_markdown(escape=True)
    return [f'<div class="comment">{made(printable(r))}</div>' for r in remarks]


def _title(graded: GradedNotebook, verdict: Verdict) -> str:
    title = next(e.title for e in outline(graded.unit).exercises if e.id == verdict.exercise)
    return escaped(said(verdict.exercise, title))


def _most(graded: GradedNotebook, verdict: Verdict) -> str:
    most = number(verdict.max_score)
    return _("{n} extra").format(n=most) if verdict.exercise in graded.extensions else most


def head(title: str) -> str:
    """The start of a page; ``END`` closes it."""
    return (
        f'<!doctype html><html lang="{translation.tag()}"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{html.escape(printable(title))}</title><style>{STYLE}</style></head><body><main>'
    )


def code_block(text: str) -> str:
    """Text as it was typed. Long lines scroll sideways; the block is focusable, so that keys can scroll it."""
    return f'<pre tabindex="0">{escaped(text)}</pre>'


def _answers(graded: GradedNotebook) -> dict[str, nbformat.NotebookNode]:
    cells = graded.notebook.cells if graded.notebook else []
    return {c.metadata[MARK]["exercise"]: c for c in cells if _role(c) == "answer"}


class _Code:
    """The student's code and its output, up to MAX_CODE characters per page."""

    def __init__(self) -> None:
        self.room = MAX_CODE

    def of(self, cell: nbformat.NotebookNode) -> list[str]:
        """A cell and its output, collapsed."""
        parts = list[str]()
        if cell.source.strip():
            parts.append(f"<details><summary>{_('Your code')}</summary>{self._pre(cell.source)}</details>")
        for output in cell.get("outputs", ()):
            if output.output_type == "stream" and output.text.strip():
                parts.append(f"<details><summary>{_('What it printed')}</summary>{self._pre(output.text)}</details>")
            elif output.output_type == "error":
                parts.append(self._pre(f"{output.ename}: {output.evalue}"))
        return parts

    def _pre(self, text: str) -> str:
        room, self.room = self.room, max(0, self.room - len(text))
        return code_block(short(text, room) if room else "…")
