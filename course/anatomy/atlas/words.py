"""The atlas in words: the parts of one model, and the differences between two.

A widget's page fills in the same sentences as ``difference``, so they are templates here.
"""

from collections.abc import Mapping
from typing import Any

from . import mixing
from .counting import closed_form
from .rows import Row, find
from .spoken import apart, spoken, spoken_in_parts

UNKNOWN = "not published"
NONE_RECORDED, NO_EXPERTS = "none recorded here", "no experts"
ASPECTS = (
    *("kind", "objective", "norm", "placement", "residual", "position", "mixing", "attention", "activation", "experts"),
    *("stability", "memory", "optimizer"),
)
# Never mentioned as something that two models share.
USUAL = (mixing.PLAIN, mixing.EVERYWHERE.format(name=mixing.NAMES["full"]))
NOT_SHARED = (UNKNOWN, NONE_RECORDED, NO_EXPERTS, *USUAL, mixing.NO_OPTIMIZER, mixing.NOT_COUNTED)
UNSPOKEN = (mixing.NO_OPTIMIZER,)  # says nothing of a difference
# aspect → (its name, a sentence for two models that differ in it)
SENTENCES: dict[str, tuple[str, str]] = {
    "kind": ("Kind", "{a} is {x}, {b} is {y}."),
    "objective": ("Objective", "{a} learns to predict the {x}, {b} the {y}."),
    "norm": ("Norm", "{a} normalizes with {x}, {b} with {y}."),
    "placement": ("Placement", "{a} normalizes {x}, {b} {y}."),
    "residual": ("Residual", "The residual connections of {a} are {x}, those of {b} are {y}."),
    "position": ("Position", "{a} knows positions by {x}, {b} by {y}."),
    "mixing": ("Mixing", "{a} mixes tokens by {x}; {b} by {y}."),
    "attention": ("Attention", "{a} attends with {x}, {b} with {y}."),
    "activation": ("Activation", "The feed-forward layer of {a} has {x}, that of {b} has {y}."),
    "experts": ("Experts", "{a} has {x}, {b} has {y}."),
    "stability": ("Stability", "Measures for stability: {x} in {a}; {y} in {b}."),
    "memory": ("Memory", "With a million tokens {a} would keep {x}; {b} {y}."),
    "optimizer": ("Optimizer", "{a} was trained with {x}, {b} with {y}."),
    "sizes": ("Sizes", "{a} has {x}; {b} has {y}."),
}
UNSAID = "{what}: {x} for {a}; {y} for {b}."  # used if one of the two is not published
MORE = "{b} has {n} times as many parameters as {a}: {y} and {x}."
SAME = "They share: {list}."

_KINDS: dict[Any, str] = {
    "decoder": "a decoder",
    "encoder": "an encoder",
    "encoder-decoder": "an encoder with a decoder",
}
_NORMS: dict[Any, str] = {
    "layer": "LayerNorm",
    "layer_no_bias": "LayerNorm without bias",
    "layer_no_weights": "LayerNorm without gain and bias",
    "layer_plus_one": "LayerNorm times 1 + weight",
    "rms": "RMSNorm",
    "gemma": "RMSNorm times 1 + weight",
}
_PLACEMENTS: dict[Any, tuple[str, str]] = {
    "pre": ("pre", "before each sublayer"),
    "post": ("post", "after each sum"),
    "both": ("pre and post", "before and after each sublayer"),
    "inside": ("inside", "what a sublayer returns, before the sum"),
    "parallel": ("parallel", "once for two sublayers side by side"),
    "parallel_two": ("parallel", "twice for two sublayers side by side"),
}
_POSITIONS: dict[Any, tuple[str, str]] = {
    "none": ("none", "nothing"),
    "learned": ("learned", "a learned table"),
    "sinusoidal": ("sinusoidal", "sinusoids"),
    "rope": ("RoPE", "RoPE"),
    "rope_pairs": ("RoPE", "RoPE on neighboring numbers"),
    "rope_and_none": ("RoPE", "RoPE, and nothing in every fourth layer"),
    "t5": ("relative", "T5's buckets of distances"),
    "transformer_xl": ("relative", "relative positions as in Transformer-XL"),
    "deberta": ("relative", "relative positions as in DeBERTa"),
    "alibi": ("ALiBi", "ALiBi"),
}
# How RoPE's frequencies are stretched for texts longer than those of the first training.
SCALINGS = {"llama3": ", slow planes slowed down", "yarn": " with YaRN"}
_ACTIVATIONS: dict[Any, str] = {
    ("relu", False): "ReLU",
    ("gelu", False): "GELU",
    ("gelu_tanh", False): "GELU",
    ("silu", False): "SiLU",
    ("squared_relu", False): "squared ReLU",
    ("relu", True): "ReGLU",
    ("gelu", True): "GeGLU",
    ("gelu_tanh", True): "GeGLU",
    ("silu", True): "SwiGLU",
}
_ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}


def words(row: Row) -> dict[str, str]:
    """Aspect → words, for ASPECTS and "sizes"; UNKNOWN if the sources do not say."""
    v = row.values
    return {
        "kind": _KINDS.get(v.get("kind"), UNKNOWN),
        "objective": v.get("objective", UNKNOWN),
        "norm": _NORMS.get(v.get("norm"), UNKNOWN),
        "placement": _PLACEMENTS.get(v.get("placement"), ("", UNKNOWN))[1],
        "residual": mixing.residual(v) or UNKNOWN,
        "position": _position(v),
        "mixing": mixing.said(v) or UNKNOWN,
        "attention": _attention(v),
        "activation": activation(v),
        "experts": _experts(v),
        "stability": " and ".join(stability(v)) or (UNKNOWN if "norm" not in v else NONE_RECORDED),
        "memory": mixing.memory(v) or UNKNOWN,
        "optimizer": v.get("optimizer", mixing.NO_OPTIMIZER),
        "sizes": _sizes(v),
    }


def families(row: Row) -> dict[str, str]:
    """Categories for filters: norm, placement, position, activation, attention, mixing → a short word."""
    v = row.values
    norm = _NORMS.get(v.get("norm"), UNKNOWN)
    return {
        "norm": norm.split()[0] if norm != UNKNOWN else UNKNOWN,
        "placement": _PLACEMENTS.get(v.get("placement"), (UNKNOWN, ""))[0],
        "position": _POSITIONS.get(v.get("position"), (UNKNOWN, ""))[0],
        "activation": activation(v),
        "attention": _heads(v)[0],
        "mixing": mixing.family(v) or UNKNOWN,
    }


def activation(v: Mapping[str, Any]) -> str:
    """SwiGLU, GELU, … of a row's values or of a configuration."""
    return _ACTIVATIONS.get((v.get("activation"), bool(v.get("gated"))), UNKNOWN)


def stability(v: Mapping[str, Any]) -> list[str]:
    """Measures that keep scores and logits small, in addition to the norms of the stream."""
    found = ["a norm of q and k"] if v.get("qk_norm") else []
    found += ["a norm after the embeddings"] if v.get("embedding_norm") else []
    found += [f"scores capped at {v['score_cap']:g}"] if v.get("score_cap") else []
    found += [f"logits capped at {v['logit_cap']:g}"] if v.get("logit_cap") else []
    return [*found, *v.get("stability", ())]


def difference(a: str, b: str) -> list[str]:
    """Differences between two models, a sentence each, and what they share, in the language in use.

    Raises UnknownModel.
    """
    one, two = find(a), find(b)
    x, y = words(one), words(two)
    said = []
    for aspect, (what, sentence) in SENTENCES.items():
        if x[aspect] != y[aspect] and not {x[aspect], y[aspect]} & set(UNSPOKEN):
            template = UNSAID if UNKNOWN in (x[aspect], y[aspect]) else sentence
            told = {"x": spoken_in_parts(aspect, x[aspect]), "y": spoken_in_parts(aspect, y[aspect])}
            said.append(spoken(template).format(what=spoken(what), a=one.title, b=two.title, **told))
    small, large = sorted((one, two), key=size)
    if size(small) and size(large) >= 1.05 * size(small):
        ratio = size(large) / size(small)
        n = f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"
        told = {"x": spoken(short(size(small))), "y": spoken(short(size(large)))}
        said.append(spoken(MORE).format(a=small.title, b=large.title, n=n, **told))
    same = [aspect for aspect in ASPECTS if x[aspect] == y[aspect] and x[aspect] not in NOT_SHARED]
    shared = [spoken_in_parts(aspect, x[aspect]) for aspect in same]
    return [*said, spoken(SAME).format(list=apart(shared))] if shared else said


def size(row: Row) -> int:
    """Number of all parameters: counted if the sizes allow it, else as published; 0 if unknown."""
    return closed_form(row) or row.published


def short(n: float) -> str:
    """A number of parameters in words: 6.74 billion."""
    for limit, unit in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if n >= 0.9995 * limit:  # three digits of it are 1.00
            return f"{n / limit:.3g} {unit}"
    return f"{n:,.0f}"


def _position(v):
    text = _POSITIONS.get(v.get("position"), ("", UNKNOWN))[1]
    turned, D = v.get("rotary_dim"), v.get("head_dim")
    if turned and D and turned != D:
        text += f" for {turned} of a head's {D} numbers"
    return text + (f", base {v['base']:,.0f}" if v.get("base") else "") + SCALINGS.get(v.get("scaling"), "")


def _heads(v):
    H, G = v.get("n_heads"), v.get("n_kv_heads")
    if v.get("attention") == "latent":
        return "MLA", f"{H} heads over one latent of {v['kv_rank']} + {v['rope_dim']} numbers (MLA)"
    if not H or not G:
        return UNKNOWN, UNKNOWN
    if G == H:
        return "MHA", f"{H} heads (MHA)"
    if G == 1:
        return "MQA", f"{H} heads that share one of keys and values (MQA)"
    return "GQA", f"{H} heads that share {G} of keys and values (GQA)"


def _attention(v):
    text = _heads(v)[1]
    if text == UNKNOWN:
        return text
    text += ", a gate on what they return" if v.get("gated_attention") else ""
    text += f", {v['index_top']:,} places chosen by an indexer" if v.get("index_top") else ""
    if v.get("attention") == "blocksparse":
        text += ", block-sparse in every second layer"
    if v.get("window"):
        which = {1: "every layer"}.get(v.get("window_every", 1), f"every {_ORDINALS.get(v.get('window_every'))} layer")
        if v.get("full_every"):
            which = f"all but every {_ORDINALS[v['full_every']]} layer"
        text += f", with a window of {v['window']:,} in {which}"
    return text + (", a learned place to attend to nothing" if v.get("sinks") else "")


def _experts(v):
    if not v.get("n_experts"):
        return NO_EXPERTS if "d_ff" in v else UNKNOWN
    shared = f", and {v['n_shared']} for all" if v.get("n_shared") else ""
    return f"{v['n_experts']} experts, {v['n_active']} for each token{shared}"


def _sizes(v):
    parts = [
        f"{v['n_layers']} layers" if "n_layers" in v else "",
        f"width {v['d_model']:,}" if "d_model" in v else "",
        f"feed-forward width {v['d_ff']:,}" if "d_ff" in v else "",
        f"vocabulary {v['vocab']:,}" if "vocab" in v else "",
        f"context {v['max_positions']:,}" if v.get("max_positions") else "",
    ]
    return ", ".join(p for p in parts if p) or UNKNOWN
