"""Collects what each statement of a notebook mentions: library names, attributes, built-ins, unresolvable names.

A mention counts whether the function is called, bound to another name, put into a list or passed to ``map``, so aliases
need not be followed. If an object is unknown, its attributes are recorded by name. Modules are followed by name only: a
module that is passed around as a value is a mention of its own.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .folding import texts
from .scopes import BUILTINS, COMPREHENSIONS, Scope, canonical, scope_of
from .statements import Mention, Unit
from .values import INSTANCE, UNKNOWN, Values

# Functions that take a name as text. Used without a call, their own name is a mention that cannot be resolved.
BY_NAME = {"getattr", "setattr", "delattr", "hasattr"}
_WITHOUT_MEMORY = {
    "torch",
    "numpy",
    "matplotlib",
    "print",
    "anatomy",
    "math",
    "len",
    "isinstance",
    "type",
    "zip",
    "map",
}
# Options with which an embedding table also shortens its vectors (like renorm), and the functions that have them.
_RENORM, _SHORTENING = "torch.renorm", ("max_norm", "scale_grad_by_freq")
_TABLES = {"torch.nn.functional.embedding": 3, "torch.nn.Embedding": 3}  # arguments before the first such option
_HANDING_ON = {"functools.partial", "functools.partialmethod", "builtins.map", "map", "functools.reduce", "reduce"}
_FILLING = {"append", "extend", "insert", "update", "setdefault", "add", "appendleft", "push", "put", "set", "register"}
_SHOWN = {"print", "dir", "help", "repr", "str", "type", "hasattr", "id", "isinstance", "display", "getattr"}
_FIELDS = re.compile(r"\{[^{}]*?\.([\w.]+)")


class Reader(Values):
    """Fills a Unit from its statement. Raises RecursionError if the statement is nested too deeply."""

    def __init__(self, unit: Unit, top: Scope) -> None:
        super().__init__(top)
        self.unit = unit

    def read(self) -> None:
        """Reads the whole statement."""
        self._visit(self.unit.node, self.top)

    # ---- statements and expressions --------------------------------------------------------------------------------
    def _visit(self, node: ast.AST, scope: Scope) -> None:
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(self, node, scope)
        else:
            for child in ast.iter_child_nodes(node):
                self._visit(child, scope)

    def _all(self, nodes: Iterable[ast.AST | None], scope: Scope) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node, scope)

    def _say(self, kind: str, name: str, node: ast.AST, owner: str = "", sure: bool = True) -> None:
        line = getattr(node, "lineno", self.unit.node.lineno)
        self.unit.mentions.append(Mention(kind, name, line, owner, sure))

    def _name(self, node: ast.Name, scope: Scope, base: bool = False) -> None:
        home, bindings = scope.lookup(node.id)
        if not isinstance(node.ctx, ast.Load):
            if home is self.top:
                self.unit.binds.add(node.id)
            return
        if home is self.top:
            self.unit.uses.add(node.id)
        stars = [m for m in self.top.stars_of(node.id) if home in (None, self.top)]
        starred = bool(stars)
        if home is None and not starred:
            self._say("builtin" if node.id in BUILTINS else "free", node.id, node)
        for b in bindings:
            if b.kind == "import":
                self._library(canonical(b.dotted), node, base, sure=len(bindings) + len(stars) == 1)
        if starred:
            for m in stars:
                self._library(canonical(f"{m}.{node.id}"), node, base, sure=not bindings)
        elif not base and any(b.kind == "value" for b in bindings):
            for kind, name in self.values(node, scope):  # an alias of a module, passed around
                if kind == "library" and canonical(name)[1]:
                    self._say("module", name, node)

    def _library(self, found: tuple[str, bool], node: ast.AST, base: bool, sure: bool = True) -> None:
        dotted, module = found
        if not module:
            self._say("library", dotted, node, sure=sure)
        elif not base:
            self._say("module", dotted, node)

    def _attribute(self, node: ast.Attribute, scope: Scope, base: bool = False) -> None:
        self._looked_up(node.value, node.attr, node, scope, base)
        if not isinstance(node.ctx, ast.Load):
            self._stored(node.value, [node.attr], node, scope)

    def _looked_up(self, value: ast.AST, attr: str, node: ast.AST, scope: Scope, base: bool = False) -> None:
        """Records the lookup ``value.attr``, also if it is written as ``getattr(value, "attr")``."""
        owners = self.values(value, scope)
        libraries = [n for k, n in owners if k == "library"]
        for name in libraries:
            self._library(canonical(f"{name}.{attr}"), node, base, sure=len(owners) == 1)
        for kind, name in owners:
            if kind in (INSTANCE, "defined"):
                self._say("own" if kind == INSTANCE else "own class", attr, node, name)
        if not owners or UNKNOWN in owners:
            self._say("attribute", attr, node)
        self._base(value, scope, quiet=bool(libraries))

    def _base(self, node: ast.AST, scope: Scope, quiet: bool = False) -> None:
        """Visits the object of an attribute lookup: the module in ``torch.exp`` is not a mention of its own."""
        if isinstance(node, ast.Name):
            self._name(node, scope, base=True)
        elif isinstance(node, ast.Attribute):
            if quiet:  # the whole chain is already recorded
                self._base(node.value, scope, quiet)
                if not canonical(next((n for k, n in self.values(node, scope) if k == "library"), "?"))[1]:
                    self._attribute(node, scope, base=True)
            else:
                self._attribute(node, scope)
        elif isinstance(node, ast.NamedExpr):
            self._visit(node.target, scope)
            self._base(node.value, scope, quiet)
        else:
            self._visit(node, scope)

    def _stored(self, value: ast.AST, names: Sequence[str], node: ast.AST, scope: Scope) -> None:
        owners = self.values(value, scope)
        libraries = [n for k, n in owners if k == "library"]
        for name in names:
            for library in libraries:
                self._say("library store", f"{library}.{name}", node)
            if name in _SHORTENING:
                self._say("library", _RENORM, node)
            if not libraries:
                self.unit.defines.add(name)
                self._say("store", name, node, next((k for k, _ in owners), ""))

    def _changed(self, node: ast.AST, given: Sequence[ast.AST], scope: Scope) -> None:
        """Records an in-place change: the given values are stored under the notebook name at the root of ``node``."""
        while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
            node = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(node, ast.Name) and scope.lookup(node.id)[0] is self.top:
            if not any(k == "library" for k, _ in self.values(node, scope)):
                self._given(node.id, given, scope)

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: Scope) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None:
            alias = all(isinstance(t, ast.Name) for t in targets) and isinstance(node, ast.Assign)
            if alias and any(k == "library" and canonical(n)[1] for k, n in self.values(node.value, scope)):
                self._base(node.value, scope, quiet=True)
            elif isinstance(node.value, ast.Tuple) and all(isinstance(t, ast.Tuple) for t in targets):
                for part in node.value.elts:  # F, t = torch.nn.functional, torch
                    self._base(part, scope, quiet=bool(self.values(part, scope)))
                    if not self.values(part, scope):
                        continue
                    for k, n in self.values(part, scope):
                        if k == "library" and not canonical(n)[1]:
                            self._say("library", n, part)
            else:
                self._visit(node.value, scope)
        for target in targets:
            self._visit(target, scope)
            if isinstance(target, ast.Attribute) and node.value is not None:
                self._given(target.attr, [node.value], scope)
            if node.value is not None and (isinstance(node, ast.AugAssign) or not isinstance(target, ast.Name)):
                self._changed(target, [node.value], scope)
            if isinstance(target, ast.Name) and target.id == "__match_args__":
                self._say("odd", "__match_args__", target)
            if isinstance(target, ast.Name) and isinstance(scope.node, ast.ClassDef):
                self.unit.defines.add(target.id)
        if isinstance(node, ast.AnnAssign):
            self._annotation(node.annotation, scope)
            if isinstance(node.target, ast.Name) and isinstance(scope.node, ast.ClassDef):
                self.unit.defines.add(node.target.id)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> None:
        for kind, name in self.values(node, scope):
            if kind == "library":
                self._library(canonical(name), node, False)
        if isinstance(node.ctx, ast.Load):
            self._visit(node.value, scope)
        else:
            owners = [n for k, n in self.values(node.value, scope) if k == "library"]
            for name in owners:
                self._say("library store", f"{name}[…]", node)
            self._base(node.value, scope, quiet=bool(owners))
        self._visit(node.slice, scope)

    def _call(self, node: ast.Call, scope: Scope) -> None:
        functions = self.values(node.func, scope)
        names = {n.removeprefix("builtins.") for k, n in functions if k == "library"}
        if names & BY_NAME and isinstance(node.func, ast.Name):
            self._by_name(node, names, scope)
            return
        if names & {"operator.attrgetter", "operator.methodcaller"}:
            for argument in node.args[: 1 if "operator.methodcaller" in names else None]:
                self._text(argument, node, scope)
        elif names & {"getattr_static", "inspect.getattr_static", "object.__getattribute__"} and len(node.args) > 1:
            for key in texts(node.args[1], scope) or []:
                self._looked_up(node.args[0], str(key), node, scope)
        elif "type" in names and (len(node.args) != 1 or node.keywords):
            self._say("odd", "type", node)
        elif any(n.startswith("timeit.") for n in names) and any(
            not isinstance(a, ast.Lambda | ast.Name | ast.Attribute) for a in node.args[:1]
        ):
            self._say("odd", "timeit", node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "format_map"):
            for text in texts(node.func.value, scope) or []:
                for found in _FIELDS.findall(text) if isinstance(text, str) else ():
                    for name in found.split("."):
                        self._say("attribute", name, node)
        self._visit(node.func, scope)
        if isinstance(node.func, ast.Call):  # attrgetter("sys.modules")(torch)
            for kind, name in self.values(node, scope):
                if kind == "library":
                    self._library(canonical(name), node, False)
        self._options(node, names, scope)
        shown = names and names <= _SHOWN
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            if shown and any(k == "library" and canonical(n)[1] for k, n in self.values(argument, scope)):
                self._base(argument, scope, quiet=True)
            else:
                self._visit(argument, scope)
        given = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute) and not names:
            result = isinstance(node.func.value, ast.Call)  # a method of a result: softmax(x).allclose(y)
            if not result or node.func.attr in _FILLING:
                self._changed(node.func.value, given, scope)
        elif node.args and any(n.split(".")[0] not in _WITHOUT_MEMORY for n in names):
            self._changed(node.args[0], given[1:], scope)  # operator.setitem(table, …), heapq.heappush(list, …)
        for kind, name in functions:
            if kind == "defined" or (kind == INSTANCE and isinstance(node.func, ast.Name)):
                self._given(name, given, scope, strict=True)
        if isinstance(node.func, ast.Name) and not names and scope.lookup(node.func.id)[0] is self.top:
            self._given(node.func.id, given, scope, strict=True)
        for keyword in node.keywords:
            if keyword.arg:
                self.unit.defines |= {keyword.arg} if names & {"types.SimpleNamespace", "dict"} else set()
        if names & {"collections.namedtuple", "dataclasses.make_dataclass"}:
            for argument in node.args[1:]:
                for value in texts(argument, scope) or []:
                    parts = value.replace(",", " ").split() if isinstance(value, str) else value
                    self.unit.defines |= {p for p in parts if isinstance(p, str)} if isinstance(parts, list) else set()

    def _options(self, node: ast.Call, names: set[str], scope: Scope) -> None:
        """Records a call whose options make it shorten vectors, or may do so because its arguments can't be read."""
        handed = node.args[:1] if names & _HANDING_ON else []
        tables = {*names, *(n for a in handed for k, n in self.values(a, scope) if k == "library")} & _TABLES.keys()
        unread = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
        many = tables and len(node.args) - len(handed) > max(_TABLES[t] for t in tables)
        mapped = tables and names & {"builtins.map", "map", "functools.reduce", "reduce"}
        if any(k.arg in _SHORTENING for k in node.keywords) or (tables and (unread or many or mapped)):
            self._say("library", _RENORM, node)

    def _by_name(self, node: ast.Call, names: set[str], scope: Scope) -> None:
        """Handles getattr(x, "…") and similar calls."""
        if len(node.args) < 2 or any(isinstance(a, ast.Starred) for a in node.args) or node.keywords:
            self._say("odd", min(names), node)
            self._all([*node.args, *(k.value for k in node.keywords)], scope)
            return
        value, key, *rest = node.args
        keys = texts(key, scope)
        if names & {"hasattr"}:
            self._base(value, scope, quiet=True)
        elif keys is None or not all(isinstance(k, str) for k in keys):
            owners = {k for k, _ in self.values(value, scope)}
            self._say("odd", min(names), node, next(iter(owners)) if len(owners) == 1 else "")
            if INSTANCE in owners and names & {"setattr"} and self.classes:
                self.unit.flexible.add(self.classes[-1])
            self._base(value, scope, quiet=bool(owners))
        elif "getattr" in names:
            for name in keys:
                self._looked_up(value, name, node, scope)
        else:
            self._stored(value, keys, node, scope)
            self._base(value, scope, quiet=bool(self.values(value, scope)))
            for name in keys:
                self._given(name, rest, scope)
        self._all([key, *rest], scope)

    def _text(self, argument: ast.AST, node: ast.AST, scope: Scope) -> None:
        keys = texts(argument, scope)
        if keys is None:
            self._say("odd", "attrgetter", node)
        for key in keys or []:
            for name in str(key).split("."):
                self._say("attribute", name, node)

    def _given(self, name: str, nodes: Sequence[ast.AST], scope: Scope, strict: bool = False) -> None:
        """Records what is passed to a function or stored somewhere, if it may be called later."""
        for node in nodes:
            if isinstance(node, ast.Name) and any(b.kind == "argument" for b in scope.lookup(node.id)[1]):
                self.unit.forwards.add(name)
            elif self.callable(node, scope, strict):
                if scope is not self.top:  # inside a function: record the whole unit
                    self.unit.gives.append((name, self.unit))
                    continue
                part = Unit(self.unit.cell, self.unit.node, self.unit.trusted)
                Reader(part, self.top)._visit(node, scope)
                self.unit.gives.append((name, part))

    # ---- scopes ----------------------------------------------------------------------------------------------------
    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        if isinstance(scope.node, ast.ClassDef):
            self.unit.defines.add(node.name)
        elif scope is self.top or scope.lookup(node.name)[0] is self.top:
            self.unit.binds.add(node.name)
        self._all(node.decorator_list, scope)
        self._arguments(node.args, scope)
        self._annotation(node.returns, scope)
        self._all(node.body, scope_of(node, scope))

    def _arguments(self, a: ast.arguments, scope: Scope) -> None:
        self._all([*a.defaults, *a.kw_defaults], scope)
        for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
            if argument is not None:
                self._annotation(argument.annotation, scope)

    def _annotation(self, node: ast.AST | None, scope: Scope) -> None:
        # Type names in annotations don't matter; code that runs or binds names in them does.
        if node is not None and any(isinstance(n, ast.NamedExpr | ast.Call | ast.Lambda) for n in ast.walk(node)):
            self._visit(node, scope)

    def _lambda(self, node: ast.Lambda, scope: Scope) -> None:
        self._arguments(node.args, scope)
        self._visit(node.body, scope_of(node, scope))

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        if scope is self.top:
            self.unit.binds.add(node.name)
        self._all(node.decorator_list, scope)
        for base in node.bases:
            for kind, name in self.values(base, scope):
                if kind == "library":
                    self._say("base", name, base)
            self._visit(base, scope)
        for keyword in node.keywords:
            self._say("odd", f"{keyword.arg or '**'}= of a class", keyword.value)
            self._visit(keyword.value, scope)
        self.classes.append(node.name)
        self._all(node.body, scope_of(node, scope))
        self.classes.pop()

    def _comprehension(self, node: ast.ListComp, scope: Scope) -> None:
        inner = scope_of(node, scope)
        for child in ast.iter_child_nodes(node):
            self._visit(child, inner)

    def _pattern(self, node: ast.MatchClass, scope: Scope) -> None:
        for name in node.kwd_attrs:
            self._say("attribute", name, node)
        for child in ast.iter_child_nodes(node):
            self._visit(child, scope)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        module = "." * getattr(node, "level", 0) + (getattr(node, "module", "") or "")
        for alias in node.names:
            star, dotted = alias.name == "*", f"{module}.{alias.name}" if module else alias.name
            self._say("star" if star else "import", module if star else dotted, node)
            if scope is self.top and not star:
                self.unit.binds.add(alias.asname or alias.name.split(".")[0])

    def _handler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        if node.name and scope is self.top:
            self.unit.binds.add(node.name)
        for child in ast.iter_child_nodes(node):
            self._visit(child, scope)

    def _pattern_name(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping, scope: Scope) -> None:
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        if name and scope is self.top:
            self.unit.binds.add(name)
        for child in ast.iter_child_nodes(node):
            self._visit(child, scope)


def gather(units: Sequence[Unit], top: Scope) -> Iterator[Unit]:
    """Reads the statements; yields those that are nested too deeply to be read."""
    for unit in units:
        try:
            Reader(unit, top).read()
        except RecursionError:
            yield unit


_HANDLERS: dict[type[ast.AST], Callable[[Reader, Any, Scope], None]] = {
    ast.Name: Reader._name,
    ast.Attribute: Reader._attribute,
    ast.Assign: Reader._assign,
    ast.AnnAssign: Reader._assign,
    ast.AugAssign: Reader._assign,
    ast.Subscript: Reader._subscript,
    ast.Call: Reader._call,
    ast.FunctionDef: Reader._define,
    ast.AsyncFunctionDef: Reader._define,
    ast.Lambda: Reader._lambda,
    ast.ClassDef: Reader._class,
    ast.MatchClass: Reader._pattern,
    ast.MatchAs: Reader._pattern_name,
    ast.MatchStar: Reader._pattern_name,
    ast.MatchMapping: Reader._pattern_name,
    ast.Import: Reader._import,
    ast.ImportFrom: Reader._import,
    ast.ExceptHandler: Reader._handler,
    **dict.fromkeys(COMPREHENSIONS, Reader._comprehension),
}
