"""A model's configuration: a plain dict, like a checkpoint's ``config.json``.

``config(...)`` fills in missing entries. Exercises of unit 11, the atlas and checkpoints all use these keys.
"""

from typing import Any

Config = dict[str, Any]

CHOICES: dict[str, tuple[Any, ...]] = {
    "kind": ("decoder", "encoder", "encoder-decoder"),
    "norm": ("layer", "rms", "gemma"),
    "placement": ("pre", "post", "both", "inside", "parallel"),
    "position": ("none", "learned", "sinusoidal", "rope", "rope_pairs", "t5", "alibi"),
    "activation": ("relu", "gelu", "gelu_tanh", "silu", "squared_relu"),
    "attention": ("grouped", "latent"),
    "qk_norm": (None, "head", "whole"),
}
"""Keys whose values are words, and those words.

norm: ``gemma`` is RMSNorm whose factor is 1 + weight. placement: ``both`` is a norm before and after each sublayer
(Gemma 2), ``inside`` one on the sublayer's output before the sum (OLMo 2), ``parallel`` one norm for attention and
feed-forward side by side (GPT-J). position: ``rope`` pairs i with i + D/2, ``rope_pairs`` 2i with 2i + 1.
qk_norm: per head, or over all heads of a token at once.
"""

DEFAULTS: Config = {
    "kind": "decoder",
    "vocab": 1280,
    "d_model": 64,
    "n_layers": 2,
    "n_heads": 4,
    "n_kv_heads": None,  # n_heads
    "head_dim": None,  # d_model / n_heads
    "d_ff": None,  # 4·d_model, gated: 8/3·d_model rounded down
    "norm": "rms",
    "eps": 1e-5,
    "placement": "pre",
    "embedding_norm": False,  # a norm right after the embeddings, as in BERT
    "position": "rope",
    "base": 10000.0,  # base of RoPE's frequencies
    "rotary_dim": None,  # how many numbers of each head are rotated; head_dim
    "max_positions": 2048,  # rows of a table of learned positions; else the context length in training
    "n_segments": 0,
    "d_embedding": None,  # d_model; ALBERT's tables are narrower
    "activation": "silu",
    "gated": True,
    "attention": "grouped",
    "attention_bias": False,  # biases of the projections to queries, keys and values
    "out_bias": False,
    "ffn_bias": False,
    "qk_norm": None,
    "query_scale": None,  # scores are divided by its root; head_dim. T5: 1
    "score_cap": None,
    "logit_cap": None,
    "window": None,  # keys that a token sees, including itself
    "window_every": 1,  # 2: every second layer, from the first on; the others see all
    "n_experts": 0,
    "n_active": 0,
    "q_rank": 0,  # latent attention: 0 if queries are projected directly
    "kv_rank": 0,
    "rope_dim": 0,
    "v_dim": 0,
    "scaled_embedding": False,  # times √d_model, as in Gemma
    "tied": True,  # the head uses the embedding's table
    "shared_layers": False,  # one layer runs n_layers times, as in ALBERT
}


class WrongConfiguration(ValueError):
    """An unknown key, or an invalid value; the message lists the valid ones."""


def config(**changes: Any) -> Config:
    """Returns a complete configuration: the defaults (a small LLaMA) with ``changes``.

    Raises: WrongConfiguration for an unknown key or word, and for numbers of heads that do not divide evenly.
    """
    for key in changes:
        if key not in DEFAULTS:
            raise WrongConfiguration(f"no configuration has {key!r}; there are {', '.join(DEFAULTS)}")
    c = DEFAULTS | changes
    for key, words in CHOICES.items():
        if c[key] not in words:
            raise WrongConfiguration(f"{key} is one of {', '.join(map(repr, words))}, not {c[key]!r}")
    if c["n_kv_heads"] is None:
        c["n_kv_heads"] = c["n_heads"]
    if c["n_heads"] % c["n_kv_heads"]:
        raise WrongConfiguration(f"{c['n_heads']} query heads cannot share {c['n_kv_heads']} key-value heads evenly")
    if c["head_dim"] is None:
        if c["d_model"] % c["n_heads"]:
            raise WrongConfiguration(f"{c['n_heads']} heads do not divide d_model = {c['d_model']}: give head_dim")
        c["head_dim"] = c["d_model"] // c["n_heads"]
    c["d_ff"] = c["d_ff"] or (8 * c["d_model"] // 3 if c["gated"] else 4 * c["d_model"])
    c["rotary_dim"] = c["rotary_dim"] or c["head_dim"]
    c["d_embedding"] = c["d_embedding"] or c["d_model"]
    c["query_scale"] = c["query_scale"] or c["head_dim"]
    return c


def has_window(c: Config, layer: int) -> bool:
    """True if layer number ``layer``, counted from 0, sees only ``window`` keys."""
    return c["window"] is not None and layer % c["window_every"] == 0
