"""Counts the parameters of a row: in closed form, or of a model that ``build`` makes, without allocating them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..models.config import Config
from . import mixing
from .rows import Row, configuration, find

# Parameters of a norm, as multiples of its width.
NORM_SIZE = {"layer": 2, "layer_plus_one": 2, "layer_no_weights": 0}  # every other norm has only a gain: 1
NORMS = {"both": 4, "parallel": 1, "parallel_two": 2}  # norms of a layer with two sublayers; else 2
SIZES = ("n_layers", "d_model", "n_heads", "n_kv_heads", "head_dim", "d_ff", "vocab")
# Mistakes that show in the count: changed key → what to say.
MISTAKES: tuple[tuple[str, str], ...] = (
    ("tied", "The difference is one table of vocab · d_model numbers: look at whether the head is tied."),
    ("n_kv_heads", "It is the count with as many key-value heads as heads: look at n_kv_heads."),
    ("attention_bias", "The difference is the biases of q, k and v: look at attention_bias."),
    ("out_bias", "The difference is the biases of the output projections: look at out_bias."),
    ("ffn_bias", "The difference is the biases of the feed-forward layers: look at ffn_bias."),
    ("qk_norm", "The difference is the gains of the norms of q and k: look at qk_norm."),
    ("n_experts", "It is the count without experts: give the model the part that has them."),
    ("position", "The difference is the table of learned positions."),
    ("gated", "It is the count with another number of feed-forward matrices: look at gated."),
    ("final", "The difference is one norm: look at the one after the last block."),
)
FEW_EXPERTS = 16  # above this, experts are not built one by one
NO_MISTAKE_KNOWN = "It is not what the published sizes add up to."
NOTHING_PUBLISHED = "No number of parameters is published."
EXACTLY = "Exactly the published figure."
ROUNDED = "Rounded, it is the published figure."
ANOTHER = "It is not the published figure."
REASONS = (EXACTLY, ROUNDED, ANOTHER, NOTHING_PUBLISHED, NO_MISTAKE_KNOWN)


@dataclass(frozen=True)
class Count:
    """The counted parameters, compared with the published number.

    counted: all parameters, tied ones once. compared: those of them that the published figure counts. percent:
    difference between compared and published, None if nothing is published. agrees: True if the two are equal to the
    published digits, or differ for a known reason. why: that reason or the mistake, one sentence.
    """

    name: str
    counted: int
    compared: int
    published: int
    percent: float | None
    agrees: bool
    why: str

    def __str__(self) -> str:
        beside = f", published {self.published:,} ({self.percent:+.2f} %)" if self.percent is not None else ""
        return f"{self.name}: {self.counted:,} parameters{beside}. {self.why}"


def against_published(name: str, build: Callable[[Config], nn.Module] | None = None) -> Count:
    """Compares the number of parameters of the named model with the published number.

    build: a class or function that takes the configuration, e.g. your ``Decoder``; it runs on the meta device, where
    tensors have a shape and no numbers, so a model of 405 billion parameters takes a second and no memory. Without
    build, the closed form is used, which also works for rows that the course has no parts for.

    Raises UnknownModel, NoConfiguration (with build), ValueError if sizes are not published (without build), and any
    error of ``build``.
    """
    row = find(name)
    if build is None:
        counted = closed_form(row)
        if counted is None:
            raise ValueError(f"the sizes of {row.title} are not published, so nothing can be counted")
    else:
        c = configuration(name)
        counted = parameters(build, c, whole=c["n_experts"] <= FEW_EXPERTS)
    return compare(row, counted)


def parameters(build: Callable[[Config], nn.Module], c: Config, whole: bool = True) -> int:
    """Number of parameters of ``build(c)`` on the meta device; a shared one counts once.

    whole: False builds models with one and with two layers, with as many experts as a token uses and with one more, and
    extrapolates: each further layer or expert adds as much as the last one. Otherwise, a thousand experts take half a
    minute.
    """

    def built(**changed):
        with torch.device("meta"):
            model = build({**c, **changed})
        return sum(p.numel() for p in model.parameters())

    if whole:
        return built()
    experts, fewer = c["n_experts"], c["n_active"]
    small = {"n_experts": fewer} if experts else {}
    one, two = built(n_layers=1, **small), built(n_layers=2, **small)
    layer = two - one
    if experts > fewer:
        further = (experts - fewer) * (built(n_layers=1, n_experts=fewer + 1) - one)
        one, layer = one + further, layer + further
    return one + (c["n_layers"] - 1) * layer


def compare(row: Row, counted: int) -> Count:
    """Compares ``counted`` parameters with the published ones, with the reason for a difference."""
    compared = counted - (tables(row.values) if row.counts else 0)
    percent = 100 * (compared - row.published) / row.published if row.published else None
    agrees, why = _reason(row, counted, compared, percent)
    return Count(row.name, counted, compared, row.published, percent, agrees, why)


def rounds(counted: int, published: int) -> bool:
    """True if ``counted``, rounded to the last nonzero digit of ``published``, equals it: 6.74 and 7 billion, say."""
    unit = 1
    while published % (10 * unit) == 0:
        unit *= 10
    return (2 * counted + unit) // (2 * unit) * unit == published


def _reason(row, counted, compared, percent):
    mistake = mistake_in(row, counted)
    if mistake is not None:
        return False, MISTAKES[mistake][1] if mistake >= 0 else NO_MISTAKE_KNOWN
    if percent is None:
        return True, NOTHING_PUBLISHED
    if compared == row.published:
        return True, EXACTLY
    if rounds(compared, row.published):
        return True, ROUNDED
    if row.differs and abs(percent) <= row.differs[0]:
        return True, row.differs[1]
    return False, ANOTHER


def mistake_in(row: Row, counted: int) -> int | None:
    """None if ``counted`` is the number that the sizes add up to, or if there is no formula; else the index in MISTAKES
    of the mistake that gives this number, or -1 if none does."""
    right = closed_form(row)
    if right is None or counted == right:
        return None
    for place, (key, _) in enumerate(MISTAKES):
        if any(_total({**row.values, **change}) == counted for change in _wrong(row.values, key)):
            return place
    return -1


def _wrong(values: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    if key == "final":
        return [{"no_final_norm": True}]
    if key == "n_kv_heads":
        return [{key: values["n_heads"]}]
    if key in ("n_experts", "position"):
        return [{key: None}]
    if key == "qk_norm":
        return [{key: other} for other in (None, "head", "whole")]
    return [{key: not values.get(key, False)}]


def closed_form(row: Row) -> int | None:
    """Number of parameters that the published sizes add up to; None if a size is missing or no formula is known.

    Counts the body, the embeddings and the head, but not poolers and the heads of other tasks.
    """
    if any(size not in row.values for size in SIZES) or row.get("position") == "deberta":
        return None
    return _total(row.values)


def tables(v: Mapping[str, Any]) -> int:
    """Parameters of the token embedding, and of the head if it is not the same."""
    return (1 if v.get("tied", True) else 2) * v["vocab"] * (v.get("d_embedding") or v["d_model"])


def _total(v):
    d, width, kind = v["d_model"], v.get("d_embedding") or v["d_model"], v.get("kind", "decoder")
    norm = NORM_SIZE.get(v.get("norm"), 1) if v.get("norm") else 0
    total = tables(v) + v["vocab"] * bool(v.get("head_bias"))
    if v.get("position") == "learned":
        total += v["max_positions"] * (d if v.get("project_out") else width)  # OPT adds them to the widened vectors
    total += v.get("n_segments", 0) * width + norm * width * bool(v.get("embedding_norm"))
    if width != d:
        total += width * d + (width * d if v.get("project_out") else d)  # OPT maps back, ALBERT has a bias
    stacks = 2 if kind == "encoder-decoder" else 1
    if v.get("placement") not in (None, "post") and not v.get("no_final_norm"):
        total += stacks * norm * d
    if v.get("position") == "t5":
        total += stacks * 32 * v["n_heads"]  # 32 buckets; one table for all layers of a stack
    kinds = mixing.mixers({"attention": "grouped", **v})[: 1 if v.get("shared_layers") else None]
    layers, norms = len(kinds), NORMS.get(v.get("placement"), 2)
    dense, fed = v.get("n_dense", 0), kinds.count("none") if v.get("split") else layers
    total += sum(mixing.parameters(name, v) for name in kinds) + layers * (1 if v.get("split") else norms) * norm * d
    total += dense * _ffn(v, v.get("d_dense", 0)) + (fed - dense) * _feed_forward(v)
    if kind == "encoder-decoder":  # decoder layers: the same, and cross-attention with its norm
        total += layers * (2 * mixing.parameters("full", v) + _feed_forward(v) + 3 * norms // 2 * norm * d)
    return total + (_hyper(v, layers) if v.get("residual") == "hyper" else 0)


def _hyper(v, layers):
    """Hyper-connections (arXiv:2512.24880): two for each layer, and one that sums the streams before the head."""
    n, wide = v["n_streams"], v["n_streams"] * v["d_model"]
    mixes = (2 + n) * n  # read, write, and from stream to stream
    return 2 * layers * (mixes * wide + mixes + 3) + n * wide + n + 1


def _ffn(v, hidden):
    ways = 2 if v.get("gated") else 1
    return (ways + 1) * v["d_model"] * hidden + (ways * hidden + v["d_model"]) * bool(v.get("ffn_bias"))


def _feed_forward(v):
    experts = v.get("n_experts") or 0
    if not experts:
        return _ffn(v, v["d_ff"])
    router = (v["d_model"] + bool(v.get("router_bias"))) * experts
    shared = v.get("n_shared", 0) * _ffn(v, v.get("d_shared", v["d_ff"])) + v["d_model"] * bool(v.get("shared_gate"))
    return experts * _ffn(v, v["d_ff"]) + shared + router
