"""Staff wing: references, exercise specs, judge, grading, recording and build."""

from pathlib import Path

# The repository. Here because a sandbox sees this file and ``autograder.sandbox``, and nothing else of the package.
ROOT = Path(__file__).resolve().parents[1]
