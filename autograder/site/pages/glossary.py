"""The glossary: each term in one sentence, where it is built, and the paper that introduced it."""

from itertools import groupby

from anatomy.system.translation import said

from autograder.languages import documents
from autograder.notebooks import facts
from autograder.site import cited, links
from autograder.site.terms import Term, terms

from ..words import N_, _, written

HERE = "glossary"
LEAD = N_("{n} words as this course uses them, each with the place where you build it or meet it.")


def pages() -> dict[str, str]:
    """The page ``glossary``. In every language it is in the order of the English terms, which papers use."""
    every = terms()
    letters = [(letter, list(found)) for letter, found in groupby(every, key=lambda t: t.term[0].upper())]
    jump = " · ".join(f"[{letter}](#glossary-{letter.lower()})" for letter, _found in letters)
    parts = "\n".join(
        f"(glossary-{letter.lower()})=\n## {letter}\n\n" + "\n".join(map(_entry, found)) for letter, found in letters
    )
    return {HERE: f"# {_('Glossary')}\n\n{_(LEAD).format(n=len(every))}\n\n{jump}\n\n{parts}"}


def _entry(term: Term) -> str:
    cell, name = term.place
    unit = term.unit
    if "." in term.at:
        title = said(term.at, facts.exercises()[term.at][1]["title"])
        where = _("{exercise} (unit {number})").format(exercise=title, number=unit[:2])
    else:
        where = _("unit {number}").format(number=unit[:2])
    source = f" · {cited.short(term.paper)}" if term.paper else ""
    says = written(documents.TERM, term.says)
    return f"{called(term.term)}\n: {says} [{where}]({links.unit(HERE, unit, cell)}){source}\n"


def called(term: str) -> str:
    """A term in the current language, and in English behind it where that is another word."""
    own = written(documents.TERM, term)
    return own if own == term else _("{term} ({english})").format(term=own, english=term)
