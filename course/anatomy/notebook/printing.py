"""Shows what a notebook's cells print in the language in use.

The code of a notebook is the same in every language. So before a cell runs, the texts that it shows are looked up:
those in its calls of ``print``, and in its last line an f-string or the keys of a dict. An f-string has ``{a}``,
``{b}`` for its values, and a translation may put these in another order. Names that are printed by value, such as
``{name:18}``, are looked up as labels. The source that everybody sees, and that the judge reads, stays as it is.
"""

import ast
import copy
import re
import string
from collections.abc import Callable, Iterator

from ..system.columns import columns, padded
from ..system.labels import label
from ..system.translation import ENGLISH, language, said

CONTEXT = "printed"  # translation context of all of them
_WIDTH = re.compile(r"([<>]?)(\d+)")  # a format that only asks for a width
Text = ast.Constant | ast.JoinedStr
_Change = Callable[[Text], ast.expr]


def texts(tree: ast.AST) -> Iterator[str]:
    """Keys of the texts that a cell shows by calls of ``print`` and by its last line, with a letter for each value."""
    found: list[str] = []

    def take(node: Text) -> ast.expr:
        found.append(key(node))
        return node

    _changed(copy.deepcopy(tree), take)
    yield from filter(None, found)


def key(node: Text) -> str:
    """The text without the spaces around it, ``"loss {a} of {b}"``; "" if it has braces of its own."""
    values, text = 0, ""
    for piece in _pieces(node):
        if isinstance(piece, str):
            if "{" in piece or "}" in piece:
                return ""
            text += piece
        else:
            text += f"{{{chr(97 + values)}}}"
            values += 1
    return text.strip() if values <= 26 else ""


class Printing:
    """Puts translations in place of the texts that a cell prints."""

    def visit(self, node: ast.AST) -> ast.AST:  # IPython calls it for each cell
        """The cell's tree in the language in use; in English, or if anything goes wrong, as it was."""
        if language() == ENGLISH:
            return node
        try:
            return ast.fix_missing_locations(_changed(copy.deepcopy(node), _translated))
        except Exception:  # a translation that is missing must not stop a cell
            return node


def _changed(tree: ast.AST, change: _Change) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            node.args = [_shown(value, change) for value in node.args]
    match tree:  # a notebook shows the value of a cell's last line
        case ast.Module(body=[*_, ast.Expr(value=ast.JoinedStr()) as last]):
            last.value = _shown(last.value, change)
        case ast.Module(body=[*_, ast.Expr(value=ast.Dict(keys=keys) as table)]):
            table.keys = [_shown(name, change) if name else None for name in keys]
    return tree


def _shown(node: ast.expr, change: _Change) -> ast.expr:
    """An expression whose value is shown, with each text in it changed; keys and indices are not shown."""
    match node:
        case ast.Constant(value=str()):
            return change(node)
        case ast.JoinedStr():
            for piece in node.values:
                if isinstance(piece, ast.FormattedValue):
                    piece.value = _shown(piece.value, change)
            return change(node)
        case ast.BinOp(op=ast.Add() | ast.Mult()):
            node.left, node.right = _shown(node.left, change), _shown(node.right, change)
        case ast.IfExp():
            node.body, node.orelse = _shown(node.body, change), _shown(node.orelse, change)
        case ast.Starred():
            node.value = _shown(node.value, change)
        case ast.Tuple() | ast.List():
            node.elts = [_shown(value, change) for value in node.elts]
        case ast.GeneratorExp() | ast.ListComp():
            node.elt = _shown(node.elt, change)
        case ast.Call(func=ast.Attribute(attr="join", value=ast.Constant())):
            node.args = [_shown(value, change) for value in node.args]
    return node


def _translated(node: Text) -> ast.expr:
    if isinstance(node, ast.JoinedStr):
        node.values = [_named(piece) if isinstance(piece, ast.FormattedValue) else piece for piece in node.values]
    english = key(node)
    found = said(CONTEXT, english)
    if found == english:
        return node
    whole = "".join(piece if isinstance(piece, str) else "\0" for piece in _pieces(node))
    before, after = (whole[: len(whole) - len(whole.lstrip(" \n"))], whole[len(whole.rstrip(" \n")) :])
    if "{" not in english and after:  # a column: it stays as wide
        after = " " * max(1, len(after) + columns(english) - columns(found))
    values = [piece for piece in _pieces(node) if not isinstance(piece, str)]
    pieces: list[ast.expr] = [ast.Constant(before)]
    for words, name, _form, _conversion in string.Formatter().parse(found):
        pieces += [ast.Constant(words), *([values[ord(name) - 97]] if name else [])]
    return ast.copy_location(ast.JoinedStr([*pieces, ast.Constant(after)]), node)


def _pieces(node: Text) -> list[str | ast.FormattedValue]:
    """The words and the values of a text, in order."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    return [piece.value if isinstance(piece, ast.Constant) else piece for piece in node.values]  # type: ignore[misc]


def _named(piece: ast.FormattedValue) -> ast.FormattedValue:
    """A value that is looked up when it is shown, if it is stored somewhere and has no format but a width."""
    form = piece.format_spec
    plain = form is None or (
        isinstance(form, ast.JoinedStr)
        and all(isinstance(p, ast.Constant) and _WIDTH.fullmatch(str(p.value)) for p in form.values)
    )
    stored = ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.JoinedStr | ast.IfExp
    if plain and piece.conversion == -1 and isinstance(piece.value, stored):
        look = ast.parse(f"__import__({__name__!r}, fromlist=['name']).name", mode="eval").body
        piece.value = ast.copy_location(ast.Call(look, [piece.value], []), piece.value)
    return piece


def name(value: object) -> object:
    """A value as it is printed: the label that a text is, padded by columns; anything else as it is."""
    return _Wide(label(value)) if type(value) is str else value


class _Wide(str):
    """A text that pads itself by the columns that it takes: a Chinese character takes two."""

    def __format__(self, form: str) -> str:
        asked = _WIDTH.fullmatch(form)
        if not asked:
            return format(str(self), form)
        return padded(self, int(asked[2]), right=asked[1] == ">")
