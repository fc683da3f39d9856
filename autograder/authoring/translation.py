"""Whether a unit's text in another language still says the same to the build: cells, code, formulas, links, numbers.

``python -m autograder.authoring.translation solutions/06-rope.py theirs.py`` prints one line for each difference.
"""

import argparse
import ast
import re
import sys
from collections import Counter
from pathlib import Path

import jupytext
from nbformat import NotebookNode

# What stands in a text and is not words: it has to stand in the translation as often.
KEPT = {
    "placeholder": r"\{\{[^}]*\}\}",
    "formula": r"\$\$.+?\$\$|\$[^$\n]+\$",
    "code": r"`[^`\n]+`",
    "link": r"\]\(([^)]+)\)",
    "mark": r"\*\*(?=Verdict)",
    "item": r"^\d+\. ",
    "heading": r"^#+ ",
    "edge": r"^### (?:BEGIN|END) MARK SCHEME$",
    "points": r"^- \d points?: ",
}
ASKING = ("predict(", "reveal(", "quiz(")


def differences(original: str, translated: str) -> list[str]:
    """Sentences on everything in which a translation of a py:percent source differs but for words; [] where nothing."""
    ours, theirs = _cells(original), _cells(translated)
    found = [f"{len(theirs)} cells instead of {len(ours)}"] if len(ours) != len(theirs) else []
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False), 1):
        place = f"cell {number} ({a.source.strip().partition(chr(10))[0][:40]})"
        if (a.cell_type, dict(a.metadata)) != (b.cell_type, dict(b.metadata)):
            return [*found, f"{place}: a {_kind(b)} stands for a {_kind(a)}; later cells were not compared"]
        compare = in_text if a.cell_type == "markdown" else in_code
        found += [f"{place}: {sentence}" for sentence in compare(a.source, b.source)]
    return found


def _cells(source: str) -> list[NotebookNode]:
    return jupytext.reads(source, fmt="py:percent").cells


def _kind(cell: NotebookNode) -> str:
    options = " ".join(f'{k}="{v}"' for k, v in cell.metadata.items())
    return f"{cell.cell_type} cell {options}".strip()


def in_text(original: str, translated: str) -> list[str]:
    """What two texts do not share of formulas, code, links, placeholders, items and headings."""
    found = []
    for what in KEPT:
        ours, theirs = _parts(what, original), _parts(what, translated)
        found += [f"the {what} {part.strip()} is missing" for part in (ours - theirs).elements()]
        found += [f"the {what} {part.strip()} is new" for part in (theirs - ours).elements()]
    return found


def _parts(what: str, text: str) -> Counter[str]:
    found = re.findall(KEPT[what], text, re.MULTILINE | re.DOTALL)
    return Counter(re.sub(r"\\text\{[^}]*\}", r"\\text{…}", part) for part in found)


def in_code(original: str, translated: str) -> list[str]:
    """[] where two code cells run the same: docstrings, comments and the words of questions may differ."""
    try:
        ours, theirs = _skeleton(original), _skeleton(translated)
    except SyntaxError as error:
        return [f"line {error.lineno} is no Python: {error.msg}"]
    return [] if ours == theirs else ["the code differs in more than docstrings, comments and the words of a question"]


def _skeleton(source: str) -> str:
    """The syntax tree without docstrings and, in a question, without its strings but for the id."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    if source.startswith(ASKING):
        strings = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        # The id of predict and reveal comes first; a quiz has none.
        first = min(strings, key=lambda n: (n.lineno, n.col_offset)) if not source.startswith("quiz(") else None
        for node in strings:
            node.value = node.value if node is first else ""
    return ast.dump(tree)


def main(argv: list[str] | None = None) -> int:
    """Command line; returns an exit status."""
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m autograder.authoring.translation", description=summary)
    parser.add_argument("original", type=Path)
    parser.add_argument("translated", type=Path)
    options = parser.parse_args(argv)
    try:
        texts = [p.read_text(encoding="utf-8") for p in (options.original, options.translated)]
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    found = differences(*texts)
    print("\n".join(found) or "Nothing but words differs.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
