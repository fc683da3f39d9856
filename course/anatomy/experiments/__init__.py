"""Small experiments that a notebook runs live; each takes the learner's own functions as arguments.

``recorded("ffn_variants")`` loads the measurements of the larger runs, which a notebook draws beside its own.
"""

import json

from ..records import MissingRecording, assets_dir


def recorded(name):
    """Contents of ``assets/experiments/<name>.json`` as a dict; ``made`` says when, where and how it was measured.

    Raises MissingRecording when the file is not there.
    """
    path = assets_dir() / "experiments" / f"{name}.json"
    if not path.exists():
        raise MissingRecording(f"{path} is missing, which holds recorded measurements. In a student package, unpack "
                               "the zip again.")
    return json.loads(path.read_text(encoding="utf-8"))


def where(record):
    """One line that says where a recording was made, for captions: ``cpu (x86_64), torch 2.13.0, 2026-01-31``."""
    made = record["made"]
    return f"{made['device']} ({made['name']}), torch {made['torch']}, {made['date']}"
