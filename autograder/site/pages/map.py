"""The map of the course: dependencies between units, what learners build, how long it takes, and every exercise."""

import re

from autograder import ROOT
from autograder.notebooks import facts
from autograder.site import graph, links

HERE = "map"


def built() -> dict[str, str]:
    """Unit → what learners build in it, from the README's table of units."""
    table = (ROOT / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| \[(\d\d-[\w-]+)\]\(\S+\) \| (.+?) \|", table, re.M))


def pages() -> dict[str, str]:
    """The page ``map``."""
    units = [facts.unit(name) for name in facts.names()]
    needs = {u.name: [*u.needs.core, *u.needs.extensions] for u in units}
    titles = {u.name: u.title for u in units}
    # The builder converts a page's links to notebooks; inside a picture they must already lead to the built pages.
    hrefs = {u.name: links.built(links.unit(HERE, u.name)) for u in units}
    core = sum(u.core_minutes for u in units)
    more = sum(u.extension_minutes for u in units)
    count = sum(len(u.text["exercises"]) for u in units)
    text = f"""# Map of the course

{len(units)} units with {count} exercises. The core paths take about {core / 60:.0f} hours, all extensions
{more / 60:.0f} more. Each unit stands below what it needs; units side by side may be taken in any order.

{graph.svg(needs, titles, hrefs)}

## The units in a table

| unit | you build | needs | core path | extensions | exercises |
|---|---|---|---|---|---|
{chr(10).join(_row(u) for u in units)}

Minutes include reading. Exercises are those of the core path, then those of the extensions, which count extra and
block nothing. What "needs" means beyond other units (a bit of calculus here and there) stands at the top of each unit.

## Every exercise

Difficulty goes from 1 to 5 and means the same in all units: 1 is one line after the example, 2 a few lines with one
thing to think of, 3 several steps or one trap, 4 an idea of your own or several parts that must fit, 5 a longer piece
that takes a plan.

{chr(10).join(_exercises(u) for u in units)}"""
    return {HERE: text}


def _row(unit: facts.Unit) -> str:
    exercises = unit.text["exercises"]
    core, more = ([e for e in exercises if e["extension"] is which] for which in (False, True))
    needed = ", ".join(_named(n) for n in unit.needs.core) or "–"
    if unit.needs.extensions:
        needed += f"; extensions also {', '.join(_named(n) for n in unit.needs.extensions)}"
    extra = f"{unit.extension_minutes} min" if more else "–"
    return (
        f"| [{unit.number} {unit.title}]({links.unit(HERE, unit.name)}) | {built()[unit.name]} | {needed} "
        f"| {unit.core_minutes} min | {extra} | {len(core)} + {len(more)} |"
    )


def _named(name: str) -> str:
    return f"[{name[:2]}]({links.unit(HERE, name)})"


def _exercises(unit: facts.Unit) -> str:
    rows = "\n".join(
        f"| [{e['title']}]({links.exercise(HERE, unit.name, e['id'])}){' (extension)' if e['extension'] else ''} "
        f"| {e['difficulty']} | {e['minutes']} | {e['points']} |"
        for e in unit.text["exercises"]
    )
    return f"""### {unit.number} {unit.title}

| exercise | difficulty | minutes | points |
|---|---|---|---|
{rows}
"""
