"""How far a learner is: what was passed, the page and the certificate that show it."""

from typing import Any


def __getattr__(name: str) -> Any:
    """For one release: what ``anatomy.progress`` held when it was a file (see ``moved``)."""
    from . import standing

    return getattr(standing, name)
