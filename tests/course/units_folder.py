"""A small course of two units, so that tests of questions and progress don't depend on the real course's texts."""

import json

from anatomy.judge.verdict import Verdict
from anatomy.progress.standing import note
from anatomy.system.store import home

FIRST, SECOND, THIRD = "start.average", "rope.turn", "rope.rope"  # the course's exercises

ROPE = {
    "unit": "06-rope",
    "title": "Rotary positions",
    "minutes": 60,
    "reading": {"core": 30, "extensions": 10},
    "exercises": [
        {"id": "rope.turn", "title": "Turning a pair", "points": 2, "minutes": 15, "difficulty": 1, "worth": "It is."},
        {"id": "rope.rope", "title": "RoPE <all planes>", "points": 4, "minutes": 45, "difficulty": 3, "worth": "Yes."},
    ],
    "predictions": [
        {
            "id": "rope.p1",
            "question": "The product is…",
            "options": ["0.5 again", "some other number", "gone?"],
            "adjacent": True,
        },
        {
            "id": "rope.p2",
            "question": "What does PI do?",
            "options": ["rescues <all>", "ruins back"],
            "adjacent": False,
        },
        {"id": "rope.p3", "question": "How many turns?", "options": [], "adjacent": False},
    ],
    "quizzes": [
        {
            "id": "rope.q-1",
            "question": "Which turn is left?",
            "choices": [
                {"text": "by 5θ", "right": True, "why": "R(12 − 7)."},
                {"text": "by 12θ", "right": False, "why": "That is the key's own turn."},
                {"text": "by <19>θ", "right": False, "why": "The transpose turns back."},
            ],
        },
        {
            "id": "rope.q-2",
            "question": "What changes?",
            "choices": [
                {"text": "all scores", "right": False, "why": "Scores see distances."},
                {"text": "nothing", "right": True, "why": "Scores are relative."},
            ],
        },
    ],
    "claims": [
        {"id": "c1", "claim": "RoPE is relative.", "cells": ["aa"]},
        {"id": "c2", "claim": "PI spoils nothing.", "cells": ["bb"]},
    ],
}
START = {
    "unit": "00-start",
    "title": "Start here",
    "minutes": 5,
    "exercises": [
        {
            "id": "start.average",
            "title": "An average",
            "points": 1,
            "minutes": 5,
            "difficulty": 1,
            "worth": "It comes back.",
        }
    ],
    "predictions": [],
    "quizzes": [],
    "claims": [],
}

MASKS = {
    "unit": "07-masks",
    "title": "Masks",
    "minutes": 9,
    "predictions": [],
    "quizzes": [],
    "claims": [],
    "exercises": [
        {
            "id": "masks.causal",
            "title": "The causal mask",
            "points": 1,
            "minutes": 9,
            "difficulty": 1,
            "worth": "It hides.",
            "extension": False,
        }
    ],
}
EARLY, LATE = "rope.stretch", "rope.third_form"
EXTRA = {"points": 3, "minutes": 20, "difficulty": 2, "worth": "More.", "extension": True}


def add_extensions(folder):
    """Gives unit 06 in the folder ``units`` two extensions, EARLY and LATE, and adds a unit 07 without any."""
    turn, rope = ROPE["exercises"]
    beyond = [{"id": EARLY, "title": "Stretching <it>", **EXTRA}, {"id": LATE, "title": "A third form", **EXTRA}]
    for unit in ({**ROPE, "exercises": [turn, beyond[0], rope, beyond[1]]}, MASKS):
        (folder / f"{unit['unit']}.json").write_text(json.dumps(unit), encoding="utf-8")


def write(folder):
    """Writes the two units under ``folder/units``; returns the folder, for ANATOMY_ASSETS."""
    (folder / "units").mkdir(parents=True)
    for unit in (START, ROPE):
        (folder / "units" / f"{unit['unit']}.json").write_text(json.dumps(unit), encoding="utf-8")
    return folder


def tried(exercise, passed=False, score=None):
    """Notes one try of an exercise, as a check does; returns the exercise's entry."""
    return note(Verdict(exercise, passed, (1.0 if passed else 0.0) if score is None else score, 1.0))


def put(name, text):
    """Writes ``<home>/<name>.json``; returns its path."""
    home().mkdir(parents=True, exist_ok=True)
    path = home() / f"{name}.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path
