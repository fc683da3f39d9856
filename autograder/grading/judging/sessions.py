"""Opens the sandboxes that run students' code: one zygote per machine, and a fresh fork of it for each submission.

Imports little, because ``make grade`` needs ``warm`` before it imports torch (``autograder.sandbox.launch``).
"""

import atexit
import os
from collections.abc import Callable, Iterable

from autograder import ROOT
from autograder.sandbox import (
    Limits,
    LocalSession,
    SandboxedSession,
    SandboxUnavailable,
    Session,
    Zygote,
    open_session,
    require_sandbox,
    sandbox_available,
)

COURSE = ROOT / "course"
# For one notebook with a few exercises: far more than honest work needs, and not too much for a hostile one to waste.
LIMITS = Limits(wall_seconds=60, cpu_seconds=60)
# Modules that notebooks import. Those of `from anatomy import check` take 20 ms each time, and 200 where no compiled
# files lie beside them.
WARM = (
    "numpy",
    "numpy.ctypeslib",  # safetensors imports it at the first tensor that it saves
    "torch",
    "safetensors.torch",
    "matplotlib.pyplot",
    "ipywidgets",
    "anywidget",
    "anatomy.program.runner",
    "anatomy.widgets",
    "anatomy.notebook.answers",
    "anatomy.notebook.cases",
    "anatomy.notebook.checks",
    "anatomy.notebook.predictions",
    "anatomy.notebook.quizzes",
    "anatomy.notebook.setup",
    "anatomy.progress.page",
    "anatomy.system.translation",
)
# What only these units' submissions import: a second and a half, too much for each of them and for each run without
# them. torch imports sympy for a gradient of a tensor, and its compiler for an embedding table on the device "meta".
NEEDED_BY = {"06-rope": ("sympy",), "11-assembly": ("sympy", "torch._dynamo")}
SEED = 0  # code that draws random numbers gets the same ones at a regrade

NO_SANDBOX = """\
--no-sandbox: the submissions run with your rights on this machine. They can read your files (the solutions, the
gradebook, other submissions), write and delete them, use the network, and leave processes behind. Limits on time
hold, limits on memory hold on Linux only, and scores are still computed outside the students' processes. Use it for
submissions that you trust, or on a machine that holds nothing else."""

REFUSAL = (
    "Grading needs a sandbox for the students' code, and this machine has none ({reason}). Use Linux with user "
    "namespaces or bubblewrap, or pass --no-sandbox and accept what it then prints."
)

_zygote: Zygote | None = None


def check_sandbox() -> None:
    """Raises SandboxUnavailable, with a message for the instructor, if this machine has no working sandbox."""
    try:
        require_sandbox()
    except SandboxUnavailable as error:
        raise SandboxUnavailable(REFUSAL.format(reason=error)) from None


def warm(units: Iterable[str] = NEEDED_BY) -> tuple[str, ...]:
    """Modules to import before the submissions of these units; by default those that any unit needs."""
    return (*WARM, *dict.fromkeys(module for unit in units for module in NEEDED_BY.get(unit, ())))


def zygote() -> Zygote:
    """This process's zygote; creates it if needed, but does not start it."""
    global _zygote
    if _zygote is None:
        _zygote = Zygote(warm(), python_path=[str(COURSE)])
        atexit.register(_zygote.close)
    return _zygote


def ready(started: Zygote | None = None) -> str:
    """Folder of this machine's running zygote; "" if only bubblewrap works.

    Workers on this machine fork from it (``sandboxed(folder)``) and start none of their own. started: a zygote that was
    started already; it becomes this process's and is tested by opening a sandbox. Raises SandboxUnavailable.
    """
    global _zygote
    if started is not None:
        _zygote = started
        atexit.register(started.close)
        try:  # opening a sandbox is the fastest test that it works
            SandboxedSession(started, LIMITS, seed=SEED).close()
            return started.folder
        except SandboxUnavailable:
            pass  # the slow check below gives the reason
    check_sandbox()
    if not sandbox_available().zygote:
        return ""
    zygote().start()
    return zygote().folder


class _Borrowed(Zygote):
    """Another process's zygote, given by its folder."""

    def __init__(self, folder: str):
        super().__init__()
        self._folder = folder

    def start(self) -> None:
        if not os.path.exists(os.path.join(self._folder, "zygote")):
            raise SandboxUnavailable("the grader's zygote is gone")

    def close(self) -> None:
        pass


def sandboxed(folder: str = "") -> Session:
    """A fresh sandboxed session, forked from the zygote in ``folder`` if given and alive, else from this process's."""
    if folder:
        try:
            return SandboxedSession(_Borrowed(folder), LIMITS, seed=SEED)
        except SandboxUnavailable:
            pass  # it died: start our own, which costs a few seconds once
    return open_session(zygote(), LIMITS, seed=SEED)


def unprotected() -> Session:
    """A fresh session in a plain process, for --no-sandbox."""
    return LocalSession(LIMITS, seed=SEED)


def factory(sandbox: bool = True, folder: str = "") -> Callable[[], Session]:
    """The function that opens a session."""
    return (lambda: sandboxed(folder)) if sandbox else unprotected
