"""What ran in this kernel, and what did not: is the code in memory the code on the screen?

A cell that fails leaves the definitions of an earlier run behind, and a check would judge those. IPython tells of each
cell that ran; the saved notebook, where the kernel can know its path, tells of cells that were changed since.
"""

import dis
import json
import os
import re
import time
import traceback
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Definitions at the left edge. A cell that is no valid Python (yet) has no syntax tree to ask.
_DEFINES = re.compile(r"^(?:async\s+)?(?:def|class)\s+([^\W\d]\w*)|^([^\W\d]\w*)\s*(?::[^=\n]*)?=(?!=)", re.M)
MAX_NAMES = 500  # of the learner's functions that one function uses, at whatever distance
MAX_NOTEBOOK = 50 << 20  # bytes; a larger one is not searched for edits


@dataclass
class Run:
    """One cell's last run. at: time when it began. error: None where it ran to its end. line: where it stopped."""

    source: str
    at: float
    error: BaseException | None = None
    line: int = 0


@dataclass
class Stale:
    """Why a name does not stand for what is on the screen. kind: ``failed`` or ``edited``."""

    name: str
    kind: str
    run: Run


@dataclass
class Session:
    """The cells that ran in this kernel (by cell id), and the names that a failed cell left as they were."""

    runs: dict[str, Run] = field(default_factory=dict)
    left_behind: dict[str, Run] = field(default_factory=dict)
    running: str = ""
    began: float = 0.0
    listeners: list[Callable[[str], None]] = field(default_factory=list)

    def started(self, info: Any) -> None:
        """IPython's ``pre_run_cell``."""
        self.running, self.began = info.raw_cell or "", time.time()

    def ended(self, result: Any) -> None:
        """IPython's ``post_run_cell``: remembers what the cell defined, or failed to define."""
        info = result.info
        if info is None or not info.raw_cell:
            return
        error = result.error_before_exec or result.error_in_exec
        run = Run(info.raw_cell, self.began, error, _stopped_at(error) if error else 0)
        if getattr(info, "cell_id", None):
            self.runs[info.cell_id] = run
        for name, line in defined(run.source):
            # What stands above the line that failed did run.
            if error is not None and line >= run.line:
                self.left_behind[name] = run
            else:
                self.left_behind.pop(name, None)
        if error is None:
            for listener in self.listeners:
                listener(run.source)

    def stale(self, functions: Mapping[str, object], namespace: Mapping[str, object]) -> Stale | None:
        """First Stale among the functions and what they use, or None.

        functions: dict name → object, as given to a check. namespace: the learner's global names.
        """
        names = used_names(functions, namespace)
        for name in names:
            if name in self.left_behind:
                return Stale(name, "failed", self.left_behind[name])
        return self._edited(names, namespace)

    def _edited(self, names, namespace):
        """A cell that was run, then changed and saved, and not run again."""
        path = notebook_path(namespace)
        try:
            about = path.stat()
            if about.st_size > MAX_NOTEBOOK:
                return None
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            saved = {c["id"]: "".join(c["source"]) for c in cells if c.get("cell_type") == "code" and "id" in c}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # unsaved, renamed or elsewhere: nothing is known
        for cell, run in self.runs.items():
            source = saved.get(cell, run.source)
            if about.st_mtime > run.at and source.strip() != run.source.strip():
                name = next((n for n, _ in defined(source) if n in names), None)
                if name:
                    return Stale(name, "edited", run)
        return None


def defined(source: str) -> list[tuple[str, int]]:
    """``(name, line)`` of each definition and assignment at the left edge of a cell."""
    return [(m[1] or m[2], source.count("\n", 0, m.start()) + 1) for m in _DEFINES.finditer(source)]


def used_names(functions: Mapping[str, object], namespace: Mapping[str, object]) -> list[str]:
    """The names of ``functions`` and of the learner's own functions that they call, at whatever distance."""
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
    """Line of the cell at which it stopped; 1 where nothing of it ran."""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.name == "<module>":
            return frame.lineno or 1
    return 1


def notebook_path(namespace: Mapping[str, object] | Iterable[tuple[str, object]] = ()) -> Path:
    """The notebook that this kernel belongs to, as Jupyter or VS Code says it; a path that is no file otherwise."""
    known = dict(namespace).get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME") or ""
    return Path(str(known))


current = Session()


def install(shell: Any, on_name_error: Callable[[str | None, str], list[str] | None]) -> None:
    """Listens to a shell's cells. on_name_error(name, source): lines to show in place of a traceback, or None."""

    def handler(self, kind, error, tb, tb_offset=None):
        lines = on_name_error(getattr(error, "name", None), current.running)
        if lines is not None:
            error._render_traceback_ = lambda: lines
        self.showtraceback((kind, error, tb), running_compiled_code=True)

    shell.events.register("pre_run_cell", current.started)
    shell.events.register("post_run_cell", current.ended)
    shell.set_custom_exc((NameError,), handler)
