"""What nbgrader expects of the environment that it runs in. Imports nothing heavy: nbgrader_config.py uses it."""

import os
import shutil
import sys
from pathlib import Path

SANDBOX_KERNEL = "anatomy-zygote"


def find_alembic() -> None:
    """nbgrader asks a program named alembic for its version when it creates a gradebook. It is installed beside this
    Python, which is no help to those who did not activate the environment."""
    beside = os.path.dirname(sys.executable)
    if shutil.which("alembic") is None and beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([beside, os.environ.get("PATH", "")])


def sandbox_kernel() -> str:
    """Name of the sandboxed kernel if its specification is installed in this environment, else ""."""
    return SANDBOX_KERNEL if (Path(sys.prefix) / "share" / "jupyter" / "kernels" / SANDBOX_KERNEL).is_dir() else ""
