"""Classes of students: rosters, downloads from Moodle and Canvas, score tables for them, and similar submissions."""

import sys

from autograder import grading  # noqa: F401  # before nbgrader: see grading/base/lean.py

from . import stopping

if sys.argv[:1] == ["-m"]:  # a command of this package is starting, and its imports take seconds
    sys.excepthook = stopping.hook
