"""The folder of recorded data, and the error for recordings that are missing."""

from pathlib import Path

from ..system import installation


class MissingRecording(RuntimeError):
    """No recording for a unit or exercise; the message says what to do."""


def assets_dir() -> Path:
    """The folder ``assets/``: where ANATOMY_ASSETS says, beside ``course/``, or in the wheel."""
    return installation.assets()
