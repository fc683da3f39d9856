"""Remarks about answers that cannot run because of what an editor, git or copying left in them. Reads source only."""

import ast
import re
from collections.abc import Iterator

from anatomy.system.translation import _
from nbformat import NotebookNode

from ..base.masters import MARK
from ..base.notes import Note
from ..source.parsing import hides, parsed

_CONFLICT = re.compile(r"(?m)^(?:<{7}|>{7})(?: |$)")
_FENCE = re.compile(r"(?m)\A\s*(?:`{3,}|~{3,})|^(?:`{3,}|~{3,})\s*\Z")
_INDENTED = re.compile(r"\A\s*\n?[ \t]+\S")


def slips(notebook: NotebookNode) -> list[Note]:
    """Notes about a rebuilt notebook's answers."""
    code = [c for c in notebook.cells if c.metadata[MARK]["role"] in ("answer", "extra")]
    return [
        Note(name, sentence, cell.metadata[MARK]["exercise"])
        for cell, below in zip(code, [*code[1:], None], strict=True)
        if cell.metadata[MARK]["role"] == "answer"
        for name, sentence in _of(cell.source, below.source if below else "")
    ]


def _of(source: str, below: str) -> Iterator[tuple[str, str]]:
    if _CONFLICT.search(source) and not _runs(source):
        yield (
            "submission.conflict",
            _("The answer cell holds git's conflict marks (<<<<<<<, >>>>>>>): keep one version, delete the marks."),
        )
    if _FENCE.search(source) and not _runs(source):
        yield "submission.fence", _("The answer cell holds a Markdown fence (```): only Python can stand in it.")
    if source.strip() and is_rest(below):
        yield split()


def split() -> tuple[str, str]:
    """(slug, sentence) about an answer whose lower part seems to stand in the next cell."""
    return (
        "submission.split",
        _(
            "The next cell begins with indented lines, as if a part of this answer stood there. A function has to "
            "stand in one cell."
        ),
    )


def is_rest(source: str) -> bool:
    """True if a cell looks like the lower part of a function that was split in two."""
    return bool(_INDENTED.match(source)) and (not _runs(source) or _returns(source))


def _returns(source: str) -> bool:
    """True if a cell returns outside a function: IPython removes the indentation, so it parses but does not compile."""
    todo: list[ast.AST] = list(tree.body if (tree := parsed(source)) else [])
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            todo += ast.iter_child_nodes(node)
    return False


def _runs(source: str) -> bool:
    return parsed(source) is not None or hides(source)
