"""Builds notebooks: reads a unit's text as cells, fills in numbers and verdicts, makes the learner's release."""
