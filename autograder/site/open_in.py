"""Where a unit's notebook can be opened from a page."""

from autograder.notebooks.address import read


def links(unit: str) -> list[tuple[str, str]]:
    """[(label, address)] of Colab, Kaggle, Binder and the file itself; [] where the course has no public address.

    unit: such as "06-rope", or "gallery".

    Raises SourceError where the setting in ``pyproject.toml`` cannot be used.
    """
    return read().links(unit)
