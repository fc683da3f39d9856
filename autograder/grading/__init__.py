"""Grading: rebuild submissions from trusted notebooks, run them in sandboxes, judge them here, store the scores."""

import sys

from anatomy import moved

from .base import lean

# When jsonschema is imported, it builds the grammar of RFC 3987 for the format "iri": a second of processor time in
# each process. Notebooks don't use that format, and without the package jsonschema skips only this check.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: importing it fails
lean.install()

# For one release: module names of version 0.2 that an instructor's nbgrader_config.py or shell commands may still use.
_OLD = {
    "backup": "book.backup",
    "due": "book.due",
    "environment": "base.environment",
    "exchange": "nbgrader.exchange",
    "late": "book.late",
    "nbgrader_steps": "nbgrader.steps",
    "one_secret": "book.one_secret",
    "publishing": "pages.publishing",
    "report": "pages.report",
    "rubric": "pages.rubric",
    "stamps": "intake.stamps",
    "waiting": "pages.waiting",
}
moved.listen(
    {f"{__name__}.{old}": f"{__name__}.{new}" for old, new in _OLD.items()}
    | {"autograder.build.release": "autograder.notebooks.release"}
)
