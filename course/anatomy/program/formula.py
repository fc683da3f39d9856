"""A formula's tree as text, laid out as SymPy would print it.

SymPy does not run here: its printers compute what they print, and a few nodes from outside can keep them busy forever.
Only trees that ``symbolic.Expression`` has checked come here; the text, and the time it takes, are bounded.
"""

import math
from collections.abc import Iterator
from typing import Any

from ..system.texts import Writer, written

Node = list[Any]  # [name, part, …], see anatomy.program.symbolic

CHARACTERS = 400
_ORDERED = 250  # nodes; the terms of a larger formula are not put into their usual order
_NAMES = {"Pi": "pi", "ImaginaryUnit": "I", "Exp1": "E"}
_ADD, _MUL, _POW, _CALL = 40, 50, 60, 70  # how strongly an operator binds
# The order in which SymPy lists factors of several kinds.
_RANKS = {"Rational": (1, 0), "Float": (1, 0), "Symbol": (2, 0), "Mul": (3, 0), "Add": (3, 1), "Pow": (3, 2)}
_RANKS |= {"exp": (4, 10), "log": (4, 11), "sin": (4, 20), "cos": (4, 21), "tan": (4, 22)}
_RANKS |= {"conjugate": (4, 40), "re": (4, 41), "im": (4, 42), "Abs": (5, 0)}
_ONE: Node = ["Rational", "1", "1"]


def text_of(tree: Node) -> str:
    """The text of a checked tree: at most CHARACTERS, and an ellipsis if it is longer."""
    small = sum(1 for _, _ in zip(_nodes(tree), range(_ORDERED + 1), strict=False)) <= _ORDERED
    return written(lambda out: _Printer(out, _Order() if small else None).expression(tree), CHARACTERS)


def _nodes(tree: Node) -> Iterator[Node]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [part for part in node[1:] if isinstance(part, list)]


def _is_number(node):
    return node[0] in ("Rational", "Float")


def _is_negative(node):
    """Is it written with a minus sign in front?"""
    if node[0] == "Rational":
        return node[1].startswith("-")
    if node[0] == "Float":
        return node[1] < 0
    return node[0] == "Mul" and _is_number(node[1]) and _is_negative(node[1])


def _negated(node):
    """A negative node without its sign."""
    if node[0] == "Rational":
        return ["Rational", node[1][1:], node[2]]
    if node[0] == "Float":
        return ["Float", -node[1]]
    first, rest = _negated(node[1]), node[2:]
    return ["Mul", *rest] if first == _ONE and rest else ["Mul", first, *rest]


def _strength(node):
    name = node[0]
    if name == "Add" or _is_negative(node):
        return _ADD
    if name == "Mul" or name == "Rational" and node[2] != "1":
        return _MUL
    return {"Pow": _POW}.get(name, _CALL)


class _Printer:
    """Writes nodes. order: an _Order, or None to keep the order of the tree."""

    def __init__(self, out: Writer, order: "_Order | None") -> None:
        self.out, self.order = out, order

    def expression(self, node: Node) -> None:
        name, parts = node[0], node[1:]
        if name == "Symbol":
            self.out.put(parts[0])
        elif name == "Rational":
            self.out.put(parts[0] if parts[1] == "1" else f"{parts[0]}/{parts[1]}")
        elif name == "Float":
            self.out.put(f"{parts[0]:.15g}")
        elif name == "Matrix":
            self._matrix(parts[0], parts[1], parts[2:])
        elif name == "Add":
            self._sum(node)
        elif name == "Mul":
            self._product(node)
        elif name == "Pow":
            self._power(*parts)
        else:
            self._call(_NAMES.get(name, name), parts)

    def _call(self, name, parts):
        self.out.put(name)
        if parts:
            self.out.put("(")
            self._listed(parts)
            self.out.put(")")

    def _listed(self, nodes):
        for i, node in enumerate(nodes):
            if i:
                self.out.put(", ")
            self.expression(node)

    def _matrix(self, rows, columns, entries):
        self.out.put("Matrix([")
        for row in range(rows):
            self.out.put(", [" if row else "[")
            self._listed(entries[row * columns : (row + 1) * columns])
            self.out.put("]")
        self.out.put("])")

    def _within(self, node, strength):
        """Writes a part, in parentheses unless it binds more strongly than the expression around it."""
        self.out.step()
        enclosed = _strength(node) <= strength
        if enclosed:
            self.out.put("(")
        self.expression(node)
        if enclosed:
            self.out.put(")")

    def _sum(self, node):
        for i, term in enumerate(self.order.terms(node) if self.order else node[1:]):
            negative = _is_negative(term)
            if i or negative:
                self.out.put(f" {'-' if negative else '+'} " if i else "-")
            term = _negated(term) if negative else term
            self._within(term, _ADD)

    def _product(self, node):
        if _is_negative(node):
            self.out.put("-")
            node = _negated(node)
        above, below = [], []
        for factor in self.order.factors(node) if self.order else node[1:]:
            if factor[0] == "Rational":
                above += [["Rational", factor[1], "1"]] if factor[1] != "1" else []
                below += [["Rational", factor[2], "1"]] if factor[2] != "1" else []
            elif factor[0] == "Pow" and _is_negative(factor[2]):
                exponent = _negated(factor[2])
                below.append(factor[1] if exponent == _ONE else ["Pow", factor[1], exponent])
            else:
                above.append(factor)
        self._factors(above or [_ONE])
        if below:
            self.out.put("/(" if len(below) > 1 else "/")
            self._factors(below)
            self.out.put(")" if len(below) > 1 else "")

    def _factors(self, nodes):
        for i, node in enumerate(nodes):
            if i:
                self.out.put("*")
            self._within(node, _MUL)

    def _power(self, base, exponent):
        if exponent[0] == "Rational" and exponent[1] in ("1", "-1") and exponent[2] == "2":
            self._call("sqrt" if exponent[1] == "1" else "1/sqrt", [base])
        elif exponent == ["Rational", "-1", "1"]:
            self.out.put("1/")
            self._within(base, _POW)
        else:
            self._within(base, _POW)
            self.out.put("**")
            self._within(exponent, _POW)


class _Order:
    """The order in which SymPy writes terms and factors: powers of the first symbol first, numbers last in a sum."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[Any, ...]] = {}

    def factors(self, node: Node) -> list[Node]:
        """The factors of a product."""
        first, *others = node[1:]
        if first == _ONE or any(_is_number(f) for f in others):  # SymPy keeps the order of such a product
            return node[1:]
        return sorted(node[1:], key=self._key)

    def terms(self, node: Node) -> list[Node]:
        """The terms of a sum."""
        terms: list[Node] = node[1:]
        numbers = [t for t in terms if _is_number(t)]
        others = [t for t in terms if not _is_number(t)]
        if len(numbers) == len(others) == 1 and not _is_negative(numbers[0]):
            if others[0][0] == "Mul" and len(others[0]) == 3 and _is_negative(others[0]):
                return numbers + others  # 1 - x
        powers = [self._powers(t) for t in terms]
        bases = sorted({base for _, found in powers for base in found})

        def key(i):
            coefficient, found = powers[i]
            return [-found.get(base, 0) for base in bases], coefficient

        return [terms[i] for i in sorted(range(len(terms)), key=key)]

    def _powers(self, term):
        """(number in front, dict key of a base → its power)."""
        coefficient, found = 1.0, {}
        for factor in term[1:] if term[0] == "Mul" else [term]:
            if _is_number(factor) or factor[0] == "Pi":
                coefficient *= _number(factor)
            elif factor[0] == "Pow" and factor[2][0] == "Rational" and factor[2][2] == "1":
                found[self._key(factor[1])] = int(factor[2][1])
            else:
                found[self._key(factor)] = 1
        return coefficient, found

    def _key(self, node):
        if _is_number(node):
            return (1, 0, ""), (0, ()), (), _number(node)
        if id(node) not in self._keys:  # each only once: a node can be reached from all its ancestors
            self._keys[id(node)] = self._made(node)
        return self._keys[id(node)]

    def _made(self, node):
        coefficient, exponent = 1.0, ()
        if node[0] == "Mul" and _is_number(node[1]) and len(node) == 3:
            coefficient, node = _number(node[1]), node[2]
        if node[0] == "Pow":
            node, exponent = node[1], self._key(node[2])
        name = node[0]
        rank = (*_RANKS.get(name, (2, 0)), name)
        if name == "Symbol":
            return rank, (1, (node[1],)), exponent, coefficient
        parts = {"Add": self.terms, "Mul": self.factors}.get(name, lambda n: n[1:])(node)
        return rank, (len(parts), tuple(self._key(p) for p in parts)), exponent, coefficient


def _number(node):
    if node[0] == "Pi":
        return math.pi
    return node[1] if node[0] == "Float" else int(node[1]) / (int(node[2]) or 1)
