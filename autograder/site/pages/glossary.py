"""The glossary: each term in one sentence, where it is built, and the paper that introduced it."""

from itertools import groupby

from autograder.site import cited, links
from autograder.site.terms import Term, terms

HERE = "glossary"


def pages() -> dict[str, str]:
    """The page ``glossary``."""
    every = terms()
    letters = [(letter, list(found)) for letter, found in groupby(every, key=lambda t: t.term[0].upper())]
    jump = " · ".join(f"[{letter}](#glossary-{letter.lower()})" for letter, _ in letters)
    parts = "\n".join(
        f"(glossary-{letter.lower()})=\n## {letter}\n\n" + "\n".join(map(_entry, found)) for letter, found in letters
    )
    text = f"""# Glossary

{len(every)} words as this course uses them, each with the place where you build it or meet it.

{jump}

{parts}"""
    return {HERE: text}


def _entry(term: Term) -> str:
    cell, name = term.place
    unit = term.unit
    where = f"{name} (unit {unit[:2]})" if "." in term.at else name
    source = f" · {cited.short(term.paper)}" if term.paper else ""
    return f"{term.term}\n: {term.says} [{where}]({links.unit(HERE, unit, cell)}){source}\n"
