"""Prepares the environment that nbgrader expects. Imports nothing heavy, because nbgrader_config.py imports it."""

import os
import shutil
import sys
from pathlib import Path

SANDBOX_KERNEL = "anatomy-zygote"


def find_alembic() -> None:
    """Lets nbgrader find the newest schema revision, for which it runs ``alembic`` when it creates a gradebook.

    The program is installed next to this Python, but is not on the PATH if the environment isn't activated. It also
    takes seconds to start, while this process has already imported everything that it needs to find the revision.
    """
    beside = os.path.dirname(sys.executable)
    if shutil.which("alembic") is None and beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([beside, os.environ.get("PATH", "")])
    if (api := sys.modules.get("nbgrader.api")) is not None:
        api.get_alembic_version = _newest_revision  # type: ignore[attr-defined]


def _newest_revision() -> str:
    """The revision that ``alembic heads`` prints for nbgrader's gradebooks."""
    import nbgrader
    from alembic.script import ScriptDirectory

    return str(ScriptDirectory(os.path.join(os.path.dirname(nbgrader.__file__), "alembic")).get_current_head())


def sandbox_kernel() -> str:
    """Name of the sandboxed kernel if its specification is installed in this environment, else ""."""
    return SANDBOX_KERNEL if (Path(sys.prefix) / "share" / "jupyter" / "kernels" / SANDBOX_KERNEL).is_dir() else ""
