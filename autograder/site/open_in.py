"""Places where a unit's notebook can be opened from a page."""

from autograder.notebooks.address import read


def links(unit: str) -> list[tuple[str, str]]:
    """[(label, address)] of Colab, Kaggle, Binder and the file itself; [] if the course has no public address.

    unit: such as "06-rope", or "gallery".

    Raises SourceError if the setting in ``pyproject.toml`` is unusable.
    """
    return read().links(unit)
