"""The glossary's entries, from ``docs/glossary.toml``, each with the place in the course to which it points."""

import re
from dataclasses import dataclass
from functools import cache

from anatomy.program.units import cell_id

from autograder.languages import documents
from autograder.notebooks import facts


class NoPlace(ValueError):
    """An entry's place doesn't exist; the message names the entry and the place."""


@dataclass(frozen=True)
class Term:
    """One entry. at: an exercise's id or a unit's number. word: how the text there names it. paper: "" or a key."""

    term: str
    says: str
    at: str
    paper: str
    word: str

    @property
    def unit(self) -> str:
        """The unit to which it points. Raises NoPlace."""
        known = facts.exercises()
        try:
            return known[self.at][0] if "." in self.at else facts.by_number(self.at)
        except KeyError:
            raise NoPlace(f"glossary: {self.term!r} is at {self.at!r}, which is no exercise and no unit") from None

    @property
    def place(self) -> tuple[str, str]:
        """(id of a cell, its name): the exercise, or the unit's first text cell with the word. Raises NoPlace."""
        name = self.unit
        if "." in self.at:
            return cell_id("say", self.at), facts.exercises()[self.at][1]["title"]
        for cell in facts.unit(name).cells[1:]:
            if cell.markdown and self.used_in(cell.source):
                return cell.id, f"unit {name[:2]}"
        raise NoPlace(f"glossary: no text of unit {name} has {self.word!r}")

    def used_in(self, text: str) -> bool:
        """True if a text contains the word, in any case, alone or at the beginning of another word."""
        return re.search(rf"(?<![a-z]){re.escape(self.word.casefold())}", text.casefold()) is not None


@cache
def terms() -> list[Term]:
    """All entries, in the order of the file."""
    data = documents.glossary()
    return [Term(t, e["says"], e["at"], e.get("paper", ""), e.get("word", _bare(t))) for t, e in data.items()]


def _bare(term: str) -> str:
    """``MLA`` of "multi-head latent attention (MLA)"; else the term itself."""
    found = re.search(r"\(([^)]+)\)$", term)
    return found[1] if found else term
