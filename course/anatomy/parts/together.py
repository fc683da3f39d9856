"""Joins the code of several parts in one cell: each import and each helper once, without name conflicts."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .statements import Needed, Statement


@dataclass(frozen=True)
class Piece:
    """One part's code. heading: comment lines above it. unit: number of its unit, to make names distinct.

    targets: names that it provides, which are never changed.
    """

    heading: str
    unit: str
    targets: tuple[str, ...]
    needed: Needed


def together(pieces: Sequence[Piece], around: Mapping[str, frozenset[str]] | None = None) -> str:
    """Joins all pieces into one source. around: names of the notebook that will contain it → their meaning.

    If a helper's name has a different meaning there or in another piece, it gets its unit's number: ``pairs_06``.
    """
    means = {**(around or {})} | {t: p.needed.behind(t) for p in pieces for t in p.targets}
    known = set(means) | {n for p in pieces for s in p.needed.statements for n in s.binds | s.uses}
    renamed_to: dict[tuple[str, frozenset[str]], str] = {}
    done: set[str] = set()
    imports: list[str] = []
    blocks: list[str] = []
    for piece in pieces:
        names = {}
        for name in sorted({n for s in piece.needed.statements for n in s.binds} - set(piece.targets) - {"*"}):
            mine = piece.needed.behind(name)
            if means.setdefault(name, mine) != mine:
                names[name] = renamed_to.get((name, mine)) or _free(f"{name}_{piece.unit}", known)
                renamed_to[name, mine] = names[name]
        block = ""
        for statement in (renamed(s, names) for s in piece.needed.statements):
            if statement.meaning in done:
                continue
            done.add(statement.meaning)
            if statement.imported:
                imports.append(statement.text)
            else:
                gap = "\n\n\n" if re.search(r"^(?:def|class|async def|@)", statement.text, re.M) else "\n"
                block += (gap if block else "") + statement.text
        above = "" if block else "  (its code stands above)"
        blocks.append(f"{piece.heading}{above}\n{block}".rstrip("\n"))
    return "\n\n\n".join(["\n".join(imports)] * bool(imports) + blocks)


def _free(name: str, known: set[str]) -> str:
    while name in known:
        name += "_"
    known.add(name)
    return name


def renamed(statement: Statement, names: Mapping[str, str]) -> Statement:
    """Renames global names in a statement; local names, attributes and keywords of the same name are kept."""
    if not names.keys() & (statement.binds | statement.uses):
        return statement
    binds, uses, changes = (
        frozenset(names.get(n, n) for n in some) for some in (statement.binds, statement.uses, statement.changes)
    )
    if statement.imported:
        text = f"{statement.text.split(' as ')[0]} as {next(iter(binds))}"
    else:
        text = _with_names(statement.text, names)
    return Statement(text, statement.imported, binds, uses, changes)


def _with_names(source: str, names: Mapping[str, str]) -> str:
    tree = ast.parse(source)
    renamer = _Renamer(names)
    renamer.visit(tree)
    lines = source.encode().split(b"\n")
    for line, column, old in sorted(renamer.places, reverse=True):  # columns count bytes
        text = lines[line - 1]
        if text[column:].startswith(old.encode()):
            lines[line - 1] = text[:column] + names[old].encode() + text[column + len(old.encode()) :]
    edited = b"\n".join(lines).decode()
    try:
        if ast.dump(ast.parse(edited)) == ast.dump(tree):
            return edited
    except SyntaxError:
        pass
    return ast.unparse(tree)  # a name is where the tree has no column: comments are lost, not the meaning


class _Renamer(ast.NodeVisitor):
    """Renames in a tree. places: (line, column in bytes, old name) of each renamed name, if the tree knows it."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.places: list[tuple[int, int, str]] = []
        self.scopes: list[tuple[bool, set[str]]] = []  # (is it a class, its local names), innermost last

    def _new(self, name: str) -> str | None:
        """New name for a name at this place, or None if it is local or keeps its name."""
        inner = len(self.scopes) - 1
        is_local = any(name in local for i, (is_class, local) in enumerate(self.scopes) if i == inner or not is_class)
        return None if is_local else self.names.get(name)

    def visit_Name(self, node: ast.Name) -> None:  # noqa: N802
        """A name that is read, set or deleted."""
        if new := self._new(node.id):
            self.places.append((node.lineno, node.col_offset, node.id))
            node.id = new

    def visit_Global(self, node: ast.Global) -> None:  # noqa: N802
        """Names in a ``global`` statement are the global ones."""
        node.names = [self.names.get(n, n) for n in node.names]

    def visit_alias(self, node: ast.alias) -> None:
        """An import inside a larger statement."""
        if new := self._new((node.asname or node.name).partition(".")[0]):
            node.asname = new

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:  # noqa: N802
        """``except … as name``."""
        node.name = self._new(node.name or "") or node.name
        self.generic_visit(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if new := self._new(node.name):
            words = {ast.FunctionDef: "def ", ast.AsyncFunctionDef: "async def ", ast.ClassDef: "class "}
            self.places.append((node.lineno, node.col_offset + len(words[type(node)]), node.name))
            node.name = new
        self._enter(node, node.body)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:  # noqa: N802
        """A function without a name."""
        self._enter(node, [node.body])

    def _enter(self, node: ast.AST, body: Sequence[ast.AST]) -> None:
        """Visits what a function or class evaluates outside its body (defaults, decorators), then its body."""
        for field, value in ast.iter_fields(node):
            for part in value if isinstance(value, list) else [value]:
                if field != "body" and isinstance(part, ast.AST):
                    self.visit(part)
        local = {n for part in body for n in _stored(part)}
        if isinstance(arguments := getattr(node, "args", None), ast.arguments):
            local |= {a.arg for a in ast.walk(arguments) if isinstance(a, ast.arg)}
        local -= {n for part in body for g in ast.walk(part) if isinstance(g, ast.Global) for n in g.names}
        self.scopes.append((isinstance(node, ast.ClassDef), local))
        for part in body:
            self.visit(part)
        self.scopes.pop()

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        first = node.generators[0].iter
        self.visit(first)  # outside the comprehension's own scope
        node.generators[0].iter = ast.Constant(None)
        self.scopes.append((False, {n for g in node.generators for n in _stored(g.target)}))
        self.generic_visit(node)
        self.scopes.pop()
        node.generators[0].iter = first

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815


def _stored(node: ast.AST) -> Iterator[str]:
    """Yields the names that a piece of a function's body makes local."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name
    for child in ast.iter_child_nodes(node):
        yield from _stored(child)
