"""Recap questions: choose, commit, and see whether it is right and why. The first answer is remembered."""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..program import units
from ..system import store
from ..system.translation import _, said
from .predictions import labels

if TYPE_CHECKING:
    from .question import Question


def quiz(question: str, choices: Mapping[str, tuple[bool, str]] | None = None) -> "Question":
    """The recap questions of a unit, e.g. ``quiz("06-rope")``, or one question with its own choices.

    Args:
        question: a unit's name; or the question, in one sentence.
        choices: dict choice → (is it right, why), exactly one of them right. None for a unit's questions.

    Raises:
        ValueError: a question does not have exactly one right choice.
        MissingRecording: there is no such unit; the message names the known ones.
    """
    if choices is None:
        unit = units.load(question)
        name = _("Recap questions of {unit}").format(unit=said(question, unit["title"]))
        return _asked(unit["quizzes"], name, question)
    one = {
        "id": f"single.{hashlib.sha256(question.encode()).hexdigest()[:12]}",
        "question": question,
        "choices": [{"text": text, "right": right, "why": why} for text, (right, why) in choices.items()],
    }
    return _asked([one], _("Recap question"))


def _asked(quizzes, name, unit=""):
    from .question import Question  # here, because `import anatomy` should not wait for the widget libraries

    for q in quizzes:
        right = sum(c["right"] for c in q["choices"])
        if right != 1:
            wrong = _("a question needs exactly one right choice, this one has {n}: {question}")
            raise ValueError(wrong.format(n=right, question=q["question"]))
    by_id, answered = {q["id"]: q for q in quizzes}, store.read("quizzes")

    def commit(key, value):
        entry, saved = _note(by_id[key], value)
        state = _state(by_id[key], {**entry, "last": value}, unit)
        return state if saved else {**state, "why": f"{state['why']} {_('(This answer could not be saved.)')}"}

    items = [
        {
            "key": q["id"],
            "question": said(unit, q["question"]),
            "options": [c["text"] for c in q["choices"]],
            "above": False,
            "button": _("Answer"),
        }
        | labels(unit, [c["text"] for c in q["choices"]])
        for q in quizzes
    ]
    states = {q["id"]: _state(q, answered[q["id"]], unit) for q in quizzes if q["id"] in answered}
    return Question(items, commit, {key: state for key, state in states.items() if state}, name)


def _note(question, value):
    """Records an answer; returns (entry, saved)."""
    right = next(c["right"] for c in question["choices"] if c["text"] == value)

    def change(data):
        entry = data.setdefault(
            question["id"], {"first": value, "right_on_first": right, "tries": 0, "last": None, "right": False}
        )
        if entry["right"]:
            return  # already answered in another notebook
        entry["tries"] += entry["last"] != value
        entry |= {"last": value, "right": right}

    data, saved = store.update("quizzes", change)
    return data[question["id"]], saved


def _state(question, entry, unit=""):
    """What the page shows for an answer; None if the question's choices have changed since."""
    chosen = next((c for c in question["choices"] if c["text"] == entry["last"]), None)
    if chosen is None:
        return None
    if not chosen["right"]:
        return {
            "choice": chosen["text"],
            "tone": "wrong",
            "message": _("Not quite."),
            "why": said(unit, chosen["why"]),
            "button": _("Answer again"),
        }
    return {
        "choice": chosen["text"],
        "tone": "right",
        "message": _("Right."),
        "why": said(unit, chosen["why"]),
        "locked": True,
        "others": [
            [said(unit, c["text"]), said(unit, c["why"])] for c in question["choices"] if c is not chosen and c["why"]
        ],
    }
