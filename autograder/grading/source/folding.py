"""Folds constant expressions such as ``"soft" + "max"``, without running code."""

import ast
from typing import Any

from .scopes import Binding, Scope

MAX_TEXT = 400  # characters of a folded constant
MAX_TEXTS = 40  # values that one expression may have


def texts(node: ast.AST | None, scope: Scope, depth: int = 0) -> list[Any] | None:
    """All values of a constant expression: one, or one per iteration of a loop over constants. None if not constant."""
    if node is None or depth > 12:
        return None
    scope.spend()
    fold = _FOLDS.get(type(node))
    try:
        found = fold(node, scope, depth + 1) if fold else None
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError, ArithmeticError, LookupError):
        return None
    if found is None or len(found) > MAX_TEXTS:
        return None
    return found if all(not isinstance(v, str | bytes | list | tuple) or len(v) <= MAX_TEXT for v in found) else None


def _constant(node: ast.Constant, scope: Scope, depth: int) -> list[Any] | None:
    return [node.value] if isinstance(node.value, str | bytes | int) else None


def _sequence(node: ast.List | ast.Tuple, scope: Scope, depth: int) -> list[Any] | None:
    items = [texts(e, scope, depth) for e in node.elts]
    return [[i[0] for i in items if i]] if all(i is not None and len(i) == 1 for i in items) else None


def _name(node: ast.Name, scope: Scope, depth: int) -> list[Any] | None:
    _, bindings = scope.lookup(node.id)
    found: list[Any] = []
    for b in bindings:
        values = texts(b.node, b.scope or scope, depth) if b.kind in ("value", "part") else None
        if values is None:
            return None
        if any(isinstance(v, list) for v in values) and (b.kind == "value" and node.id in scope.top.changed):
            return None  # a list that may have grown
        for v in values:
            found += list(v) if b.kind == "part" else [v]
    return found if found and len(found) <= MAX_TEXTS else None


def _binary(node: ast.BinOp, scope: Scope, depth: int) -> list[Any] | None:
    left, right = texts(node.left, scope, depth), texts(node.right, scope, depth)
    if left is None or right is None or len(left) * len(right) > MAX_TEXTS:
        return None
    pairs = [(a, b) for a in left for b in right]
    if isinstance(node.op, ast.Add):
        return [a + b for a, b in pairs]
    if isinstance(node.op, ast.Sub):
        return [a - b for a, b in pairs]
    if isinstance(node.op, ast.Mult) and all(isinstance(a, int) and abs(a) < 100 for a in right):
        return [a * b for a, b in pairs]
    if isinstance(node.op, ast.Mod) and all(isinstance(a, str) and "*" not in a and len(a) < 80 for a in left):
        return [a % (tuple(b) if isinstance(b, list) else b) for a, b in pairs]
    return None


def _fstring(node: ast.JoinedStr, scope: Scope, depth: int) -> list[Any] | None:
    found = [""]
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        if isinstance(part, ast.FormattedValue) and (part.format_spec is not None or part.conversion not in (-1, 115)):
            return None
        values = texts(inner, scope, depth)
        if values is None:
            return None
        found = [a + str(b) for a in found for b in values][: MAX_TEXTS + 1]
    return found


def _subscript(node: ast.Subscript, scope: Scope, depth: int) -> list[Any] | None:
    base = texts(node.value, scope, depth)
    if base is None:
        return None
    if isinstance(node.slice, ast.Slice):
        ends = [node.slice.lower, node.slice.upper, node.slice.step]
        parts = [texts(e, scope, depth) if e is not None else [None] for e in ends]
        if any(p is None or len(p) != 1 for p in parts):
            return None
        cut = slice(*(p[0] for p in parts if p))
        return [b[cut] for b in base]
    index = texts(node.slice, scope, depth)
    return [b[i] for b in base for i in index] if index is not None else None


def _unary(node: ast.UnaryOp, scope: Scope, depth: int) -> list[Any] | None:
    value = texts(node.operand, scope, depth)
    return [-v for v in value] if value is not None and isinstance(node.op, ast.USub) else None


_TEXT_METHODS = {"lower", "upper", "strip", "replace", "removeprefix", "removesuffix", "decode", "encode", "title"}
_TEXT_METHODS |= {"capitalize", "swapcase", "split", "lstrip", "rstrip", "casefold", "join"}


def _called(node: ast.Call, scope: Scope, depth: int) -> list[Any] | None:
    arguments = [texts(a, scope, depth) for a in node.args]
    if node.keywords or any(a is None or len(a) != 1 for a in arguments):
        return None
    plain = [a[0] for a in arguments if a]
    if isinstance(node.func, ast.Name) and not scope.lookup(node.func.id)[1]:
        call: dict[str, Any] = {
            "chr": chr,
            "str": str,
            "reversed": lambda v: list(reversed(v)),
            "list": list,
            "sorted": sorted,
        }
        call |= {"tuple": list, "bytes": bytes}
        return [call[node.func.id](*plain)] if node.func.id in call else None
    if isinstance(node.func, ast.Attribute):
        base = texts(node.func.value, scope, depth)
        if base is None:
            return None
        if node.func.attr == "format" and all("." not in b and "[" not in b and ":" not in b for b in base):
            return [b.format(*plain) for b in base]
        if node.func.attr in _TEXT_METHODS and all(isinstance(b, str | bytes) for b in base):
            return [getattr(b, node.func.attr)(*plain) for b in base]
    return None


def _comprehension(node: Any, scope: Scope, depth: int) -> list[Any] | None:
    """``chr(c) for c in (115, 111)``: one loop over constants."""
    generator = node.generators[0]
    if len(node.generators) != 1 or generator.ifs or not isinstance(generator.target, ast.Name):
        return None
    items = texts(generator.iter, scope, depth)
    if items is None or len(items) != 1:
        return None
    made = []
    for item in items[0]:
        inner = Scope(node, scope, {generator.target.id: [Binding("value", ast.Constant(item), scope=scope)]})
        value = texts(node.elt, inner, depth)
        if value is None or len(value) != 1:
            return None
        made += value
    return [made]


_FOLDS: dict[type[ast.AST], Any] = {
    ast.Constant: _constant,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.JoinedStr: _fstring,
    ast.Subscript: _subscript,
    ast.UnaryOp: _unary,
    ast.Call: _called,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
}
