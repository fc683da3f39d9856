"""The map of the course: dependencies between units, what learners build, how long it takes, and every exercise."""

import re
from dataclasses import replace
from typing import Any

from anatomy.system.translation import ENGLISH, language, listed, said

from autograder import ROOT
from autograder.notebooks import facts, own_course
from autograder.site import graph, links

from ..words import N_, _, unit_title

HERE = "map"
LEAD = N_(
    "{units} units with {exercises} exercises. The core paths take about {core} hours, all extensions {more} more. "
    "Each unit stands below what it needs; units side by side may be taken in any order."
)
BELOW = N_(
    "Minutes include reading. Exercises are those of the core path, then those of the extensions, which count extra "
    'and block nothing. What "needs" means beyond other units (a bit of calculus here and there) stands at the top of '
    "each unit."
)
DIFFICULTY = N_(
    "Difficulty goes from 1 to 5 and means the same in all units: 1 is one line after the example, 2 a few lines with "
    "one thing to think of, 3 several steps or one trap, 4 an idea of your own or several parts that must fit, 5 a "
    "longer piece that takes a plan. Each exercise has a check, and [how the checks are checked]({checked}) says how "
    "often a check is wrong."
)
OWN = N_("This is the course as your class takes it. The site has pages of the other units, too.")
HEAD = N_("| unit | you build | needs | core path | extensions | exercises |")
HEAD_OF_EXERCISES = N_("| exercise | difficulty | minutes | points |")


def built() -> dict[str, str]:
    """Unit → what learners build in it, from the README's table of units, in the current language if there is one."""
    own = ROOT / f"README.{language().replace('_', '-')}.md"
    readme = own if language() != ENGLISH and own.is_file() else ROOT / "README.md"
    table = readme.read_text(encoding="utf-8")
    return dict(re.findall(r"^\| \[(\d\d-[\w-]+)\]\(\S+\) \| (.+?) \|", table, re.M))


def pages() -> dict[str, str]:
    """The page ``map``."""
    own = own_course.current()
    units = [_own(facts.unit(name), own) for name in own.units or facts.names()]
    # Pictures go from what is needed to what needs it, in whatever order a class takes the units.
    there = sorted(units, key=lambda unit: facts.names().index(unit.name))
    needs = {
        u.name: [n for n in (*u.needs.core, *u.needs.extensions) if n in {unit.name for unit in units}] for u in there
    }
    titles = {u.name: said(u.name, u.title) for u in units}
    # The builder converts a page's links to notebooks; inside a picture they must already lead to the built pages.
    hrefs = {u.name: links.built(links.unit(HERE, u.name)) for u in units}
    lead = _(LEAD).format(
        units=len(units),
        exercises=sum(len(u.text["exercises"]) for u in units),
        core=f"{sum(u.core_minutes for u in units) / 60:.0f}",
        more=f"{sum(u.extension_minutes for u in units) / 60:.0f}",
    )
    parts = [
        f"# {_('Map of the course')}",
        lead,
        *([_(OWN)] if own.units or own.points else []),
        graph.svg(needs, titles, hrefs),
        f"## {_('The units in a table')}",
        "\n".join([_(HEAD), "|---|---|---|---|---|---|", *(_row(u) for u in units)]),
        _(BELOW),
        f"## {_('Every exercise')}",
        _(DIFFICULTY).format(checked=links.page(HERE, "checked")),
        *(_exercises(u) for u in units),
    ]
    return {HERE: "\n\n".join(parts) + "\n"}


def _own(unit: facts.Unit, own: own_course.OwnCourse) -> facts.Unit:
    """A unit with the points that its exercises have in the class's course."""
    return replace(unit, text={**unit.text, "exercises": own.described(unit.text["exercises"])})


def _row(unit: facts.Unit) -> str:
    exercises = unit.text["exercises"]
    core, more = ([e for e in exercises if e["extension"] is which] for which in (False, True))
    needed = listed(map(_named, unit.needs.core)) or "–"
    if unit.needs.extensions:
        needed = _("{units}; extensions also {more}").format(
            units=needed, more=listed(map(_named, unit.needs.extensions))
        )
    extra = _minutes(unit.extension_minutes) if more else "–"
    return (
        f"| [{unit.number} {unit_title(unit.name)}]({links.unit(HERE, unit.name)}) | {built()[unit.name]} | {needed} "
        f"| {_minutes(unit.core_minutes)} | {extra} | {len(core)} + {len(more)} |"
    )


def _minutes(count: int) -> str:
    return _("{n} min").format(n=count)


def _named(name: str) -> str:
    return f"[{name[:2]}]({links.unit(HERE, name)})"


def _exercises(unit: facts.Unit) -> str:
    rows = "\n".join(
        f"| [{said(e['id'], e['title'])}]({links.exercise(HERE, unit.name, e['id'])})"
        f"{' ' + _('(extension)') if e['extension'] else ''} | {e['difficulty']} | {e['minutes']} | {_points(e)} |"
        for e in unit.text["exercises"]
    )
    return f"### {unit.number} {said(unit.name, unit.title)}\n\n{_(HEAD_OF_EXERCISES)}\n|---|---|---|---|\n{rows}"


def _points(exercise: dict[str, Any]) -> str:
    return f"{exercise['points']:g}" if exercise["points"] else _("not asked for")
