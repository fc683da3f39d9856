"""Finds a unit's notebook in the unit's folder, also if a browser, a learning platform or a person renamed it.

Files are only searched, as bytes, for the course's marks and names; nothing is parsed here.
"""

import hashlib
import re

from ..base.masters import gradable_units, master
from ..base.names import is_archive, is_junk, is_notebook, shown
from .opening import BadSubmission, Folder, Problem

MAX_LOOKED = 5  # notebooks with other names that are searched; if there are more, a person has to choose one
MAX_NAMED = 3  # file names in a sentence


def locate(folder: Folder, unit: str) -> tuple[str, Problem | None]:
    """(name of the notebook that counts, remark about its name or about other notebooks) in an open unit folder.

    Raises BadSubmission if there is no notebook, or if it is unclear which one counts.
    """
    right = f"{unit}.ipynb"
    try:
        names = [n for n in folder.names()[0] if not is_junk(n)]
    except BadSubmission:
        return right, None  # opening the notebook then raises with the reason
    books = [n for n in names if is_notebook(n) and n != right]
    if folder.kind(right):
        sentence = f"{right} was graded; other notebooks lie beside it: {_listed(books)}."
        return right, ("submission.other_notebooks", sentence) if books else None
    books = [b for b in books if folder.kind(b) == "file"]
    some = books[: MAX_LOOKED + 1]
    found = {b: digest for b in some if (digest := _digest(folder, b, unit))} if len(books) <= MAX_LOOKED else {}
    if len(set(found.values())) == 1:
        name = next(iter(found))
        return name, ("submission.misnamed", f"The notebook is named {shown(name)} instead of {right}; it was graded.")
    if found or len(books) > MAX_LOOKED:
        what = f"{len(found)} notebooks that may be it" if found else f"{len(books)} other notebooks"
        raise BadSubmission(
            "submission.several",
            f"There is no file {right} but {what}: {_listed(list(found) or books)}. Leave the one that counts, and "
            f"name it {right}.",
        )
    raise BadSubmission("submission.missing", f"There is no file {right}.{_advice(names)}")


def _digest(folder: Folder, name: str, unit: str) -> str:
    """SHA-256 of the file if it is a notebook of this unit, else ""."""
    try:
        data = folder.read(name)
    except BadSubmission:
        return ""
    return hashlib.sha256(data).hexdigest() if _is_of(data, unit) else ""


def _is_of(data: bytes, unit: str) -> bool:
    """True if a file has marks of the unit's answers, or no unit's marks but functions that the unit asks for."""
    marked = [u for u in gradable_units() if any(f'"{name}"'.encode() in data for name in master(u).answers)]
    if marked:
        return unit in marked
    targets = "|".join(re.escape(t) for e in master(unit).exercises for t in e.targets)
    return re.search(rf"\b(?:def|class)\s+(?:{targets})\b".encode(), data) is not None


def _listed(names: list[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(map(shown, names[:MAX_NAMED])) + (f" and {more} more" if more > 0 else "")


def _advice(names: list[str]) -> str:
    if not names:
        return " The folder is empty."
    for test, advice in ((is_notebook, "rename the right one"), (is_archive, "unpack it")):
        some = [n for n in names if test(n)]
        if some:
            return f" There is {_listed(some)}; {advice}."
    return f" There is {_listed(names)}; submit the notebook itself, the file that ends in .ipynb."
