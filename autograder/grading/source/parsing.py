"""Parses notebook cells: replaces magics and shell commands by Python, and parses every source once.

A cell need not be Python: IPython rewrites it first (``%time y = f(x)``, ``name?``, ``>>> `` prompts). Source checks
have to see the code that will run, so everything that is not plain Python goes through IPython's own transformation.
"""

import ast
import re
import warnings
from functools import lru_cache

MAX_PARSED = 200_000  # characters; longer cells are cut when a notebook is rebuilt

# Timed lines are ordinary code; the harmless commands change nothing that an answer could use.
_TIMED = re.compile(r"^(\s*)%(?:time|timeit)\s+(?:-[nrpq]\s*\d*\s+|-[tcoqv]\s+)*(?=\S)", re.ASCII)
_TIMED_CELL = re.compile(r"^%%(?:time|capture|timeit(?:\s+-[nr]\s*\d+)*)\s*$", re.ASCII)
_HARMLESS = re.compile(
    r"^\s*(?:%matplotlib\b[^;]*|%config\s+InlineBackend\.\w+\s*=.*|%(?:load_ext|reload_ext)\s+autoreload|%autoreload\b.*|"
    r"%(?:who|whos|pwd|lsmagic|precision)\b.*|[!%]\s*(?:pip3?|conda)\s+(?:install|list|show|freeze)\b[^;&|`$<>]*|"
    r"!\s*(?:ls|pwd|date|nvidia-smi|python3?\s+--version)\b[^;&|`$<>]*|\?{1,2}[\w.]+|[\w.]+\?{1,2})\s*(?:#.*)?$",
    re.ASCII,
)
_PROMPTS = re.compile(r"(?m)^\s*(?:>>>|\.\.\.\s*\S|\[?(?:nav|ins)?\]?\s*In ?\[|Out ?\[)")


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of a cell as IPython runs it; None if it cannot be parsed."""
    return _parsed(source)[0]


def hides(source: str) -> bool:
    """True if a cell is too long or too deeply nested to be parsed here, so that what it does is unknown."""
    return _parsed(source)[1]


@lru_cache(maxsize=512)
def _parsed(source: str) -> tuple[ast.Module | None, bool]:
    """(tree or None, True if too deep to parse). Trees are shared: callers must not change them."""
    if len(source) > MAX_PARSED:
        return None, True
    tree, deep = _tree(source)
    if tree is not None and not _PROMPTS.search(source):
        return tree, False
    if deep:
        return None, True
    if tree is None:
        tree, deep = _tree(without_magics(source))
        if tree is not None and not _PROMPTS.search(source):
            return tree, False
    rewritten = _rewritten(source)
    if rewritten is None:
        return tree, tree is None
    other, deeper = _tree(rewritten)
    return (other, deeper) if other is not None or deeper else (None, False)


def _tree(source: str) -> tuple[ast.Module | None, bool]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as those about "\d" in a student's string
            return ast.parse(source), False
    except (RecursionError, MemoryError):
        return None, True
    except (SyntaxError, ValueError):
        return None, False


def _rewritten(source: str) -> str | None:
    """IPython's transformation of a cell that is not plain Python; None if that fails."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return TransformerManager().transform_cell(source)
    except Exception:  # hostile text can break IPython's tokenizer; then it doesn't run in the student's process either
        return None


def without_magics(source: str) -> str:
    """Cell source with magics and shell commands replaced by Python, line for line.

    Harmless ones become ``pass``, a timed statement loses its magic, and everything else becomes ``get_ipython()``,
    which IPython would call for it.
    """
    lines = source.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        lines[first] = "pass" if _TIMED_CELL.match(lines[first]) else "get_ipython()"
        if lines[first] != "pass":  # the body is input of the magic, and need not be Python
            return "\n".join(lines[: first + 1])
    return "\n".join(_line(line) for line in lines)


def _line(line: str) -> str:
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)]
    if _HARMLESS.match(line):
        return indent + "pass"
    if timed := _TIMED.match(line):
        return indent + line[timed.end() :]
    return indent + "get_ipython()" if bare.startswith(("%", "!", "?", "/", ",", ";")) else line
