"""Texts around a verdict: why nothing was checked, a hint to open, what comes next."""

import html
import re
import time
from collections.abc import Mapping, Sequence

from ..judge.verdict import CALM, Verdict, box
from ..program import units
from ..program.records import MissingRecording
from ..progress.standing import attempts, is_extension, passed, unit_view, whats_next
from ..system import hosted, installation
from ..system.store import Entry
from ..system.translation import N_, _, listed, said
from .session import Run, Stale

HINTS = (N_("Hint 1: a nudge"), N_("Hint 2: a plan"), N_("Hint 3: nearly code"))
RUN_AGAIN = N_("Run it (Shift+Enter), then check again.")
GONE = N_(
    "It exists only in memory, from an earlier run, and would be missing in what you hand in. Write it again, or bring "
    "it back (Ctrl+Z). Run its cell, then check again."
)
FIRST_HINT = 2  # failing tries before a hint is offered
ANSWER_AFTER = 5  # failing attempts before a whole answer may be looked up; by then every hint was offered


def inline(markdown: str) -> str:
    """HTML of one sentence of Markdown: links, code and emphasis; formulas are left to the notebook."""
    text = html.escape(markdown, quote=False)
    kept = []

    def keep(made):
        kept.append(made)
        return f"\0{len(kept) - 1}\0"

    text = re.sub(r"`([^`]+)`", lambda m: keep(f"<code>{m[1]}</code>"), text)
    text = re.sub(r"\$[^$]+\$", lambda m: keep(m[0]), text)
    text = re.sub(
        r"\[([^\]]+)\]\((https?://[^)\s]+)\)",
        lambda m: keep(f'<a href="{html.escape(m[2])}" target="_blank" rel="noopener">{m[1]}</a>'),
        text,
    )
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"\*(.+?)\*", r"<i>\1</i>", text)
    return re.sub(r"\0(\d+)\0", lambda m: kept[int(m[1])], text)


def bare(markdown: str) -> str:
    """The same sentence as plain text, for a terminal."""
    text = re.sub(r"\[([^\]]+)\]\((https?://[^)\s]+)\)", r"\1 (\2)", markdown)
    return "".join(
        part[1:-1] if part[0] in "`$" else part.replace("*", "")
        for part in re.findall(r"`[^`]+`|\$[^$]+\$|[^`$]+|.", text)
    )


class Shown:
    """Lines to show, as HTML and as plain text."""

    def __init__(self):
        self.html, self.text = [], []

    def add(self, markup: str, text: str) -> None:
        """Adds one line in both forms."""
        self.html.append(markup)
        self.text.append(text)

    def both(self) -> tuple[str, str]:
        """(HTML, text); empty strings if there is nothing to show."""
        return "".join(self.html), "\n".join(self.text)


def after(verdict: Verdict, entry: Entry) -> tuple[str, str]:
    """The lines below a verdict: (HTML, text). entry: the exercise's record of tries."""
    shown = Shown()
    try:
        unit, exercise = units.exercise(verdict.exercise)
        if verdict.passed:
            _passed(shown, unit, exercise)
            _offer_drill(shown, exercise, entry)
        else:
            _offer_hint(shown, unit, exercise, entry)
    except (KeyError, TypeError, ValueError, OverflowError, MissingRecording):
        pass  # a damaged file of texts costs these lines, not the verdict
    return shown.both()


def _passed(shown, unit, exercise):
    worth = said(exercise["id"], exercise["worth"])
    known = _("Worth knowing: {text}").format(text=bare(worth))
    shown.add(f"<p><b>{_('Worth knowing.')}</b> {inline(worth)}</p>", known)
    view = unit_view(unit)
    done, total = view.done, len(view.core)
    count = _("{unit}: {done} of {total} exercises").format(unit=view.title, done=done, total=total)
    line = count
    if view.extensions:
        there = len(view.extensions)
        line += _(", extensions {done} of {total}").format(done=view.extensions_done, total=there)
    if view.minutes:
        line += _(", about {minutes} min left").format(minutes=view.minutes)
    line = _("{sentence}.").format(sentence=line)
    shown.add(
        f'<p><progress max="{total}" value="{done}" aria-label="{html.escape(count)}" '
        f'style="vertical-align:middle"></progress> {html.escape(line)}</p>',
        line,
    )
    coming = whats_next(after=exercise["id"])
    if coming is None:
        last = _("That was the last open exercise of the course.")
        shown.add(f"<p>{last}</p>", last)
        return
    reached = f"{_('Core path done.') if view.extensions else _('Unit done.')} "
    _next(shown, view, coming, first=reached if done == total and not is_extension(exercise) else "")
    if done == total and not (coming["unit"] == unit and is_extension(exercise)):
        _offer_extensions(shown, view, coming)


def _next(shown, view, coming, first):
    """Adds the line on what comes next. first: the text before it."""
    there, elsewhere = coming["exercise"], coming["unit"] != view.name
    title, minutes = said(there["id"], there["title"]), there["minutes"]
    label, words = _("Next"), _("{exercise}, about {minutes} min").format(exercise=title, minutes=minutes)
    if elsewhere:
        words = _("{exercise} in {unit}, about {minutes} min")
        words = words.format(exercise=title, unit=coming["title"], minutes=minutes)
    if is_extension(there):
        label = _("Next extension")
    elif elsewhere and not coming["begun"]:
        label, words = _("Next unit"), coming["title"]
    shown.add(
        f"<p>{first}<b>{label}:</b> {units.anchor(coming['href'], html.escape(words))}</p>",
        f"{first}{label}: {words}",
    )


def _offer_extensions(shown, view, coming):
    """Lists the unit's open extensions, in one line beside what comes next; they are optional."""
    links, words = [], []
    for e, entry in view.extensions:
        if not passed(entry) and e["id"] != coming["exercise"]["id"]:
            href = units.link(view.name, units.cell_id("say", e["id"]), here=view.name)
            title = said(e["id"], e["title"])
            minutes = _("{n} min").format(n=e["minutes"])
            links.append(f"{units.anchor(href, html.escape(title))} ({minutes})")
            words.append(f"{title} ({minutes})")
    if words:
        label = _("Extension") if len(words) == 1 else _("Extensions")
        shown.add(f"<p>{label}: {' · '.join(links)}</p>", f"{label}: {' · '.join(words)}")


def _offer_drill(shown, exercise, entry):
    """Names the command for writing it again from blank, once the first pass was on an earlier day."""
    at = entry.get("passed_at")
    if not isinstance(at, int) or not hosted.has_links():  # where a notebook is shown alone, there is no terminal
        return
    if time.localtime(at)[:3] < time.localtime(time.time())[:3]:
        again = _("Again from blank, in a notebook of its own: `anatomy drill {exercise}`").format(
            exercise=exercise["id"]
        )
        shown.add(f"<p>{inline(again)}</p>", bare(again))


def _offer_hint(shown, unit, exercise, entry):
    tries = entry.get("tries", 0)
    if tries < FIRST_HINT or entry.get("passed_on_try"):
        return
    stuck, (link, name) = _("Stuck? {hint} is below this check."), hint(unit, exercise["id"], tries)
    shown.add(
        f"<p>{stuck.format(hint=link)}</p>",
        stuck.format(hint=name),
    )
    if attempts(entry) >= ANSWER_AFTER and installation.answers():
        call = f'from anatomy import show_answer; show_answer("{exercise["id"]}")'
        last = _("If the hints are not enough, this shows a whole answer: `{call}`").format(call=call)
        shown.add(f"<p>{inline(last)}</p>", bare(last))


def hint(unit: str, exercise_id: str, tries: int) -> tuple[str, str]:
    """(a link to it, its name) of the hint that fits the number of failing tries."""
    name = _(HINTS[min(max(tries - FIRST_HINT, 0), len(HINTS) - 1)])
    return units.anchor(units.link(unit, units.cell_id("hint", exercise_id), here=unit), name), name


def not_checked(stale: Stale) -> tuple[str, str]:
    """(HTML, text) instead of a verdict, which would be about code that is not on the screen."""
    name, run, shown = stale.name, stale.run, Shown()
    first, rest = {
        "edited": (_("Not checked: the cell of {name} was changed after it was run."), _(RUN_AGAIN)),
        "gone": (_("Not checked: no cell defines {name} any more."), _(GONE)),
    }.get(stale.kind, (_("Not checked: the cell of {name} did not run."), ""))
    shown.add(f"<b>{first.format(name=f'<code>{html.escape(name)}</code>')}</b>", first.format(name=name))
    if rest:
        shown.add(f"<p>{rest}</p>", rest)
        markup, text = shown.both()
        return box(CALM, markup), text
    what, line = failure(run)
    stopped = _("It stopped at line {n}: {line}")
    shown.add(
        f"<p>{stopped.format(n=run.line, line=f'<code>{html.escape(line)}</code>')}<br>{html.escape(what)}</p>",
        f"{stopped.format(n=run.line, line=line)}\n{what}",
    )
    memory = _(
        "What is in memory is your version from before, not the code on the screen. Mend the cell, run it until "
        "it shows no error, then check again."
    )
    shown.add(f"<p>{memory}</p>", memory)
    markup, text = shown.both()
    return box(CALM, markup), text


def helpers_gone(names: Sequence[str]) -> tuple[str, str]:
    """(HTML, text) of a warning about functions that the answer uses but no cell defines any more; "" for none."""
    warn = _("Your answer uses {names}, which no cell defines any more: it fails after a restart, and when handed in.")
    return _with_names(warn, names)


def helpers_failing(names: Sequence[str]) -> tuple[str, str]:
    """(HTML, text) of a line about functions that the answer uses and whose own check failed; "" for none."""
    return _with_names(_("Your answer uses {names}, whose own check still fails: look there first."), names)


def _with_names(warn, names):
    if not names:
        return "", ""
    return (
        f"<p><b>{warn.format(names=listed(f'<code>{html.escape(n)}</code>' for n in names))}</b></p>",
        warn.format(names=listed(names)),
    )


def failure(run: Run) -> tuple[str, str]:
    """(Python's message, the line at which it stopped) for a cell that failed."""
    error = run.error
    if isinstance(error, SyntaxError):
        try:
            compile(run.source, "cell", "exec")  # Python's own message: a notebook often says only "incomplete input"
        except SyntaxError as plain:
            error = plain
        except ValueError:
            pass
    number = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    run.line = number or run.line or 1
    lines = run.source.splitlines()
    line = lines[run.line - 1].strip() if run.line <= len(lines) else ""
    said = error.msg if isinstance(error, SyntaxError) and error.msg else str(error)
    return f"{type(error).__name__}: {said}"[:300], line[:160]


def undefined(name: str | None, source: str, left_behind: Mapping[str, Run]) -> list[str] | None:
    """Lines instead of a NameError's traceback, if a check asks for something that does not exist yet, or None."""
    call = re.match(r"\s*check\(\s*[\"']([\w.]+)[\"']", source)
    if not call or not name:
        return None
    if name in left_behind:
        run = left_behind[name]
        what, line = failure(run)
        return [
            _("Not checked: the cell of {name} did not run, so there is no {name} yet.").format(name=name),
            _("It stopped at line {n}: {line}").format(n=run.line, line=line),
            what,
            _("Mend the cell, run it until it shows no error, then check again."),
        ]
    return [
        _("Not checked: there is no {name} in memory.").format(name=name),
        _(
            "Run its cell above (Shift+Enter), then check again. After a restart of the kernel: Run → Run All Above "
            "Selected Cell."
        ),
    ]
