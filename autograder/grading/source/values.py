"""Finds what an expression may stand for: an object of a library, something that the notebook defines, or unknown."""

import ast
from collections.abc import Iterable

from .folding import texts
from .scopes import BUILTINS, Scope, canonical

Value = tuple[str, str]
INSTANCE = "an instance"
UNKNOWN: Value = ("unknown", "")  # only next to other values; if nothing is known, the set is empty
_HOLDERS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Starred)


class Values:
    """Looks expressions up in the scopes of a notebook. classes: names of the classes around the current expression."""

    def __init__(self, top: Scope) -> None:
        self.top = top
        self.classes: list[str] = []

    def values(self, node: ast.AST, scope: Scope, depth: int = 0) -> set[Value]:
        """The values that an expression may have; the empty set if it is unknown.

        Values are ("library", dotted name), ("defined", name of a function or class of the notebook) and
        (INSTANCE, name of its class).
        """
        if depth > 8:
            return set()
        scope.spend()
        if isinstance(node, ast.Name):
            return self._named(node.id, scope, depth)
        if isinstance(node, ast.Attribute):
            return self._of(self.values(node.value, scope, depth + 1), node.attr)
        if isinstance(node, ast.NamedExpr):
            return self.values(node.value, scope, depth + 1)
        if isinstance(node, ast.IfExp | ast.BoolOp):
            parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
            return _either(self.values(part, scope, depth + 1) for part in parts)
        if isinstance(node, ast.Call):
            return self._result(node, scope, depth)
        if isinstance(node, ast.Subscript):  # vars(torch)["sys"], sys.modules["torch"]
            owners = {n for k, n in self.values(node.value, scope, depth + 1) if k == "library"}
            keys = texts(node.slice, scope) or []
            if any(o == "sys.modules" for o in owners):
                return {("library", canonical(k)[0]) for k in keys if isinstance(k, str)}
            roots = {o.removesuffix(".__dict__") for o in owners if o.endswith(".__dict__")}
            return self._of({("library", r) for r in roots}, *(k for k in keys if isinstance(k, str)))
        return set()

    def _of(self, owners: Iterable[Value], *names: str) -> set[Value]:
        return {("library", canonical(f"{o}.{name}")[0]) for k, o in owners if k == "library" for name in names}

    def _named(self, name: str, scope: Scope, depth: int) -> set[Value]:
        home, bindings = scope.lookup(name)
        found: list[set[Value]] = []
        if home is None or home.parent is None:
            found += [{("library", canonical(f"{m}.{name}")[0])} for m in self.top.stars_of(name)]
        if not bindings and not found and name in BUILTINS:
            return {("library", f"builtins.{name}")}
        for b in bindings:
            if b.kind == "import":
                found.append({("library", canonical(b.dotted)[0])})
            elif b.kind == "value":
                found.append(self.values(b.node, b.scope or scope, depth + 1))
            elif b.kind == "define":
                found.append({("defined", name)})
            else:
                owner = _self_of(home, name) if b.kind == "argument" and home is not None else ""
                found.append({(INSTANCE, owner)} if owner else set())
        return _either(found)

    def _result(self, node: ast.Call, scope: Scope, depth: int) -> set[Value]:
        functions = self.values(node.func, scope, depth + 1)
        names = {n for k, n in functions if k == "library"}
        if names & {"builtins.getattr", "inspect.getattr_static"} and len(node.args) > 1:
            keys = [k for k in texts(node.args[1], scope) or [] if isinstance(k, str)]
            return self._of(self.values(node.args[0], scope, depth + 1), *keys)
        if "builtins.vars" in names and node.args:
            return self._of(self.values(node.args[0], scope, depth + 1), "__dict__")
        if names & {"builtins.__import__", "importlib.import_module"} and node.args:
            return {("library", canonical(k)[0]) for k in texts(node.args[0], scope) or [] if isinstance(k, str)}
        if "builtins.super" in names:
            return {(INSTANCE, self.classes[-1])} if self.classes else set()
        # attrgetter("a.b")(torch)
        if isinstance(node.func, ast.Call) and node.args:
            inner = {n for k, n in self.values(node.func.func, scope, depth + 1) if k == "library"}
            if "operator.attrgetter" in inner and node.func.args:
                keys = [k for k in texts(node.func.args[0], scope) or [] if isinstance(k, str)]
                return self._of(self.values(node.args[0], scope, depth + 1), *keys)
        return {(INSTANCE, n) for k, n in functions if k == "defined" and n[:1].isupper()}

    def callable(self, node: ast.AST, scope: Scope, strict: bool, depth: int = 0) -> bool:
        """True if an expression may be or contain a function. strict: only if it surely does."""
        if depth > 6:
            return not strict
        if isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Name | ast.Attribute):
            found = self.values(node, scope)
            if any(k == "library" and not n.isupper() or k == "defined" for k, n in found):
                return True
            bindings = scope.lookup(node.id)[1] if isinstance(node, ast.Name) else []
            kept = [b for b in bindings if b.kind in ("value", "part", "mixed")]
            if kept or strict:
                return any(self.callable(b.node, b.scope or scope, strict, depth + 1) for b in kept)
            return isinstance(node, ast.Name) or self.callable(node.value, scope, strict, depth + 1)
        if isinstance(node, ast.Call):
            names = [n for k, n in self.values(node.func, scope) if k == "library"]
            if isinstance(node.func, ast.Attribute) and not names:  # a method of a tensor returns a tensor
                return not strict and self.callable(node.func.value, scope, strict, depth + 1)
            made = (n.rpartition(".")[2][:1].isupper() or n.split(".")[0] in ("functools", "operator") for n in names)
            handed = any(self.callable(a, scope, True, depth + 1) for a in node.args)  # torch.vmap(torch.exp)
            return any(made) or handed or "builtins.getattr" in names or not (names or strict)
        if isinstance(node, ast.Await | ast.Yield):
            return not strict
        if isinstance(node, (*_HOLDERS, ast.Subscript, ast.ListComp, ast.GeneratorExp)):
            children = (c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr))
            return any(self.callable(c, scope, strict, depth + 1) for c in children)
        return False


def _self_of(scope: Scope, name: str) -> str:
    """The class whose instance the argument ``name`` is, if it is the first argument of a method; else ""."""
    node, parent = scope.node, scope.parent
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or parent is None:
        return ""
    arguments = [*node.args.posonlyargs, *node.args.args]
    plain = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
    # Other decorators may pass anything to the function.
    known = all(isinstance(d, ast.Name) and d.id in ("property", "classmethod") for d in node.decorator_list)
    known = known or all(_is_quiet(d) for d in node.decorator_list)
    if isinstance(parent.node, ast.ClassDef) and arguments and arguments[0].arg == name and known:
        return "" if "staticmethod" in plain else parent.node.name
    return ""


def _is_quiet(node: ast.expr) -> bool:
    text = ast.unparse(node)[:60]
    return text in ("torch.no_grad()", "property", "classmethod", "cached_property", "functools.cached_property") or (
        text.endswith((".setter", ".getter", "abstractmethod"))
    )


def _either(parts: Iterable[set[Value]]) -> set[Value]:
    """The union of the values of alternatives, with UNKNOWN if some of them are unknown."""
    found = [p or {UNKNOWN} for p in parts]
    values = {v for p in found for v in p}
    return set() if values == {UNKNOWN} else values
