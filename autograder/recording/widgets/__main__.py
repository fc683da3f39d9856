"""Command line of the widgets' recordings."""

import argparse
from pathlib import Path

from autograder import ROOT
from autograder.recording import widgets


def main() -> None:
    """Records every widget and prints what was written."""
    parser = argparse.ArgumentParser(description=widgets.__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=ROOT / "assets" / "recordings" / "widgets")
    parser.add_argument("--fresh", action="store_true", help="write everything new, also what differs by rounding only")
    options = parser.parse_args()
    for name, entry in widgets.record(options.out, options.device, options.fresh)["files"].items():
        print(name, entry["sha256"][:12], f"{len(entry['tensors'])} tensors")


if __name__ == "__main__":
    main()
