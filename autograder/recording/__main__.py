"""Records references, precision, changes of right answers, widgets' tables and the language model.

``python -m autograder.recording [--device cuda]`` needs torch, numpy and safetensors; parts that need more packages are
skipped with a message if these are missing.
"""

import sys
from collections.abc import Sequence

from autograder import ROOT
from autograder.recording import edits, precision, references
from autograder.recording.language_model import current


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all recorders (with ``--unit``, without the last two); returns an exit status."""
    argv = sys.argv[1:] if argv is None else argv
    options = references.arguments(__doc__, argv)
    is_ours = options.out.resolve() == ROOT / "assets" / "recordings"
    status = references.main(argv) or precision.main(argv)
    if not status and is_ours:  # changes are tried on the recordings that the course uses
        edits.record(options.out, options.unit, options.fresh)
    if status or options.unit:
        return status
    try:
        from autograder.recording import widgets
    except ModuleNotFoundError as error:
        package = str(error.name).split(".")[0]
        print(f"The widgets' tables need {package}, which is not here: their files stay as they are.")
    else:
        tables = widgets.record(options.out / "widgets", options.device, options.fresh)["files"]
        print(f"widgets: {len(tables)} tables")
    # The model is in assets/models, whatever --out says: recording into a different folder must not start a training.
    return current.record(options.device) if is_ours else 0


if __name__ == "__main__":
    sys.exit(main())
