"""Shows progress: a page for the notebook, and the same in plain text (``anatomy progress`` in a terminal)."""

import argparse
import html
import sys
from collections.abc import Sequence

from ..program import units
from ..program.units import Known
from ..system import hosted
from ..system.store import Entry
from ..system.translation import _, listed, ngettext, said
from .standing import UnitView, is_extension, looked_up, next_in, passed, view_in, views

# Text colors are the page's own, so that they fit light and dark themes.
STYLE = """<style>
.ta-way { max-width: 760px; line-height: 1.45; }
.ta-way p { margin: .2em 0; }
.ta-way-units { margin-top: .6em; }
.ta-way-unit { padding: .5em 0; border-top: 1px solid rgba(128, 128, 128, .45); }
.ta-way-head { display: flex; flex-wrap: wrap; align-items: center; gap: 2px 14px; }
.ta-way-title { flex: 1 1 15em; font-weight: 600; min-width: 0; }
.ta-way progress { flex: 0 1 170px; min-width: 110px; height: 12px; appearance: none; background: none;
  border: 1px solid #808080; border-radius: 6px; overflow: hidden; }
.ta-way progress::-webkit-progress-bar { background: none; }
.ta-way progress::-webkit-progress-value { background: #2f8fcc; }
.ta-way progress::-moz-progress-bar { background: #2f8fcc; }
.ta-way-count { flex: 0 0 8.5em; font-variant-numeric: tabular-nums; }
.ta-way summary { cursor: pointer; min-height: 24px; padding: 1px 0; width: fit-content; }
.ta-way summary:focus-visible, .ta-way a:focus-visible { outline: 2px solid #2f8fcc; outline-offset: 2px; }
.ta-way details ul { margin: .2em 0 .3em; padding-left: 1.3em; }
.ta-way details li { padding: 2px 0; }
</style>"""


class Progress:
    """The object that ``progress()`` displays."""

    def __init__(self, unit: str | None = None):
        every = views()
        self.unit, self.next = unit, next_in(every)
        self.units: list[UnitView] = every if unit is None else [view_in(every, unit)]

    def __repr__(self):
        return text(self)

    def _repr_html_(self):
        return page(self)


def progress(unit: str | None = None) -> Progress:
    """Shows how far you are: over the course, or within one unit such as ``"06-rope"``.

    Raises ValueError for an unknown unit, naming the known ones.
    """
    return Progress(unit)


def duration(minutes: float) -> str:
    """``duration(165)`` is ``"2 h 45 min"``."""
    hours, rest = divmod(round(minutes), 60)
    if not hours:
        return _("{n} min").format(n=rest)
    return _("{n} h {m} min").format(n=hours, m=rest) if rest else _("{n} h").format(n=hours)


def state(entry: Entry) -> str:
    """An exercise's state in words."""
    seen, tries = looked_up(entry), entry.get("tries", 0)
    if passed(entry):
        way = _("passed on try {n}, after looking the answer up") if seen else _("passed on try {n}")
        return way.format(n=entry["passed_on_try"])
    if seen:
        so_far = ngettext("answer looked up, {n} try so far", "answer looked up, {n} tries so far", tries)
        return so_far.format(n=tries)
    if not tries:
        return _("not tried yet")
    return ngettext("{n} try so far", "{n} tries so far", tries).format(n=tries)


def points(reached: float, possible: float, extra: float) -> str:
    """``"3.5/8 points"``, or ``"8/8 points, 3 extra"`` with points from extensions."""
    if extra:
        said = _("{reached:g}/{possible:g} points, {extra:g} extra")
        return said.format(reached=round(reached, 1), possible=possible, extra=round(extra, 1))
    return _("{reached:g}/{possible:g} points").format(reached=round(reached, 1), possible=possible)


def extensions(done: int, there: int) -> list[str]:
    """``["extensions 1 of 4"]``: a list of phrases, empty if there are no extensions."""
    return [_("extensions {done} of {total}").format(done=done, total=there)] if there else []


def name(exercise: Known) -> str:
    """An exercise's title, marked if it is an extension."""
    title = said(exercise["id"], exercise["title"])
    return _("{exercise} (extension)").format(exercise=title) if is_extension(exercise) else title


def exercises(done: int, there: int) -> str:
    """``"3/8 exercises"``."""
    return _("{done}/{total} exercises").format(done=done, total=there)


def left(minutes: float) -> str:
    """``"about 40 min left"``, or ``"done"``."""
    return _("about {time} left").format(time=duration(minutes)) if minutes else _("done")


def asides(view: UnitView) -> list[str]:
    """Phrases about a unit's predictions, questions, answers that were looked up, and claims."""
    (held, judged), (right, answered, asked), (decided, claims) = view.predictions, view.quiz, view.claims
    out = []
    if judged:
        out.append(_("{n} of {total} predictions held").format(n=held, total=judged))
    if answered:
        so_far = _("recap: {n} of {total} right at first try")
        if answered < asked:
            so_far = _("recap: {n} of {total} right at first try, {left} to go")
        out.append(so_far.format(n=right, total=answered, left=asked - answered))
    if view.looked_up:
        seen = ngettext("{n} answer looked up", "{n} answers looked up", view.looked_up)
        out.append(seen.format(n=view.looked_up))
    if claims and (decided or any(entry for _, entry in view.exercises)):  # before the start it would only be noise
        out.append(_("{n} of {total} claims decided").format(n=decided, total=claims))
    return out


def total(shown: Progress) -> str:
    """All units in one line."""
    every = shown.units
    aside = extensions(sum(u.extensions_done for u in every), sum(len(u.extensions) for u in every))
    reached, possible = (sum(u.points[i] for u in every) for i in (0, 1))
    return listed(
        [
            exercises(sum(u.done for u in every), sum(len(u.core) for u in every)),
            *aside,
            points(reached, possible, sum(u.extra for u in every)),
            left(sum(u.minutes for u in every)),
        ]
    )


def text(shown: Progress) -> str:
    """Plain text, for a terminal or a log."""
    lines = [_next_line(shown), ""] if shown.units else [_("There is no unit here.")]
    width = max((len(u.title) for u in shown.units), default=0)
    for u in shown.units:
        if u.problem:
            lines.append(f"{u.title:{width}}  {u.problem}")
            continue
        n = len(u.core)
        facts = [
            exercises(u.done, n),
            *extensions(u.extensions_done, len(u.extensions)),
            points(*u.points, u.extra),
            left(u.minutes),
        ]
        lines.append(f"{u.title:{width}}  {'█' * u.done}{'░' * (n - u.done)} {', '.join(facts)}")
        if asides(u):
            lines.append(f"{'':{width}}  {', '.join(asides(u))}")
        if shown.unit:
            lines += [f"  {'✓' if passed(entry) else '·'} {name(e)}: {state(entry)}" for e, entry in u.exercises]
    if len(shown.units) > 1:
        lines.append(f"{_('Total'):{width}}  {total(shown)}")
    return "\n".join([*lines, *filter(None, [hosted.where_work_is(shown.unit or "")])])


def _next_line(shown):
    if shown.next is None:
        return _("Every exercise is passed.")
    exercise = shown.next["exercise"]
    return _ahead(exercise).format(
        exercise=said(exercise["id"], exercise["title"]), unit=shown.next["title"], minutes=exercise["minutes"]
    )


def _ahead(exercise):
    # An extension comes up here only when nothing else is open.
    if is_extension(exercise):
        return _("Core path done. Next extension: {exercise} ({unit}, about {minutes:g} min)")
    return _("Next: {exercise} ({unit}, about {minutes:g} min)")


def page(shown: Progress) -> str:
    """HTML, for the notebook. Headings are roles, not <h3>: those would enter the notebook's table of contents."""
    e = html.escape
    if shown.next is None:
        ahead = _("Every exercise is passed.")
    else:
        exercise = shown.next["exercise"]
        title = e(said(exercise["id"], exercise["title"]))
        ahead = _ahead(exercise).format(
            exercise=units.anchor(shown.next["href"], title),
            unit=e(shown.next["title"]),
            minutes=exercise["minutes"],
        )
    whole = f"<p>{total(shown)}</p>" if len(shown.units) > 1 else ""
    items = "".join(_unit(u, unfolded=bool(shown.unit)) for u in shown.units)
    return (
        f'{STYLE}<div class="ta-way" role="group" aria-label="{e(_("Your progress"))}"><p><strong>{ahead}</strong></p>'
        f'{whole}<div class="ta-way-units" role="list">{items}</div>{_where(shown)}</div>'
    )


def _where(shown):
    said = hosted.where_work_is(shown.unit or "")
    return f"<p>{html.escape(said)}</p>" if said else ""


def _unit(view, unfolded):
    e = html.escape
    title = (
        '<div class="ta-way-title" role="heading" aria-level="4">'
        f"{units.anchor(units.link(view.name), e(view.title))}</div>"
    )
    if view.problem:
        return _row(f'<div class="ta-way-head">{title}</div><p>{e(view.problem)}</p>')
    n = len(view.core)
    count = _("{unit}: {done} of {total} exercises").format(unit=view.title, done=view.done, total=n)
    bar = f'<progress max="{n or 1}" value="{view.done}" aria-label="{e(count)}"></progress>'
    rows = "".join(
        f"<li>{units.anchor(units.link(view.name, units.cell_id('say', x['id'])), e(name(x)))}: "
        f"{'✓ ' if passed(entry) else ''}{state(entry)}</li>"
        for x, entry in view.exercises
    )
    facts = " · ".join(
        [
            *extensions(view.extensions_done, len(view.extensions)),
            points(*view.points, view.extra),
            left(view.minutes),
            *asides(view),
        ]
    )
    return _row(
        f'<div class="ta-way-head">{title}{bar}'
        f'<span class="ta-way-count">{exercises(view.done, n)}</span></div>'
        f"<details{' open' if unfolded else ''}><summary>{e(facts)}</summary><ul>{rows}</ul></details>"
    )


def _row(content):
    return f'<div class="ta-way-unit" role="listitem">{content}</div>'


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of ``anatomy progress``; returns an exit status."""
    parser = argparse.ArgumentParser(prog="anatomy progress", description="Show how far you are.")
    parser.add_argument("unit", nargs="?", help="one unit with its exercises, such as 06-rope")
    options = parser.parse_args(argv)
    try:
        print(text(Progress(options.unit)))
    except ValueError as error:
        print(f"progress: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
