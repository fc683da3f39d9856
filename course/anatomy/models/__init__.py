"""Whole models: configurations, real checkpoints, and the comparison with Hugging Face's."""

from .config import CHOICES, DEFAULTS, Config, WrongConfiguration, config, has_window

__all__ = ["CHOICES", "DEFAULTS", "Config", "WrongConfiguration", "config", "has_window"]
