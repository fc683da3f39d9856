"""Specs of unit 90: sampling."""

from . import tempered

EXERCISES = [tempered.EXERCISE]
