"""Finds the earlier units that a unit really uses, from exercise ids in its code, references in its text, and terms.

``uses(unit)`` looks at exercise ids and references, which prove a prerequisite. ``vocabulary(unit)`` counts the
glossary terms of each earlier unit, which confirms a prerequisite that is stated.
"""

import re
from collections import Counter
from dataclasses import dataclass

from autograder.notebooks import facts
from autograder.site.terms import terms

REFERENCE = re.compile(r"\b[Uu]nits? ((?:\d\d)(?:(?:, | and | to )\d\d)*)")


@dataclass(frozen=True)
class Use:
    """An earlier unit that a cell uses. extension: False on the core path. words: the text that shows the use."""

    unit: str
    extension: bool
    words: str


def uses(name: str) -> list[Use]:
    """Every use of an earlier unit, in the order of the text."""
    unit, known, found = facts.unit(name), facts.exercises(), []
    aside = set(unit.text["extension_cells"])
    for cell in unit.cells[1:]:
        for numbers in REFERENCE.findall(cell.source):
            found += [Use(u, cell.id in aside, f"unit {u[:2]}") for u in _named(numbers) if u < name]
        if not cell.markdown:
            ids = re.findall(r"[\"']([a-z]+\.[a-z0-9_]+)[\"']", cell.source)
            earlier = [(known[i][0], i) for i in ids if i in known and known[i][0] < name]
            found += [Use(u, cell.id in aside, i) for u, i in earlier]
    return found


def _named(numbers: str) -> list[str]:
    named: list[str] = []
    for first, last in facts.NUMBERS.findall(numbers):
        named += [facts.by_number(f"{n:02}") for n in range(int(first), int(last or first) + 1)]
    return named


def closure(name: str, extensions: bool = False) -> set[str]:
    """All units that a unit needs, directly or through its prerequisites.

    extensions: also count what the unit's own extensions need.
    """
    needs = facts.unit(name).needs
    direct = {*needs.core, *(needs.extensions if extensions else ())}
    return direct.union(*(closure(n) for n in direct))


def vocabulary(name: str) -> Counter[str]:
    """Earlier unit → number of the glossary terms introduced there that this unit uses on its core path."""
    unit = facts.unit(name)
    aside = set(unit.text["extension_cells"])
    text = "\n".join(c.source for c in unit.cells if c.id not in aside)
    return Counter(t.unit for t in terms() if t.unit < name and t.used_in(text))
