"""Finds the words in a notebook's code: docstrings and comments, which may be replaced, and texts shown by calls.

Code runs the same in every language: a translation replaces only docstrings and comments of a cell. The text that a
call shows (``reveal``'s reason, ``described``'s text) is looked up when it is shown, by its English.
"""

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# Calls in notebooks whose literal texts the package translates when it shows them: name → (position, keyword).
SHOWN = {"reveal": (2, "because"), "described": (0, "alt")}
_WORD = re.compile(r"\b[a-z]{2,}\b")


@dataclass(frozen=True)
class Piece:
    """Words in a cell's code. first, last: (line from 0, column) of their beginning and end; text: the words."""

    kind: str  # "docstring" or "comment"
    text: str
    first: tuple[int, int]
    last: tuple[int, int]


def pieces(source: str) -> list[Piece]:
    """Docstrings and comments made of words, in order; none for a cell that is not pure Python (magics)."""
    try:
        tree = ast.parse(source)
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, tokenize.TokenError):
        return []
    found = [p for node in ast.walk(tree) for p in _docstring(node, source)]
    for token in tokens:
        text = token.string.lstrip("#").strip()
        if token.type == tokenize.COMMENT and not token.string.startswith("###") and len(_WORD.findall(text)) > 1:
            found.append(Piece("comment", text, _at(token.start), _at(token.end)))
    return sorted(found, key=lambda p: p.first)


def _at(place: tuple[int, int]) -> tuple[int, int]:
    return place[0] - 1, place[1]


def _docstring(node: ast.AST, source: str) -> Iterator[Piece]:
    if not isinstance(node, ast.FunctionDef | ast.ClassDef) or ast.get_docstring(node) is None:
        return
    at = node.body[0]
    assert at.end_lineno is not None and at.end_col_offset is not None
    lines = source.split("\n")
    first = (at.lineno - 1, len(lines[at.lineno - 1].encode()[: at.col_offset].decode()))
    last = (at.end_lineno - 1, len(lines[at.end_lineno - 1].encode()[: at.end_col_offset].decode()))
    raw = _between(lines, first, last)
    if raw.startswith('"""') and "\\" not in raw:
        yield Piece("docstring", inspect.cleandoc(raw[3:-3]), first, last)


def _between(lines: list[str], first: tuple[int, int], last: tuple[int, int]) -> str:
    if first[0] == last[0]:
        return lines[first[0]][first[1] : last[1]]
    return "\n".join([lines[first[0]][first[1] :], *lines[first[0] + 1 : last[0]], lines[last[0]][: last[1]]])


def replaced(source: str, lookup: Callable[[Piece], str | None]) -> str:
    """The cell's source with all words replaced for which ``lookup`` has a translation."""
    lines = source.split("\n")
    for piece in reversed(pieces(source)):
        text = lookup(piece)
        if text is None or text == piece.text:
            continue
        before, after = lines[piece.first[0]][: piece.first[1]], lines[piece.last[0]][piece.last[1] :]
        if piece.kind == "comment":
            new = f"# {' '.join(text.split())}"
        else:
            indent = " " * piece.first[1]
            body = "\n".join(indent + line if line and n else line for n, line in enumerate(text.split("\n")))
            new = f'"""{body}\n{indent}"""' if "\n" in text else f'"""{body}"""'
        lines[piece.first[0] : piece.last[0] + 1] = (before + new + after).split("\n")
    return "\n".join(lines)


def shown(source: str) -> Iterator[tuple[str, str]]:
    """(name of the call, text) for texts that calls in a cell show; texts with inserted values are not literals."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SHOWN:
            position, keyword = SHOWN[node.func.id]
            given = [*node.args[position : position + 1], *(k.value for k in node.keywords if k.arg == keyword)]
            for value in given:
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
                    yield node.func.id, value.value
