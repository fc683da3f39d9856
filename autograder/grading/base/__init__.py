"""Shared by all packages of grading: the trusted notebooks, names, notes and words."""
