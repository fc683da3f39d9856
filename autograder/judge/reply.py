"""Bytes that a student's process sent → outcomes for the judge. Everything in them is a claim by a possible enemy.

The form is the one of ``anatomy.runner.serve``: safetensors whose header carries a JSON list of outcomes. Sizes and
counts are checked before anything is built from them, nothing is unpickled, and what does not follow the grammar
becomes an outcome that no expectation equals.
"""

import json
import re

from safetensors.torch import load

from autograder.sandbox import StudentError

MAX_HEADER = 4 << 20  # bytes of JSON; an honest reply has a few kilobytes
MAX_TENSORS = 4_000
MAX_DIMS = 12
_DIGITS = 20  # of an integer in JSON: larger ones travel as text, see anatomy.codec
_UNREADABLE = {"value": {"opaque": "result that cannot be read"}}
# Direction overrides and control characters could make a feedback page or a terminal show something else.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class MalformedReply(ValueError):
    """The reply as a whole does not have the form asked for; the message is a short phrase that says what is odd."""


def split_replies(data, count):
    """The parts of what ``asked.answer`` left: for each its bytes, or the StudentError that kept it from answering.

    A part that is not there is a MalformedReply (in the list, not raised): what came before it may still be right.
    """
    parts, at = [], 0
    for _ in range(count):
        size = int.from_bytes(data[at : at + 8], "little")
        part, at = data[at + 8 : at + 8 + size], at + 8 + size
        if len(part) < size or part[:1] not in (b"+", b"-"):
            return parts + [MalformedReply("it is incomplete")] * (count - len(parts))
        name = printable(part[1:81].decode("utf-8", "replace"), 80)
        parts.append(part[1:] if part[:1] == b"+" else StudentError(name, ""))
    return parts


def parse_reply(data, programs):
    """``[(outcome, tensors)]``, one for each program, as ``anatomy.judging.judge`` wants them.

    Args:
        data: the reply's bytes; the caller has bounded their number.
        programs: the programs that were sent, to know how many results each must have.

    Raises:
        MalformedReply: not safetensors, too many tensors, or no list of outcomes of the right length.
    """
    header = _header(data)
    names = [n for n in header if n != "__metadata__"]
    if len(names) > MAX_TENSORS:
        raise MalformedReply(f"it holds {len(names)} tensors")
    for name in names:
        entry = header[name]
        shape = entry.get("shape") if isinstance(entry, dict) else None
        if not isinstance(shape, list) or len(shape) > MAX_DIMS:
            raise MalformedReply("a tensor has an impossible shape")
    meta = header.get("__metadata__")
    text = meta.get("reply") if isinstance(meta, dict) else None
    if not isinstance(text, str):
        raise MalformedReply("it holds no list of results")
    listed = _json(text)
    if not isinstance(listed, list) or len(listed) != len(programs):
        raise MalformedReply("it holds another number of results than was asked for")
    try:
        tensors = load(data)
    except Exception as error:  # whatever the parser objects to, and shapes that torch cannot make
        raise MalformedReply(f"its tensors cannot be read ({type(error).__name__})") from None
    groups = {}
    for name, tensor in tensors.items():
        number, _, own = name.partition("/")
        groups.setdefault(number, {})[own] = tensor
    return [
        (_outcome(item, program), groups.get(str(i), {}))
        for i, (item, program) in enumerate(zip(listed, programs, strict=True))
    ]


def _header(data):
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(MAX_HEADER, len(data) - 8):
        raise MalformedReply("it is not in the safetensors format")
    try:
        header = _json(data[8 : 8 + size].decode("utf-8"))
    except UnicodeDecodeError:
        raise MalformedReply("its header is not text") from None
    if not isinstance(header, dict):
        raise MalformedReply("its header is not a table")
    return header


def _json(text):
    """json.loads without its surprises: no endless integers, and deep nesting is an error like any other."""
    try:
        return json.loads(text, parse_int=_short_int)
    except (ValueError, RecursionError) as error:
        raise MalformedReply(f"its JSON cannot be read ({type(error).__name__})") from None


def _short_int(digits):
    if len(digits) > _DIGITS:
        raise ValueError("an integer of too many digits")
    return int(digits)


def _outcome(item, program):
    steps = len(program["steps"])
    if not isinstance(item, dict):
        return {"results": [_UNREADABLE] * steps, "used": [], "mutated": []}
    outcome = {"used": _texts(item.get("used"), 60), "mutated": _texts(item.get("mutated"), 60)}
    if item.get("missing"):
        return outcome | {"results": [], "missing": _texts(item["missing"], 60) or ["a name"]}
    if isinstance(item.get("signature"), str):
        outcome["signature"] = printable(item["signature"], 400)
    results = item.get("results") if isinstance(item.get("results"), list) else []
    results = [_result(r) for r in results[:steps]]
    return outcome | {"results": results + [_UNREADABLE] * (steps - len(results))}


def _result(result):
    if not isinstance(result, dict):
        return _UNREADABLE
    if "raises" in result:
        parts = result["raises"]
        if not isinstance(parts, list) or len(parts) != 3 or not all(isinstance(p, str) for p in parts):
            return {"raises": ["Exception", "(an error that cannot be read)", ""]}
        return {"raises": [printable(p, n) for p, n in zip(parts, (80, 600, 160), strict=True)]}
    if result.get("skipped") is True:
        return {"skipped": True}
    if "value" not in result:
        return _UNREADABLE
    return {k: result[k] for k in ("value", "grads") if k in result}


def _texts(value, limit):
    return [printable(v, 80) for v in value[:limit] if isinstance(v, str)] if isinstance(value, list) else []


def printable(text, limit):
    """A student's text, cut to ``limit`` characters and without any that could mislead a reader."""
    return _UNPRINTABLE.sub("", text[:limit])
