"""Units in another language as pages quote them: the released notebook, and the claims on trial in it."""

import json
import re
from dataclasses import replace
from functools import cache

from anatomy.system.translation import ENGLISH, language

from autograder.languages import notebooks
from autograder.notebooks import facts
from autograder.notebooks.facts import Claim

from .words import _

_QUOTED = re.compile(r"^> (.+?)(?=\n\n|\n>\s*\n|\Z)", re.M | re.S)
_SENTENCE = re.compile(r"\n\n(\S.*?[.?!。？！])(?=\s|[^\x00-\xff]|\Z)", re.S)
_BREAK = re.compile(r"\s*\n(?:> ?)?\s*")


@cache
def released(language: str, unit: str) -> bytes:
    """The released notebook of a unit in a language. Raises the same errors as ``notebooks.outputs``."""
    return notebooks.outputs(language, [unit])[f"course/{unit}/{unit}.ipynb"]


@cache
def _cells(language: str, unit: str) -> dict[str, str]:
    book = json.loads(released(language, unit))
    return {cell["id"]: "".join(cell["source"]) for cell in book["cells"]}


def claims(unit: str) -> list[Claim]:
    """The claims on trial of a unit, in the current language where the unit is in it."""
    english = facts.claims(unit)
    name = language()
    if not english or name == ENGLISH or not notebooks.lookup_of(name, unit):
        return english
    cells, asked = _cells(name, unit), dict[str, int]()
    found = []
    for claim in english:
        number = asked.get(claim.claim_cell, 0)  # a cell may put two claims on trial
        asked[claim.claim_cell] = number + 1
        found.append(
            replace(
                claim,
                claim=_claim(cells[claim.claim_cell], number) or claim.claim,
                verdict=_verdict(cells[claim.verdict_cell]) or claim.verdict,
                evidence=_evidence(cells[claim.verdict_cell]) or claim.evidence,
            )
        )
    return found


def _claim(source: str, number: int) -> str:
    heads = list(re.finditer(rf"^#+ .*{re.escape(_('claim on trial'))}", source, re.M))
    text = source[heads[number].start() :] if number < len(heads) else source
    said = _QUOTED.search(text) or _SENTENCE.search(text)
    return _BREAK.sub(" ", said[1]).strip().strip("*").strip() if said else ""


def _verdict(source: str) -> str:
    said = re.search(rf"\*\*([^*\n]*?{re.escape(_('Verdict'))}.*?)\*\*", source, re.S)
    return " ".join(said[1].split()) if said else ""


def _evidence(source: str) -> str:
    last = source.strip().rsplit("\n\n", 1)[-1]
    return last.strip("*") if re.fullmatch(r"\*[^*].*\*", last) else ""
