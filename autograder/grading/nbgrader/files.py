"""Restricts which files nbgrader's own converters read and write if they run with this repository's configuration.

Stock converters copy all files next to a submitted notebook, follow links, and read ``timestamp.txt`` without a limit.
Here they read only the notebook, through ``opening``, and write only what was made from it, plus two short files that
are checked first: nbgrader's time stamp and its exchange's secret.
"""

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from unittest.mock import patch

from anatomy.system.files import replace
from nbgrader.converters import base

from ..base.masters import gradable_units
from ..base.names import NoName, identifier, shown
from ..intake.opening import BadSubmission
from ..intake.stamps import SECRET, STAMP, careful, opened, read_secret, read_stamp


def guard(converter: Any) -> None:
    """Makes a converter take only ``unit.ipynb`` from each folder, and copy nothing.

    Call it when the converter builds its exporter, before it reads any submission: its hooks cannot reject one.
    Raises NbGraderException if nothing is left to convert.
    """
    careful()
    converter.assignments = dict(_acceptable(converter))
    if not converter.assignments:
        raise base.NbGraderException("There is nothing that can be converted.")
    initialize = converter.init_assignment

    def init_assignment(assignment_id: str, student_id: str) -> None:
        with patch.object(base, "find_all_files", lambda path, exclude=None: []):  # the files that it would copy
            initialize(assignment_id, student_id)
        _pass_on(converter, assignment_id, student_id)

    converter.init_assignment = init_assignment


def _acceptable(converter: Any) -> Iterator[tuple[str, list[str]]]:
    """(folder, [notebook]) for each valid entry that a converter found, with names as they are stored.

    Logs the others.
    """
    pattern = re.compile(converter._format_source("(?P<unit>.*)", "(?P<student>.*)", escape=True), re.DOTALL)
    found: dict[tuple[str, str], list[str]] = {}
    for folder in sorted(converter.assignments):
        match = pattern.fullmatch(folder)
        student, unit = (match["student"], match["unit"]) if match else ("", folder)
        try:
            if unit not in gradable_units():
                raise NoName(f"there is no unit {shown(unit)!r}")
            found.setdefault((identifier(student), unit), []).append(folder)
        except NoName as error:
            converter.log.error("%s was left out: %s.", shown(folder, 200), error)
    for (student, unit), folders in found.items():
        if len(folders) > 1:
            converter.log.error("%s was left out: two folders are named so, leave one of them.", shown(student))
        elif fnmatch(unit, converter.coursedir.notebook_id):
            folder = converter._format_source(unit, student)
            yield folder, [os.path.join(folder, f"{unit}.ipynb")]


def _pass_on(converter: Any, unit: str, student: str) -> None:
    """Writes the files that later steps of nbgrader need next to the notebook: the time stamp and the secret."""
    source, target = converter._format_source(unit, student), Path(converter._format_dest(unit, student))
    try:
        with opened(converter.coursedir, source) as folder:
            stamp, _ = read_stamp(folder)
            secret = read_secret(folder)
    except BadSubmission as error:
        converter.log.warning("%s", error)
        return
    if stamp:
        replace(target / STAMP, f"{stamp}\n".encode())
    if secret:
        replace(target / SECRET, secret.encode())
