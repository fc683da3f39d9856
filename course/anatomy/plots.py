"""Plotting style, for the cells of notebooks."""

from .notebook.plots import described as described
from .notebook.plots import use_style as use_style
