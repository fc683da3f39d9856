"""Is this environment the one that the course was tested with?"""

import importlib.metadata
import platform
import sys

from . import installation

NEEDED = ("torch", "numpy", "matplotlib", "ipywidgets", "anywidget", "safetensors", "sympy", "filelock", "jupyterlab")


def environment_report() -> None:
    """One line for each package the course needs, with what to do where one is missing. Nothing is sent anywhere."""
    lines = [
        f"Python {platform.python_version()} on {platform.system()}"
        + ("" if sys.version_info >= (3, 11) else "  ← the course needs 3.11 or newer")
    ]
    for package in NEEDED:
        try:
            lines.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            lines.append(f"{package}: missing  ← {installation.how_to_install(package)}")
    from .store import home

    lines.append(f"progress is kept in {home()}")
    print("\n".join(lines))
