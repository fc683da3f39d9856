"""Widgets that draw a learner's own function: ``from anatomy.widgets import RopeExplorer``."""

from pathlib import Path

from .base import TableWidget
from .calls import WrongOutput
from .mix import MixExplorer
from .rope import RopeExplorer

# nbconvert's lab template drops alt text; --template=course with this folder as a base directory keeps it.
TEMPLATES = Path(__file__).parent / "templates"

__all__ = ["TEMPLATES", "MixExplorer", "RopeExplorer", "TableWidget", "WrongOutput"]
