"""Extracts what the student's package needs from a unit's text: ``assets/units/NN-name.json`` (``program/units.py``).

Questions are moved out of the code here: a notebook holds them as plain text and a short call, so that they can be read
without a kernel, and no cell's source gives away an answer.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

import nbformat
from anatomy.notebook.claims import mark
from anatomy.program.units import cell_id
from nbformat import NotebookNode

from autograder.judge.spec import Exercise

from . import numbers, wording
from .cells import TextError

CLAIM = re.compile(r"^#+ .*\bclaims? on trial\b", re.I | re.M)
MAX_WORTH = 60  # words; the reader wants to continue with the unit


def predict_cells(source: str, unit: str) -> tuple[dict[str, Any], list[NotebookNode]]:
    """(the prediction's data for the package, its two cells) from an author's ``predict(id, question, options)``."""
    name, question, options = _arguments(source, "predict", ("prediction_id", "question", "options"))
    options = options or []
    if len(set(options)) != len(options):
        raise TextError(f"{name}: two options are the same")
    asked = wording.line(unit, question, "prediction", is_plain=True)
    text = f"**{wording.said('Predict first.')}** {asked}"
    if options:
        text += "\n\n" + " · ".join(
            f"*{wording.line(unit, o, 'option of a prediction', is_plain=True)}*" for o in options
        )
    cells = [
        _cell(nbformat.v4.new_markdown_cell(text), cell_id("ask", name)),
        _cell(nbformat.v4.new_code_cell(f'predict("{name}")'), cell_id("predict", name)),
    ]
    return {"id": name, **filled({"question": question, "options": options}), "adjacent": False}, cells


def filled(tree: Any) -> Any:
    """A question with all placeholders of recorded facts filled in."""
    if isinstance(tree, dict):
        return {k: filled(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [filled(v) for v in tree]
    return numbers.fill(tree) if isinstance(tree, str) else tree


def reveal_id(source: str) -> str | None:
    """Id of the prediction that a cell reveals, or None."""
    found = re.match(r'reveal\("([\w.]+)"', source)
    return found and found[1]


def quiz_of(source: str, unit: str) -> tuple[dict[str, Any], list[str]]:
    """(one question's data for the package, its reasons marked) from an author's ``quiz(question, choices)``.

    Placeholders of recorded facts are not filled in yet.
    """
    question, choices = _arguments(source, "quiz", ("question", "choices"))
    if sum(right for right, _ in choices.values()) != 1:
        raise TextError(f"a question needs exactly one right choice: {question}")
    # The id depends on the question, so that a learner's saved answer stays with it when other questions are added.
    digest = hashlib.sha256(numbers.fill(question).encode()).hexdigest()[:6]
    quiz = {
        "id": f"{unit}.q-{digest}",
        "question": question,
        "choices": [{"text": t, "right": right, "why": why} for t, (right, why) in choices.items()],
    }
    return quiz, [wording.line(unit, why, "why a choice is right or wrong") for _, why in choices.values() if why]


def quiz_cells(unit: str, quizzes: list[dict[str, Any]]) -> list[NotebookNode]:
    """The two cells of a unit's recap: the questions as text, and the call that shows them as controls."""
    title = wording.said("The {n} questions, to read without running anything", n=len(quizzes))
    lines = [f"<details><summary>{title}</summary>", ""]
    for n, quiz in enumerate(quizzes, 1):
        lines.append(f"{n}. {wording.line(unit, quiz['question'], 'question', is_plain=True)}")
        lines += [f"    - {wording.line(unit, c['text'], 'choice', is_plain=True)}" for c in quiz["choices"]]
    return [
        _cell(nbformat.v4.new_markdown_cell("\n".join([*lines, "", "</details>"])), "questions"),
        _cell(nbformat.v4.new_code_cell(f'quiz("{unit}")'), "quiz"),
    ]


def claims(cells: Iterable[NotebookNode]) -> list[dict[str, Any]]:
    """The claims on trial of a unit: each with the marks of the code cells between it and its verdict.

    Raises TextError for a claim without a sentence or without a verdict.
    """
    found: list[dict[str, Any]] = []
    open_claim: dict[str, Any] | None = None
    for cell in cells:
        if cell.cell_type == "markdown":
            for match in CLAIM.finditer(cell.source):
                if open_claim is not None:
                    raise TextError(f"a claim on trial has no **Verdict: {open_claim['claim']}")
                open_claim = _claim(cell.source[match.start() :])
                found.append(open_claim)
            if open_claim is not None and "**Verdict" in cell.source:
                open_claim = None
        elif open_claim is not None and not cell["id"].startswith(("solve-", "check-", "predict-")):
            open_claim["cells"].append(mark(cell.source))
    if open_claim is not None:
        raise TextError(f"a claim on trial has no **Verdict: {open_claim['claim']}")
    return found


def _claim(text: str) -> dict[str, Any]:
    quoted = re.search(r"^> (.+?)(?=\n\n|\n>\s*\n|\Z)", text, re.M | re.S)
    found = quoted or re.search(r"\n\n(\S.*?[.?!])(?=\s|\Z)", text, re.S)  # some describe what a note's code does
    if found is None:
        raise TextError(f"a claim on trial claims nothing: {text[:60]}")
    said = re.sub(r"\s*\n(> ?)?\s*", " ", found[1]).strip().strip("*").strip()
    return {"id": hashlib.sha256(said.encode()).hexdigest()[:12], "claim": said, "cells": []}


def verdict_of(source: str) -> str:
    """The verdict's sentence in bold, or the beginning of the text if there is none."""
    found = re.search(r"\*\*(Verdict.*?)\*\*", source, re.S)
    return " ".join((found[1] if found else source[:80]).split())


def worth_of(source: str, exercise_id: str) -> str:
    """The sentence worth knowing about an exercise."""
    text = " ".join(source.split())
    count = len(re.sub(r"\]\([^)]*\)", "]", text).split())
    if not 5 <= count <= MAX_WORTH:
        raise TextError(f"{exercise_id}: what is worth knowing has {count} words; 5 to {MAX_WORTH} can be read")
    return text


def unit_text(
    unit: str,
    title: str,
    specs: Iterable[Exercise],
    worth: dict[str, str],
    predictions: list[dict[str, Any]],
    quizzes: list[dict[str, Any]],
    cells: Iterable[NotebookNode],
) -> dict[str, Any]:
    """A unit's data as a JSON-ready dict."""
    exercises = [
        {
            "id": e.id,
            "title": e.title,
            "points": e.points,
            "minutes": e.minutes,
            "difficulty": e.difficulty,
            "extension": e.extension,
            "worth": worth[e.id],
        }
        for e in specs
    ]
    return {
        "unit": unit,
        "title": title,
        "minutes": sum(e.minutes for e in specs),
        "exercises": exercises,
        "predictions": predictions,
        "quizzes": quizzes,
        "claims": claims(cells),
    }


def to_bytes(text: dict[str, Any]) -> bytes:
    """Bytes of ``assets/units/NN-name.json``, always in the same form."""
    return (json.dumps(text, ensure_ascii=False, indent=1) + "\n").encode()


def _cell(cell: NotebookNode, name: str) -> NotebookNode:
    cell["id"] = name
    cell.metadata["fixed_id"] = True
    return cell


def _arguments(source: str, function: str, names: tuple[str, ...]) -> list[Any]:
    """Literal arguments of the call that is the whole cell. Raises TextError for any other cell."""
    try:
        call = ast.parse(source, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != function:
            raise ValueError
        given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
        return [ast.literal_eval(given[n]) if n in given else None for n in names]
    except (SyntaxError, ValueError, TypeError):
        raise TextError(
            f"a cell with {function}(…) must hold nothing else, and its words must stand there as "
            f"they are: {source[:60]}"
        ) from None
