"""Answers to the exercises with forbidden built-ins, as text: evasions, right answers, cells that only try things."""

from pathlib import Path


def load(name: str) -> list[tuple[str, str, str, list[str]]]:
    """The entries of a text file in this folder: (exercise, remark, the answer cell, the student's own cells).

    An entry begins with ``=== exercise: remark``; ``---`` begins a cell of the student's own.
    """
    entries = []
    for entry in (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, body = entry.partition("\n")
        exercise, _, special = head.partition(": ")
        answer, *own = body.split("--- a cell of one's own\n")
        entries.append((exercise, special, answer, own))
    return entries


# Each lets a library compute what the exercise asks students to write by hand, or rebinds names.
EVASIONS = load("evasions")
# Right answers in as many styles as students write them.
RIGHT = load("right")
# Cells in which students try things out next to their answers.
PLAYING = load("playing")
