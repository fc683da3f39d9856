"""Resolves names in Python source: finds the statements that bind a name, and a library's own name for an object.

Nothing is run. A value is one of three: an object of a library (its dotted name), something that the notebook defines,
or unknown. Control flow is ignored: a name stands for everything that is ever bound to it, except for the bindings that
``lasting.py`` removes.
"""

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType
from typing import Any

from .statements import Unit

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
MAX_STEPS = 200_000  # lookups for one notebook; long honest notebooks take a few thousand
BUILTINS = frozenset(dir(builtins)) | {"display", "__file__"}


@dataclass(frozen=True)
class Binding:
    """One way in which a name gets its value.

    kind: ``import`` (dotted: the library's name for it), ``define`` (node: function or class), ``value`` (node: the
    expression), ``part`` (node: what it is taken from, such as a loop's iterable), ``mixed`` (node: what an augmented
    assignment adds) or ``argument``. trusted: True in the course's own cells.
    """

    kind: str
    node: ast.AST
    dotted: str = ""
    cell: str = ""
    trusted: bool = False
    scope: "Scope | None" = None


@dataclass
class Scope:
    """A function, class, comprehension or the whole notebook (which has no parent), with the names that it binds."""

    node: ast.AST
    parent: "Scope | None" = None
    names: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    settled: dict[str, Unit] = field(default_factory=dict)  # name → statement that surely overrode earlier values
    unstarred: set[str] = field(default_factory=set)  # names that no longer come from a star import
    passed_on: set[str] = field(default_factory=set)  # declared global
    steps: int = 0
    changed: set[str] = field(default_factory=set)  # in the notebook's scope: names whose lists may change

    def lookup(self, name: str) -> tuple["Scope | None", list[Binding]]:
        """(the scope that binds a name, its bindings), by Python's scoping rules; (None, []) if it is unbound."""
        scope: Scope | None = self
        if name in self.passed_on:
            while scope is not None and scope.parent is not None:
                scope = scope.parent
        first = True
        while scope is not None:
            # Functions inside a class don't see the names of the class.
            if name in scope.names and (first or not isinstance(scope.node, ast.ClassDef)):
                return scope, scope.names[name]
            first = first and isinstance(scope.node, COMPREHENSIONS)
            scope = scope.parent
        return None, []

    def stars_of(self, name: str) -> list[str]:
        """The modules whose star import may have bound a name."""
        return [] if name in self.unstarred else [m for m in self.stars if name in public_names(m)]

    def spend(self) -> None:
        """Counts a lookup. Raises RecursionError if the notebook needs too many."""
        top = self.top
        top.steps += 1
        if top.steps > MAX_STEPS:
            raise RecursionError("too much to look up")

    @property
    def top(self) -> "Scope":
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


def scope_of(node: ast.AST, parent: Scope) -> Scope:
    """The Scope of a function, class, lambda or comprehension, with all names that it binds."""
    scope = Scope(node, parent)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        a = node.args
        for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
            if argument is not None:
                scope.names.setdefault(argument.arg, []).append(Binding("argument", argument, scope=scope))
        for default, argument in _defaults(a):
            scope.names[argument.arg].append(Binding("value", default, scope=parent))
    if isinstance(node, COMPREHENSIONS):
        for generator in node.generators:
            _target(generator.target, generator.iter, "part", scope, "", False)
    elif isinstance(node, ast.Lambda):
        bind([node.body], scope)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        bind(node.body, scope)
    for name in scope.passed_on:
        for binding in scope.names.pop(name, []):
            if binding not in (known := scope.top.names.setdefault(name, [])):
                known.append(binding)
    return scope


def _defaults(a: ast.arguments) -> Iterator[tuple[ast.expr, ast.arg]]:
    positional = [*a.posonlyargs, *a.args]
    yield from zip(a.defaults, positional[len(positional) - len(a.defaults) :], strict=True)
    yield from ((d, k) for d, k in zip(a.kw_defaults, a.kwonlyargs, strict=True) if d is not None)


def bind(nodes: Iterable[ast.AST], scope: Scope, cell: str = "", trusted: bool = False) -> None:
    """Adds to ``scope`` what the statements bind, without the names bound inside functions and classes."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            _bound(node.name, Binding("define", node, "", cell, trusted, scope), scope)
            todo += node.decorator_list
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name | ast.Attribute | ast.Constant):
            continue
        _STATEMENTS.get(type(node), lambda *a: None)(node, scope, cell, trusted)
        todo += ast.iter_child_nodes(node)


def _bound(name: str, binding: Binding, scope: Scope) -> None:
    scope.names.setdefault(name, []).append(binding)


def _import(node: ast.Import, scope: Scope, cell: str, trusted: bool) -> None:
    for alias in node.names:
        dotted = alias.name if alias.asname else alias.name.split(".")[0]
        _bound(alias.asname or dotted, Binding("import", node, dotted, cell, trusted, scope), scope)


def _import_from(node: ast.ImportFrom, scope: Scope, cell: str, trusted: bool) -> None:
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        if alias.name == "*":
            scope.stars.append(module)
        else:
            dotted = f"{module}.{alias.name}"
            _bound(alias.asname or alias.name, Binding("import", node, dotted, cell, trusted, scope), scope)


def _assign(node: Any, scope: Scope, cell: str, trusted: bool) -> None:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if node.value is not None:
            _target(target, node.value, "value", scope, cell, trusted)


def _aug(node: ast.AugAssign, scope: Scope, cell: str, trusted: bool) -> None:
    _target(node.target, node.value, "mixed", scope, cell, trusted)


def _walrus(node: ast.NamedExpr, scope: Scope, cell: str, trusted: bool) -> None:
    home = scope
    while isinstance(home.node, COMPREHENSIONS) and home.parent is not None:
        home = home.parent
    _target(node.target, node.value, "value", home, cell, trusted)


def _for(node: Any, scope: Scope, cell: str, trusted: bool) -> None:
    _target(node.target, node.iter, "part", scope, cell, trusted)


def _with(node: Any, scope: Scope, cell: str, trusted: bool) -> None:
    for item in node.items:
        if item.optional_vars is not None:
            _target(item.optional_vars, item.context_expr, "part", scope, cell, trusted)


def _try(node: Any, scope: Scope, cell: str, trusted: bool) -> None:
    for handler in node.handlers:
        if handler.name:  # the exception may hold any value of the ``try`` block
            for statement in node.body:
                _bound(handler.name, Binding("part", statement, "", cell, trusted, scope), scope)


def _match(node: ast.Match, scope: Scope, cell: str, trusted: bool) -> None:
    for part in ast.walk(node):
        name = getattr(part, "rest", None) if isinstance(part, ast.MatchMapping) else getattr(part, "name", None)
        if isinstance(part, ast.MatchAs | ast.MatchStar | ast.MatchMapping) and name:
            _bound(name, Binding("part", node, "", cell, trusted, scope), scope)


def _global(node: ast.Global | ast.Nonlocal, scope: Scope, cell: str, trusted: bool) -> None:
    if isinstance(node, ast.Global):
        scope.passed_on |= set(node.names)


_STATEMENTS: dict[type[ast.AST], Any] = {
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Assign: _assign,
    ast.AnnAssign: _assign,
    ast.AugAssign: _aug,
    ast.NamedExpr: _walrus,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.Match: _match,
    ast.Global: _global,
}


def _target(target: ast.AST, value: ast.expr, kind: str, scope: Scope, cell: str, trusted: bool) -> None:
    if isinstance(target, ast.Name):
        _bound(target.id, Binding(kind, value, "", cell, trusted, scope), scope)
    elif isinstance(target, ast.Starred):
        _target(target.value, value, "part", scope, cell, trusted)
    elif isinstance(target, ast.Tuple | ast.List):
        given = value.elts if isinstance(value, ast.Tuple | ast.List) and kind == "value" else []
        starred = any(isinstance(e, ast.Starred) for e in (*given, *target.elts))
        if len(given) == len(target.elts) and not starred:
            for part, one in zip(target.elts, given, strict=True):
                _target(part, one, "value", scope, cell, trusted)
        else:
            for part in target.elts:
                _target(part, value, "part", scope, cell, trusted)


# ---- library names -------------------------------------------------------------------------------------------------
_LOOKED_UP = ("torch", "math", "numpy", "operator", "functools", "itertools", "collections", "typing", "dataclasses")


@lru_cache(maxsize=4096)
def canonical(dotted: str) -> tuple[str, bool]:
    """(a library's own name for an object, True if it is a module). ``torch.nn.functional.math`` is ``math``.

    Looks only into the dictionaries of modules that are already imported; runs no code and imports nothing.
    """
    head, *rest = dotted.split(".")
    if head not in _LOOKED_UP:
        return dotted, not rest
    at: Any = sys.modules.get(head)
    if at is None:
        return dotted, not rest
    name = head
    for i, part in enumerate(rest):
        loaded = sys.modules.get(f"{name}.{part}")
        value = at.__dict__.get(part, loaded) if isinstance(at, ModuleType) else None
        if isinstance(value, ModuleType):
            at, name = value, value.__name__
            continue
        return ".".join([name, *rest[i:]]), False
    return name, True


def public_names(module: str) -> frozenset[str]:
    """Names that ``from module import *`` binds; empty if the module is not known here."""
    known = sys.modules.get(module) if module.split(".")[0] in _LOOKED_UP else None
    if known is None:
        return frozenset()
    return frozenset(getattr(known, "__all__", None) or [n for n in vars(known) if not n.startswith("_")])
