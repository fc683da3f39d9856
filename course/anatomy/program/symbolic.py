"""SymPy expressions as plain trees, and equality of two of them.

``sympify`` and ``srepr`` evaluate text as Python, so they are never used on anything that came from outside.
An expression travels as nested lists with a short list of allowed node names, and is compared by its value at random
points (a counterexample is then something a learner can check by hand).
"""

import cmath
import random
import re
import sys
from collections.abc import Callable
from typing import Any

from ..system.translation import _
from .formula import Node, text_of

Number = complex | float
Point = dict[str, float]  # a number for each symbol

MAX_NODES = 4_000
MAX_DEPTH = 60
MAX_NAME = 40  # characters of a symbol
_SUMS = ("Add", "Mul")  # of any number of parts
_FUNCTIONS = ("cos", "sin", "tan", "exp", "log", "conjugate", "re", "im", "Abs")
_NAMES = (*_SUMS, "Pow", *_FUNCTIONS)
_INTEGER = re.compile(r"-?[0-9]{1,30}")
_CONSTANTS = {"Pi": cmath.pi, "ImaginaryUnit": 1j, "Exp1": cmath.e}


class NotAnExpression(ValueError):
    """The tree has a node that exercises do not use, or is too large."""


def is_sympy(value: Any) -> bool:
    """True for a SymPy expression or matrix. Does not import SymPy: without it there are none."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Basic | sympy.MatrixBase)


def to_tree(value: Any) -> Node:
    """Nested lists for a SymPy expression or matrix; parts that they cannot hold become ``["?", what it is]``."""
    import sympy

    left = MAX_NODES

    def tree(value, depth):
        nonlocal left
        left -= 1
        if left < 0 or depth > MAX_DEPTH:  # parts can be shared: written out they may be many more than they seem
            return ["?", _("a formula of too many parts")]
        if isinstance(value, sympy.MatrixBase):
            return ["Matrix", *value.shape, *[tree(v, depth + 1) for v in value]]
        if isinstance(value, sympy.Symbol):
            # To SymPy, a θ that is not declared real is a different symbol from the notebook's.
            return [
                "Symbol",
                (value.name if value.is_real else _("{name} (not real)").format(name=value.name))[:MAX_NAME],
            ]
        if isinstance(value, sympy.Rational):
            # Truncated, it would be a different number, and Python refuses to print the longest ones at all.
            if max(abs(value.p), value.q) >= 10**30:
                return ["?", _("a number of more than 30 digits")]
            return ["Rational", str(value.p), str(value.q)]
        if isinstance(value, sympy.Float):
            return ["Float", float(value)]
        name = type(value).__name__
        if name in _CONSTANTS:
            return [name]
        if name in _NAMES:
            return [name, *[tree(a, depth + 1) for a in value.args]]
        return ["?", name[:40]]

    return tree(value, 0)


class Expression:
    """A received tree: can be evaluated at a point and shown; never evaluated as code.

    Raises NotAnExpression when the tree is malformed.
    """

    def __init__(self, tree: Any) -> None:
        self.tree, self._left = tree, MAX_NODES
        self.symbols: set[str] = set()
        self._check(tree, 0)
        self.shape: tuple[int, int] | None = (tree[1], tree[2]) if tree[0] == "Matrix" else None

    def _check(self, node, depth):
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise NotAnExpression(_("the expression is too large"))
        if not isinstance(node, list) or not node or not isinstance(node[0], str):
            raise NotAnExpression(_("not an expression"))
        name, args = node[0], node[1:]
        if name == "Symbol" and len(args) == 1 and isinstance(args[0], str) and len(args[0]) <= MAX_NAME:
            self.symbols.add(args[0])
        elif name == "Rational" and len(args) == 2 and all(isinstance(a, str) and _INTEGER.fullmatch(a) for a in args):
            pass
        elif name == "Float" and len(args) == 1 and isinstance(args[0], int | float) or name in _CONSTANTS and not args:
            pass
        elif name == "Matrix" and depth == 0 and len(args) >= 2 and all(isinstance(a, int) for a in args[:2]):
            if args[0] * args[1] != len(args) - 2 or args[0] < 1:
                raise NotAnExpression(_("a matrix whose size does not fit its entries"))
            for a in args[2:]:
                self._check(a, depth + 1)
        elif name in _SUMS and args or name in _FUNCTIONS and len(args) == 1 or name == "Pow" and len(args) == 2:
            for a in args:
                self._check(a, depth + 1)
        else:
            odd = str(args[0] if name == "?" and args else name)[:40]
            raise NotAnExpression(_("uses {odd}, which is not needed here").format(odd=odd))

    def at(self, point: Point) -> Number | list[Number]:
        """Value (or list of values, for a matrix) with the symbols replaced by the numbers in ``point``."""
        if self.shape:
            return [_value(n, point) for n in self.tree[3:]]
        return _value(self.tree, point)

    def to_sympy(self) -> Any:
        """The SymPy object. Its size was checked on arrival."""
        import sympy

        def build(node):
            name, args = node[0], node[1:]
            if name == "Symbol":
                return sympy.Symbol(args[0], real=True)
            if name == "Rational":
                return sympy.Rational(int(args[0]), int(args[1]))
            if name == "Float":
                return sympy.Float(args[0])
            if name in _CONSTANTS:
                return {"Pi": sympy.pi, "ImaginaryUnit": sympy.I, "Exp1": sympy.E}[name]
            if name == "Matrix":
                return sympy.Matrix(args[0], args[1], [build(a) for a in args[2:]])
            return getattr(sympy, name)(*[build(a) for a in args])

        return build(self.tree)

    def __str__(self) -> str:
        """As SymPy would print it, but without SymPy, and never longer than a line or two (``formula.text_of``)."""
        return text_of(self.tree)


def _value(node, point):
    name, args = node[0], node[1:]
    if name == "Symbol":
        return point[args[0]]
    if name == "Rational":
        return int(args[0]) / int(args[1])
    if name == "Float":
        return float(args[0])
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    v = [_value(a, point) for a in args]
    if name == "Add":
        return sum(v)
    if name == "Mul":
        product = 1
        for x in v:
            product *= x
        return product
    if name == "Pow":
        return complex(v[0]) ** v[1]
    return _COMPUTED[name](*v)


_COMPUTED: dict[str, Callable[[Any], Number]] = {
    "cos": cmath.cos,
    "sin": cmath.sin,
    "tan": cmath.tan,
    "exp": cmath.exp,
    "log": cmath.log,
    "conjugate": lambda z: complex(z).conjugate(),
    "re": lambda z: complex(z).real,
    "im": lambda z: complex(z).imag,
    "Abs": abs,
}


def _entries(value: Number | list[Number]) -> list[Number]:
    return value if isinstance(value, list) else [value]


def counterexample(
    got: Expression, expected: Expression, tries: int = 24, seed: int = 0
) -> tuple[Point, Number | list[Number] | str, Number | list[Number]] | None:
    """A point where two expressions differ, as (point, got value, expected value); None where none was found.

    Two different analytic expressions agree at 24 random points with probability zero, up to rounding: agreement
    within 1e-9 (relative) at all of them is accepted as equality.
    """
    rng = random.Random(seed)
    names = sorted(got.symbols | expected.symbols)
    for __ in range(tries):
        point = {n: round(rng.uniform(0.2, 2.9), 3) for n in names}
        want = expected.at(point)
        try:
            have = got.at(point)
            pairs = zip(_entries(have), _entries(want), strict=True)
            if any(not abs(h - w) <= 1e-9 * (1 + abs(w)) for h, w in pairs):
                return point, have, want
        except (ArithmeticError, ValueError):  # a division by zero, or a number too large for a float
            return point, _("not defined here"), want
    return None
