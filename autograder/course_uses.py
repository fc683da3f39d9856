"""Which earlier units a unit really uses: by the exercises that its code names, by what its text refers to, by words.

``uses(unit)`` looks at the first two, which prove a need; ``vocabulary(unit)`` counts the glossary's terms of each
earlier unit, which shows that a need that is stated is one.
"""

import re
from collections import Counter
from dataclasses import dataclass

from autograder.notebooks import facts
from autograder.site.terms import terms

REFERENCE = re.compile(r"\b[Uu]nits? ((?:\d\d)(?:(?:, | and | to )\d\d)*)")


@dataclass(frozen=True)
class Use:
    """An earlier unit that a cell uses: in an extension or on the core path, and the words that say so."""

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
    """All units that come before one by its line of prerequisites, and by those of the units that it names."""
    needs = facts.unit(name).needs
    direct = {*needs.core, *(needs.extensions if extensions else ())}
    return direct.union(*(closure(n) for n in direct))


def vocabulary(name: str) -> Counter[str]:
    """Earlier unit → how many of the glossary's terms that are built there this unit uses on its core path."""
    unit = facts.unit(name)
    aside = set(unit.text["extension_cells"])
    text = "\n".join(c.source for c in unit.cells if c.id not in aside)
    return Counter(t.unit for t in terms() if t.unit < name and t.used_in(text))
