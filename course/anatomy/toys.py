"""Tiny models for the cells of notebooks."""

from .program.toys import decoder as decoder
