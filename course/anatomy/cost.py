"""What a calculation costs, for the cells of notebooks."""

from .program.cost import Meter as Meter
