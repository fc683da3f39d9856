"""Finds a unit's notebook in the unit's folder, also if a browser, a learning platform or a person renamed it.

Files are only searched, as bytes, for the course's marks and names; nothing is parsed here.
"""

import hashlib
import re

from anatomy.system.translation import _, listed, sentences

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
        sentence = _("{name} was graded; other notebooks lie beside it: {names}.")
        sentence = sentence.format(name=right, names=_listed(books))
        return right, ("submission.other_notebooks", sentence) if books else None
    books = [b for b in books if folder.kind(b) == "file"]
    some = books[: MAX_LOOKED + 1]
    found = {b: digest for b in some if (digest := _digest(folder, b, unit))} if len(books) <= MAX_LOOKED else {}
    if len(set(found.values())) == 1:
        name = next(iter(found))
        sentence = _("The notebook is named {name} instead of {right}; it was graded.")
        return name, ("submission.misnamed", sentence.format(name=shown(name), right=right))
    if found or len(books) > MAX_LOOKED:
        sentence = _(
            "There is no file {right} but {n} other notebooks: {names}. Leave the one that counts, and name it {right}."
        )
        if found:
            sentence = _(
                "There is no file {right} but {n} notebooks that may be it: {names}. Leave the one that counts, and "
                "name it {right}."
            )
        those = list(found) or books
        raise BadSubmission("submission.several", sentence.format(right=right, n=len(those), names=_listed(those)))
    missing = _("There is no file {name}.").format(name=right)
    raise BadSubmission("submission.missing", sentences(missing, _advice(names)))


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
    more, some = len(names) - MAX_NAMED, listed(map(shown, names[:MAX_NAMED]))
    return _("{names} and {n} more").format(names=some, n=more) if more > 0 else some


def _advice(names: list[str]) -> str:
    if not names:
        return _("The folder is empty.")
    if some := list(filter(is_notebook, names)):
        return _("There is {names}; rename the right one.").format(names=_listed(some))
    if some := list(filter(is_archive, names)):
        return _("There is {names}; unpack it.").format(names=_listed(some))
    said = _("There is {names}; submit the notebook itself, the file that ends in .ipynb.")
    return said.format(names=_listed(names))
