"""Tracks what ran in this kernel, and what did not: is the code in memory the code on the screen?

A cell that fails leaves the definitions of an earlier run in memory, and a check would judge those. IPython reports
each cell that ran; the saved notebook, if the kernel can know its path, shows which cells were changed since.
"""

import ast
import dis
import json
import os
import re
import time
import traceback
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..system import files
from . import printing

# Definitions at the left edge. A cell that is not valid Python (yet) has no syntax tree.
_DEFINES = re.compile(r"^(?:async\s+)?(?:def|class)\s+([^\W\d]\w*)|^([^\W\d]\w*)\s*(?::[^=\n]*)?=(?!=)", re.M)
# Code that may define any name.
_ANYTHING = re.compile(r"\bexec\s*\(|\bglobals\s*\(|\bimport\s*\*|^\s*%run\b|\bget_ipython\b", re.M)
ANY = "*"
MAX_NAMES = 500  # of the learner's functions that one function uses, directly or indirectly
MAX_NOTEBOOK = 50 << 20  # bytes; a larger one is not searched for edits


@dataclass
class Run:
    """One cell's last run. at: time when it began. error: None if it ran to its end. line: where it stopped."""

    source: str
    at: float
    error: BaseException | None = None
    line: int = 0


@dataclass
class Stale:
    """Why the object behind a name is not the one on the screen. kind: ``failed``, ``edited`` or ``gone``."""

    name: str
    kind: str
    run: Run


@dataclass
class Session:
    """The cells that ran in this kernel (by cell id), and the names that a failed cell did not define anew.

    homes: name → id of the cell that defined it last. gone: name that its cell no longer defines → that cell's run.
    failing: name → the function that failed its check last, while no check of that name has passed since.
    """

    runs: dict[str, Run] = field(default_factory=dict)
    left_behind: dict[str, Run] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    gone: dict[str, Run] = field(default_factory=dict)
    failing: dict[str, object] = field(default_factory=dict)
    running: str = ""
    began: float = 0.0
    listeners: list[Callable[[str], None]] = field(default_factory=list)

    def started(self, info: Any) -> None:
        """Handles IPython's ``pre_run_cell``."""
        self.running, self.began = info.raw_cell or "", time.time()

    def ended(self, result: Any) -> None:
        """Handles IPython's ``post_run_cell``: records what the cell defined, or failed to define."""
        info = result.info
        if info is None or not info.raw_cell:
            return
        error = result.error_before_exec or result.error_in_exec
        run = Run(info.raw_cell, self.began, error, _stopped_at(error) if error else 0)
        if getattr(info, "cell_id", None):
            self.runs[info.cell_id] = run
        for name, line in defined(run.source):
            # The lines above the one that failed did run.
            if error is not None and line >= run.line:
                self.left_behind[name] = run
            else:
                self.left_behind.pop(name, None)
        if error is None:
            self._moved(getattr(info, "cell_id", None), run)
            for listener in self.listeners:
                listener(run.source)

    def _moved(self, cell, run):
        """After a cell ran to its end, records which names it defines now, and which names no cell defines any more."""
        here = bound(run.source)
        for name in here:
            self.gone.pop(name, None)
            if cell:
                self.homes[name] = cell
        for name in [n for n, home in self.homes.items() if home == cell and not here & {n, ANY}]:
            another = next((c for c, r in self.runs.items() if c != cell and name in bound(r.source)), None)
            if another:
                self.homes[name] = another
            else:
                del self.homes[name]
                self.gone[name] = run

    def stale(self, functions: Mapping[str, object], namespace: Mapping[str, object]) -> Stale | None:
        """First Stale among the functions and what they use, or None.

        functions: dict name → object, as given to a check. namespace: the learner's global names.
        """
        names = used_names(functions, namespace)
        for name in names:
            if name in self.left_behind:
                return Stale(name, "failed", self.left_behind[name])
        saved = self._saved(namespace)
        return self._edited(names, *saved) or next((s for s in self._gone(functions, *saved)), None)

    def helpers_gone(self, functions: Mapping[str, object], namespace: Mapping[str, object]) -> list[str]:
        """Names of the learner's own functions that the functions use but no cell defines any more."""
        helpers = [n for n in used_names(functions, namespace) if n not in functions]
        return [s.name for s in self._gone(helpers, *self._saved(namespace))] if helpers else []

    def judged(self, functions: Mapping[str, object], passed: bool) -> None:
        """Records how the check of these functions ended."""
        for name, function in functions.items():
            if passed:
                self.failing.pop(name, None)
            else:
                self.failing[name] = function

    def helpers_failing(self, functions: Mapping[str, object], namespace: Mapping[str, object]) -> list[str]:
        """Names of other exercises' functions that the functions use, as they stood when their own check failed."""
        used = [n for n in used_names(functions, namespace) if n in self.failing and n not in functions]
        return [n for n in used if self.failing[n] is namespace.get(n)]

    def _gone(self, names, at, saved):
        """Names that exist only in memory: their cell ran without them, or is not a code cell of the saved notebook."""
        anywhere = {ANY} if saved is None else set().union(*map(bound, saved.values()))
        for name in names:
            run = self.gone.get(name)
            home = self.runs.get(self.homes.get(name, ""))
            if run is None and home and at > home.at and not anywhere & {name, ANY}:
                run = home
            if run:
                yield Stale(name, "gone", run)

    def _saved(self, namespace):
        """(time, id → source of the code cells) of the notebook as it was last saved; (0, None) if that is unknown."""
        path = notebook_path(namespace)
        try:
            at, raw = path.stat().st_mtime, files.read(path, MAX_NOTEBOOK)
            cells = json.loads(raw)["cells"]
            saved = {c["id"]: "".join(c["source"]) for c in cells if c.get("cell_type") == "code"}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return 0.0, None  # unsaved, renamed or elsewhere: nothing is known
        return at, saved

    def _edited(self, names, at, saved):
        """Stale for a cell that was run, then changed and saved, and not run again; or None."""
        for cell, run in self.runs.items():
            source = (saved or {}).get(cell, run.source)
            if at > run.at and source.strip() != run.source.strip():
                name = next((n for n, _ in defined(source) if n in names), None)
                if name:
                    return Stale(name, "edited", run)
        return None


def defined(source: str) -> list[tuple[str, int]]:
    """``(name, line)`` of each definition and assignment at the left edge of a cell."""
    return [(m[1] or m[2], source.count("\n", 0, m.start()) + 1) for m in _DEFINES.finditer(source)]


@lru_cache(maxsize=1_000)
def bound(source: str) -> frozenset[str]:
    """Names that a cell defines, imports or assigns outside of functions; includes ANY if it may define any name."""
    names = {name for name, _line in defined(source)} | ({ANY} if _ANYTHING.search(source) else set())
    try:
        todo: list[ast.AST] = [ast.parse(source)]
    except (SyntaxError, ValueError):  # magics, or not Python yet
        return frozenset(names | {ANY})
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        todo += ast.iter_child_nodes(node)
    return frozenset(names)


def used_names(functions: Mapping[str, object], namespace: Mapping[str, object]) -> list[str]:
    """The names of ``functions`` and of the learner's own functions that they call, directly or indirectly."""
    found, todo = list(functions), list(functions.values())
    while todo and len(found) < MAX_NAMES:
        for name in _names_in(todo.pop()):
            value = namespace.get(name)
            if name not in found and getattr(value, "__module__", None) == "__main__":
                found.append(name)
                todo.append(value)
    return found


def _names_in(thing):
    """Global names that a function, or a class's methods, may look up."""
    todo, names = [thing], set()
    while todo:
        item = todo.pop()
        if isinstance(item, type):
            todo += [v for v in vars(item).values() if callable(v) or isinstance(v, property | classmethod)]
            names |= {b.__name__ for b in item.__bases__}
        elif isinstance(item, property):
            todo.append(item.fget)
        elif isinstance(item, types.CodeType):
            # Attributes are names too, in co_names: torch.softmax would count as the learner's softmax.
            names |= {i.argval for i in dis.get_instructions(item) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
            todo += [c for c in item.co_consts if isinstance(c, types.CodeType)]
        else:
            code = getattr(getattr(item, "__func__", item), "__code__", None)
            todo += [code] if code is not None else []
    return names


def _stopped_at(error):
    """Line of the cell at which an error stopped it; 1 if nothing of the cell ran."""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.name == "<module>":
            return frame.lineno or 1
    return 1


def notebook_path(namespace: Mapping[str, object] | Iterable[tuple[str, object]] = ()) -> Path:
    """The notebook of this kernel, according to Jupyter or VS Code; else a path that is not a file."""
    known = dict(namespace).get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME") or ""
    return Path(str(known))


current = Session()


def install(shell: Any, on_name_error: Callable[[str | None, str], list[str] | None]) -> None:
    """Listens to a shell's cells. on_name_error(name, source): lines to show instead of a traceback, or None."""

    def handler(self, kind, error, tb, tb_offset=None):
        lines = on_name_error(getattr(error, "name", None), current.running)
        if lines is not None:
            error._render_traceback_ = lambda: lines
        self.showtraceback((kind, error, tb), running_compiled_code=True)

    shell.events.register("pre_run_cell", current.started)
    shell.events.register("post_run_cell", current.ended)
    shell.set_custom_exc((NameError,), handler)
    shell.ast_transformers.append(printing.Printing())
