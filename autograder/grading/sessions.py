"""Where students' code runs: one zygote for each grading process, a fresh sandbox from it for each submission."""

import atexit

from autograder.build.source import ROOT
from autograder.sandbox import Limits, LocalSession, SandboxUnavailable, Zygote, open_session, require_sandbox
from autograder.sandbox.zygote import PRELOAD

# One notebook with a few exercises: far more than honest work needs, little enough for a hostile one to waste.
LIMITS = Limits(wall_seconds=60, cpu_seconds=60)
# torch imports the last one at the first backward pass, which would take half a second of every submission.
WARM = (*PRELOAD, "sympy", "anatomy.runner", "anatomy.widgets", "torch.fx.experimental.symbolic_shapes")

NO_SANDBOX = """\
--no-sandbox: the submissions run with your rights on this machine. They can read your files (the solutions, the
gradebook, other submissions), write and delete them, use the network, and leave processes behind. Limits on time
hold, limits on memory hold on Linux only, and scores are still computed outside the students' processes. Use it for
submissions that you trust, or on a machine that holds nothing else."""

REFUSAL = ("Grading needs a sandbox for the students' code, and this machine has none ({reason}). Use Linux with user "
           "namespaces or bubblewrap, or pass --no-sandbox and accept what it then prints.")

SEED = 0  # code that draws random numbers gets the same ones at a regrade

_zygote = None


def check_sandbox():
    """Raises SandboxUnavailable with one sentence for the instructor where students' code cannot be contained."""
    try:
        require_sandbox()
    except SandboxUnavailable as error:
        raise SandboxUnavailable(REFUSAL.format(reason=error)) from None


def sandboxed():
    """A fresh sandboxed session. The zygote starts at the first call."""
    global _zygote
    if _zygote is None:
        _zygote = Zygote(WARM, python_path=[str(ROOT / "course")])
        atexit.register(_zygote.close)
    return open_session(_zygote, LIMITS, seed=SEED)


def unprotected():
    """A fresh session in a plain process: what --no-sandbox uses."""
    return LocalSession(LIMITS, seed=SEED)


def factory(sandbox=True):
    """The function that opens a session."""
    return sandboxed if sandbox else unprotected
