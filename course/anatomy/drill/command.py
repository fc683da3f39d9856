"""Opens one passed exercise again with a blank stub, in a notebook of its own: ``anatomy drill``.

``anatomy drill`` picks what is most likely forgotten, ``--mistakes`` what took most tries, and ``anatomy drill
rope.rotate_half`` that very one. ``--list`` says what is due and when, ``--plan "two weeks"`` lays it out by days.
"""

import argparse
import difflib
import sys
import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from ..app import lab
from ..program import units
from ..progress.drills import opened
from ..system import installation, store
from ..system.installation import Place
from ..system.texts import tell
from ..system.translation import _, listed, ngettext, said, sentences, usually
from . import schedule, spans
from .schedule import Item


class NoDrill(Exception):
    """There is nothing to drill; the message says why, and what to do instead. status: the command's exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of ``anatomy drill``; returns an exit status: 0, 1 if there is nothing to drill, 2 for bad words."""
    options = _parser().parse_args(argv)
    place = installation.place(options.folder)
    with usually(place.language):
        try:
            if options.list:
                print(table(_passed()))
            elif options.plan is not None:
                print(plan(_passed(), _days(options.plan)))
            else:
                return _drill(place, options)
        except NoDrill as reason:
            tell(str(reason), sys.stderr if reason.status == 2 else None)
            return reason.status
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="anatomy drill",
        description=_(
            "Write a passed exercise again from blank, in a notebook of its own. Your answer stays as it is."
        ),
        epilog=_("Without a name it is the one that you have most likely forgotten."),
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("exercise", nargs="?", help=_("this one, such as rope.rotate_half"))
    which.add_argument("--mistakes", action="store_true", help=_("the one that took most tries the last time"))
    which.add_argument("--list", action="store_true", help=_("open nothing: say what is due, and when"))
    which.add_argument("--plan", metavar="TIME", help=_('open nothing: lay out the drills of "two weeks" or "10 days"'))
    parser.add_argument("--timed", action="store_true", help=_("say how long it took"))
    parser.add_argument(
        "--no-lab", "--no-browser", dest="lab", action="store_false", help=_("only write the notebook, and say where")
    )
    parser.add_argument("--folder", type=Path, help=_("your folder, where it is not the usual one"))
    return parser


def _days(text):
    try:
        return spans.days_in(text)
    except spans.NoSpan:
        wrong = _('{text!r} is no length of time. Write "10 days", "two weeks" or "1 month"; a year is the longest.')
        raise NoDrill(wrong.format(text=text), 2) from None


def _passed() -> list[Item]:
    """What can be drilled, the most forgotten first. Raises NoDrill if nothing can."""
    found = schedule.items()
    if found:
        return found
    for unit in units.names():
        for first in _exercises(unit):
            begin = _(
                "Nothing has passed yet, so there is nothing to write again. Begin with {exercise} in {unit}: {lab}."
            )
            title, lab_ = said(first["id"], first["title"]), installation.command("lab")
            raise NoDrill(begin.format(exercise=title, unit=unit, lab=lab_))
    raise NoDrill(sentences(_("There is no exercise here."), installation.how_to_repair("make build")))


# ---- which one --------------------------------------------------------------------------------------------------


def chosen(options: argparse.Namespace) -> tuple[str, str, str]:
    """(unit, exercise, why this one in a sentence). Raises NoDrill."""
    if options.exercise is not None:
        return _named(options.exercise)
    found = _passed()
    if options.mistakes:
        wrong = schedule.mistaken(found)
        if not wrong:
            raise NoDrill(_("Each exercise passed at once when you did it last, so there is no mistake to go back to."))
        tries = wrong[0].reviews[-1].tries
        took = ngettext("It took {n} try the last time.", "It took {n} tries the last time.", tries)
        return wrong[0].unit, wrong[0].id, took.format(n=tries)
    due = schedule.due(found)
    if not due:
        soonest = min(found, key=lambda item: item.due)
        none = _(
            "Nothing is due today; next is {exercise} on {day}. To practise all the same, name one: "
            "`anatomy drill {exercise}`."
        )
        raise NoDrill(none.format(exercise=soonest.id, day=soonest.due), 0)
    percent = round(100 * due[0].remembered(time.time()))
    why = _("Last done on {day}; by the model of forgetting you would get it right with a chance of {percent} %.")
    if due[0].last is None:
        why = _("The day when it passed was not kept; by the model of forgetting the chance is {percent} %.")
    return due[0].unit, due[0].id, why.format(day=due[0].last, percent=percent)


def _named(name):
    try:
        unit, about = units.exercise(name)
    except KeyError:
        raise NoDrill(_unknown(name), 2) from None
    ran = any(item.id == name for item in schedule.items())
    return unit, about["id"], "" if ran else _("It has not passed yet; this drill counts apart from your progress.")


def _unknown(name: str) -> str:
    known = [e["id"] for u in units.names() for e in _exercises(u)]
    if name in store.read("progress"):
        gone = _("{exercise} is no longer in the course. Your answer, if it was carried over, stands in its notebook.")
        return gone.format(exercise=name)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    if near:
        mean = _("There is no exercise {name}. Did you mean {names}?")
        return mean.format(name=repr(name), names=" / ".join(map(repr, near)))
    there = _("There is no exercise {name}. Known: {names}, …")
    return there.format(name=repr(name), names=listed(known[:8]))


def _exercises(unit):
    try:
        return units.load(unit)["exercises"]
    except (RuntimeError, OSError, KeyError, TypeError):
        return []


# ---- open it ----------------------------------------------------------------------------------------------------


def _drill(place: Place, options: argparse.Namespace) -> int:
    unit, exercise, why = chosen(options)
    if not installation.is_learners(place.own):
        none = _("there are no notebooks of yours in {folder}. Name your folder, or begin with {lab}.")
        raise NoDrill(f"drill: {none.format(folder=place.own, lab=installation.command('lab'))}", 2)
    from . import writing  # imports torch, which --list and --plan do without

    try:
        path, lacks = writing.write(place, unit, exercise, options.timed)
    except writing.CannotWrite as error:
        raise NoDrill(f"drill: {error}") from None
    except OSError as error:
        failed = _("drill: the notebook was not written ({error}). Nothing of yours was changed.")
        raise NoDrill(failed.format(error=error.strerror or error)) from None
    title = said(exercise, units.exercise(exercise)[1]["title"])
    tell(sentences(_("{exercise}: {title}.").format(exercise=exercise, title=title), why, lacks))
    tell(_("A notebook for it: {file}").format(file=path))
    opened(path.stem, exercise, int(time.time()) if options.lab else None)
    return _show(place.own, path) if options.lab else 0


def _show(folder: Path, path: Path) -> int:
    inside = path.relative_to(folder).as_posix()
    address = _running(folder)
    if address:
        where = f"{address[0]}lab/tree/{quote(inside)}"
        print(_("JupyterLab is running: {address}").format(address=where), flush=True)
        webbrowser.open(where + (f"?token={address[1]}" if address[1] else ""))
        return 0
    return lab.launch(lab.command(folder, inside), lab.environment())


def _running(folder: Path) -> tuple[str, str] | None:
    """(address, token) of a Jupyter server that shows the learner's folder already, or None."""
    try:
        from jupyter_server.serverapp import list_running_servers

        servers = list(list_running_servers())
    except Exception:  # a damaged file of another program must not stop a drill
        return None
    for server in servers:
        if Path(server.get("root_dir", "")).resolve() == folder.resolve() and not server.get("password"):
            return str(server["url"]), str(server.get("token", ""))
    return None


# ---- lists ------------------------------------------------------------------------------------------------------


def table(found: Sequence[Item]) -> str:
    """What can be drilled, in the order of the days on which it is due."""
    due, today = schedule.due(found), schedule.today()
    head = ngettext("{due} of {n} exercise is due today.", "{due} of {n} exercises are due today.", len(found))
    lines = [head.format(due=len(due), n=len(found)), ""]
    for item in sorted(found, key=lambda item: max(item.due, today)):  # among those due now, the most forgotten first
        last = _("last done on {day}").format(day=item.last) if item.last else _("day not kept")
        lines.append(f"{max(item.due, today)}  {listed([_line(item), last])}")
    return "\n".join(lines)


def plan(found: Sequence[Item], days: int) -> str:
    """The drills of some days, by day."""
    way = schedule.route(found, days)
    if not way.days:
        soonest = min(item.due for item in found)
        return _("Nothing is due before {day}.").format(day=soonest)
    drills = ngettext("{n} drill", "{n} drills", way.drills).format(n=way.drills)
    head = _("{drills} in {days} days, at most about {minutes} min on one day.")
    most = max(sum(item.minutes for item in some) for some in way.days.values())
    lines = [head.format(drills=drills, days=days, minutes=f"{most:g}"), ""]
    for day, some in way.days.items():
        lines += [f"{str(day) if n == 0 else '':10}  {_line(item)}" for n, item in enumerate(some)]
    closing = _(
        "Each line is `anatomy drill NAME`. The plan assumes that each passes at once; when one did not, make it anew."
    )
    return "\n".join([*lines, "", closing])


def _line(item: Item) -> str:
    title = said(item.id, item.exercise["title"])
    return _("{exercise}: {title}, {minutes:g} min").format(exercise=item.id, title=title, minutes=item.minutes)


if __name__ == "__main__":
    sys.exit(main())
