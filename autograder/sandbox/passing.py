"""Skips statements that need something missing in grading: a package, the network, a person at the keyboard.

In Jupyter an exception ends the cell that raises it, and so it does here. But ``from google.colab import drive`` at the
top of a cell, or ``n = int(input())``, worked where the notebook was written, and must not prevent the definitions
below it. So statements of a cell that fail because something is missing are passed over, one by one, with a line of
output for each. The names that they would have bound get a placeholder, and a statement that uses a placeholder is
passed over in turn. A definition that fails only because of its annotations is executed without them.
"""

from __future__ import annotations

import ast
import bdb
import copy
import re
from collections.abc import Iterable, Iterator
from typing import Any

MAX_SHOWN = 80  # characters of a statement in the line about it
_ASKING = ("EOF when reading a line", "")  # error messages of input() and getpass() without a person at the keyboard
_NO_MAGIC = re.compile(r"(?:Line|Cell) magic function `%%?[\w.]+` not found")
# Programs that fetch something: without a network they try for half a minute, and fail.
_FETCHES = re.compile(
    r"(?:^|[;&|]\s*|-m\s+|sudo\s+)(?:pip3?|uv|conda|mamba|apt|apt-get|npm|wget|curl|gdown|kaggle|huggingface-cli|"
    r"git\s+(?:clone|pull|fetch|lfs))\b"
)


class NotHere(ImportError):
    """The code used something from a package that is missing in grading."""


class Missing:
    """Placeholder for a missing object; any use of it raises NotHere."""

    def __init__(self, name: str):
        vars(self)["_missing_name"] = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):  # Python and IPython look for these on any object
            raise AttributeError(name)
        raise _not_here(self)

    def __repr__(self) -> str:
        return f"<{vars(self)['_missing_name']}: not there in grading>"


def _not_here(missing: Missing) -> NotHere:
    return NotHere(f"{vars(missing)['_missing_name']} is not there while a notebook is graded")


def _refuse(self: Missing, *args: Any, **kwargs: Any) -> Any:
    raise _not_here(self)


_ARITHMETIC = "add sub mul matmul truediv floordiv mod divmod pow and or xor lshift rshift".split()
_OTHERS = (
    "call getitem setitem delitem setattr delattr iter next len contains enter exit bool int float complex index round "
    "neg pos abs invert await aiter anext aenter aexit mro_entries lt le gt ge format"
).split()
for _name in _OTHERS + [prefix + name for name in _ARITHMETIC for prefix in ("", "r", "i")]:
    setattr(Missing, f"__{_name}__", _refuse)


def single(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The same statements, with imports split into one per name, so that a missing one doesn't affect the others."""
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom) and len(statement.names) > 1:
            for alias in statement.names:
                one = copy.copy(statement)
                one.names = [alias]
                yield one
        else:
            yield statement


def wants(statement: ast.stmt, error: BaseException) -> str:
    """Says what was missing when a top-level statement of a cell failed; "" if it failed for another reason."""
    if isinstance(error, NotHere):
        return str(error)
    if isinstance(error, EOFError) and str(error) in _ASKING:
        return "nobody answers input() while a notebook is graded"
    if isinstance(error, bdb.BdbQuit):
        return "nobody answers breakpoint() while a notebook is graded"
    imports = isinstance(statement, ast.Import | ast.ImportFrom) or _magic(statement, "run_line_magic") is not None
    if imports and isinstance(error, ImportError):
        return str(error).partition(" (")[0]  # without the path of the installed package
    if type(error).__name__ == "UsageError" and _magic(statement) and (found := _NO_MAGIC.match(str(error))):
        return found[0]
    return ""


def pass_over(statement: ast.stmt, names: dict[str, Any]) -> None:
    """Binds the names that a statement would have bound to placeholders, in the notebook's ``names``.

    A name in a failed import keeps its value if it already has one.
    """
    for name, source in _bound(statement):
        if not (isinstance(statement, ast.Import | ast.ImportFrom) and name in names):
            names[name] = Missing(source)


def without_annotations(statement: ast.stmt) -> ast.stmt | None:
    """A function or class without its annotations, which change no result; None if it has no annotations."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return None
    bare, found = copy.deepcopy(statement), False
    for node in ast.walk(bare):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            a = node.args
            arguments = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x is not None)]
            found |= node.returns is not None or any(x.annotation for x in arguments)
            node.returns = None
            for argument in arguments:
                argument.annotation = None
    return bare if found else None


def as_line(statement: ast.stmt) -> str:
    """A statement on one line, shortened if necessary."""
    try:
        text = ast.unparse(statement).partition("\n")[0]
        if magic := _magic(statement):
            text = "%" + " ".join(str(a.value) for a in magic.args if isinstance(a, ast.Constant))
    except (ValueError, RecursionError):
        text = "a statement"
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def fetches(command: str) -> bool:
    """True if a shell command installs or downloads something."""
    return bool(_FETCHES.search(command[:2_000]))


def _magic(statement: ast.stmt, *kinds: str) -> ast.Call | None:
    """The call into which IPython translates ``%name …`` or ``%%name`` (only the given ``kinds``, if any); or None."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        shell = call.func.value.func
        if isinstance(shell, ast.Name) and shell.id == "get_ipython":
            return call if call.func.attr in (kinds or ("run_line_magic", "run_cell_magic")) else None
    return None


def _bound(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """(name, source) for each name that a statement binds; source: what it refers to, e.g. "google.colab.drive"."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        module = f"{statement.module}." if isinstance(statement, ast.ImportFrom) and statement.module else ""
        for alias in statement.names:
            if alias.name != "*":
                yield (alias.asname or alias.name.partition(".")[0]), f"{module}{alias.name}"
    elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name, statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for node in (n for t in targets for n in ast.walk(t)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id, node.id
