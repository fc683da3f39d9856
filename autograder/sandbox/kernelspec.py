"""Kernel specifications that put a kernel into a sandbox: ``python -m autograder.sandbox.kernelspec`` installs them.

The kernels are called anatomy-bwrap and anatomy-zygote, like the provisioners behind them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

KERNELS = {"anatomy-bwrap": "Python in a sandbox", "anatomy-zygote": "Python in a sandbox, forked"}


def kernel_spec(name: str) -> dict:
    """Contents of kernel.json. Raises KeyError for other names than those in KERNELS."""
    return {
        "argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": KERNELS[name],
        "language": "python",
        # A signal does not reach a process in another process namespace under the number that the client knows.
        "interrupt_mode": "message",
        "metadata": {"kernel_provisioner": {"provisioner_name": name, "config": {}}},
    }


def install(prefix: str | Path = sys.prefix) -> list[Path]:
    """Write both specifications below ``prefix``/share/jupyter/kernels. Returns the files."""
    written = []
    for name in KERNELS:
        file = Path(prefix) / "share" / "jupyter" / "kernels" / name / "kernel.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(kernel_spec(name), indent=1) + "\n", encoding="utf-8")
        written.append(file)
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Install the kernel specifications of the sandboxes.")
    parser.add_argument("--prefix", default=sys.prefix, help="environment to install to (default: this one)")
    for path in install(parser.parse_args().prefix):
        print(path)
