"""A learner's progress: what was passed, and the page and the certificate that show it."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """For one release: the names that ``anatomy.progress`` had when it was a file (see ``moved``)."""
    return getattr(importlib.import_module(f"{__name__}.standing"), name)
