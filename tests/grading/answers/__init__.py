"""Answers to the exercises with forbidden built-ins, as text: evasions, right answers, cells that only play."""

from pathlib import Path


def load(name: str) -> list[tuple[str, str, str, list[str]]]:
    """(exercise, what is special, the answer cell, the student's own cells) of each entry of a file beside this one.

    An entry begins with ``=== exercise: what is special``; ``---`` begins a cell of the student's own.
    """
    entries = []
    for entry in (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, body = entry.partition("\n")
        exercise, _, special = head.partition(": ")
        answer, *own = body.split("--- a cell of one's own\n")
        entries.append((exercise, special, answer, own))
    return entries


# Each has a library compute what an exercise asks to be written by hand, or changes what names mean.
EVASIONS = load("evasions")
# Written as differently as students write them.
RIGHT = load("right")
# Cells that try things out beside the answers.
PLAYING = load("playing")
