"""``parts.bring``: puts the learner's code into the cell that asks for it, replacing the call.

A kernel cannot write into a notebook, but it can ask the front end to replace the cell that just ran (as ``%load``
does): JupyterLab, Notebook and VS Code do so, Colab does not. The front end sends no reply, so a call that runs a
second time from the same cell is the sign that nothing was replaced; then the code is shown for copying.
"""

import ast
import html
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ..notebook import session
from ..notebook.checks import _shell
from ..program import records
from ..system.translation import _
from .judged import Part, look
from .statements import Needed, needed, python, read
from .table import Table
from .together import Piece, together
from .torchs_own import OWN

_asked: set[str] = set()  # sources of cells whose replacement was requested


def bring(*exercise_ids: str) -> None:
    """Replaces this call, in its cell, with your code of these exercises and everything that it needs.

    For an exercise that you have not passed yet, you get torch's own function if it exists, else a stub that names the
    exercise; a call for such stubs stays in the cell, and brings your code as soon as it passes. Run the cell again
    after it was replaced. Everything else in the cell is kept.

    Raises:
        MissingRecording: an exercise is unknown.
        Stopped: you interrupted your own code.
    """
    shell = _shell()
    if getattr(shell, "kernel", None) is None or _is_graded():
        print(
            _(
                "parts.bring puts your code into the cell of an open notebook. No notebook is open here: nothing is "
                "done."
            )
        )
        return
    if not exercise_ids:
        raise TypeError(_('parts.bring needs the names of exercises, as in parts.bring("norm.rms_norm")'))
    # Parts still to do come last, so that nothing moves when they are requested again.
    found = sorted(map(look, dict.fromkeys(exercise_ids)), key=lambda p: bool(p.why and not p.own))
    table, cell = Table(found), _source(shell)
    code = code_of(found, _around_here(shell.user_ns))
    made = replaced(cell, exercise_ids, code, found)
    if made is None:
        _say(table, _("This call is no statement of its own in its cell. Copy the code from here."), code)
    elif made == cell:
        _say(table, _("Nothing new to bring. Solve what is still to do, save that notebook, and run this cell again."))
    else:
        is_copied = cell in _asked or "google.colab" in sys.modules
        _asked.add(cell)
        shell.set_next_input(made, replace=True)
        if is_copied:
            _say(table, _("If this cell is still as it was, put the following in place of all that it holds."), made)
        else:
            _say(table, _("Your code stands in this cell now. Read it, and run the cell once more."))


def _is_graded() -> bool:
    return any(os.environ.get(name) for name in ("NBGRADER_EXECUTION", "NBGRADER_VALIDATING"))


def code_of(parts: Iterable[Part], around: Mapping[str, frozenset[str]] | None = None) -> str:
    """Source code that defines all parts and runs by itself. around: as for ``together``."""
    return together([_piece(p) for p in parts], around)


def _piece(part: Part) -> Piece:
    if part.own:
        heading = f'# {part.id}: torch\'s own. Once yours passes, parts.bring("{part.id}") fetches it.'
        code = needed([read(part.own.code)], part.targets, 0)
    elif part.why:
        heading = _to_do(part)
        code = needed([read(_stubs(part))], part.targets, 0)
    else:
        heading = f"# {part.id}: yours, from {part.where}."
        code = part.needed
    return Piece(heading, part.unit.split("-")[0], part.targets, code)


def _to_do(part: Part) -> str:
    return f"# {part.id}: still to do, in {part.where}. Then run this cell again."


def _stubs(part: Part) -> str:
    """A definition for each target; calling it raises an error that says what is missing."""
    error = f'raise NotImplementedError("{part.id}: still to do, in {part.where}")'
    signature = records.load(part.id, with_mistakes=False).signature
    made = []
    for target in part.targets:
        name, inside = signature.split("(", 1) if signature.startswith(f"{target}(") else (target, "*args, **kwargs)")
        if name[:1].isupper():
            made.append(f"class {name}:\n    def __init__(self, {inside}:\n        {error}")
        else:
            made.append(f"def {name}({inside}:\n    {error}")
    return "\n\n\n".join(made)


def _around_here(names: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Names that this notebook defines elsewhere → their meaning: no helper may give them a different one.

    names: of the running kernel.
    """
    from_course = {n for n, value in names.items() if str(getattr(value, "__module__", "")).startswith("anatomy")}
    unit = session.notebook_path(names).stem
    asked = {t for i in records.known_exercises(unit) for t in records.calls_of(i)[0]}
    ran = Needed([s for run in session.current.runs.values() if not run.error for s in read(run.source).statements])
    defined = {n for s in ran.statements for n in s.binds - {"*"}}
    return {n: ran.behind(n) for n in defined} | {n: frozenset({unit}) for n in {"parts", *from_course, *asked}}


def _source(shell: Any) -> str:
    """Source of the running cell, as the notebook shows it."""
    history = getattr(shell.history_manager, "input_hist_raw", None) or [""]
    running = session.current.running
    return running if "bring" in running else history[-1]


def replaced(cell: str, exercise_ids: Iterable[str], code: str, parts: Iterable[Part]) -> str | None:
    """Returns the cell with the call for these exercises replaced by the code; None if no statement of it is that call.

    Unchanged stubs and wrappers from an earlier call are removed. If only the layout differs, the cell is returned
    unchanged.
    """
    parts = list(parts)
    call = _call(cell, tuple(exercise_ids))
    if call is None:
        return None
    above, below = (_without_stand_ins(text, parts).strip("\n") for text in _around(cell, call))
    missing = [p.id for p in parts if p.why and not p.own]
    again = _call_for(missing, ast.unparse(call.value.func))  # type: ignore[attr-defined]
    made = "\n\n\n".join(t for t in (above, code, again, below) if t)
    return cell if _meaning(made) == _meaning(cell) else made


def _call_for(missing: list[str], bring: str) -> str:
    """A call that stays in the cell, to bring the missing parts when the cell is run again."""
    ids = [f'"{i}"' for i in missing]
    short = f"{bring}({', '.join(ids)})" if ids else ""
    return short if len(short) < 100 else f"{bring}(\n" + "".join(f"    {i},\n" for i in ids) + ")"


def _call(cell: str, ids: tuple[str, ...]) -> ast.Expr | None:
    """The statement that is this call: the one with these ids, or the only one."""
    calls = [
        node
        for node in _tree(cell).body
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "attr", getattr(node.value.func, "id", "")) == "bring"
    ]
    same = [c for c in calls if tuple(getattr(a, "value", None) for a in c.value.args) == ids]  # type: ignore[attr-defined]
    return same[0] if same else calls[0] if len(calls) == 1 else None


def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(python(source))
    except SyntaxError:
        return ast.Module([], [])


def _meaning(source: str) -> str:
    return ast.dump(_tree(source)) if _tree(source).body else source


def _around(cell: str, node: ast.Expr) -> tuple[str, str]:
    """Text before and after a statement; a comment after it on the same line counts as after."""
    lines = cell.encode().splitlines(True)  # columns count bytes
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or node.lineno) - 1])) + (node.end_col_offset or 0)
    before, after = cell.encode()[:start].decode(), cell.encode()[end:].decode()
    return re.sub(r";[ \t]*\Z", "", before), re.sub(r"\A[ \t]*;?[ \t]*", "", after)


def _without_stand_ins(text: str, parts: Iterable[Part]) -> str:
    """Removes the stubs and wrappers for these parts from the text, if they are unchanged."""
    lines = text.split("\n")
    for part in parts:
        wrapper = {ast.dump(n) for n in ast.parse(OWN[part.id].code).body} if part.id in OWN else set()
        for node in reversed(_tree("\n".join(lines)).body):
            if getattr(node, "name", "") not in part.targets:
                continue
            if _raises(node, f"{part.id}: still to do") or wrapper and ast.dump(node) in wrapper:
                first, last = node.lineno - 1, node.end_lineno or node.lineno
                while first and lines[first - 1].startswith(f"# {part.id}: "):
                    first -= 1
                while last < len(lines) and not lines[last].strip():
                    last += 1
                del lines[first:last]
    return "\n".join(lines)


def _raises(node: ast.stmt, message: str) -> bool:
    """True if all that a function, or a class's only method, does is raise an error that starts with ``message``."""
    body = getattr(node, "body", [])
    if isinstance(node, ast.ClassDef) and len(body) == 1 and isinstance(body[0], ast.FunctionDef):
        body = body[0].body
    texts = [n.value for n in ast.walk(body[0]) if isinstance(n, ast.Constant)] if len(body) == 1 else []
    return bool(texts) and isinstance(body[0], ast.Raise) and str(texts[0]).startswith(message)


def _say(table: Table, sentence: str, code: str = "") -> None:
    """Shows a sentence, the parts, and code to copy, if any."""
    from IPython.display import display

    shown = f'<pre style="user-select:all"><code>{html.escape(code)}</code></pre>' if code else ""
    markup = f"<p><b>{html.escape(sentence)}</b></p>{table._repr_html_()}{shown}"
    text = "\n".join(t for t in (sentence, repr(table), code) if t)
    display({"text/html": markup, "text/plain": text}, raw=True)
