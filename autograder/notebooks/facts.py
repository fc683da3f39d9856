"""Facts about the units for the pages, read from the same data as the notebooks, so that nothing is typed twice."""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from anatomy.program import units

from autograder import ROOT

from .evidence import line
from .unit_text import CLAIM

PREREQUISITES = re.compile(r"\*\*Prerequisites:\*\* (.*?) \*\*Time:\*\*", re.S)
NUMBERS = re.compile(r"\b(\d\d)(?: to (\d\d))?\b")


@dataclass(frozen=True)
class Cell:
    """One cell of a released notebook."""

    id: str
    markdown: bool
    source: str


@dataclass(frozen=True)
class Needs:
    """A unit's line of prerequisites: its words, and the units it names for the core path and for the extensions."""

    words: str
    core: tuple[str, ...]
    extensions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim on trial: the claim, its verdict and evidence, and the ids of their cells."""

    unit: str
    claim: str
    verdict: str
    evidence: str
    kinds: tuple[str, ...]
    claim_cell: str
    verdict_cell: str


@dataclass(frozen=True)
class Unit:
    """A unit: its name, its data in ``assets/units``, its cells as released, its prerequisites."""

    name: str
    text: dict[str, Any]
    cells: tuple[Cell, ...]
    needs: Needs = field(repr=False)

    @property
    def number(self) -> str:
        """``"06"`` of ``06-rope``."""
        return self.name[:2]

    @property
    def title(self) -> str:
        """The title in its first cell."""
        return str(self.text["title"])

    @property
    def core_minutes(self) -> int:
        """Minutes for the core path, reading included, as in its first cell."""
        return units.core_minutes(self.text)

    @property
    def extension_minutes(self) -> int:
        """Minutes for all extensions, reading included; 0 if it has none."""
        return units.extension_minutes(self.text)


def names() -> list[str]:
    """All units, in course order."""
    return units.names()


def by_number(number: str) -> str:
    """``by_number("06")`` is ``"06-rope"``. Raises KeyError for an unknown number."""
    return {name[:2]: name for name in names()}[number]


@cache
def unit(name: str) -> Unit:
    """Everything that pages show about a unit."""
    book = json.loads((ROOT / "course" / name / f"{name}.ipynb").read_text(encoding="utf-8"))
    cells = tuple(Cell(c["id"], c["cell_type"] == "markdown", "".join(c["source"])) for c in book["cells"])
    return Unit(name, units.load(name), cells, needs(cells[0].source))


def needs(opening: str) -> Needs:
    """The prerequisites of a unit, from its first cell. Raises ValueError if the line is missing.

    Semicolons separate the parts; units in a part with the word "extension" are not needed on the core path.
    """
    found = PREREQUISITES.search(opening)
    if not found:
        raise ValueError(f"no line of prerequisites in: {opening[:60]!r}")
    core: list[str] = []
    extensions: list[str] = []
    for part in found[1].split(";"):
        named = extensions if "extension" in part else core
        for first, last in NUMBERS.findall(part):
            named += [by_number(f"{n:02}") for n in range(int(first), int(last or first) + 1)]
    return Needs(found[1].rstrip("."), tuple(core), tuple(extensions))


def title_of(name: str) -> str:
    """Title of a unit."""
    return str(units.load(name)["title"])


@cache
def exercises() -> dict[str, tuple[str, dict[str, Any]]]:
    """Exercise id → (its unit, its data in the unit), in course order."""
    return {e["id"]: (name, e) for name in names() for e in units.load(name)["exercises"]}


def claims(name: str) -> list[Claim]:
    """The claims on trial of a unit, each with the verdict that follows it."""
    here = unit(name)
    said = {v["cell"]: v for v in here.text["verdicts"]}
    open_claims: list[tuple[dict[str, Any], str]] = []
    waiting, found = iter(here.text["claims"]), []
    for cell in (c for c in here.cells if c.markdown):
        open_claims += [(next(waiting), cell.id) for _ in CLAIM.finditer(cell.source)]
        if open_claims and "**Verdict" in cell.source:
            verdict = said[cell.id]
            found += [
                Claim(
                    name,
                    claim["claim"],
                    verdict["says"],
                    line(verdict["evidence"]).strip("*"),
                    tuple(p["kind"] for p in verdict["evidence"]),
                    place,
                    cell.id,
                )
                for claim, place in open_claims
            ]
            open_claims = []
    if open_claims or next(waiting, None) is not None:
        raise ValueError(f"{name}: a claim without its verdict")
    return found
