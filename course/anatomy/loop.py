"""What a learner is shown around a verdict: why nothing was checked, a hint to open, what comes next."""

import html
import re
from collections.abc import Mapping

from . import units
from .progress import is_extension, passed, unit_view, whats_next
from .records import MissingRecording
from .session import Run, Stale
from .store import Entry
from .verdict import CALM, Verdict, box

HINTS = ("Hint 1: a nudge", "Hint 2: a plan", "Hint 3: nearly code")
FIRST_HINT = 2  # failing tries before a hint is offered


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
    """The same sentence for a terminal."""
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
        """One more line in both forms."""
        self.html.append(markup)
        self.text.append(text)

    def both(self) -> tuple[str, str]:
        """(HTML, text), empty strings where there is nothing to show."""
        return "".join(self.html), "\n".join(self.text)


def after(verdict: Verdict, entry: Entry) -> tuple[str, str]:
    """What stands below a verdict: (HTML, text). entry: the exercise's record of tries."""
    shown = Shown()
    try:
        unit, exercise = units.exercise(verdict.exercise)
        if verdict.passed:
            _passed(shown, unit, exercise)
        else:
            _offer_hint(shown, unit, exercise, entry)
    except (KeyError, TypeError, ValueError, MissingRecording):
        pass  # a damaged file of texts costs these lines, and not the verdict
    return shown.both()


def _passed(shown, unit, exercise):
    worth = exercise["worth"]
    shown.add(f"<p><b>Worth knowing.</b> {inline(worth)}</p>", f"Worth knowing: {bare(worth)}")
    view = unit_view(unit)
    done, total, title = view.done, len(view.core), html.escape(view.title)
    aside = f", extensions {view.extensions_done} of {len(view.extensions)}" if view.extensions else ""
    left = f", about {view.minutes} min left" if view.minutes else ""
    shown.add(
        f'<p><progress max="{total}" value="{done}" aria-label="{title}: {done} of {total} exercises" '
        f'style="vertical-align:middle"></progress> {title}: {done} of {total} exercises{aside}{left}.</p>',
        f"{view.title}: {done} of {total} exercises{aside}{left}.",
    )
    coming = whats_next(after=exercise["id"])
    if coming is None:
        shown.add(
            "<p>That was the last open exercise of the course.</p>", "That was the last open exercise of the course."
        )
        return
    reached = f"{'Core path' if view.extensions else 'Unit'} done. "
    _next(shown, view, coming, first=reached if done == total and not is_extension(exercise) else "")
    if done == total and not (coming["unit"] == unit and is_extension(exercise)):
        _offer_extensions(shown, view, coming)


def _next(shown, view, coming, first):
    """What to go on with. first: what to say before it."""
    there, elsewhere = coming["exercise"], coming["unit"] != view.name
    where = f" in {coming['title']}" if elsewhere else ""
    label, words = "Next", f"{there['title']}{where}, about {there['minutes']} min"
    if is_extension(there):
        label = "Next extension"
    elif elsewhere and not coming["begun"]:
        label, words = "Next unit", coming["title"]
    shown.add(
        f"<p>{first}<b>{label}:</b> {units.anchor(coming['href'], html.escape(words))}</p>",
        f"{first}{label}: {words}",
    )


def _offer_extensions(shown, view, coming):
    """The unit's extensions that are open, in one line beside what comes next; nobody has to do them."""
    links, words = [], []
    for e, entry in view.extensions:
        if not passed(entry) and e["id"] != coming["exercise"]["id"]:
            href = units.link(view.name, units.cell_id("say", e["id"]), here=view.name)
            links.append(f"{units.anchor(href, html.escape(e['title']))} ({e['minutes']} min)")
            words.append(f"{e['title']} ({e['minutes']} min)")
    if words:
        label = "Extension" if len(words) == 1 else "Extensions"
        shown.add(f"<p>{label}: {' · '.join(links)}</p>", f"{label}: {' · '.join(words)}")


def _offer_hint(shown, unit, exercise, entry):
    tries = entry.get("tries", 0)
    if tries < FIRST_HINT or entry.get("passed_on_try"):
        return
    name = HINTS[min(tries - FIRST_HINT, len(HINTS) - 1)]
    href = units.link(unit, units.cell_id("hint", exercise["id"]), here=unit)
    shown.add(
        f"<p>Stuck? {units.anchor(href, name)} is below this check.</p>",
        f"Stuck? {name} is below this check.",
    )


def not_checked(stale: Stale) -> tuple[str, str]:
    """(HTML, text) for a verdict that would be about code which is not on the screen."""
    name, run, shown = stale.name, stale.run, Shown()
    if stale.kind == "edited":
        shown.add(
            f"<b>Not checked: the cell of <code>{html.escape(name)}</code> was changed after it was run.</b>"
            "<p>Run it (Shift+Enter), then check again.</p>",
            f"Not checked: the cell of {name} was changed after it was run.\nRun it (Shift+Enter), then check again.",
        )
        return box(CALM, shown.html[0]), shown.text[0]
    what, line = failure(run)
    shown.add(
        f"<b>Not checked: the cell of <code>{html.escape(name)}</code> did not run.</b>",
        f"Not checked: the cell of {name} did not run.",
    )
    shown.add(
        f"<p>It stopped at line {run.line}: <code>{html.escape(line)}</code><br>{html.escape(what)}</p>",
        f"It stopped at line {run.line}: {line}\n{what}",
    )
    shown.add(
        "<p>What is in memory is your version from before, not the code on the screen. Mend the cell, run it "
        "until it shows no error, then check again.</p>",
        "What is in memory is your version from before, not the code on the screen. Mend the cell, run it until "
        "it shows no error, then check again.",
    )
    markup, text = shown.both()
    return box(CALM, markup), text


def failure(run: Run) -> tuple[str, str]:
    """(what Python said, the line at which it stopped) of a cell that failed."""
    error = run.error
    if isinstance(error, SyntaxError):
        try:
            compile(run.source, "cell", "exec")  # Python's own words: a notebook says "incomplete input" of much
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
    """Lines in place of a NameError's traceback, where a check asks for something that does not exist yet, or None."""
    call = re.match(r"\s*check\(\s*[\"']([\w.]+)[\"']", source)
    if not call or not name:
        return None
    if name in left_behind:
        run = left_behind[name]
        what, line = failure(run)
        return [
            f"Not checked: the cell of {name} did not run, so there is no {name} yet.",
            f"It stopped at line {run.line}: {line}",
            what,
            "Mend the cell, run it until it shows no error, then check again.",
        ]
    return [
        f"Not checked: there is no {name} in memory.",
        "Run its cell above (Shift+Enter), then check again. After a restart of the kernel: Run → Run All Above "
        "Selected Cell.",
    ]
