"""Checks whether this environment is one that the course can run in."""

import importlib.metadata
import platform
import sys

from ..system import installation
from ..system.translation import _

NEEDED = "torch numpy matplotlib ipywidgets anywidget safetensors sympy filelock fsrs jupyterlab".split()


def environment_report() -> None:
    """Prints one line for each package the course needs, and what to do if it is missing. Nothing is sent anywhere."""
    lines = [
        _("Python {version} on {system}").format(version=platform.python_version(), system=platform.system())
        + ("" if sys.version_info >= (3, 11) else f"  ← {_('the course needs 3.11 or newer')}")
    ]
    for package in NEEDED:
        try:
            lines.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            missing = _("{package}: missing  ← {install}")
            lines.append(missing.format(package=package, install=installation.how_to_install(package)))
    from ..system.store import home

    lines.append(_("progress is kept in {folder}").format(folder=home()))
    print("\n".join(lines))
