"""Results as JSON, sent from the child that judges a submission to the process that stores them.

The JSON was made by our own code, but in a process that handled untrusted data. So the type of every field is checked,
numbers have to be finite, and anything else raises ``TypeError`` or ``ValueError``.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

import nbformat
from anatomy.judge.verdict import CaseResult, Mistake, Verdict

from ..intake.rebuild import Note, Rebuilt
from ..source.signs import Sign
from .execution import Output
from .results import GradedNotebook, Held
from .work import Followed

T = TypeVar("T")


def to_json(result: GradedNotebook | Rebuilt) -> dict[str, Any]:
    """Plain data for ``json.dumps``."""
    plain: dict[str, Any] = {}
    for f in fields(result):
        value = getattr(result, f.name)
        if isinstance(value, set):
            value = sorted(value)
        elif isinstance(value, list):
            value = [v if isinstance(v, str) else asdict(v) for v in value]
        elif f.name == "outputs":
            value = {name: [o.text, o.error] for name, o in value.items()}
        plain[f.name] = value
    return plain


def packed(data: object) -> bytes:
    """JSON as UTF-8 bytes.

    Lone surrogates, which Python and JSON allow but files don't, become question marks here, before anything is written
    to pages, notebooks, tables or the database.
    """
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


def graded_from(data: Mapping[str, Any]) -> GradedNotebook:
    """Restores a GradedNotebook from ``to_json``'s data. Raises TypeError, ValueError or KeyError if it is invalid."""
    problem = data["problem"]
    return GradedNotebook(
        _text(data["student"]),
        _text(data["unit"]),
        [verdict_from(v) for v in data["verdicts"]],
        [_plain(Note, n) for n in data["notes"]],
        [_plain(Sign, s) for s in data["signs"]],
        {_text(name): _output(*o) for name, o in data["outputs"].items()},
        None if data["notebook"] is None else nbformat.from_dict(data["notebook"]),
        None if problem is None else (_text(problem[0]), _text(problem[1])),
        {_text(e): _whole(n) for e, n in data["tries"].items()},
        _number(data["seconds"]),
        [_plain(Held, h) for h in data["held"]],
        {_text(e): _number(points) for e, points in data["followed"].items()},
    )


def followed_from(data: Mapping[str, Any]) -> Followed:
    """Restores a Followed from ``dataclasses.asdict``'s data; raises like ``graded_from``."""
    verdict, own = verdict_from(data["verdict"]), _number(data["own"])
    if not 0 <= own < verdict.score:
        raise ValueError(f"{own} points are no fewer than {verdict.score}")
    return Followed(verdict, own, tuple(map(_text, data["names"])), tuple(map(_text, data["offered"])))


def rebuilt_from(data: Mapping[str, Any]) -> Rebuilt:
    """Restores a Rebuilt from ``to_json``'s data; raises like ``graded_from``."""
    return Rebuilt(
        nbformat.from_dict(data["notebook"]),
        [_plain(Note, n) for n in data["notes"]],
        {_text(e) for e in data["absent"]},
        {_text(e): _whole(n) for e, n in data["tries"].items()},
    )


def verdict_from(data: Mapping[str, Any]) -> Verdict:
    """Restores a Verdict from ``dataclasses.asdict``'s data; raises like ``graded_from``."""
    mistakes = [_plain(Mistake, m) for m in data["mistakes"]]
    cases = [_plain(CaseResult, c) for c in data["cases"]]
    score, most = _number(data["score"]), _number(data["max_score"])
    if not 0 <= score <= most:
        raise ValueError(f"a score of {score} out of {most}")
    seconds = _number(data["seconds"])
    extension = _truth(data.get("extension", False))
    return Verdict(_text(data["exercise"]), _truth(data["passed"]), score, most, mistakes, cases, seconds, extension)


def _plain(kind: type[T], data: Mapping[str, Any]) -> T:
    """Restores a dataclass whose fields are strings, numbers and booleans."""
    read: dict[Any, Callable[[Any], Any]] = {str: _text, float: _number, int: _whole, bool: _truth}
    known = {f.name: read[f.type] for f in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: known[name](value) for name, value in data.items()})


def _output(text: Any, error: Any) -> Output:
    if error is None:
        return Output(_text(text))
    name, message, trace = map(_text, error)
    return Output(_text(text), (name, message, trace))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError("not a number")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("not a whole number")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value
