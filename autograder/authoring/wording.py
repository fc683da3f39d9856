"""Checks terms and American spelling: finds words that ``docs/terms.toml`` rejects in the course's texts.

``python -m autograder.authoring.wording`` prints each place, the word, and what to write instead. It ignores code,
formulas, addresses and quoted claims.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder import ROOT, exercises
from autograder.notebooks import facts

# Parts that are not the course's own wording: code, formulas, links, file names, quotations.
NOT_WORDS = re.compile(
    r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]+\$|\]\([^)\s]*\)|https?://\S+|^>.*$|<[^>\n]*>|“[^”]*”|\{\{.*?\}\}"
    r"|\barXiv:\S+|[\w./-]*/[\w./-]+|\b\w+\.(?:py|js|md|json|toml|ipynb)\b|\b\w*_\w+\b|\b\w+\(",
    re.M | re.S,
)
JS_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`([^`]*)`')


@dataclass(frozen=True)
class Term:
    """The word to use, the pattern of rejected words, and phrases in which these are allowed."""

    use: str
    rejected: re.Pattern[str]
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """A rejected word in a text: its place, the word in its context, and what to write instead."""

    where: str
    words: str
    use: str


@cache
def terms() -> list[Term]:
    """All rejected words in ``docs/terms.toml``."""
    data = tomllib.loads((ROOT / "docs" / "terms.toml").read_text(encoding="utf-8"))
    found = []
    for entry in data["terms"]:
        flags = re.NOFLAG if entry.get("case") else re.I
        pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(entry['not'])})(?![\w-])", flags)
        found.append(Term(entry["use"], pattern, tuple(entry.get("but", ()))))
    for british, american in data["spelling"].items():
        allowed = tuple(data.get("spelling_but", {}).get(british, ()))
        found.append(Term(american, re.compile(rf"\b{british}", re.I), allowed))
    return found


def texts() -> Iterator[tuple[str, str]]:
    """(place, text) of all texts for people: units, specs, the package's messages and widgets, documents."""
    for name in facts.names():
        unit = facts.unit(name)
        yield from ((f"{name} {c.id}", c.source) for c in unit.cells if c.markdown)
        yield from ((f"{name} {e['id']} worth", e["worth"]) for e in unit.text["exercises"])
        for quiz in unit.text["quizzes"]:
            yield f"{name} {quiz['id']}", "\n".join(c["why"] for c in quiz["choices"])
        for spec in exercises.of_unit(name):
            said = [spec.title, spec.forbidden_message, *(m.message for m in spec.mutants)]
            yield f"{name} {spec.id} spec", "\n".join([*said, *(c.shows for c in spec.cases)])
    for path in sorted((ROOT / "course" / "anatomy").rglob("*")):
        where = str(path.relative_to(ROOT))
        if path.suffix == ".py":
            yield from ((where, text) for text in _python_strings(path))
        elif path.suffix == ".js":
            strings = (a or b for a, b in JS_STRING.findall(path.read_text(encoding="utf-8")))
            yield from ((where, text) for text in strings if " " in text)
    documents = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "contributing").glob("*.md")),
    ]
    yield from ((str(p.relative_to(ROOT)), p.read_text(encoding="utf-8")) for p in documents)
    glossary = tomllib.loads((ROOT / "docs" / "glossary.toml").read_text(encoding="utf-8"))
    yield from ((f"glossary {term}", f"{term}\n{entry['says']}") for term, entry in glossary.items())


def _python_strings(path: Path) -> list[str]:
    """The strings of a module that contain words, without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [str(n.value) for n in found if id(n) not in alone and " " in str(n.value)]


def rejected(text: str) -> list[tuple[str, str]]:
    """(the word in its context, what to write instead) for each rejected word in a text."""
    plain = NOT_WORDS.sub(" · ", text)
    found = []
    for term in terms():
        for match in term.rejected.finditer(plain):
            around = " ".join(plain[max(0, match.start() - 40) : match.end() + 30].split())
            if not any(phrase in around for phrase in term.allowed):
                found.append((around, term.use))
    return found


def all_found() -> list[Found]:
    """All rejected words in the course."""
    return [Found(where, words, use) for where, text in texts() for words, use in rejected(text)]


def main() -> int:
    """Prints all rejected words; returns 1 if there are any, else 0."""
    found = all_found()
    for f in found:
        print(f"{f.where}: …{f.words}…  →  {f.use}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
