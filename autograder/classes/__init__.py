"""Where classes live: rosters, downloads of Moodle and Canvas, tables for them, and submissions that look alike."""

import sys

from . import stopping

if sys.argv[:1] == ["-m"]:  # a command of this package is being started, and its imports take seconds
    sys.excepthook = stopping.hook
