"""IPython without a front end: runs cells, prints plain text, and disables displays, widgets and figures.

``prepare`` is called once, before any fork; everything slow happens there.
"""

from __future__ import annotations

import importlib.util
import io
import itertools
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable

from . import packages, passing
from .worker import describe

_NO_ERROR = ("", "", "")
_comm_makers: list[Callable] = []


class CappedWriter(io.TextIOBase):
    """Standard output and error of one cell: unbuffered UTF-8 to file descriptor 1, nothing past the budget.

    Both streams share the budget. The grader cuts the output too; cutting here saves traffic and time.
    """

    encoding, errors = "utf-8", "replace"

    def __init__(self, budget: list[int]):
        self._budget = budget

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        left = self._budget[0]
        if left > 0 and text:
            data = text[:left].encode("utf-8", "replace")[:left]
            self._budget[0] -= len(data)
            while data:
                data = data[os.write(1, data) :]
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1


def prepare(preload: Iterable[str] = ()) -> tuple[Callable, dict]:
    """Import ``preload`` (modules that are not installed are skipped) and build the shell.

    Returns (run_cell, namespace of the student).

    run_cell(source: str, limit: int) -> (error name, message, traceback), three empty strings if the cell succeeded;
    limit in bytes of output.
    """
    os.environ["MPLBACKEND"] = "Agg"
    packages.hide_staff_modules()
    for name in preload:
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    # Here figures are drawn into memory and never shown on purpose, so the warning would be pointless.
    warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")
    warnings.filterwarnings("ignore", message="To exit: use 'exit'")
    import IPython

    shell = _make_shell()
    _inert_comms()
    plumbing = (os.path.dirname(IPython.__file__) + os.sep, __file__)
    before = set(shell.user_ns)

    def run_cell(source: str, limit: int) -> tuple[str, str, str]:
        budget = [limit + 1]  # one byte over, so that the grader can tell "full" from "cut"
        sys.stdout, sys.stderr = CappedWriter(budget), CappedWriter(budget)
        try:
            result = shell.run_cell(source, store_history=False)
            error = result.error_before_exec or result.error_in_exec
        except BaseException as escaped:
            error = escaped
        if error is None:
            return _NO_ERROR
        # Drop the chain's own references: a frame kept alive would keep the cell's local tensors alive.
        sys.last_value = sys.last_traceback = None
        return describe(error, plumbing)

    _warm_up(run_cell)
    numbers = itertools.count(1)  # cell numbers; if a cell is undone, its number is reused
    shell.compile.get_code_name = lambda raw, code, number: f"<cell {next(numbers)}>"
    for name in [n for n in shell.user_ns if n not in before]:
        del shell.user_ns[name]
    return run_cell, shell.user_ns


def _make_shell():
    """IPython's shell for plain text: no history, no prompts, no windows, no terminal."""
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class TextPublisher(DisplayPublisher):
        def publish(self, data, metadata=None, **kwargs):
            print(data.get("text/plain", ""))

        def clear_output(self, wait=False):
            pass

    class CellShell(InteractiveShell):
        display_pub_class = TextPublisher

        def showtraceback(self, *args, **kwargs):  # reported through the result; IPython's own is slow
            pass

        showsyntaxerror = showindentationerror = showtraceback

        def ask_exit(self):
            raise SystemExit("a notebook that is graded cannot be left with exit()")

        def enable_gui(self, gui=None):
            pass

        def enable_matplotlib(self, gui=None):  # inline figures would be rendered after every cell
            return "agg", "agg"

        def init_sys_modules(self):
            super().init_sys_modules()
            sys.modules["__main__"] = self.user_module

        async def run_ast_nodes(self, nodelist, cell_name, interactivity="last_expr", compiler=compile, result=None):
            nodes = list(passing.single(nodelist))
            for number, node in enumerate(nodes, start=1):
                # IPython shows the last expression of each list; a list here has one statement, so only the cell's
                # last statement may show.
                shows = interactivity if interactivity == "all" or number == len(nodes) else "none"
                if await super().run_ast_nodes([node], cell_name, shows, compiler, result):
                    error = result.error_in_exec if result is not None else None
                    wanted = passing.wants(node, error) if error is not None else ""
                    if not wanted:
                        return True
                    result.error_in_exec = None
                    if bare := passing.without_annotations(node):
                        if not await super().run_ast_nodes([bare], cell_name, "none", compiler, result):
                            continue
                        result.error_in_exec = None
                    passing.pass_over(node, self.user_ns)
                    print(f"[passed over in grading: {passing.as_line(node)} ({wanted})]")
            return False

        def system(self, cmd):  # IPython's default needs a terminal
            cmd = self.var_expand(cmd, depth=1)
            if passing.fetches(cmd):
                shown = cmd.replace(sys.executable, "python")[: passing.MAX_SHOWN]
                print(f"[passed over in grading: !{shown} (there is no network)]")
                self.user_ns["_exit_code"] = 0
                return
            self.user_ns["_exit_code"] = subprocess.run(cmd, shell=True, stdin=subprocess.DEVNULL).returncode

    config = Config()
    config.HistoryManager.enabled = False  # no thread, no database
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.display_page = True
    shell = CellShell.instance(config=config)
    shell.display_formatter.active_types = ["text/plain"]
    shell.displayhook.write_output_prompt = lambda: None
    return shell


def _warm_up(run_cell: Callable) -> None:
    """Do everything that is slow the first time once, before any fork: lazy imports, the libraries' first calls."""
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        x = torch.randn(8, 8, requires_grad=True)
        torch.nn.Linear(8, 8)(torch.softmax(x @ x.mT, -1)).sum().backward()
        repr(x)
    reseed(0)
    streams = sys.stdout, sys.stderr
    for cell in ("import math\nprint(math.pi)\n[1]", "1 / 0", "await 1"):
        run_cell(cell, 0)
    sys.stdout, sys.stderr = streams
    from IPython.core.async_helpers import get_asyncio_loop

    get_asyncio_loop().close()  # forks must not share its descriptors: each session makes a loop when it needs one


def _inert_comms() -> None:
    """Replace the comms through which widgets talk to a front end: there is none, and ipykernel's need a kernel."""
    try:
        import comm
        from comm.base_comm import BaseComm
    except ImportError:
        return

    class SilentComm(BaseComm):
        def publish_msg(self, *args, **kwargs):
            pass

    _comm_makers.append(comm.create_comm)
    comm.create_comm = lambda *args, **kwargs: SilentComm(*args, **kwargs)


def restore_comms() -> None:
    """Undo ``_inert_comms``, for a fork that becomes a kernel."""
    if _comm_makers:
        import comm

        comm.create_comm = _comm_makers.pop()


def reseed(seed: int) -> None:
    """Seed Python's, NumPy's and torch's generators: otherwise all forked sessions would draw the same numbers."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed % 2**63)
