"""The rows of the atlas: reads them, finds one, and turns it into a configuration."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ..models.config import CHOICES, DEFAULTS, Config, config
from .mixing import NAMES

NEEDED = ("norm", "placement", "position", "activation", "gated", "n_layers", "d_model", "n_heads", "d_ff", "vocab")
# Keys of a row that only describe the model and are not part of a configuration.
DESCRIBING = ("objective", "stability", "optimizer", "scaling")
# Features for which the course has no part: (key, value) or key → name.
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
    ("attention", "compressed"): "attention to compressed blocks",
    ("residual", "hyper"): "hyper-connections",
    "full_every": "a full layer after several windowed ones",
    "gated_attention": "a gate on what attention returns",
    "split": "layers that are a mixer or a feed-forward layer alone",
    "n_shared": "an expert that every token uses",
    "n_dense": "first layers without experts",
    "d_dense": "",  # covered by n_dense
    "sinks": "a learned place for attention that goes nowhere",
    "router_bias": "a bias in the router",
    "scoring": "a router without softmax, whose choice a bias balances",
    "head_bias": "a bias in the head",
    "project_out": "a map from the stream back to the narrow embedding",
    # Covered by n_shared, by the residual connections, and by the mixers:
    **dict.fromkeys(("d_shared", "shared_gate", "n_streams", "chunk", "index_heads", "index_dim", "index_top"), ""),
    **dict.fromkeys(("linear_heads", "linear_key_heads", "linear_key_dim", "linear_value_dim", "conv"), ""),
    **dict.fromkeys(("ssm_heads", "ssm_head_dim", "ssm_state", "ssm_groups", "out_rank", "out_groups"), ""),
}
BUILT = ("full", "window", "latent", "none")  # mixers that ``anatomy.models.config`` has words for


class UnknownModel(KeyError):
    """No row has that name; the message lists similar ones."""

    def __str__(self) -> str:
        return str(self.args[0])


class NoConfiguration(ValueError):
    """The row cannot be built: sizes are not published, or the course has no part for it; the message says which."""


@dataclass(frozen=True)
class Row:
    """One model.

    values: key → value, keys as in ``anatomy.models.config`` and a few more; unpublished or unverified values are
    missing. sources: key → source of that value; year and organization are the first source's. published: the published
    number of parameters, 0 if there is none. counts: "" or what that number leaves out. differs: (percent, sentence) if
    a count does not round to that number, with the reason. notes: the model's entry in the table of the course's notes,
    or {}. notes_said: errors in the notes, each with its correction and source. remarks: further sentences. after: name
    of the row whose architecture it starts from according to its own source, and that source; "" where none says so.
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
    after: str = ""
    after_source: str = ""

    def get(self, key: str, default: Any = None) -> Any:
        """The value of that key, or ``default`` if it is not published or not verified."""
        return self.values.get(key, default)

    @property
    def references(self) -> list[str]:
        """Every source of the row, listed once."""
        extra = [source for source in (self.published_source, self.after_source) if source]
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
        values.update(later)  # a later source, such as a configuration, may be more exact than the paper
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
        after=entry.get("after", {}).get("model", ""),
        after_source=entry.get("after", {}).get("source", ""),
    )


def models() -> list[Row]:
    """All rows, oldest first."""
    return list(_rows())


def find(name: str) -> Row:
    """The row of that name, e.g. "llama-2-7b". Raises UnknownModel, which lists similar names."""
    for row in _rows():
        if row.name == name:
            return row
    similar = difflib.get_close_matches(name.lower(), [row.name for row in _rows()], n=3, cutoff=0.3)
    hint = f"; did you mean {', '.join(similar)}?" if similar else ""
    raise UnknownModel(f"the atlas has no model {name!r}{hint}")


def lacking(row: Row) -> list[str]:
    """Reasons why the row cannot be built, a few words each; [] if it can."""
    unknown = [key for key in NEEDED if key not in row.values]
    found = [f"{', '.join(unknown)} not published"] if unknown else []
    for key, value in row.values.items():
        if key in DESCRIBING:
            continue
        if key == "mixers":
            found += [f"no part for {NAMES[name]}" for name in dict.fromkeys(n for n, _ in value) if name not in BUILT]
            continue
        if key not in DEFAULTS or (key in CHOICES and value not in CHOICES[key]):
            part = WITHOUT_PARTS.get((key, value), WITHOUT_PARTS.get(key, f"{key} = {value!r}"))
            found += [f"no part for {part}"] if part else []
    return found


def configuration(name: str) -> Config:
    """The configuration of that model, completed by ``anatomy.models.config``.

    Raises UnknownModel, and NoConfiguration if a size is not published or the course has no part.
    """
    row = find(name)
    reasons = lacking(row)
    if reasons:
        raise NoConfiguration(f"{row.title} cannot be built here: {'; '.join(reasons)}")
    return config(**changes(row))


def changes(row: Row) -> Config:
    """Arguments of ``config`` for that row: its values, without those that only describe it."""
    return {key: value for key, value in row.values.items() if key not in DESCRIBING}
