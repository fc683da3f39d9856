"""The rows of the atlas: reading them, finding one, and making a configuration of it."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..models.config import CHOICES, DEFAULTS, Config, config

NEEDED = ("norm", "placement", "position", "activation", "gated", "n_layers", "d_model", "n_heads", "d_ff", "vocab")
# Keys of a row that describe the model and configure nothing.
DESCRIBING = ("objective", "stability")
# What the course builds no part for: (key, value) or key → its name.
WITHOUT_PARTS: dict[Any, str] = {
    ("norm", "layer_no_bias"): "a LayerNorm without bias",
    ("norm", "layer_no_weights"): "a LayerNorm without gain and bias",
    ("norm", "layer_plus_one"): "a LayerNorm whose factor is 1 + weight",
    ("placement", "parallel_two"): "two norms for two branches side by side",
    ("position", "transformer_xl"): "the relative positions of Transformer-XL",
    ("position", "deberta"): "the relative positions of DeBERTa",
    ("position", "rope_and_none"): "layers without positions between those with RoPE",
    ("attention", "blocksparse"): "block-sparse attention",
    ("qk_norm", "head_own"): "a norm of q and k with gains of its own for each head",
    ("qk_norm", "head_no_gain"): "a norm of q and k without a gain",
    "full_every": "a full layer after several windowed ones",
    "n_shared": "an expert that every token uses",
    "n_dense": "first layers without experts",
    "d_dense": "",  # said by n_dense
    "sinks": "a learned place for attention that goes nowhere",
    "router_bias": "a bias in the router",
    "head_bias": "a bias in the head",
    "project_out": "a map from the stream back to the narrow embedding",
}


class UnknownModel(KeyError):
    """No row has that name; the message names similar ones."""

    def __str__(self) -> str:
        return str(self.args[0])


class NoConfiguration(ValueError):
    """The row cannot be built: sizes are not published, or the course has no part for it. The message says which."""


@dataclass(frozen=True)
class Row:
    """One model.

    values: key → value, keys as in ``anatomy.models.config`` and a few more; what is not published, or could not be
    verified, is not there. sources: key → where that value stands; year and organization are the first source's.
    published: the number of parameters as published, 0 where there is none. counts: "" or what it leaves out.
    differs: (percent, sentence) where a count does not round to that number, and why. notes: what the course's notes
    say in their table, {} for a model that is not in it. notes_said: what the notes have wrong, kept beside the
    correction and its source. remarks: further sentences.
    """

    name: str
    title: str
    year: int
    organization: str
    values: Mapping[str, Any]
    sources: Mapping[str, str]
    published: int = 0
    published_source: str = ""
    counts: str = ""
    differs: tuple[float, str] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    notes_said: tuple[Mapping[str, str], ...] = ()
    remarks: tuple[str, ...] = ()

    def get(self, key: str, default: Any = None) -> Any:
        """The value of that key; ``default`` where it is not published or was not verified."""
        return self.values.get(key, default)

    @property
    def references(self) -> list[str]:
        """Every source of the row, once."""
        extra = [self.published_source] if self.published_source else []
        return list(dict.fromkeys([*self.sources.values(), *extra]))


@cache
def _rows() -> tuple[Row, ...]:
    data = json.loads((Path(__file__).parent / "models.json").read_text(encoding="utf-8"))
    return tuple(_row(entry) for entry in data)


def _row(entry):
    values, sources = {}, {}
    for source, group in entry["values"].items():
        repeated = values.keys() & group.keys()
        later = {k: v for k, v in group.items() if k not in repeated or values[k] != v}
        values.update(later)  # what a configuration says more exactly than its paper
        sources.update(dict.fromkeys(later, source))
    published, differs = entry.get("published", {}), entry.get("differs")
    return Row(
        *(entry[k] for k in ("name", "title", "year", "organization")),
        values=values,
        sources=sources,
        published=published.get("parameters", 0),
        published_source=published.get("source", ""),
        counts=published.get("counts", ""),
        differs=(differs["percent"], differs["why"]) if differs else None,
        notes=entry.get("notes", {}),
        notes_said=tuple(entry.get("notes_said", ())),
        remarks=tuple(entry.get("remarks", ())),
    )


def models() -> list[Row]:
    """All rows, oldest first."""
    return list(_rows())


def find(name: str) -> Row:
    """The row of that name, e.g. "llama-2-7b". Raises UnknownModel, which names similar ones."""
    for row in _rows():
        if row.name == name:
            return row
    similar = difflib.get_close_matches(name.lower(), [row.name for row in _rows()], n=3, cutoff=0.3)
    hint = f"; did you mean {', '.join(similar)}?" if similar else ""
    raise UnknownModel(f"the atlas has no model {name!r}{hint}")


def lacking(row: Row) -> list[str]:
    """Why the row cannot be built, a few words for each reason; [] where it can."""
    unknown = [key for key in NEEDED if key not in row.values]
    found = [f"{', '.join(unknown)} not published"] if unknown else []
    for key, value in row.values.items():
        if key in DESCRIBING:
            continue
        if key not in DEFAULTS or (key in CHOICES and value not in CHOICES[key]):
            part = WITHOUT_PARTS.get((key, value), WITHOUT_PARTS.get(key, f"{key} = {value!r}"))
            found += [f"no part for {part}"] if part else []
    return found


def configuration(name: str) -> Config:
    """The configuration of that model, as ``anatomy.models.config`` completes it.

    Raises UnknownModel, and NoConfiguration where a size is not published or the course has no part.
    """
    row = find(name)
    reasons = lacking(row)
    if reasons:
        raise NoConfiguration(f"{row.title} cannot be built here: {'; '.join(reasons)}")
    return config(**changes(row))


def changes(row: Row) -> Config:
    """What ``config`` is called with for that row: its values, without those that describe only."""
    return {key: value for key, value in row.values.items() if key not in DESCRIBING}
