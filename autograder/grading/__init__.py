"""Grading: submissions rebuilt from trusted notebooks, run in sandboxes, judged here, written by one trusted writer."""

import sys

from anatomy import moved

# jsonschema would build RFC 3987's grammar at its import, a second of processor time in each process, for the format
# "iri", which notebooks do not use. Without the package it leaves that one check out.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: importing it fails

# For one release: what an instructor's own nbgrader_config.py and shell may name as it was called in 0.2.
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
