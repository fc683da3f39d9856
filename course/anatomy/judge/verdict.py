"""The verdict of a check, in the same words in the notebook, in the autograde feedback and in the class report."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from ..system.texts import escaped, short, with_code
from ..system.translation import N_, _, ngettext, said

MAX_MESSAGE = 1_600  # characters of a mistake's message; the message for an honest answer has a few hundred
MAX_TEXT = 1_200  # of each text of a case
MAX_NAME = 120  # of a slug, and of a case's name
MAX_BYTES = 10_000  # of everything that a verdict says of the results, in UTF-8; as JSON at most three times as many
LEFT_OUT = N_("(not shown: what stands above is too long already)")

GOOD, BAD, CALM = "var(--jp-success-color1,#1b7f3b)", "var(--jp-error-color1,#c62828)", "var(--jp-warn-color1,#b45f06)"


def box(color: str, body: str) -> str:
    """An HTML fragment with a colored edge, read out by screen readers when it appears."""
    return f'<div role="status" style="border-left:4px solid {color};padding:.4em .9em;margin:.3em 0">{body}</div>'


@dataclass
class Mistake:
    """A mistake with a name. ``name`` is a slug such as ``no_scaling``; generic ones start with ``generic.``.

    Both texts are made printable and short as soon as a Mistake is created: they may hold a student's text.
    """

    name: str
    message: str

    def __post_init__(self) -> None:
        self.name, self.message = short(self.name, MAX_NAME), short(self.message, MAX_MESSAGE)


@dataclass
class CaseResult:
    """One case (or property) of an exercise. Its texts are made printable and short as soon as it is created."""

    name: str
    shows: str
    passed: bool
    points: float
    max_points: float
    sentence: str = ""
    call: str = ""
    expected: str = ""
    got: str = ""

    def __post_init__(self) -> None:
        self.name, self.shows = short(self.name, MAX_NAME), short(self.shows, MAX_TEXT)
        self.sentence, self.call = short(self.sentence, MAX_TEXT), short(self.call, MAX_TEXT)
        self.expected, self.got = short(self.expected, MAX_TEXT), short(self.got, MAX_TEXT)

    def size(self) -> int:
        """Bytes of its texts, without those that the exercise provides."""
        return sum(len(t.encode()) for t in (self.sentence, self.call, self.expected, self.got))

    def leave_out(self) -> None:
        """Replaces its texts, except those that the exercise provides."""
        self.sentence, self.call, self.expected, self.got = _(LEFT_OUT), "", "", ""


@dataclass
class Verdict:
    """The outcome of one exercise.

    passed: True when every case passed. score, max_score: points. mistakes: named mistakes, most telling first.
    cases: every case tried, smallest first; empty if the code could not be run at all; where their texts would be too
    long together, the last cases say less. seconds: time that the learner's code took. extension: its points count
    extra.
    """

    exercise: str
    passed: bool
    score: float
    max_score: float
    mistakes: list[Mistake] = field(default_factory=list)
    cases: list[CaseResult] = field(default_factory=list)
    seconds: float = 0.0
    extension: bool = False

    def __post_init__(self) -> None:
        left = MAX_BYTES - sum(len(m.message.encode()) for m in self.mistakes)
        for case in self.cases:  # the smallest first: learners read those
            left -= case.size()
            if left < 0 and case.size():
                case.leave_out()

    @property
    def first_failure(self) -> CaseResult | None:
        """The smallest case that failed, or None."""
        return next((c for c in self.cases if not c.passed), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_dict."""
        data = dict(data)
        data["mistakes"] = [Mistake(**m) for m in data["mistakes"]]
        data["cases"] = [CaseResult(**c) for c in data["cases"]]
        return cls(**data)

    def _more(self, case):
        """The part of a case's sentence that neither the named mistakes nor the row ``got`` say already, or ""."""
        sentence = case.sentence
        if not sentence or any(sentence.lower() in m.message.lower() for m in self.mistakes):
            return ""
        if case.got and case.got[:80] in sentence:  # an error: only its line is new
            line = re.search(r"\(at: (.+)\)\s*$", sentence, re.S)
            at = _("In your line: {line}").format(line=line[1]) if line else ""
            return "" if any(line and line[1] in m.message for m in self.mistakes) else at
        return _capital(sentence)

    def _share(self):
        if self.first_failure is None:  # all cases are right, but something else is wrong
            return _("the results are right")
        return _("{n} of {all} cases pass").format(n=sum(c.passed for c in self.cases), all=len(self.cases))

    def _worth(self):
        n = self.max_score
        if self.extension:
            return ngettext("{n:g} extra point", "{n:g} extra points", n).format(n=n)
        return ngettext("{n:g} point", "{n:g} points", n).format(n=n)

    def _shows(self, case):
        return said(self.exercise, case.shows)

    def _message(self, mistake):
        return said(self.exercise, mistake.message)

    def _rows(self, case):
        return (_("call"), case.call), (_("expected"), case.expected), (_("got"), case.got)

    def text(self) -> str:
        """Plain text, for a terminal, a screen reader or a log."""
        if self.passed:
            tried = "\n".join(f"  ✓ {self._shows(c)}" for c in self.cases)
            passed = _("{exercise}: passed ({points})").format(exercise=self.exercise, points=self._worth())
            return f"✓ {passed}\n{_('Tried:')}\n{tried}"
        not_yet = _("{exercise}: not yet").format(exercise=self.exercise)
        lines = [f"✗ {not_yet}" + (f" ({self._share()})" if self.cases else "")]
        lines += [f"  {self._message(m)}" for m in self.mistakes[:2]]
        c = self.first_failure
        if c:
            lines.append(_("Smallest failing case: {case}").format(case=self._shows(c)))
            lines += [f"  {k:9}" + v.replace("\n", "\n" + " " * 11) for k, v in self._rows(c) if v]
            if self._more(c):
                lines.append(f"  {self._more(c)}")
        return "\n".join(lines)

    def html(self, below: str = "") -> str:
        """The same as an HTML fragment; every value is escaped (no markup, no TeX), colors come from the theme.

        below: more HTML, made by this package, for the same box.
        """
        esc = escaped
        if self.passed:
            items = "".join(f"<li>{esc(self._shows(c))}</li>" for c in self.cases)
            passed = _("{exercise} passed").format(exercise=f"<code>{esc(self.exercise)}</code>")
            n = len(self.cases)
            return box(
                GOOD,
                f"<b>✓ {passed}</b> ({self._worth()})<details><summary>"
                f"{ngettext('{n} things tried', '{n} things tried', n).format(n=n)}"
                f"</summary><ul>{items}</ul></details>" + below,
            )
        not_yet = _("{exercise} not yet").format(exercise=f"<code>{esc(self.exercise)}</code>")
        parts = [f"<b>✗ {not_yet}</b>" + (f": {self._share()}" if self.cases else "")]
        parts += [f"<p><b>{with_code(self._message(m))}</b></p>" for m in self.mistakes[:1]]
        parts += [f"<p>{with_code(self._message(m))}</p>" for m in self.mistakes[1:2]]
        c = self.first_failure
        if c:
            parts.append(f"<p>{_('Smallest failing case: {case}').format(case=esc(self._shows(c)))}</p>")
            rows = "".join(
                f'<tr><th scope="row" style="text-align:left;vertical-align:top">{k}</th>'
                f'<td style="text-align:left"><code style="white-space:pre-wrap">{esc(v)}</code></td></tr>'
                for k, v in self._rows(c)
                if v
            )
            parts.append(f"<table>{rows}</table>")
            if self._more(c):
                parts.append(f"<p>{esc(self._more(c))}</p>")
        return box(BAD, "".join([*parts, below]))


def _capital(sentence):
    return sentence[:1].upper() + sentence[1:]
