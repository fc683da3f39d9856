"""How far a learner is: what was passed, the page and the certificate that show it."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """For one release: what ``anatomy.progress`` held when it was a file (see ``moved``)."""
    return getattr(importlib.import_module(f"{__name__}.standing"), name)
