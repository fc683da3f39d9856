"""``show_answer("rope.rotate_half")``: a whole right answer, for a learner by themselves who has tried.

It is text to read: nothing is written into a notebook. The answers are those of ``autograder.notebooks.answers``, and a
class's package comes without them.
"""

import ast
import difflib
import json
from pathlib import Path

from ..judge.verdict import CALM, box
from ..program import records, units
from ..progress.standing import attempts, looked_up, note_looked_up, passed
from ..system import installation, store
from ..system.texts import escaped
from ..system.translation import _, listed, ngettext, said
from . import after_check, session
from .after_check import ANSWER_AFTER, Shown

MOST_LINES = 200  # of a learner's cell that is compared line by line
_HEADS = ("def ", "class ", "@")
_pointed: set[str] = set()  # exercises whose last hint was pointed to in this session, before the answer


class Looked:
    """What ``show_answer`` displays: an answer, or one sentence on what is left to do before it."""

    def __init__(self, shown: Shown) -> None:
        self._markup, self._text = shown.both()

    def __repr__(self):
        return self._text

    def _repr_html_(self):
        return box(CALM, self._markup)


def show_answer(exercise_id: str) -> Looked:
    """Shows a whole right answer, once five tries have failed and the three hints were offered; else says what is left.

    The first call that could show it points to the last hint, and says that looking is remembered; the next one shows
    the answer. From then on progress says that the answer was looked up. After a pass it is shown at once.

    Args:
        exercise_id: e.g. ``"rope.rotate_half"``.

    Raises:
        MissingRecording: unknown exercise, or a damaged file of answers; the message says what to do.
    """
    record = records.recent(exercise_id, with_mistakes=False)
    shown = Shown()
    file = installation.answers()
    entry = store.read("progress").get(exercise_id, {})
    if file is None:
        _paragraph(shown, _("This package was made for a class, so it holds no whole answers."))
    elif passed(entry) or looked_up(entry):
        _answer(shown, record, file, done=passed(entry))
    elif attempts(entry) < ANSWER_AFTER:
        _not_yet(shown, record, entry)
    elif exercise_id not in _pointed:
        _pointed.add(exercise_id)
        _before(shown, record)
    else:
        _answer(shown, record, file)
        note_looked_up(exercise_id)
    return Looked(shown)


def _not_yet(shown, record, entry):
    left = ANSWER_AFTER - attempts(entry)
    sentence = ngettext(
        "Not yet: the whole answer can be seen after one more try. Until then, {hint} is below the exercise's check.",
        "Not yet: the whole answer can be seen after {n} more tries. Until then, {hint} is below the exercise's check.",
        left,
    )
    markup, name = after_check.hint(record.unit, record.id, entry.get("tries", 0))
    shown.add(f"<p>{sentence.format(n=left, hint=markup)}</p>", sentence.format(n=left, hint=name))


def _before(shown, record):
    sentence = _(
        "Have you read {hint}, below the exercise's check? If it is not enough, run this cell once more: then the "
        "whole answer is shown, and your progress says that you looked it up."
    )
    markup, name = after_check.hint(record.unit, record.id, ANSWER_AFTER)
    shown.add(f"<p>{sentence.format(hint=markup)}</p>", sentence.format(hint=name))


def _answer(shown, record, file, done=False):
    source = _sources(file).get(record.id)
    if source is None:
        missing = _("{file} has no answer to {exercise}. {repair}")
        repair = installation.how_to_repair("make build")
        raise records.MissingRecording(missing.format(file=file.name, exercise=record.id, repair=repair))
    title = _("A whole right answer: {exercise}").format(exercise=_title(record))
    shown.add(f"<b>{escaped(title)}</b>{_code(source)}", f"{title}\n\n{source}\n")
    if _needs(source):
        _paragraph(shown, _needs(source))
    difference = _difference(source, _own(record.targets))
    if isinstance(difference, str):
        _paragraph(shown, difference)
    elif difference:
        lead = _("Compared with your cell, without comments: − marks lines of yours alone, + lines of the answer.")
        text = "\n".join(difference)
        shown.add(f"<p>{escaped(lead)}</p>{_code(text)}", f"{lead}\n\n{text}\n")
    if not done:
        advice = _("Your cell was not changed. Find where the two differ, then write yours anew from memory.")
        _paragraph(shown, advice)


def _title(record):
    try:
        return said(record.id, units.exercise(record.id)[1]["title"])
    except (KeyError, TypeError):
        return record.id


def _sources(file: Path) -> dict[str, str]:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        damaged = _("{file} is damaged. {repair}")
        repair = installation.how_to_repair("make build")
        raise records.MissingRecording(damaged.format(file=file.name, repair=repair)) from None


def _paragraph(shown, sentence):
    shown.add(f"<p>{after_check.inline(sentence)}</p>", after_check.bare(sentence))


def _code(text):
    # JupyterLab breaks long lines in the middle of a word, which Python's don't survive.
    style, inner = "overflow-x:auto;white-space:pre;margin:.5em 0", "white-space:inherit"
    return f'<pre style="{style}"><code style="{inner}">{escaped(text)}</code></pre>'


# ---- what an answer needs, and where the learner's own differs ------------------------------------------------


def _needs(source: str) -> str:
    """A sentence on the answers to other exercises that this one calls; "" for none."""
    nodes = list(ast.walk(ast.parse(source)))
    own = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    own |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    own |= {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    named = dict.fromkeys(n.id for n in nodes if isinstance(n, ast.Name) and n.id not in own)
    exercises = {name: exercise for name in named if (exercise := records.exercise_of(name))}
    words = listed(f"`{name}` (`{exercise}`)" for name, exercise in exercises.items())
    return _("It calls your answers to other exercises: {names}.").format(names=words) if words else ""


def _own(targets):
    """The learner's source: the cells that defined these names last in this kernel; "" if that is unknown."""
    here = session.current
    cells = dict.fromkeys(here.homes[name] for name in targets if name in here.homes)
    return "\n".join(here.runs[cell].source for cell in cells if cell in here.runs)


def _difference(answer: str, own: str) -> str | list[str]:
    """The lines of a comparison, or a sentence instead; [] if the learner's own source is unknown.

    Comments, docstrings and layout are left out, so that the lines that remain are those that do something.
    """
    try:
        mine, theirs = _plain(own), _plain(answer)
    except (SyntaxError, ValueError, RecursionError):
        return []
    if not own:
        return []
    if mine == theirs:
        return _("But for comments and layout yours is the same, so look at what it calls.")
    bodies = [[s for line in lines if not (s := line.strip()).startswith(_HEADS)] for lines in (mine, theirs)]
    alike = any(difflib.get_close_matches(line, bodies[1], 1) for line in bodies[0])
    if not alike or len(mine) > MOST_LINES:
        return _("Yours goes another way, so comparing lines would say little: run both on one case instead.")
    lines = difflib.ndiff(mine, theirs)
    return [line.replace("-", "−", 1) if line.startswith("- ") else line for line in lines if not line.startswith("?")]


def _plain(source: str) -> list[str]:
    """The lines of some code without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree).splitlines()
