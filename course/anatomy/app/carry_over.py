"""Merges a learner's notebook with a new release of its unit: the release, with everything that the learner wrote.

Text, stubs and checks come from the release. From the learner come answers, found by ``grade_id``; cells of their own,
placed after the same neighbor; and changes to released cells that are the same in both releases. Cells that no longer
have a place go to the end of the notebook as raw cells. Nothing here reads or writes a file.
"""

import copy
import hashlib
import re
from dataclasses import dataclass

from ..system.translation import N_, _
from .build_stamp import KEY, Cell, Notebook, mark, marks, release_of, text_of, unit_of

HEADING_ID = "kept-from-earlier"
HEADING = N_("""## Kept from your earlier notebook

The course has changed, and these cells of yours have no place in it any more. Nothing runs them. To run one, \
click it, press Esc and then Y: that makes it a code cell again.""")
LOCKS = ("nbgrader", "deletable", "editable")  # only the release's count: a learner's copy may be out of date
GENERATED = re.compile(r"(c-[0-9a-f]{12}(-\d+)?|(say|hint|solve|check|written)-.+)")
SWITCH = re.compile(r"^(\w+ = )(True|False)(  # @param .*)$", re.M)  # Colab's own control writes into this line
VALID_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass
class Carried:
    """What was carried over. answers: into their places. cells: the learner's own, and released cells with the
    learner's changes. kept: cells at the end, new with this update."""

    answers: int = 0
    cells: int = 0
    kept: int = 0


def merge(work: Notebook, release: Notebook) -> tuple[Notebook, Carried]:
    """(new notebook, Carried) from a learner's notebook and a release, both as ``build_stamp.parse`` gives them."""
    return _Merge(work, release).run()


def checksum(cell: Cell) -> str:
    """nbgrader's checksum of a cell; an untouched cell has it in its own metadata."""
    about = _nbgrader(cell)
    grade, solution = bool(about.get("grade")), bool(about.get("solution"))
    locked = not solution and (grade or bool(about.get("locked")))
    parts = [text_of(cell), cell["cell_type"], *map(str, (grade, solution, locked)), str(about.get("grade_id"))]
    if about.get("grade"):
        try:
            parts.append(str(float(about["points"])))
        except (KeyError, TypeError, ValueError):
            return ""
    return hashlib.md5("".join(parts).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


class _Merge:
    def __init__(self, work, release):
        self.work, self.release = work, release
        self.before, self.after = marks(work), marks(release)
        self.signed = bool(release_of(work))  # else it is older than marks in notebooks, or from another program
        self.cells = copy.deepcopy(release["cells"])
        self.by_id = {c.get("id"): c for c in self.cells}
        self.answers = {_key(c): c for c in self.cells if _is_answer(c)}
        self.checks = {_key(c): c for c in self.cells if _is_check(c) and not _is_answer(c)}
        self.met = set()  # released cells and answers already placed: a second one is the learner's
        self.doubles, self.own = {}, {}  # id of a released cell → cells to put after it
        self.anchor = None
        self.lost, self.tail = [], []
        self.report = Carried()

    def run(self):
        for cell in copy.deepcopy(self.work["cells"]):
            if not self.tail and _is_heading(cell):
                self.tail.append(cell)
                continue
            self._place(cell)
        cells = [*self.own.get(None, ())]
        for cell in self.cells:
            cells += [cell, *self.doubles.get(cell.get("id"), ()), *self.own.get(cell.get("id"), ())]
        cells += self._end()
        _name(cells, self.cells)
        about = {**self.release["metadata"], **self.work["metadata"]}
        about.pop(KEY, None)
        if KEY in self.release["metadata"]:
            about[KEY] = copy.deepcopy(self.release["metadata"][KEY])
        minor = self.work.get("nbformat_minor")
        minor = max(5, minor if isinstance(minor, int) else 5)  # 5: since then cells have ids
        return {**self.release, "metadata": about, "cells": cells, "nbformat_minor": minor}, self.report

    def _place(self, cell):
        if cell.get("id") is None:
            self._find_id(cell)
        if _is_answer(cell):
            self._answer(cell)
        elif _is_check(cell):
            self._check(cell)
        elif self._is_released(cell):
            self.met.add(cell["id"])
            self._released(cell)
        elif self.tail:
            self.tail.append(cell)
        else:
            self.own.setdefault(self.anchor, []).append(cell)
            self.report.cells += bool(text_of(cell).strip())

    def _find_id(self, cell):
        """Restores the id of a cell, since some programs save none: that of the released cell with exactly the same
        text."""
        known = {m: i for i, m in {**self.after, **self.before}.items() if i not in self.met}
        if mark(cell) in known:
            cell["id"] = known[mark(cell)]

    def _is_released(self, cell):
        name = cell.get("id")
        if name in self.met or not isinstance(name, str):
            return False
        return name in self.before if self.signed else name in self.by_id or bool(GENERATED.fullmatch(name))

    def _is_untouched(self, cell, new):
        """Whether a released cell is still as released. In doubt it is not: then it counts as the learner's."""
        if cell.get("id") in self.before:
            return mark(cell) == self.before[cell["id"]]
        if new is not None and mark(cell) == mark(new):
            return True
        return _nbgrader(cell).get("checksum") == checksum(cell) or self._names_itself(cell)

    def _names_itself(self, cell):
        """Whether a cell's id fits its source: ids of released texts and demonstrations are made from it
        (autograder/notebooks/source.py)."""
        whole = f"{unit_of(self.release)}/{cell['cell_type']}/{text_of(cell)}"
        made = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()
        return re.fullmatch(rf"c-{made[:12]}(-\d+)?", str(cell.get("id"))) is not None

    def _answer(self, cell):
        key = _key(cell)
        new = self.answers.get(key) or self.answers.get(cell.get("id"))
        if new is None:
            if text_of(cell).strip() and not self._is_untouched(cell, None):
                self.lost.append(cell)
            return
        if key in self.met:  # grading counts the first, and so does this merge
            self.doubles.setdefault(new["id"], []).append(cell)
            self.report.cells += 1
            return
        self.met.add(key)
        self.anchor = new["id"]
        if text_of(cell).strip() and not self._is_untouched(cell, new):
            new["source"] = cell.get("source", "")
            if "attachments" in cell:  # a picture in a written answer
                new["attachments"] = cell["attachments"]
            self.report.answers += 1
        if mark(new) == mark(cell):
            _adopt(new, cell)

    def _check(self, cell):
        new = self.checks.get(_key(cell)) or self.checks.get(cell.get("id"))
        if new is not None:
            self.anchor = new["id"]
        if not self._is_untouched(cell, new):
            self._lose(cell)

    def _released(self, cell):
        new = self.by_id.get(cell["id"])
        if new is not None:
            self.anchor = cell["id"]
            if mark(new) == mark(cell):
                _adopt(new, cell)
                return
        if self._is_untouched(cell, new):
            return
        if new is not None and self._is_only_switched(cell):
            new["source"] = _switched(text_of(new), dict(_switches(cell)))
            self.report.cells += 1
        elif new is not None and self._is_same_release(cell["id"], new):
            new.clear()
            new.update(cell)
            self.report.cells += 1
        else:
            self._lose(cell)

    def _is_same_release(self, name, new):
        if name in self.before:
            return self.before[name] == mark(new)
        return name.startswith("c-")  # such an id is made from the text

    def _is_only_switched(self, cell):
        """Whether a cell differs from its release only by a choice in a line that Colab shows as a control."""
        released = self.before.get(cell["id"])
        others = ({name: value for name, _ in _switches(cell)} for value in ("True", "False"))
        return released in [mark({**cell, "source": _switched(text_of(cell), other)}) for other in others]

    def _lose(self, cell):
        if text_of(cell).strip():
            self.lost.append(cell)

    def _end(self):
        there = {(_kept(c), text_of(c)) for c in self.tail}
        new = [c for c in map(_raw, self.lost) if (_kept(c), text_of(c)) not in there]
        self.report.kept = len(new)
        if new and not self.tail:
            self.tail.append(
                {
                    "cell_type": "markdown",
                    "id": HEADING_ID,
                    "metadata": {KEY: {"kept": "heading"}},
                    "source": _(HEADING),
                }
            )
        return self.tail + new


def _switches(cell):
    return [(line[1], line[2]) for line in SWITCH.finditer(text_of(cell))]


def _switched(source, values):
    """A source with the choices of ``values``: the text before each choice → True or False, as text."""
    return SWITCH.sub(lambda line: line[1] + values.get(line[1], line[2]) + line[3], source)


def _nbgrader(cell):
    about = cell["metadata"].get("nbgrader")
    return about if isinstance(about, dict) else {}


def _key(cell):
    """The key of an answer: its grade_id, or its cell id if the marks were lost."""
    name = _nbgrader(cell).get("grade_id")
    return name if isinstance(name, str) else str(cell.get("id"))


def _is_answer(cell):
    """True for a cell with an answer, in code or in words."""
    named = str(cell.get("id")).startswith(("solve-", "written-"))
    return bool(_nbgrader(cell).get("solution")) or not _nbgrader(cell) and named


def _is_check(cell):
    return bool(_nbgrader(cell).get("grade")) or not _nbgrader(cell) and str(cell.get("id")).startswith("check-")


def _kept(cell):
    about = cell["metadata"].get(KEY)
    return about.get("kept") if isinstance(about, dict) else None


def _is_heading(cell):
    return cell.get("id") == HEADING_ID or _kept(cell) == "heading"


def _adopt(new, cell):
    """Keeps outputs, folds and tags of the learner's cell, and the release's locks; both cells have the same source."""
    tags = [t for c in (new, cell) for t in _tags(c)]
    about = {**new["metadata"], **{k: v for k, v in cell["metadata"].items() if k not in LOCKS}}
    if tags:
        about["tags"] = list(dict.fromkeys(tags))
    new["metadata"] = about
    for part in ("outputs", "execution_count"):
        if part in new and part in cell:
            new[part] = cell[part]


def _tags(cell):
    tags = cell["metadata"].get("tags")
    return [t for t in tags if isinstance(t, str)] if isinstance(tags, list) else []


def _raw(cell):
    """The cell as a raw cell, which never runs: as code it would run during grading, and override newer code."""
    about = {"kept": _key(cell), "was": cell["cell_type"]}
    extra = {"attachments": cell["attachments"]} if "attachments" in cell else {}
    name = hashlib.sha256(f"{about}/{text_of(cell)}".encode("utf-8", "replace")).hexdigest()[:12]
    return {
        "cell_type": "raw",
        "id": f"kept-{name}",
        "metadata": {KEY: about},
        "source": cell.get("source", ""),
        **extra,
    }


def _name(cells, released):
    """Gives every cell an id of its own; released cells keep theirs."""
    fixed = {id(c) for c in released}
    taken = {c.get("id") for c in released}
    for cell in cells:
        if id(cell) in fixed:
            continue
        name = cell.get("id")
        if not isinstance(name, str) or not VALID_ID.fullmatch(name) or name in taken:
            base, n = f"yours-{mark(cell)}", 1
            cell["id"] = base
            while cell["id"] in taken:
                n += 1
                cell["id"] = f"{base}-{n}"
        taken.add(cell["id"])
