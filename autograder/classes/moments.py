"""Reads times that learning platforms write for people; what can't be read with certainty is no time.

Numbers alone (02/12/2026) are not read, because they can be two days, and the wrong one would cost points. Neither are
months in other languages: marraskuu is November.
"""

import re
from datetime import UTC, datetime, tzinfo

_NAMES = "january february march april may june july august september october november december".split()
_MONTHS = {form: n for n, name in enumerate(_NAMES, 1) for form in (name, name[:3])} | {"sept": 9}
_MONTH = r"(?P<month>[A-Za-z]{3,9})\.?"
_CLOCK = r"(?P<year>\d{4}),? (?P<hour>\d{1,2}):(?P<minute>\d\d)(?: ?(?P<half>[AP])\.?M\.?)?"
_FORMS = [
    re.compile(rf"(?:[A-Za-z]+,? )?{day} {_CLOCK}", re.I | re.A)
    for day in (rf"(?P<day>\d{{1,2}}) {_MONTH}", rf"{_MONTH} (?P<day>\d{{1,2}}),?")
]
_ISO = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*", re.A)


def read_moment(text: str, zone: tzinfo | None = None) -> datetime | None:
    """The time (UTC) that Moodle writes in English, or in ISO format; None if it can't be read with certainty. Of the
    hour that comes twice in autumn, the earlier one is meant: it never makes anybody late.

    >>> print(read_moment("Sunday, 22 November 2026, 5:57 PM", UTC), read_moment("02/12/26, 17:57", UTC))
    2026-11-22 17:57:00+00:00 None
    """
    text = " ".join(text.split())
    try:
        local = datetime.fromisoformat(text) if _ISO.fullmatch(text) else _spelled_out(text)
        if local is None:
            return None
        return (local if local.tzinfo or zone is None else local.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _spelled_out(text: str) -> datetime | None:
    match = next(filter(None, (form.fullmatch(text) for form in _FORMS)), None)
    if match is None or match["month"].lower() not in _MONTHS:
        return None
    hour, half = int(match["hour"]), (match["half"] or "").upper()
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + 12 * (half == "P") if half else hour
    return datetime(int(match["year"]), _MONTHS[match["month"].lower()], int(match["day"]), hour, int(match["minute"]))
