"""Makes one change in the syntax tree of a right answer, and compiles the result."""

import ast
import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

Replacement = ast.AST | Sequence[ast.stmt]  # replaces a node; a list of statements may replace a statement
Edits = Iterator[tuple[str, Replacement]]  # an operator's change to a node in words, and the result
Function = ast.FunctionDef | ast.Lambda


class Code:
    """Statements whose nodes know their parents and the function around them.

    statements: the top level of a cell or of a part of a module. may_change: whether a node belongs to the answer.
    """

    def __init__(self, statements: list[ast.stmt], may_change: Callable[[ast.AST, "Code"], bool]) -> None:
        self.statements, self.may_change = statements, may_change
        self.parent: dict[ast.AST, ast.AST] = {}
        for statement in statements:
            for node in ast.walk(statement):
                self.parent |= {child: node for child in ast.iter_child_nodes(node)}

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The ancestors of a node, the nearest first."""
        while node in self.parent:
            node = self.parent[node]
            yield node

    def function(self, node: ast.AST) -> Function | None:
        """The function or lambda that contains a node; None at the top level."""
        return next((n for n in self.above(node) if isinstance(n, Function)), None)

    def nodes(self, statement: ast.stmt) -> Iterator[ast.AST]:
        """Nodes of a statement that may be changed: nothing in annotations, docstrings or error messages."""
        waiting: list[ast.AST] = [statement]
        while waiting:
            node = waiting.pop(0)
            if self.may_change(node, self):
                yield node
            waiting += self._inside(node)

    def _inside(self, node: ast.AST) -> list[ast.AST]:
        if isinstance(node, ast.Raise | ast.JoinedStr) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            return []
        outside: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef):
            outside = [node.returns, *node.decorator_list]
        elif isinstance(node, ast.arg | ast.AnnAssign):
            outside = [node.annotation]
        elif isinstance(node, ast.Assert):
            outside = [node.msg]
        return [child for child in ast.iter_child_nodes(node) if child not in outside]


@dataclass(frozen=True)
class Operator:
    """A kind of mistake. quiet: it may do nothing at run time, and if it never does anything, it is not a mistake."""

    name: str
    kinds: tuple[type[ast.AST], ...]
    edit: Callable[[Any, Code], Edits]
    quiet: bool = False


@dataclass(frozen=True)
class Mutant:
    """A right answer with one change.

    key: unique, and stable as long as the function around the change is. line: in the file, from 1. at: index of the
    subject's statement that it replaces; code: the replacement. before, after: the statement's text.
    """

    key: str
    subject: str
    operator: str
    line: int
    says: str
    at: int
    code: CodeType
    before: str
    after: str
    quiet: bool

    @property
    def what(self) -> str:
        """One line that describes the mutant, for lists of survivors."""
        return f"{self.subject}, {self.operator}: {self.says}"


def mutants(exercise: str, subject: str, code: Code, operators: Sequence[Operator], first: int = 1) -> Iterator[Mutant]:
    """Every mutant of a subject once, in the order of the text.

    exercise, subject: names that enter the keys. first: line number in the file of the code's first line.
    """
    for at, statement in enumerate(code.statements):
        before = ast.unparse(statement)
        seen = {before}
        for node in list(code.nodes(statement)):
            around = _around(node, code)
            for operator in operators:
                if not isinstance(node, operator.kinds):
                    continue
                for says, replacement in operator.edit(node, code):
                    made = _text(statement, node, replacement, code, around)
                    if made is None or made[0] in seen:
                        continue
                    after, function = made
                    seen.add(after)
                    compiled = _compiled(after)
                    if compiled:
                        key = _key(exercise, subject, operator.name, function)
                        line = getattr(node, "lineno", 1) + first - 1
                        said = " ".join(says.split())
                        yield Mutant(
                            key, subject, operator.name, line, said, at, compiled, before, after, operator.quiet
                        )


class Composer:
    """Two changes of one subject at once."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self._operators = {operator.name: operator for operator in operators}
        self._after: dict[tuple[str, str], dict[str, set[str]]] = {}  # (changed text, operator) → says → results

    def both(self, a: Mutant, b: Mutant) -> dict[int, CodeType] | None:
        """Statement → its code with both changes; None if they conflict.

        The changes are made one after the other, in both orders: the result common to both orders has both changes.
        """
        if a.at != b.at:
            return {a.at: a.code, b.at: b.code}
        found = self._changed(a.after, b) & self._changed(b.after, a)
        compiled = _compiled(found.pop()) if len(found) == 1 else None
        return {a.at: compiled} if compiled else None

    def _changed(self, text: str, mutant: Mutant) -> set[str]:
        key = text, mutant.operator
        if key not in self._after:
            results = self._after[key] = {}
            body = ast.parse(text).body
            if len(body) == 1:
                for made in mutants("", "", Code(body, lambda node, code: True), [self._operators[mutant.operator]]):
                    results.setdefault(made.says, set()).add(made.after)
        return self._after[key].get(mutant.says, set())


def _around(node: ast.AST, code: Code) -> list[ast.ClassDef | ast.FunctionDef]:
    """The class and the outermost function that contain a node; the key depends on them."""
    path = [n for n in (node, *code.above(node)) if isinstance(n, ast.ClassDef | ast.FunctionDef)][::-1]
    return path[: 1 + next((i for i, n in enumerate(path) if isinstance(n, ast.FunctionDef)), len(path))]


def _text(
    statement: ast.stmt,
    node: ast.AST,
    replacement: Replacement,
    code: Code,
    around: list[ast.ClassDef | ast.FunctionDef],
) -> tuple[str, str] | None:
    """(text of the statement, text of the function around the node) with the node replaced; restores the tree."""
    if node is statement:
        new = [replacement] if isinstance(replacement, ast.AST) else list(replacement)
        after = "\n".join(map(ast.unparse, new))
        return after, after
    parent = code.parent[node]
    field, index = _place(parent, node)
    held = getattr(parent, field)
    if index is None:
        setattr(parent, field, replacement)
    else:
        new = [replacement] if isinstance(replacement, ast.AST) else list(replacement)
        setattr(parent, field, [*held[:index], *new, *held[index + 1 :]] or [ast.Pass()])
    try:
        after = ast.unparse(statement)
        names = ".".join(n.name for n in around)
        if len(around) < 2:
            return after, f"{names}\n{after}"
        method = replacement if node is around[-1] and isinstance(replacement, ast.AST) else around[-1]
        return after, f"{names}\n{ast.unparse(method)}"
    except (AttributeError, TypeError, ValueError):  # a tree that cannot be unparsed
        return None
    finally:
        setattr(parent, field, held)


def _place(parent: ast.AST, node: ast.AST) -> tuple[str, int | None]:
    for field, value in ast.iter_fields(parent):
        if value is node:
            return field, None
        if isinstance(value, list):
            for i, item in enumerate(value):
                if item is node:
                    return field, i
    raise LookupError(node)


def _compiled(text: str) -> CodeType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # suspicious code is intended here
            return compile(text, "<mutant>", "exec")
    except (SyntaxError, ValueError):
        return None


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


def changed(node: Any, **fields: Any) -> Any:
    """A copy of a node with some fields changed; the children are shared."""
    return ast.copy_location(type(node)(**({name: value for name, value in ast.iter_fields(node)} | fields)), node)


def expression(text: str) -> ast.expr:
    """The tree of an expression."""
    return ast.parse(text, mode="eval").body


def number(node: ast.AST | None) -> int | float | None:
    """The value of a node that is a number, perhaps with a minus; None for anything else, True and False included."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = number(node.operand)
        return None if value is None else -value
    held = node.value if isinstance(node, ast.Constant) else None
    return held if isinstance(held, int | float) and not isinstance(held, bool) else None


def without(items: list[Any], index: int) -> list[Any]:
    """A list without one of its items."""
    return [*items[:index], *items[index + 1 :]]


def short(node: ast.AST, length: int = 70) -> str:
    """A node's text in one line."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= length else text[: length - 1] + "…"
