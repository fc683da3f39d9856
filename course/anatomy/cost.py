"""The cost of a calculation, for notebook cells."""

from .program.cost import Meter as Meter
