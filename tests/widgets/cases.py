"""The cases of all widgets; each is in the folder of its widget."""

from importlib import import_module
from pathlib import Path

from .case import Case

_FOLDERS = sorted(path.parent.name for path in Path(__file__).parent.glob("*/case.py"))
# class name → case
CASES: dict[str, Case] = {
    case.widget.__name__: case for case in (import_module(f"{__package__}.{name}.case").CASE for name in _FOLDERS)
}
