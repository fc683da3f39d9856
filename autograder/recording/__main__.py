"""``python -m autograder.recording [--device cuda]``: recordings, precision and widgets' tables, one after the other.

Needs torch, numpy and safetensors; what needs more is left out where that is missing, and said so.
"""

import sys
from collections.abc import Sequence

from autograder.recording import precision, references


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all three (the widgets' tables only for the whole course); returns an exit status."""
    argv = sys.argv[1:] if argv is None else argv
    options = references.arguments(__doc__, argv)
    status = references.main(argv) or precision.main(argv)
    if status or options.unit:
        return status
    try:
        from autograder.recording import widgets
    except ModuleNotFoundError as error:
        package = str(error.name).split(".")[0]
        print(f"The widgets' tables need {package}, which is not here: their files stay as they are.")
        return 0
    tables = widgets.record(options.out / "widgets", options.device, options.fresh)["files"]
    print(f"widgets: {len(tables)} tables")
    return 0


if __name__ == "__main__":
    sys.exit(main())
