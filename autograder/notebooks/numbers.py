"""Fills an author's ``{{experiment.fact:format}}`` from the recordings, so that sentences and figures change together.

``{{loss_spike.clipping.better:word}} of {{loss_spike.clipping.seeds}}`` becomes "seven of 8": ``facts(data)`` of the
recording script returns the facts for ``assets/experiments/<experiment>.json``. The format is Python's, or ``word`` or
``Word`` for a small number spelled out.
"""

import difflib
import importlib
import re
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

from anatomy.program.assets import MissingRecording

from .cells import TextError

PLACE = re.compile(r"\{\{([a-z][a-z0-9_]*)((?:\.[a-z0-9_]+)+)(?::([^{}]+))?\}\}")
RANGE = re.compile(rf"({PLACE.pattern})(?: to |–|[到至])({PLACE.pattern})")
UNCERTAIN = "± "
STRAY = re.compile(r"\{\{[^\\{}$]*\}\}")
WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def script(name: str) -> ModuleType:
    """The module that records an experiment. Raises TextError if it is missing."""
    try:
        return importlib.import_module(f"autograder.recording.experiments.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"autograder.recording.experiments.{name}":
            raise
        raise TextError(f"there is no experiment {name!r} in autograder/recording/experiments") from None


def recorded(name: str) -> dict[str, Any]:
    """``anatomy.experiments.recorded``. Imported late: it brings torch along, which reading a text doesn't need."""
    from anatomy import experiments

    return experiments.recorded(name)


@cache
def facts(name: str) -> dict[str, Any]:
    """Fact → number or text, for sentences about an experiment. Raises TextError."""
    module = script(name)
    try:
        return module.facts(recorded(name))
    except AttributeError as error:
        if error.name != "facts":
            raise
        raise TextError(f"autograder/recording/experiments/{name}.py has no facts(data)") from None
    except (LookupError, ValueError, StopIteration) as error:
        raise TextError(
            f"{name}: its facts(data) and assets/experiments/{name}.json don't fit ({error!r}); record it "
            "again, or mend facts"
        ) from None
    except MissingRecording:
        raise TextError(f'assets/experiments/{name}.json is missing: make experiments ARGS="--only {name}"') from None


def flat(tree: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Flattens nested dicts: ``a.b`` → value."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        path = f"{before}{name}"
        found |= flat(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return found


def fill(text: str, unit: Mapping[str, Any] | None = None, spelled: bool = True) -> str:
    """``text`` with every placeholder filled in.

    A range whose ends round to the same number becomes one number: "95%", not "95% to 95%". A nonzero uncertainty is
    never rounded to 0: it gets enough decimals to show its first digit.

    Args:
        text: Markdown.
        unit: dict of facts of the unit itself, for ``{{unit.…}}``; None leaves those unchanged.
        spelled: True if ``word`` spells the number in English; False leaves digits, for text in another language.

    Raises:
        TextError: a fact that does not exist or a format that does not fit; it names the nearest facts.
    """

    def value(match: re.Match[str]) -> str:
        name, path, form = match[1], match[2][1:], match[3]
        if name != "unit":
            known = flat(facts(name))
        elif unit is None:
            return match[0]
        else:
            known = flat(unit)
        if path not in known:
            near = difflib.get_close_matches(path, known, 3, 0.4) or sorted(known)[:3]
            raise TextError(f"{match[0]}: {name} has no such fact; there are {', '.join(near)}, …")
        if form in ("word", "Word") and not spelled:
            form = None
        told = shown(known[path], form, match[0])
        if match.string.endswith(UNCERTAIN, 0, match.start()) and known[path] and not re.search("[1-9]", told):
            return f"{known[path]:.1g}"
        return told

    def one_if_equal(match: re.Match[str]) -> str:
        ends = [PLACE.sub(value, place) for place in (match[1], match[5])]
        return ends[0] if ends[0] == ends[1] else match[0]

    text = PLACE.sub(value, RANGE.sub(one_if_equal, text))
    stray = next((s[0] for s in STRAY.finditer(text) if not PLACE.fullmatch(s[0])), None)
    if stray:
        raise TextError(f"{stray} is not {{{{experiment.fact}}}} nor {{{{experiment.fact:format}}}}")
    return text


def shown(value: Any, form: str | None, place: str) -> str:
    """A fact as text."""
    try:
        if form in ("word", "Word"):
            word = WORDS[value if value >= 0 else len(WORDS)]  # a negative number has no word either
            return word.capitalize() if form == "Word" else word
        return format(value, form or "")
    except (ValueError, TypeError, IndexError, AttributeError):
        raise TextError(f"{place}: {value!r} cannot be shown like that") from None
