"""Remarks about what a notebook needs and grading does not have: missing packages, keyboard input.

Statements that need these are skipped when the notebook runs (``autograder.sandbox.shell``). The remarks are made from
the source alone, so that they don't rely on anything that the student's process claims.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder

from anatomy.system.translation import _, listed
from nbformat import NotebookNode

from autograder.sandbox import packages

from ..base.masters import MARK
from ..base.names import shown
from ..base.notes import Note
from ..source.parsing import parsed

MAX_NAMED = 8  # packages in the sentence
_COLAB = "google.colab"
MAX_LOOKED = 100  # packages that are looked up
_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)  # their bodies run only when they are called


def absences(notebook: NotebookNode) -> list[Note]:
    """Notes about the answers and the student's own cells in a rebuilt notebook."""
    imported: dict[str, str] = {}  # package → the module name in its first import
    asks = False
    for cell in notebook.cells:
        if cell.metadata[MARK]["role"] not in ("answer", "extra"):
            continue
        source = cell.source
        if "import" not in source and "input" not in source or (tree := parsed(source)) is None:
            continue
        for statement in tree.body:
            for name in _imported(statement):
                imported.setdefault(name.partition(".")[0], name)
            asks = asks or "input" in source and _asks(statement)
    notes = []
    missing = [name for package, name in list(imported.items())[:MAX_LOOKED] if not _is_there(package)]
    if missing:
        named = listed(shown(n, 40) for n in missing[:MAX_NAMED])
        if len(missing) > MAX_NAMED or len(imported) > MAX_LOOKED:
            named = _("{names} and others").format(names=named)
        sentence = _(
            "Not installed where notebooks are graded: {names}. The imports were passed over, and so was each "
            "statement that needs them."
        )
        notes.append(Note("submission.not_installed", sentence.format(names=named)))
    if asks:
        sentence = _("Nobody answers input() while a notebook is graded: the statements that call it were passed over.")
        notes.append(Note("submission.input", sentence))
    return notes


def _imported(statement: ast.stmt) -> Iterator[str]:
    """Modules that a statement at a cell's top level imports."""
    if isinstance(statement, ast.Import):
        yield from (a.name for a in statement.names)
    elif isinstance(statement, ast.ImportFrom) and not statement.level and statement.module:
        yield statement.module


_listed = cache(packages.listed_packages)


@cache
def _is_there(name: str) -> bool:
    if name in sys.stdlib_module_names or name == "anatomy" or packages.normalized(name) in _listed():
        return True
    folders = [f for f in sys.path if "site-packages" in f or "dist-packages" in f]
    return PathFinder.find_spec(name, folders) is not None and name not in packages.staff_modules()


def never_there(name: str) -> bool:
    """True if a dotted name belongs to a package that only Colab has; statements that use it were skipped."""
    return (name == _COLAB or name.startswith(f"{_COLAB}.")) and not _is_there(_COLAB.partition(".")[0])


def _asks(statement: ast.stmt) -> bool:
    """True if a statement calls ``input`` when it runs."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "input":
            return True
        if not isinstance(node, _LATER):
            todo += ast.iter_child_nodes(node)
    return False
