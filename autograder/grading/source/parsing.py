"""What a notebook cell says in Python: magics and shell commands rendered as calls, every source parsed once.

A cell need not be Python: IPython rewrites it first (``%time y = f(x)``, ``name?``, ``>>> `` prompts). Readers of the
source must look at what will run, so whatever is not plain Python goes through IPython's own rewriting.
"""

import ast
import re
import warnings
from functools import lru_cache

MAX_PARSED = 200_000  # characters; longer cells are cut when a notebook is rebuilt

# A timed line is ordinary code. The rest of these changes nothing that an answer could use.
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
    """The tree of a cell as IPython runs it; None where it cannot run, because it cannot be parsed."""
    return _parsed(source)[0]


def hides(source: str) -> bool:
    """Is a cell too deep for this parser? Then it cannot be said what it does, if it runs at all."""
    return _parsed(source)[1]


@lru_cache(maxsize=512)
def _parsed(source: str) -> tuple[ast.Module | None, bool]:
    """(tree or None, is it too deep to say). Trees are shared: whoever reads one must not change it."""
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
            warnings.simplefilter("ignore")  # a student's "\d" is no warning to the grader
            return ast.parse(source), False
    except (RecursionError, MemoryError):
        return None, True
    except (SyntaxError, ValueError):
        return None, False


def _rewritten(source: str) -> str | None:
    """What IPython makes of a cell that is not plain Python; None where its rewriting fails."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return TransformerManager().transform_cell(source)
    except Exception:  # hostile text finds its way into tokenizers: then nothing runs in the student's process either
        return None


def without_magics(source: str) -> str:
    """Cell source in which magics and shell commands are Python, line for line.

    Harmless ones become ``pass``, a timed statement stands for itself, and everything else becomes
    ``get_ipython()``, which is what IPython makes of it.
    """
    lines = source.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        lines[first] = "pass" if _TIMED_CELL.match(lines[first]) else "get_ipython()"
        if lines[first] != "pass":  # the body belongs to the magic, and may be no Python at all
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
