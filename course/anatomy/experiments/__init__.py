"""Small experiments that a notebook runs live; each takes the learner's own functions as arguments.

``recorded("ffn_variants")`` loads the measurements of larger runs, which a notebook draws next to its own.
``show_large("ffn_variants")`` shows the figure of the GPU-sized run, if it has been recorded.
"""

import json
from typing import Any

from .. import figures
from ..program.records import MissingRecording, assets_dir
from ..program.torch_settings import one_thread as one_thread
from ..system.installation import how_to_repair
from ..system.translation import _

Recorded = dict[str, Any]  # contents of a file under assets/experiments


def recorded(name: str) -> Recorded:
    """Contents of ``assets/experiments/<name>.json`` as a dict; ``made`` says when, where and how it was measured.

    Raises MissingRecording if the file is missing.
    """
    path = assets_dir() / "experiments" / f"{name}.json"
    if not path.exists():
        raise MissingRecording(
            _("{path} is missing, which holds recorded measurements. {repair}").format(
                path=path, repair=how_to_repair("make experiments")
            )
        )
    return json.loads(path.read_text(encoding="utf-8"))


def where(record: Recorded) -> str:
    """One line that says where a recording was made, for captions: ``cpu (x86_64), torch 2.13.0, 2026-01-31``."""
    made = record["made"]
    return f"{made['device']} ({made['name']}), torch {made['torch']}, {made['date']}"


def show_large(name: str) -> None:
    """Shows the figure of an experiment's large setting, with its device in the caption; does nothing if it is missing.

    The large setting needs more than a laptop. Its data are in ``assets/experiments/large``; its figure, with alt text
    and its numbers, is in ``assets/figures/large``.
    """
    folder = assets_dir() / "figures" / "large"
    path = folder / f"{name}.svg"
    if not path.exists():
        return
    from IPython.display import display

    alt = json.loads((folder / "alt.json").read_text(encoding="utf-8"))[name]
    numbers = folder / "tables.json"  # missing in folders drawn before figures had tables
    tables = json.loads(numbers.read_text(encoding="utf-8"))[name] if numbers.exists() else []
    caption = _("The same experiment, larger. Recorded on {where}.").format(where=where(recorded(f"large/{name}")))
    shown = figures.page(path.read_bytes(), alt, [figures.Table.read(t) for t in tables], caption)
    display({"text/plain": f"{caption} {alt}", "text/html": shown}, raw=True)
