"""How the layers of a row mix tokens: which mixer each has, its parameters, and what it keeps of the tokens read.

Softmax keeps keys and values of all tokens, a window of the last ones, latent attention one short vector a token. A
layer with a recurrent state (gated delta rule, arXiv:2412.06464; Kimi's, arXiv:2510.26692; Mamba-2, arXiv:2405.21060)
keeps a state whose size does not depend on their number.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from ..system.translation import N_

Values = Mapping[str, Any]
MILLION = 1_000_000
BYTES = 2  # a number in bfloat16
NAMES: dict[str, str] = {
    "full": N_("softmax"),
    "window": N_("softmax in a window"),
    "chunk": N_("softmax within chunks"),
    "sparse": N_("block-sparse softmax"),
    "latent": N_("latent attention"),
    "indexed": N_("latent attention to chosen tokens"),
    "csa": N_("softmax over chosen blocks of 4"),
    "hca": N_("softmax over blocks of 128"),
    "delta": N_("the gated delta rule"),
    "kda": N_("the delta rule with a gate for each channel"),
    "ssm": N_("a state space (Mamba-2)"),
    "none": N_("a feed-forward layer alone"),
}
# Families for the filter; the first that one of the layers belongs to is the row's.
FAMILIES: dict[str, tuple[str, ...]] = {
    N_("recurrent state"): ("delta", "kda", "ssm"),
    N_("chosen tokens"): ("indexed", "csa"),
    N_("latent"): ("latent",),
    N_("windows"): ("window", "chunk", "sparse"),
    N_("softmax"): ("full",),
}
RECURRENT = FAMILIES["recurrent state"]
IN_TURN = N_("{list}, in turn")
EVERYWHERE = N_("{name} in every layer")
TIMES = N_("{n} × {name}")
STREAMS = N_("hyper-connections over {n} streams")
PLAIN = N_("plain")
BYTES_A_TOKEN = N_("{n} bytes a token")
NO_CACHE = N_("nothing, for it reads all tokens at once")
ITS_INPUT = N_("a cache that grows with its input, too")
NOT_COUNTED = N_("a cache that is not counted here")
NO_OPTIMIZER = N_("an optimizer that is not recorded here")


def mixers(v: Values) -> list[str]:
    """The mixer of each layer, a key of NAMES; [] if the number of layers or the attention is not known.

    A row says it by ``mixers``, a list of [mixer, how many layers in a row] that is repeated until all layers have one,
    or by the keys of windows.
    """
    if "n_layers" not in v or "attention" not in v:
        return []
    return list(itertools.islice(itertools.cycle(_pattern(v)), v["n_layers"]))


def _pattern(v: Values) -> list[str]:
    """The mixers of one period."""
    if "mixers" in v:
        return [name for name, times in v["mixers"] for _ in range(times)]
    if v["attention"] in ("latent", "blocksparse"):
        return ["latent"] if v["attention"] == "latent" else ["sparse", "full"]
    if v.get("window") and v.get("full_every"):
        return ["window"] * (v["full_every"] - 1) + ["full"]
    if v.get("window"):
        return ["window"] + ["full"] * (v.get("window_every", 1) - 1)
    return ["full"]


def said(v: Values) -> str:
    """The pattern in words; "" if it is not known."""
    layers, period = mixers(v), _pattern(v) if "attention" in v else []
    if not layers:
        return ""
    if len(set(layers)) == 1:
        return EVERYWHERE.format(name=NAMES[layers[0]])
    if 2 * len(period) <= len(layers):
        return IN_TURN.format(list=_listed([(name, len(list(run))) for name, run in itertools.groupby(period)]))
    return _listed([(name, layers.count(name)) for name in dict.fromkeys(layers)])


def _listed(counted: list[tuple[str, int]]) -> str:
    return ", ".join(TIMES.format(n=n, name=NAMES[name]) for name, n in counted)


def family(v: Values) -> str:
    """The row's family in FAMILIES, "" if its mixers are not known."""
    layers = set(mixers(v))
    return next((name for name, kinds in FAMILIES.items() if layers & set(kinds)), "")


def residual(v: Values) -> str:
    """The kind of its residual connections in words, "" if the placement of norms around them is not known."""
    if v.get("residual") == "hyper":
        return STREAMS.format(n=v["n_streams"])
    return PLAIN if "placement" in v else ""


def memory(v: Values) -> str:
    """What it keeps of a million tokens, in words; "" if its sizes are not known."""
    if v.get("kind") == "encoder":
        return NO_CACHE
    if v.get("kind") == "encoder-decoder":
        return ITS_INPUT
    if not mixers(v) or "n_kv_heads" not in v or "head_dim" not in v:
        return ""
    count = bytes_per_token(v)
    return NOT_COUNTED if count is None else BYTES_A_TOKEN.format(n=f"{count:,}")


def bytes_per_token(v: Values, context: int = MILLION) -> int | None:
    """Bytes of cache and state after ``context`` tokens, divided by ``context``, two bytes a number, rounded.

    None for layers that keep what their sources do not say (block-sparse ones).
    """
    layers = mixers(v)
    if "sparse" in layers:
        return None
    return round(BYTES * sum(kept(name, v, context) for name in layers) / context)


def kept(name: str, v: Values, context: int) -> int:
    """Numbers that one layer with that mixer keeps of ``context`` tokens."""
    if name == "none":
        return 0
    if name in RECURRENT:
        return _state(name, v)
    if v["attention"] == "compressed":  # one vector that is both key and value
        raw = v["head_dim"] * min(v["window"], context)
        blocks = {"csa": (v["head_dim"] + v["index_dim"]) * context // 4, "hca": v["head_dim"] * context // 128}
        return raw + blocks.get(name, 0)
    if name in ("latent", "indexed"):
        return context * (v["kv_rank"] + v["rope_dim"] + (v["index_dim"] if name == "indexed" else 0))
    reach = {"window": v.get("window"), "chunk": v.get("chunk")}.get(name) or context
    return 2 * v["n_kv_heads"] * v["head_dim"] * min(reach, context)


def _state(name: str, v: Values) -> int:
    """A matrix for each head, and the last inputs of the short convolution."""
    if name == "ssm":
        return v["ssm_heads"] * v["ssm_head_dim"] * v["ssm_state"] + (v["conv"] - 1) * _convolved(name, v)
    return v["linear_heads"] * v["linear_key_dim"] * v["linear_value_dim"] + (v["conv"] - 1) * _convolved(name, v)


def _convolved(name: str, v: Values) -> int:
    """Channels of the short convolution."""
    if name == "ssm":
        return v["ssm_heads"] * v["ssm_head_dim"] + 2 * v["ssm_groups"] * v["ssm_state"]
    keys = v.get("linear_key_heads", v["linear_heads"]) * v["linear_key_dim"]
    return 2 * keys + v["linear_heads"] * v["linear_value_dim"]


# ---- parameters ------------------------------------------------------------------------------------------------------
def parameters(name: str, v: Values) -> int:
    """Parameters of one layer's mixer, without the norms around it."""
    if name in RECURRENT:
        return _PARAMETERS[name](v)
    if v.get("attention") == "compressed":
        return _compressed(v) + {"csa": _blocks(v, 4, True), "hca": _blocks(v, 128, False)}.get(name, 0)
    if name in ("latent", "indexed"):
        return _latent(v) + (_index(v) if name == "indexed" else 0)
    return 0 if name == "none" else _grouped(v)


def _grouped(v):
    d, H, G, D = v["d_model"], v["n_heads"], v["n_kv_heads"], v["head_dim"]
    total = 2 * d * (H + G) * D + (H + 2 * G) * D * bool(v.get("attention_bias")) + d * bool(v.get("out_bias"))
    total += {"head": 2 * D, "whole": (H + G) * D, "head_own": (H + G) * D}.get(v.get("qk_norm"), 0)
    total += d * H * D * bool(v.get("gated_attention"))
    if v.get("position") == "transformer_xl":
        total += d * H * D  # the projection of relative positions
    return total + H * bool(v.get("sinks"))


def _latent(v):
    d, H, D = v["d_model"], v["n_heads"], v["head_dim"]
    q, kv, rope, value = v.get("q_rank", 0), v["kv_rank"], v["rope_dim"], v["v_dim"]
    queries = d * q + q + q * H * (D + rope) if q else d * H * (D + rope)  # down, norm, up
    return queries + d * (kv + rope) + kv + kv * H * (D + value) + H * value * d


def _index(v):
    """DeepSeek's indexer (arXiv:2512.02556, section 2.1): queries from the latent one, one key with a LayerNorm."""
    d, heads, size = v["d_model"], v["index_heads"], v["index_dim"]
    return v["q_rank"] * heads * size + d * size + 2 * size + d * heads


def _compressed(v):
    """Attention of DeepSeek-V4 (arXiv:2606.19348): low-rank queries, one vector a token, outputs in groups."""
    d, H, D, q = v["d_model"], v["n_heads"], v["head_dim"], v["q_rank"]
    out = H * D * v["out_rank"] + v["out_groups"] * v["out_rank"] * d
    return d * q + q + q * H * D + d * D + D + out + H


def _blocks(v, block, indexed):
    """What turns a block of tokens into one vector: values and weights, a bias for each place in it, and a norm."""
    ways = 2 if indexed else 1  # blocks that overlap are made of two halves
    d, sizes = v["d_model"], [v["head_dim"], v["index_dim"]] if indexed else [v["head_dim"]]
    index = v["q_rank"] * v["index_heads"] * v["index_dim"] + d * v["index_heads"] if indexed else 0
    return index + sum(2 * d * ways * size + block * ways * size + size for size in sizes)


def _delta(v):
    d, heads = v["d_model"], v["linear_heads"]
    values, channels = heads * v["linear_value_dim"], _convolved("delta", v)
    projections = d * (channels + values + 2 * heads) + values * d  # q, k, v; the gate; two numbers a head; output
    return projections + v["conv"] * channels + 2 * heads + v["linear_value_dim"]


def _kda(v):
    d, heads, size = v["d_model"], v["linear_heads"], v["linear_key_dim"]
    width = heads * size
    gates = 2 * (d * size + size * width)  # forgetting and output, each of low rank
    return 4 * d * width + gates + d * heads + v["conv"] * 3 * width + heads + width + size


def _ssm(v):
    d, heads = v["d_model"], v["ssm_heads"]
    width, channels = heads * v["ssm_head_dim"], _convolved("ssm", v)
    return d * (width + channels + heads) + (v["conv"] + 1) * channels + 3 * heads + width + width * d


_PARAMETERS: dict[str, Callable[[Values], int]] = {"delta": _delta, "kda": _kda, "ssm": _ssm}
