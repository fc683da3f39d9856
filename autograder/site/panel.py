"""The first page's panel: a wrong answer and the mended one, each with what the package's own check says of it.

No verdict is stored: the check judges both answers whenever the site is built, exactly as the page shows them. If it
passed the wrong one, or gave the mistake another name, the build would stop. Radio buttons switch between the two, so
the panel needs no script; before any choice it shows the wrong answer.
"""

import html
from typing import Any

import anatomy
import torch
from anatomy.judge.verdict import Verdict
from anatomy.program import units
from anatomy.system.translation import said
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from .words import N_, _

EXERCISE = "attention.softmax"
MISTAKE = "no_shift"  # the name that the check must give to the wrong answer
# Not a line of the solution in the notebook, which no page may show (``checks.files.solutions``).
WRONG, MENDED = "torch.exp(x)", "torch.exp(x - x.amax(dim, keepdim=True))"
SOURCE = """def softmax(x, dim=-1):
    e = {line}
    return e / e.sum(dim, keepdim=True)
"""
NAMES = N_("A check names the mistake.")
HEAD = N_("From unit {number}: {title}")
RECORDED = N_("Recorded: version {version} of the course's check said this when this page was made. Nothing runs here.")


class NotAsShown(ValueError):
    """The check says something else about an answer than the panel needs; the message says what."""


def panel() -> str:
    """HTML of the panel, in the current language. Raises NotAsShown."""
    unit, exercise = units.exercise(EXERCISE)
    head = _(HEAD).format(number=unit[:2], title=said(EXERCISE, exercise["title"]))
    choices, answers = [], []
    for name, label, line in (("wrong", _("the wrong line"), WRONG), ("mended", _("the mended line"), MENDED)):
        verdict = judged(line, MISTAKE if name == "wrong" else "")
        checked = " checked" * (name == "wrong")
        choices.append(
            f'<input class="ta-unseen" type="radio" name="ta-named" id="ta-{name}"{checked}>'
            f'<label for="ta-{name}">{html.escape(label)}</label>'
        )
        answers.append(f'<div class="ta-named-{name}">{_code(line)}{_shown(verdict)}</div>')
    legend = f'<legend class="ta-unseen">{_("Answer")}</legend>'
    recorded = _(RECORDED).format(version=anatomy.__version__)
    return (
        f'<div class="ta-named" role="group" aria-labelledby="ta-named-head">'
        f'<p class="ta-named-head" id="ta-named-head"><strong>{_(NAMES)}</strong> {html.escape(head)}</p>'
        f'<fieldset class="ta-named-choice">{legend}{"".join(choices)}</fieldset>'
        f'{"".join(answers)}<p class="ta-note-below">{html.escape(recorded)}</p></div>'
    )


def judged(line: str, mistake: str) -> Verdict:
    """The check's verdict on the answer with this line. mistake: the name that it must give; "": it must pass.

    Raises NotAsShown.
    """
    space: dict[str, Any] = {"torch": torch}
    exec(compile(SOURCE.format(line=line), f"<{EXERCISE}>", "exec"), space)
    verdict = anatomy.evaluate(EXERCISE, space["softmax"])
    named = [m.name for m in verdict.mistakes]
    if verdict.passed == bool(mistake) or named[:1] != [mistake] * bool(mistake):
        told = "passes" if verdict.passed else f"is refused as {named}"
        raise NotAsShown(f"The first page's panel: the answer with {line} {told}; it should be {mistake or 'right'}")
    return verdict


def _code(line: str) -> str:
    """The answer in the site's colors, with that line marked."""
    shown = highlight(SOURCE.format(line=line), PythonLexer(), HtmlFormatter(hl_lines=[2]))
    return shown.strip().replace("\n</pre>", "</pre>")


def _shown(verdict: Verdict) -> str:
    # A page is not changed by a check, so nothing is to be read out by itself.
    return verdict.html().replace('<div role="status"', '<div class="ta-named-said"', 1)
