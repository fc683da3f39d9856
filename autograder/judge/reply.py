"""Turns the bytes that a student's process sent into outcomes for the judge. Nothing in them is trusted.

They have the form of ``runner.serve``: safetensors whose header holds a JSON list of outcomes. Sizes and counts are
checked before anything is built from them, nothing is unpickled, and anything that does not follow the grammar becomes
an outcome that matches no expected one.
"""

import json
from collections.abc import Sequence
from typing import Any

from anatomy.program.codec import Tensors
from anatomy.program.runner import Outcome, Program
from anatomy.system.translation import _
from safetensors.torch import load

from autograder.sandbox import StudentError
from autograder.sandbox.printable import printable

MAX_HEADER = 1 << 20  # bytes of JSON; an honest reply has a few kilobytes, and parsed JSON takes 20 times the memory
MAX_TENSORS = 4_000
MAX_DIMS = 12
_DIGITS = 20  # of an integer in JSON: longer ones are sent as text, see anatomy.program.codec
_UNREADABLE = {"value": {"opaque": "result that cannot be read"}}


class MalformedReply(ValueError):
    """The reply as a whole does not have the expected form; the message is a short phrase that says what is wrong."""


def split_replies(data: bytes, count: int) -> list[bytes | StudentError | MalformedReply]:
    """The parts of the output of ``asked.answer``: each is bytes, or the StudentError that prevented an answer.

    A missing part is a MalformedReply (in the list, not raised): the parts before it may still be right.
    """
    parts: list[bytes | StudentError | MalformedReply] = []
    at = 0
    for __ in range(count):
        size = int.from_bytes(data[at : at + 8], "little")
        part, at = data[at + 8 : at + 8 + size], at + 8 + size
        if len(part) < size or part[:1] not in (b"+", b"-"):
            return parts + [MalformedReply("it is incomplete")] * (count - len(parts))
        name = _cut(part[1:81].decode("utf-8", "replace"), 80)
        parts.append(part[1:] if part[:1] == b"+" else StudentError(name, ""))
    return parts


def parse_reply(data: bytes, programs: Sequence[Program]) -> list[tuple[Outcome, Tensors]]:
    """``[(outcome, tensors)]``, one for each program, as ``anatomy.judge.judging.judge`` wants them.

    Args:
        data: the reply's bytes; the caller has limited their number.
        programs: the programs that were sent; they tell how many results each outcome must have.

    Raises:
        MalformedReply: not safetensors, too many tensors, or no outcome list of the right length.
    """
    meta, tensors = opened(data)
    text = meta.get("reply")
    if not isinstance(text, str):
        raise MalformedReply("it holds no list of results")
    listed = plain_json(text)
    if not isinstance(listed, list) or len(listed) != len(programs):
        raise MalformedReply("it holds another number of results than was asked for")
    groups: dict[str, Tensors] = {}
    for name, tensor in tensors.items():
        number, _, own = name.partition("/")
        groups.setdefault(number, {})[own] = tensor
    return [
        (_outcome(item, program), groups.get(str(i), {}))
        for i, (item, program) in enumerate(zip(listed, programs, strict=True))
    ]


def opened(data: bytes) -> tuple[dict[str, Any], Tensors]:
    """(metadata, tensors) of safetensors bytes whose number the caller has limited. Raises MalformedReply."""
    header = _header(data)
    names = [n for n in header if n != "__metadata__"]
    if len(names) > MAX_TENSORS:
        raise MalformedReply(f"it holds {len(names)} tensors")
    for name in names:
        entry = header[name]
        shape = entry.get("shape") if isinstance(entry, dict) else None
        if not isinstance(shape, list) or len(shape) > MAX_DIMS:
            raise MalformedReply("a tensor has an impossible shape")
    try:
        tensors = load(data)
    except Exception as error:  # anything the parser rejects, and shapes that torch cannot create
        raise MalformedReply(f"its tensors cannot be read ({type(error).__name__})") from None
    meta = header.get("__metadata__")
    return meta if isinstance(meta, dict) else {}, tensors


def _header(data: bytes) -> dict[str, Any]:
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(MAX_HEADER, len(data) - 8):
        raise MalformedReply("it is not in the safetensors format")
    try:
        header = plain_json(data[8 : 8 + size].decode("utf-8"))
    except UnicodeDecodeError:
        raise MalformedReply("its header is not text") from None
    if not isinstance(header, dict):
        raise MalformedReply("its header is not a table")
    return header


def plain_json(text: str) -> Any:
    """json.loads without its surprises: overlong integers and deep nesting are ordinary errors.

    Raises MalformedReply.
    """
    try:
        return json.loads(text, parse_int=_short_int)
    except (ValueError, RecursionError) as error:
        raise MalformedReply(f"its JSON cannot be read ({type(error).__name__})") from None


def _short_int(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("an integer of too many digits")
    return int(digits)


def _outcome(item: Any, program: Program) -> Outcome:
    steps = len(program["steps"])
    if not isinstance(item, dict):
        return {"results": [_UNREADABLE] * steps, "used": [], "mutated": []}
    outcome: Outcome = {"used": _texts(item.get("used"), 60), "mutated": _texts(item.get("mutated"), 60)}
    if item.get("missing"):
        names = [n for n in _texts(item["missing"], 60) if n.isidentifier()]
        return outcome | {"results": [], "missing": names or ["a name"]}
    if isinstance(item.get("signature"), str) and item["signature"]:
        # A forged reply can say anything here, so mark it as the submission's words, not the grader's.
        outcome["signature"] = _("the submission says: {words}").format(words=_cut(item["signature"], 400))
    listed = item.get("results")
    results = [_result(r) for r in listed[:steps]] if isinstance(listed, list) else []
    return outcome | {"results": results + [_UNREADABLE] * (steps - len(results))}


def _result(result: Any) -> dict[str, Any]:
    if not isinstance(result, dict):
        return _UNREADABLE
    if "raises" in result:
        parts = result["raises"]
        if not isinstance(parts, list) or len(parts) != 3 or not all(isinstance(p, str) for p in parts):
            return {"raises": ["Exception", "(an error that cannot be read)", ""]}
        return {"raises": [_cut(p, n) for p, n in zip(parts, (80, 600, 160), strict=True)]}
    if result.get("skipped") is True:
        return {"skipped": True}
    if "value" not in result:
        return _UNREADABLE
    return {k: result[k] for k in ("value", "grads", "carries", "cost") if k in result}


def _texts(value: Any, limit: int) -> list[str]:
    return [_cut(v, 80) for v in value[:limit] if isinstance(v, str)] if isinstance(value, list) else []


def _cut(text: str, limit: int) -> str:
    """A student's text, cut to ``limit`` characters, without characters that could mislead a reader."""
    return printable(text[:limit])
