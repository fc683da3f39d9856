"""Widgets that draw a learner's own function: ``from anatomy.widgets import RopeExplorer``."""

from .base import TableWidget
from .calls import WrongOutput
from .mix import MixExplorer
from .rope import RopeExplorer

__all__ = ["MixExplorer", "RopeExplorer", "TableWidget", "WrongOutput"]
