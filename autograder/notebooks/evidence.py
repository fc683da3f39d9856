"""Reads the evidence declared for a verdict: ``# %% [markdown] evidence="recorded: length, control: steps"``.

Parts are joined by `` + ``:

- ``exact``: the cells above compute it, without training or timing;
- ``recorded: NAME, control: CONTROL``: a recorded training with at least three seeds per setting, and what was varied
  to test whether the verdict depends on it;
- ``measured: NAME``: recorded times or bytes;
- ``models: bert-base, t5-small``: the published configurations of these models, run or counted;
- ``cited: 1706.03762``: an arXiv number or the beginning of a URL that occurs in the cell;
- ``argued``: the text above gives the argument. Needs a second part that tests the argument.

The build turns it into the line below the verdict, and rejects evidence that does not exist.
"""

import re
from typing import Any

from anatomy.experiments import recorded
from anatomy.program.records import MissingRecording

from . import wording
from .cells import TextError
from .numbers import script

# One part of a declaration: its ``kind`` and the fields of that kind.
Part = dict[str, Any]

MIN_SEEDS = 3
CITED = "the source cited"
KINDS = ("exact", "recorded", "measured", "models", "cited", "argued")


def read(text: str, source: str) -> list[Part]:
    """One dict per part, with ``kind`` and the fields of that kind. source: the verdict's text.

    Raises:
        TextError: unknown kind, experiment without enough seeds or without the control, source not named in the text.
    """
    parts = [_part(part.strip(), source) for part in text.split(" + ")]
    if [p["kind"] for p in parts] == ["argued"]:
        raise TextError('evidence="argued" alone: say what tests the argument, too')
    return parts


def _part(text: str, source: str) -> Part:
    kind, _, rest = text.partition(":")
    rest = rest.strip()
    if kind not in KINDS or bool(rest) == (kind in ("exact", "argued")):
        raise TextError(f"evidence={text!r}: write one of {', '.join(KINDS)}, with a name where it needs one")
    if kind == "recorded":
        return _recorded(rest)
    if kind == "measured":
        return {"kind": kind, "experiment": rest, "device": _data(rest)["made"]["device"]}
    if kind == "models":
        names = [n.strip() for n in rest.split(",")]
        missing = [n for n in names if n not in _data("named_models")["models"]]
        if missing:
            raise TextError(f"evidence: named_models does not know {', '.join(missing)}")
        return {"kind": kind, "models": names}
    if kind == "cited":
        if rest not in source:
            raise TextError(f'evidence="cited: {rest}": the verdict itself does not name it')
        return {"kind": kind, "source": rest}
    return {"kind": kind}


def _recorded(text: str) -> Part:
    found = re.fullmatch(r"(\w+), control: (.+)", text)
    if not found:
        raise TextError(f'evidence="recorded: {text}": write recorded: EXPERIMENT, control: WHAT WAS VARIED')
    name, control = found[1], found[2].strip()
    data, module = _data(name), script(name)
    if not hasattr(module, "controls") or not hasattr(module, "seeds"):
        raise TextError(f"autograder/recording/experiments/{name}.py needs controls(data) and seeds(data)")
    seeds, controls = module.seeds(data), module.controls(data)
    if seeds < MIN_SEEDS:
        raise TextError(f"{name} has {seeds} seeds of some setting; a verdict needs {MIN_SEEDS}")
    if controls.get(control, 0) < 2:
        known = ", ".join(n for n, values in controls.items() if values > 1) or "none"
        raise TextError(f"{name} has no control {control!r}; it has: {known}")
    return {
        "kind": "recorded",
        "experiment": name,
        "seeds": seeds,
        "control": control,
        "values": controls[control],
        "device": data["made"]["device"],
    }


def _data(name: str) -> dict[str, Any]:
    try:
        return recorded(name)
    except MissingRecording:
        raise TextError(f"assets/experiments/{name}.json is missing") from None


def line(parts: list[Part]) -> str:
    """The line below a verdict, as Markdown."""
    return wording.english(marked_line(parts, ""))


def marked_line(parts: list[Part], unit: str) -> str:
    """The same with its words marked. unit: the unit whose text names the controls."""
    words = [_words(p, unit) for p in parts]
    cited = wording.said(CITED)
    if words.count(cited) > 1:  # mention them only once
        words = [w for w in words if w != cited] + [wording.said("the sources cited")]
    return f"*{wording.said('Evidence: {parts}.', parts=wording.said('; ').join(words))}*"


def _words(part: Part, unit: str) -> str:
    match part["kind"]:
        case "exact":
            return wording.said("computed above")
        case "recorded":
            return wording.said(
                "recorded runs on the {device}, {seeds} seeds per setting, control: {control}",
                device=_device(part),
                seeds=part["seeds"],
                control=wording.line(unit, part["control"], "what was varied to test a verdict"),
            )
        case "measured":
            return wording.said("measured on the {device}", device=_device(part))
        case "models":
            return wording.said("the published configuration of {models}", models=_listed(part["models"]))
        case "cited":
            return wording.said(CITED)
    return wording.said("the argument above")


def _device(part: Part) -> str:
    device: str = part["device"]
    return {"cpu": "CPU", "cuda": "GPU"}.get(device, device)


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return wording.said("{some} and {last}", some=wording.said(", ").join(names[:-1]), last=names[-1])
