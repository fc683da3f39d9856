"""Finds the unit of a notebook by the marks of its cells or by its name. It searches the bytes without parsing them."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache

from autograder.grading.base.masters import gradable_units, source_notebook_path

# A cell's nbgrader mark, or its id if another program has dropped the marks.
_MARK = re.compile(rb'"(?:grade_)?id"\s*:\s*"([\w.\-]{1,100})"')
MAX_MARKS = 20_000  # per file; the course's longest notebook has a few hundred


def by_marks(data: bytes) -> str:
    """The unit to which most of a notebook's marked cells belong, or ""."""
    known, found = _cells(), Counter[str]()
    for n, match in enumerate(_MARK.finditer(data)):
        if n == MAX_MARKS:
            break
        if unit := known.get(match[1]):
            found[unit] += 1
    return found.most_common(1)[0][0] if found else ""


def by_name(filename: str) -> str:
    """The one unit whose name a file name contains, or "": ``ada_06-rope (1).ipynb`` belongs to 06-rope."""
    plain = re.sub(r"[\W_]+", "-", filename.lower())
    found = [u for u in gradable_units() if re.search(rf"(?<![0-9a-z]){re.escape(u)}(?![a-z])", plain)]
    return found[0] if len(found) == 1 else ""


@cache
def _cells() -> Mapping[bytes, str]:
    """dict mark or id of a cell → its unit; only for those that occur in exactly one unit."""
    units: dict[bytes, set[str]] = {}
    for unit in gradable_units():
        book = json.loads(source_notebook_path(unit).read_text(encoding="utf-8"))
        for cell in book["cells"]:
            for name in {cell.get("id"), cell["metadata"].get("nbgrader", {}).get("grade_id")} - {None}:
                units.setdefault(name.encode(), set()).add(unit)
    return {name: next(iter(found)) for name, found in units.items() if len(found) == 1}
