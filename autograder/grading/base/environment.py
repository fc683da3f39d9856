"""What nbgrader expects of the environment that it runs in. Imports nothing heavy: nbgrader_config.py uses it."""

import os
import shutil
import sys
from pathlib import Path

SANDBOX_KERNEL = "anatomy-zygote"


def find_alembic() -> None:
    """nbgrader asks a program named alembic for its version when it creates a gradebook. It is installed beside this
    Python, which is no help to those who did not activate the environment; and it takes seconds to start, where this
    process has everything imported to find the answer itself."""
    beside = os.path.dirname(sys.executable)
    if shutil.which("alembic") is None and beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([beside, os.environ.get("PATH", "")])
    if (api := sys.modules.get("nbgrader.api")) is not None:
        api.get_alembic_version = _newest_revision  # type: ignore[attr-defined]


def _newest_revision() -> str:
    """What ``alembic heads`` prints for nbgrader's gradebooks."""
    import nbgrader
    from alembic.script import ScriptDirectory

    return str(ScriptDirectory(os.path.join(os.path.dirname(nbgrader.__file__), "alembic")).get_current_head())


def sandbox_kernel() -> str:
    """Name of the sandboxed kernel if its specification is installed in this environment, else ""."""
    return SANDBOX_KERNEL if (Path(sys.prefix) / "share" / "jupyter" / "kernels" / SANDBOX_KERNEL).is_dir() else ""
