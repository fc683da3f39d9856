"""Reads a configuration for drawings, and turns it into shapes and words."""

from collections.abc import Mapping
from typing import Any

from ..models.config import Config, config

COUNTS = ("vocab", "d_model", "n_layers", "n_heads", "n_kv_heads", "head_dim", "d_ff")
NORMS = {"layer": "LayerNorm", "rms": "RMSNorm", "gemma": "RMSNorm (1 + w)"}
ACTIVATIONS = {
    "relu": "ReLU",
    "gelu": "GELU",
    "gelu_tanh": "GELU (tanh)",
    "silu": "SiLU",
    "squared_relu": "ReLU²",
}
ROTARY = ("rope", "rope_pairs")


def complete(c: Config) -> Config:
    """Returns the configuration, completed with the course's defaults.

    Raises ValueError (``WrongConfiguration`` is one) with a one-sentence message for an invalid configuration.
    """
    if not isinstance(c, Mapping):
        raise ValueError(f"a drawing is made of a configuration, config(d_model=…), not of {type(c).__name__}")
    for key in COUNTS:
        positive(key, c.get(key, 1) or (1 if c.get(key) is None else 0))
    return config(**c)


def positive(name: str, value: Any) -> int:
    """Returns ``value`` if it is a positive integer, else raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is a whole number above 0, not {value!r}")
    return value


def divided(whole: str, n: int, parts: str, m: int) -> int:
    """Returns n / m. Raises ValueError if m does not divide n."""
    if n % m:
        raise ValueError(f"{parts} = {m} does not divide {whole} = {n}")
    return n // m


def shape(*sizes: int | str) -> str:
    """``(B, 4, T, 16)``: letters and numbers as the course writes them."""
    return f"({', '.join(map(str, sizes))})"


def pairs(title: str, c: Config) -> str:
    """``title`` and the main sizes, to describe a drawing in words."""
    return f"{title}: d_model {c['d_model']}, {c['n_heads']} heads of {c['head_dim']}"


def score(c: Config, biased: bool = True) -> str:
    """Formula of a score: division, cap and bias. biased: include a bias that depends on distances."""
    root = "" if c["query_scale"] == 1 else f" / √{c['query_scale']:g}"
    capped = f"cap(q·kᵀ{root})" if c["score_cap"] else f"q·kᵀ{root}"
    return capped + (" + bias" if biased and c["position"] in ("t5", "alibi") else "")


def visible(c: Config) -> str:
    """Says in words which tokens a token sees."""
    if c["window"] is None:
        return "a token sees all tokens" if c["kind"] == "encoder" else "a token sees itself and the past"
    seen = f"{c['window']} tokens around it" if c["kind"] == "encoder" else f"the last {c['window']}"
    return f"a token sees {seen}" + ("" if c["window_every"] == 1 else f", 1 layer in {c['window_every']}")
