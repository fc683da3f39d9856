"""What of a student's text may stand in a terminal, a report or a page."""

import re

# Direction overrides and control characters could make a reader see something else than is there; halves of a
# surrogate pair cannot be written to a file at all. Tabs and line breaks stay.
_MISLEADING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text without any character that could mislead a reader."""
    return _MISLEADING.sub("", text)
