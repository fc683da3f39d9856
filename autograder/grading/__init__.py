"""Grading: submissions rebuilt from trusted notebooks, run in sandboxes, judged here, written by one trusted writer."""
