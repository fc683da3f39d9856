"""Kernel specifications that put a kernel into a sandbox: ``make validate-sandbox`` installs them.

nbgrader's Validate then runs notebooks in such a kernel (see nbgrader_config.py). The kernels are called anatomy-bwrap
and anatomy-zygote, like their provisioners.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from anatomy.system.files import replace

from .availability import sandbox_available

KERNELS = {"anatomy-bwrap": "Python in a sandbox", "anatomy-zygote": "Python in a sandbox, forked"}


def kernel_spec(name: str) -> dict:
    """Contents of kernel.json. Raises KeyError for a name that is not in KERNELS."""
    return {
        "argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": KERNELS[name],
        "language": "python",
        # A signal can't reach a process in another process namespace by the id that the client knows.
        "interrupt_mode": "message",
        "metadata": {"kernel_provisioner": {"provisioner_name": name, "config": {}}},
    }


def install(prefix: str | Path = sys.prefix) -> list[Path]:
    """Write both specifications below ``prefix``/share/jupyter/kernels, each whole or not at all. Returns the files.

    Raises OSError."""
    written = []
    for name in KERNELS:
        file = Path(prefix) / "share" / "jupyter" / "kernels" / name / "kernel.json"
        replace(file, (json.dumps(kernel_spec(name), indent=1) + "\n").encode())
        written.append(file)
    return written


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 0 if installed, 2 if not possible here."""
    parser = argparse.ArgumentParser(description="Install the kernel specifications of the sandboxes.")
    parser.add_argument("--prefix", default=sys.prefix, help="environment to install to (default: this one)")
    prefix = parser.parse_args(argv).prefix
    available = sandbox_available()
    if not available:
        print(f"Validate stays without a sandbox: {available.reason}.", file=sys.stderr)
        return 2
    try:
        files = install(prefix)
    except OSError as error:
        print(f"The kernels cannot be written to {prefix}: {error.strerror or error}.", file=sys.stderr)
        return 2
    print("nbgrader's Validate now runs notebooks in a sandbox, where these are found:", *files, sep="\n  ")
    if available.reason:
        print(f"Each imports torch anew: {available.reason}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
