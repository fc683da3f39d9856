"""Grading: submissions rebuilt from trusted notebooks, run in sandboxes, judged here, written by one trusted writer."""

import sys

# jsonschema would build RFC 3987's grammar at its import, a second of processor time in each process, for the format
# "iri", which notebooks do not use. Without the package it leaves that one check out.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: importing it fails
