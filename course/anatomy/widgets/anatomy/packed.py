"""Packs the trained model and its tokenizer into bytes for the page, which runs both (bpe.js, model.js)."""

import functools
import gzip
import json

import numpy as np
import torch

from ...language import shipped

CONTEXT = 128  # tokens: the length of the texts that the model was trained on


@functools.cache
def model() -> bytes:
    """The gzipped model, 2.3 MB: a head in JSON with its length before it, then the weights as float16, exactly.

    The high bytes of all weights come before the low ones, because signs and exponents compress, and digits do not.
    Raises MissingRecording without the trained model.
    """
    c, weights = shipped.checkpoint()
    names = ("n_layers", "n_heads", "n_kv_heads", "head_dim", "d_model", "d_ff", "vocab", "base", "eps")
    head = json.dumps({**{name: c[name] for name in names}, "context": CONTEXT, **_tokenizer()}).encode()
    flat = torch.cat([weights[name].flatten() for name in _order(c["n_layers"])]).numpy().astype("<f2")
    low, high = flat.view(np.uint8).reshape(-1, 2).T
    raw = len(head).to_bytes(4, "little") + head + high.tobytes() + low.tobytes()
    return gzip.compress(raw, mtime=0)


def _order(layers):
    """Names of the weights, in the order in which the page takes them."""
    attention = [f"attention.{name}_proj" for name in "qkvo"]
    ffn = [f"ffn.{name}_proj" for name in ("gate", "up", "down")]
    block = ["attention_norm", *attention, "ffn_norm", *ffn]
    return [
        "embeddings.tokens.weight",
        *(f"blocks.{layer}.{name}.weight" for layer in range(layers) for name in block),
        "final_norm.weight",
    ]


def _tokenizer():
    """The token of each byte, and the pairs of tokens that are merged, one after the other."""
    said = json.loads((shipped.folder() / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    ids = said["vocab"]
    return {
        "bytes": [ids[letter] for letter in letters()],
        "merges": [ids[part] for pair in said["merges"] for part in pair],
    }


def letters() -> list[str]:
    """The letter that stands for each byte in tokenizer.json: itself if it can be seen, else one from U+0100 on."""
    seen = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return [chr(byte) if byte in seen else chr(256 + hidden.index(byte)) for byte in range(256)]
