"""The glossary's entries, from ``docs/glossary.toml``, each with the place in the course that it points to."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache

from anatomy.program.units import cell_id

from autograder import ROOT
from autograder.notebooks import facts


class NoPlace(ValueError):
    """An entry points to nothing; the message names it and says what is there."""


@dataclass(frozen=True)
class Term:
    """One entry: at is an exercise's id or a unit's number, word what stands in the text there, paper "" or a key."""

    term: str
    says: str
    at: str
    paper: str
    word: str

    @property
    def unit(self) -> str:
        """The unit that it points to. Raises NoPlace."""
        known = facts.exercises()
        try:
            return known[self.at][0] if "." in self.at else facts.by_number(self.at)
        except KeyError:
            raise NoPlace(f"glossary: {self.term!r} is at {self.at!r}, which is no exercise and no unit") from None

    @property
    def place(self) -> tuple[str, str]:
        """(id of a cell, its name): the exercise, or the first text of the unit with the word. Raises NoPlace."""
        name = self.unit
        if "." in self.at:
            return cell_id("say", self.at), facts.exercises()[self.at][1]["title"]
        for cell in facts.unit(name).cells[1:]:
            if cell.markdown and self.used_in(cell.source):
                return cell.id, f"unit {name[:2]}"
        raise NoPlace(f"glossary: no text of unit {name} has {self.word!r}")

    def used_in(self, text: str) -> bool:
        """Whether the word stands in a text, in capitals or not, alone or as the beginning of a word."""
        return re.search(rf"(?<![a-z]){re.escape(self.word.casefold())}", text.casefold()) is not None


@cache
def terms() -> list[Term]:
    """All entries, as they stand in the file."""
    data = tomllib.loads((ROOT / "docs" / "glossary.toml").read_text(encoding="utf-8"))
    return [Term(t, e["says"], e["at"], e.get("paper", ""), e.get("word", _bare(t))) for t, e in data.items()]


def _bare(term: str) -> str:
    """``MLA`` of "multi-head latent attention (MLA)"; else the term itself."""
    found = re.search(r"\(([^)]+)\)$", term)
    return found[1] if found else term
