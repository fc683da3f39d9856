"""One self-contained HTML page for a student: each exercise's verdict in the words of the instant check.

Everything that a student wrote or printed is escaped; the page has no script and loads nothing.
"""

import html
from pathlib import Path

from autograder.build.source import grade_id

from .masters import master
from .rebuild import MARK

STYLE = (Path(__file__).parent / "feedback.css").read_text(encoding="utf-8")


def page(graded, comments=None, manual=None, penalty=0.0):
    """The page as text.

    Args:
        graded: GradedNotebook.
        comments: dict cell name → what an instructor wrote in the formgrader.
        manual: dict cell name → points that an instructor gave, instead of the computed ones.
        penalty: points taken off for a late submission.
    """
    comments, manual, esc = comments or {}, manual or {}, html.escape
    titles, cells = {e.id: esc(e.title) for e in master(graded.unit).exercises}, _answers(graded)
    points = {v.exercise: manual.get(grade_id(v.exercise), v.score) for v in graded.verdicts}
    total, most = sum(points.values()) - penalty, graded.max_score
    out = [head(f"{graded.unit}: feedback"), f"<h1>{esc(graded.unit)}: {total:g} of {most:g} points</h1>"
           f"<p>Submitted by {esc(graded.student)}.</p>"]
    if penalty:
        out.append(f"<p>{penalty:g} points were taken off for a late submission.</p>")
    out += [f'<p class="note">{esc(n.sentence)}</p>' for n in graded.notes if not n.exercise]
    out.append('<table class="scores"><thead><tr><th scope="col">Exercise</th><th scope="col">Result</th>'
               '<th scope="col">Points</th></tr></thead><tbody>')
    for i, v in enumerate(graded.verdicts):
        result = "passed" if v.passed else (v.mistakes[0].message if v.mistakes else "not yet")
        out.append(f'<tr><td><a href="#e{i}">{titles[v.exercise]}</a></td><td>{esc(result)}</td>'
                   f'<td class="n">{points[v.exercise]:g} of {v.max_score:g}</td></tr>')
    out.append("</tbody></table>")
    for i, v in enumerate(graded.verdicts):
        out.append(f'<h2 id="e{i}">{titles[v.exercise]}: {points[v.exercise]:g} of '
                   f"{v.max_score:g} points</h2>")
        if points[v.exercise] != v.score:
            out.append(f'<p class="comment">Your instructor gave {points[v.exercise]:g} points; the computed score was '
                       f"{v.score:g}.</p>")
        out.append(v.html())
        out += [f'<p class="note">{esc(n.sentence)}</p>' for n in graded.notes if n.exercise == v.exercise]
        for name in (grade_id(v.exercise), grade_id(v.exercise, "solve")):
            if comments.get(name):
                out.append(f'<p class="comment">{esc(comments[name])}</p>')
        if v.exercise in cells:
            out += _code(cells[v.exercise], graded)
    extra = [c for c in graded.notebook.cells if c.metadata[MARK]["role"] == "extra"] if graded.notebook else []
    if extra:
        out.append(f"<h2>Your own cells ({len(extra)})</h2>")
        for cell in extra:
            out += _code(cell, graded)
    return "".join(out) + "</body></html>\n"


def head(title):
    """Start of a page, to be closed by ``</body></html>``."""
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>{html.escape(title)}</title><style>{STYLE}</style></head><body>')


def _answers(graded):
    cells = graded.notebook.cells if graded.notebook else []
    return {c.metadata[MARK]["exercise"]: c for c in cells if c.metadata[MARK]["role"] == "answer"}


def _code(cell, graded):
    output, parts = graded.outputs.get(cell.id), []
    if cell.source.strip():
        parts.append(f"<details><summary>Your code</summary><pre>{html.escape(cell.source)}</pre></details>")
    if output and output.text.strip():
        parts.append(f"<details><summary>What it printed</summary><pre>{html.escape(output.text)}</pre></details>")
    if output and output.error:
        name, text, _ = output.error
        parts.append(f"<pre>{html.escape(f'{name}: {text}')}</pre>")
    return parts
