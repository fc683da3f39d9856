"""Splits a notebook's cells into statements: what each defines and needs, and which statements a function needs.

A function of one notebook is used in another, so it has to be extracted with everything that it uses (imports, helpers,
earlier answers) and with nothing else: the learner's experiments around it must not run.
"""

import ast
import builtins
import re
import symtable
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

_MARK = re.compile(r"^[ \t]*### (?:BEGIN|END) SOLUTION[ \t]*\n?", re.M)
_MAGIC = re.compile(r"^[ \t]*[%!?].*$", re.M)
_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
# The course's own calls in cells, which define nothing.
_OURS = frozenset({"case", "check", "parts", "predict", "progress", "quiz", "reveal"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@dataclass(frozen=True)
class Statement:
    """One top-level statement of a cell; each name of an import is a separate statement.

    text: its source, with the comment right above it. imported: what an import binds its name to, such as ``torch.nn``,
    else "". binds: names that it defines. uses: global names that it reads, now or when its functions are called.
    changes: names whose value it changes (``table["a"] = 1``).
    """

    text: str
    imported: str = ""
    binds: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()

    @cached_property
    def meaning(self) -> str:
        """Equal for statements that differ only in comments and layout."""
        return f"import {self.imported} as {set(self.binds)}" if self.imported else ast.dump(ast.parse(self.text))


@dataclass
class Code:
    """One cell's code. error: Python's reason why it cannot be read, else ""."""

    statements: list[Statement] = field(default_factory=list)
    error: str = ""

    def binds(self, name: str) -> bool:
        """True if this cell defines the name."""
        return any(name in s.binds for s in self.statements)


def read(source: str) -> Code:
    """Reads a cell's source into Code; skips IPython-only lines (``%time``, ``!ls``)."""
    try:
        source = python(source)
        return Code(list(_statements(source)))
    except SyntaxError as error:
        return Code(error=f"{type(error).__name__}: {error.msg} (line {error.lineno})")
    except (ValueError, RecursionError, MemoryError) as error:
        return Code(error=f"{type(error).__name__}: {error}")


def python(source: str) -> str:
    """The source with IPython-only lines blanked, so that line numbers stay the same. Raises SyntaxError."""
    source = source.replace("\r\n", "\n")
    try:
        ast.parse(source)
        return source
    except SyntaxError as error:
        if source.lstrip().startswith("%%") and not source.lstrip().startswith(_PYTHON_MAGICS):
            return ""
        without = _MAGIC.sub("", source)
        try:
            ast.parse(without)
            return without
        except SyntaxError:
            raise error from None


def _statements(source: str) -> Iterator[Statement]:
    nodes = ast.parse(source).body
    for i, node in enumerate(nodes):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imports(node)
        elif not _is_ours(node):
            yield _statement(_text(source, node, nodes[i - 1] if i else None, nodes[i + 1 : i + 2]), node)


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[Statement]:
    for alias in node.names:
        renamed = f" as {alias.asname}" if alias.asname else ""
        if isinstance(node, ast.Import):
            what = alias.name if alias.asname else alias.name.partition(".")[0]
            text = f"import {alias.name}{renamed}"
        else:
            origin = "." * node.level + (node.module or "")
            what, text = f"{origin}.{alias.name}", f"from {origin} import {alias.name}{renamed}"
        yield Statement(text, what, frozenset({(alias.asname or alias.name).partition(".")[0]}))


def _is_ours(node: ast.stmt) -> bool:
    """True for a check, a question or the like."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    return _root(node.value.func) in _OURS


def _text(source: str, node: ast.stmt, before: ast.stmt | None, after: Sequence[ast.stmt]) -> str:
    """Source of one statement, with comments right above it and after it, without the course's marks."""
    lines = source.split("\n")
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    last = node.end_lineno or node.lineno
    end = before.end_lineno or 0 if before else 0
    if end >= first or after and after[0].lineno <= last:  # several statements on one line, with semicolons
        return ast.get_source_segment(source, node) or ast.unparse(node)
    while first - 1 > end and lines[first - 2].startswith("#"):
        first -= 1
    text = "\n".join(lines[first - 1 : last])
    without = _MARK.sub("", text + "\n").rstrip("\n")
    # A string may contain the same words.
    return without if ast.dump(ast.parse(without)) == ast.dump(ast.parse(text)) else text


def _statement(text: str, node: ast.stmt) -> Statement:
    table = symtable.symtable(text, "cell", "exec")
    binds = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    uses = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    todo = list(table.get_children())
    while todo:
        scope = todo.pop()
        uses |= {s.get_name() for s in scope.get_symbols() if s.is_global()}
        todo += scope.get_children()
    return Statement(text, "", frozenset(binds), frozenset(uses), frozenset(_changed(node)))


def _changed(node: ast.stmt) -> set[str]:
    """Names whose values a statement changes when it runs, by an assignment to a part or by a method."""
    found: set[str] = set()
    todo: list[ast.AST] = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, ast.Attribute | ast.Subscript) and isinstance(item.ctx, ast.Store):
            found.add(_root(item))
        elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
            found.add(_root(item.value.func) if isinstance(item.value.func, ast.Attribute) else "")
        if not isinstance(item, _FUNCTIONS):
            todo += ast.iter_child_nodes(item)
    return found - {""}


def _root(node: ast.AST) -> str:
    """``a`` of ``a.b[0].c(…)``; "" if it does not begin with a name."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


@dataclass
class Needed:
    """Statements that some names need, in the order of the notebook. unknown: names that are not defined anywhere."""

    statements: list[Statement]
    unknown: set[str] = field(default_factory=set)

    def behind(self, name: str) -> frozenset[str]:
        """Meanings of all statements that a name depends on: equal for two names that are interchangeable."""
        found: set[str] = set()
        todo, seen = [name], set()
        while todo:
            seen.add(one := todo.pop())
            some = [s for s in self.statements if one in s.binds or one in s.changes]
            found |= {s.imported or s.meaning for s in some}
            todo += [n for s in some for n in s.uses if n not in seen]
        return frozenset(found)


def needed(cells: Sequence[Code], names: Iterable[str], at: int, whole: Iterable[int] = ()) -> Needed:
    """Finds the statements that the names need in a notebook's cells, for a check in cell number ``at``.

    If several cells define a name, the last one above the check counts, then the first below. whole: numbers of cells
    that are taken completely if any of their statements is needed, because some answers work by what a cell does, not
    by what it defines.
    """
    order = [*range(min(at, len(cells) - 1), -1, -1), *range(at + 1, len(cells))]
    whole, taken, unknown = set(whole), set(), set()
    todo, seen = list(names), set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        cell = next((i for i in order if cells[i].binds(name)), None)
        if cell is None:
            if not hasattr(builtins, name):
                unknown.add(name)
            continue
        is_import = all(s.imported for s in cells[cell].statements if name in s.binds)
        for i in range(cell, max(cell, at) + 1):  # changes up to the check
            for k, s in enumerate(cells[i].statements):
                is_part = i == cell and (name in s.binds or cell in whole and not s.imported)
                if (i, k) not in taken and (is_part or name in s.changes and not is_import):
                    taken.add((i, k))
                    todo += s.uses
    if unknown:  # from math import *
        taken |= {(i, k) for i in order for k, s in enumerate(cells[i].statements) if "*" in s.binds}
    return Needed([cells[i].statements[k] for i, k in sorted(taken)], unknown)
