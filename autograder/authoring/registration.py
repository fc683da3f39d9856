"""Puts a new exercise into a unit's list ``EXERCISES``, as text: the list stays as it was, one name longer."""

import ast


class NotUnderstood(ValueError):
    """A file is written in a way that cannot be extended here; the message says what to do by hand."""


def with_import(text: str, module: str) -> str:
    """The text of a package's ``__init__`` that imports one more of its modules. Raises NotUnderstood."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module is None:
            start, end = _span(text, node)
            names = sorted({module, *(alias.name for alias in node.names)})
            return f"{text[:start]}from . import {', '.join(names)}{text[end:]}"
    raise NotUnderstood(f"it has no `from . import …`; import {module} there by hand")


def with_entry(text: str, name: str, position: int) -> str:
    """The text of a file whose ``EXERCISES`` lists one more exercise.

    name: an expression for it. position: how many exercises stand before it. Raises NotUnderstood.
    """
    entries = list_of(text).elts
    if not entries or position > len(entries) or any(isinstance(e, ast.Starred) for e in entries):
        raise NotUnderstood(f"its EXERCISES is no plain list of exercises; add {name} there by hand")
    start, end = _span(text, entries[max(position - 1, 0)])
    return f"{text[:end]}, {name}{text[end:]}" if position else f"{text[:start]}{name}, {text[start:]}"


def list_of(text: str) -> ast.List:
    """The list display that ``EXERCISES`` is. Raises NotUnderstood."""
    for node in ast.parse(text).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="EXERCISES")], value=ast.List() as found):
                return found
    raise NotUnderstood("it has no list EXERCISES = […]; list the exercise there by hand")


def _span(text: str, node: ast.stmt | ast.expr) -> tuple[int, int]:
    """Where a node begins and ends in the text, in characters."""
    lines = text.splitlines(keepends=True)

    def at(line: int, column: int) -> int:
        return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())

    return at(node.lineno, node.col_offset), at(node.end_lineno or node.lineno, node.end_col_offset or 0)
