"""Removes bindings that were overridden before they were used, so that a name keeps only its later meanings.

An import at the top that a learner's own definition overrides says nothing about the answer. But only a definition
that surely ran overrides: a plain one in a cell that ran to its end. And a value that was used before that may live on
under another name: then all values are kept, and a person has to look.
"""

import ast
from bisect import bisect_right
from collections.abc import Collection, Sequence

from .scopes import Binding, Scope
from .statements import Unit


def take_away_overridden(units: Sequence[Unit], top: Scope, failed: Collection[str]) -> None:
    """Removes from ``top`` the bindings that no longer count after these statements have run in this order.

    failed: ids of cells that did not run to their end.
    """
    places = _Places(units)
    loaded = [
        {n.id for n in ast.walk(u.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} for u in units
    ]
    first_load: dict[str, int] = {}
    for i in reversed(range(len(units))):
        first_load.update(dict.fromkeys(loaded[i], i))
    last_star = max((i for i, u in enumerate(units) if any(map(_is_star, ast.walk(u.node)))), default=-1)
    for name, bindings in top.names.items():
        found = [(places.of(b) if b.scope is top else None, b) for b in bindings]
        sure = [i for i, b in found if i is not None and units[i].cell not in failed and gives(units[i], name)]
        if not sure or first_load.get(name, len(units)) <= (last := max(sure)):
            continue
        top.names[name] = [b for i, b in found if i is None or i >= last]
        top.settled[name] = units[last]
        if last > last_star:
            top.unstarred.add(name)


def gives(unit: Unit, name: str) -> bool:
    """True if a statement surely binds the name when its cell runs to the end.

    Plain definitions do. A statement that calls or looks up something may raise, and it is skipped if a package is
    missing.
    """
    node = unit.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name != name:
        return False
    if isinstance(node, ast.ClassDef):
        inner = [n for n in node.body if not _is_plain(n)]
        return not (node.decorator_list or node.keywords or inner) and all(map(_is_quiet, node.bases))
    return not node.decorator_list and _is_plain(node)


def _is_plain(node: ast.stmt) -> bool:
    """True for a function (its body doesn't run yet), a constant or ``pass``."""
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    a = node.args
    arguments = (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg)
    parts = [*a.defaults, *a.kw_defaults, node.returns, *(x.annotation for x in arguments if x is not None)]
    return all(_is_quiet(p) for p in parts if p is not None)


def _is_quiet(node: ast.expr) -> bool:
    """True for a constant, a name, a library class such as ``torch.Tensor``, and tuples and unions (``|``) of these."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.attr[:1].isupper()
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr) and _is_quiet(node.left) and _is_quiet(node.right)
    if isinstance(node, ast.Tuple):
        return all(map(_is_quiet, node.elts))
    return isinstance(node, ast.Constant | ast.Name)


def _is_star(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)


class _Places:
    """Finds the statement that a binding belongs to."""

    def __init__(self, units: Sequence[Unit]):
        self._of: dict[str, list[tuple[int, int, int]]] = {}
        for i, unit in enumerate(units):
            lines = [unit.node.lineno, *(d.lineno for d in getattr(unit.node, "decorator_list", ()))]
            self._of.setdefault(unit.cell, []).append((min(lines), unit.node.col_offset, i))

    def of(self, binding: Binding) -> int | None:
        """Index of the binding's statement; None if it cannot be determined."""
        starts, node = self._of.get(binding.cell, []), binding.node
        at = getattr(node, "lineno", None), getattr(node, "col_offset", None)
        if at[0] is None or at[1] is None:
            return None
        found = bisect_right(starts, (at[0], at[1], len(starts) + 10**9)) - 1
        return starts[found][2] if found >= 0 else None
