"""Finds what a cell defines, from its source: reads each cell once, and a limited amount of text per submission."""

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import nbformat

from .parsing import parsed

if TYPE_CHECKING:
    from autograder.judge.spec import Exercise

MAX_READ = 1_000_000  # characters of all cells together; further cells are not read
_UNWRITTEN = "NotImplementedError"  # raised by every stub that the course hands out
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Definitions:
    """What a cell defines.

    binds: names that the cell binds at top level. stubs: those of them that are defined by an unchanged or empty stub.
    written: those that are functions or classes with code of the student.
    """

    binds: frozenset[str] = frozenset()
    stubs: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()


class Reader:
    """Reads cells of one submission, by their number.

    source: number of a cell → its source. released: the course's answer cells as they were handed out.
    """

    def __init__(self, source: Callable[[int], str], released: Iterable[nbformat.NotebookNode]):
        self._source, self._left = source, MAX_READ
        self._known: dict[int, Definitions | None] = {}
        self._released = list(released)  # read twice

    @cached_property
    def _stubs(self) -> dict[str, str]:
        """Function or class → its definition (an AST dump) as the course handed it out."""
        trees = [tree for cell in self._released if (tree := parsed(cell.source)) is not None]
        return {n: _dump(node) for tree in trees for n, node in _bound(tree) if isinstance(node, _Definition)}

    @cached_property
    def _bare(self) -> set[str]:
        """The course's answer cells as they were handed out, as AST dumps."""
        return {_dump(tree) for cell in self._released if (tree := parsed(cell.source)) is not None}

    def as_released(self, number: int) -> bool:
        """True if an answer cell is as it was handed out in any language: only comments and docstrings may differ."""
        tree = parsed(self._source(number)) if self[number] is not None else None
        try:
            return tree is not None and _dump(tree) in self._bare
        except RecursionError:
            return False

    def __getitem__(self, number: int) -> Definitions | None:
        """What a cell defines; None if it does not parse, or if MAX_READ is exceeded."""
        if number not in self._known:
            source = self._source(number)
            self._left -= len(source)
            self._known[number] = self._read(source) if self._left >= 0 else None
        return self._known[number]

    def mentions(self, number: int, names: Iterable[str]) -> bool:
        """True if the cell may define one of these names. Looks at the text only, which is faster than parsing."""
        source = self._source(number)
        # Python normalizes identifiers: ａ and a are the same name.
        return not source.isascii() or any(name in source for name in names)

    def _read(self, source: str) -> Definitions | None:
        tree = parsed(source)
        if tree is None:
            return None
        last = dict(_bound(tree))
        defined = {name: node for name, node in last.items() if _defines(node)}
        stubs = {name for name, node in defined.items() if self._is_stub(name, node, source)}
        return Definitions(frozenset(last), frozenset(stubs), frozenset(defined) - stubs)

    def _is_stub(self, name: str, node: ast.AST, source: str) -> bool:
        if not isinstance(node, _Definition):
            return False
        if all(_says_nothing(statement) for statement in node.body):
            return True
        if _UNWRITTEN not in source:
            return False
        try:
            return name in self._stubs and _dump(node) == self._stubs[name]
        except RecursionError:
            return False


def _dump(node: ast.AST) -> str:
    """A tree without its docstrings, which are in the language of the notebook."""
    parts = ast.walk(bare := copy.deepcopy(node))
    for part in (p for p in parts if isinstance(p, _Definition) and ast.get_docstring(p, clean=False) is not None):
        del part.body[0]
    return ast.dump(bare)


def _bound(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """(name, node that binds it) for each binding at a cell's top level, in source order."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, _Definition):
            yield node.name, node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            yield from ((t.id, node.value) for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.id, node
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0], node
        elif not isinstance(node, _SCOPES):
            todo += reversed(list(ast.iter_child_nodes(node)))


def _defines(node: ast.AST) -> bool:
    """True for a function or class; False for an import, or for a value that happens to have an answer's name."""
    return isinstance(node, (*_Definition.__args__, ast.Lambda))


def _says_nothing(statement: ast.stmt) -> bool:
    """True for a docstring, ``pass``, ``...``, ``raise NotImplementedError(…)``, or a definition with only these."""
    if isinstance(statement, _Definition):
        return all(map(_says_nothing, statement.body))
    if isinstance(statement, ast.Raise):
        error = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return isinstance(error, ast.Name) and error.id == _UNWRITTEN
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def names_of(exercise: "Exercise") -> str:
    """The functions and classes that an exercise asks for, joined for a sentence: "a, b and c"."""
    *first, last = exercise.targets
    return f"{', '.join(first)} and {last}" if first else last
