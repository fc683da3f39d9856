"""Tables that rename the weights of released checkpoints, and the splitting that some of them need first.

A rule is (pattern, replacement): the first pattern that matches a whole name gives its new name.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor

State = dict[str, Tensor]
Rules = Sequence[tuple[str, str]]

LAYER = r"model\.layers\.(\d+)"
DECODER: Rules = [
    (r"model\.embed_tokens\.(.*)", r"embeddings.tokens.\1"),
    (rf"{LAYER}\.self_attn\.(.*)", r"blocks.\1.attention.\2"),
    (rf"{LAYER}\.mlp\.(.*)", r"blocks.\1.ffn.\2"),
    (r"model\.norm\.(.*)", r"final_norm.\1"),
    (r"lm_head\.(.*)", r"head.\1"),
]


def norms(**names: str) -> list[tuple[str, str]]:
    return [(rf"{LAYER}\.{theirs}\.(.*)", rf"blocks.\1.{ours}.\2") for theirs, ours in names.items()]


PRE = norms(input_layernorm="attention_norm", post_attention_layernorm="ffn_norm")
INSIDE = norms(post_attention_layernorm="attention_norm", post_feedforward_layernorm="ffn_norm")
BOTH = norms(
    input_layernorm="attention_norm_in",
    post_attention_layernorm="attention_norm_out",
    pre_feedforward_layernorm="ffn_norm_in",
    post_feedforward_layernorm="ffn_norm_out",
)


def without(*patterns: str) -> Callable[[State], State]:
    """Returns a function that drops the weights that match a pattern: copies of other weights, and masks."""
    return lambda state: {n: t for n, t in state.items() if not any(re.fullmatch(p, n) for p in patterns)}


def cut_glm(state: State) -> State:
    """Splits gate_up_proj, which holds both matrices, the gate first."""
    parted: State = {}
    for name, tensor in state.items():
        if name.endswith("gate_up_proj.weight"):
            halves = tensor.chunk(2, dim=0)
            parted |= {name.replace("gate_up", part): half for part, half in zip(("gate", "up"), halves, strict=True)}
        else:
            parted[name] = tensor
    return parted


def unstack_experts(state: State, part: Callable[[str, Tensor], State]) -> State:
    """Splits experts that are stacked in memory, one matrix or bias under another, into one of each in the files.

    ``part(last, matrix)`` gives what becomes of one expert's share of ``X.experts.last``, by the names within that
    expert, which is ``X.experts.number``.
    """
    parted: State = {}
    for name, tensor in state.items():
        stem, stacked, last = name.rpartition(".experts.")
        found = [part(last, one) for one in tensor] if stacked and last.startswith(_STACKED) else []
        for i, share in enumerate(found):
            parted |= {f"{stem}.experts.{i}.{inner}": one for inner, one in share.items()}
        if not found:
            parted[name] = tensor
    return parted


_STACKED = ("gate_up_proj", "down_proj")


def cut_mixtral(state: State) -> State:
    """Splits experts, stacked in memory with gate and up fused, into the files' w1 (gate), w2 (down) and w3 (up)."""

    def part(last: str, matrix: Tensor) -> State:
        if last == "down_proj":
            return {"w2.weight": matrix}
        return dict(zip(("w1.weight", "w3.weight"), matrix.chunk(2, dim=0), strict=True))

    parted = unstack_experts(state, part)
    return {n.replace(".mlp.experts.", ".block_sparse_moe.experts."): t for n, t in parted.items()}


EXPERTS = [
    (rf"{LAYER}\.block_sparse_moe\.experts\.(\d+)\.{theirs}\.(.*)", rf"blocks.\1.ffn.experts.\2.{ours}.\3")
    for theirs, ours in {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}.items()
] + [(rf"{LAYER}\.(?:block_sparse_moe|mlp)\.gate\.(.*)", r"blocks.\1.ffn.router.\2")]

LATENT = [
    (rf"{LAYER}\.self_attn\.{theirs}\.(.*)", rf"blocks.\1.attention.{ours}.\2")
    for theirs, ours in {
        "q_a_proj": "q_down",
        "q_a_layernorm": "q_norm",
        "q_b_proj": "q_up",
        "kv_a_proj_with_mqa": "kv_down",
        "kv_a_layernorm": "kv_norm",
        "kv_b_proj": "kv_up",
    }.items()
]

_GPT_BLOCK = r"(?:transformer\.)?h\.(\d+)"
GPT: Rules = [
    (r"(?:transformer\.)?wte\.(.*)", r"embeddings.tokens.\1"),
    (r"(?:transformer\.)?wpe\.(.*)", r"embeddings.positions.\1"),
    (r"(?:transformer\.)?ln_f\.(.*)", r"final_norm.\1"),
    (rf"{_GPT_BLOCK}\.attn\.([qkv]_proj)\.(.*)", r"blocks.\1.attention.\2.\3"),
    (rf"{_GPT_BLOCK}\.attn\.c_proj\.(.*)", r"blocks.\1.attention.o_proj.\2"),
    (rf"{_GPT_BLOCK}\.mlp\.c_fc\.(.*)", r"blocks.\1.ffn.up_proj.\2"),
    (rf"{_GPT_BLOCK}\.mlp\.c_proj\.(.*)", r"blocks.\1.ffn.down_proj.\2"),
    (rf"{_GPT_BLOCK}\.ln_1\.(.*)", r"blocks.\1.attention_norm.\2"),
    (rf"{_GPT_BLOCK}\.ln_2\.(.*)", r"blocks.\1.ffn_norm.\2"),
]

# Early files call a norm's weight and bias gamma and beta.
_VECTORS = {"weight": "(?:weight|gamma)", "bias": "(?:bias|beta)"}


def _each(pattern: str, replacement: str) -> list[tuple[str, str]]:
    return [(rf"{pattern}\.{old}", f"{replacement}.{new}") for new, old in _VECTORS.items()]


def _bert_rules(model: str, layer: str, block: str, parts: Mapping[str, str]) -> Rules:
    """model: optional prefix of all names; layer: pattern of a layer; parts: its modules → ours."""
    tables = {"word": "tokens", "position": "positions", "token_type": "segments"}
    start = rf"(?:{model}\.)?"
    return [
        *((rf"{start}embeddings\.{t}_embeddings\.(.*)", rf"encoder.embeddings.{o}.\1") for t, o in tables.items()),
        *_each(rf"{start}embeddings\.LayerNorm", "encoder.embeddings.norm"),
        (rf"{start}encoder\.embedding_hidden_mapping_in\.(.*)", r"encoder.embeddings.widen.\1"),
        *(rule for theirs, ours in parts.items() for rule in _each(rf"{start}{layer}\.{theirs}", f"{block}.{ours}")),
    ]


BERT: Rules = [
    *_bert_rules(
        "bert",
        r"encoder\.layer\.(\d+)",
        r"encoder.blocks.\1",
        {
            r"attention\.self\.query": "attention.q_proj",
            r"attention\.self\.key": "attention.k_proj",
            r"attention\.self\.value": "attention.v_proj",
            r"attention\.output\.dense": "attention.o_proj",
            r"attention\.output\.LayerNorm": "attention_norm",
            r"intermediate\.dense": "ffn.up_proj",
            r"output\.dense": "ffn.down_proj",
            r"output\.LayerNorm": "ffn_norm",
        },
    ),
    (r"(?:bert\.)?pooler\.dense\.(.*)", r"pooler.\1"),
    (r"cls\.predictions\.transform\.dense\.(.*)", r"transform.\1"),
    *_each(r"cls\.predictions\.transform\.LayerNorm", "transform_norm"),
    (r"cls\.predictions\.bias", "word_bias"),
    (r"cls\.seq_relationship\.(.*)", r"next_sentence.\1"),
]
ALBERT: Rules = [
    *_bert_rules(
        "albert",
        r"encoder\.albert_layer_groups\.0\.albert_layers\.0",
        "encoder.blocks.0",
        {
            r"attention\.query": "attention.q_proj",
            r"attention\.key": "attention.k_proj",
            r"attention\.value": "attention.v_proj",
            r"attention\.dense": "attention.o_proj",
            r"attention\.LayerNorm": "attention_norm",
            "ffn": "ffn.up_proj",
            "ffn_output": "ffn.down_proj",
            "full_layer_layer_norm": "ffn_norm",
        },
    ),
    (r"(?:albert\.)?pooler\.(weight|bias)", r"pooler.\1"),
]

_T5_BLOCK = r"(encoder|decoder)\.block\.(\d+)\.layer\.\d"
T5: Rules = [
    (r"shared\.(.*)", r"embeddings.tokens.\1"),
    (r"lm_head\.(.*)", r"head.\1"),
    (r"(encoder|decoder)\.final_layer_norm\.(.*)", r"\1_norm.\2"),
    (r"(encoder|decoder)\.block\.0\.layer\.0\.SelfAttention\.relative_attention_bias\.(.*)", r"\1_bias.\2"),
    (rf"{_T5_BLOCK}\.SelfAttention\.([qkvo])\.(.*)", r"\1.\2.attention.\3_proj.\4"),
    (rf"{_T5_BLOCK}\.EncDecAttention\.([qkvo])\.(.*)", r"\1.\2.cross_attention.\3_proj.\4"),
    (rf"{_T5_BLOCK}\.DenseReluDense\.wi_0\.(.*)", r"\1.\2.ffn.gate_proj.\3"),
    (rf"{_T5_BLOCK}\.DenseReluDense\.wi(?:_1)?\.(.*)", r"\1.\2.ffn.up_proj.\3"),
    (rf"{_T5_BLOCK}\.DenseReluDense\.wo\.(.*)", r"\1.\2.ffn.down_proj.\3"),
    (r"(encoder|decoder)\.block\.(\d+)\.layer\.0\.layer_norm\.(.*)", r"\1.\2.attention_norm.\3"),
    (r"encoder\.block\.(\d+)\.layer\.1\.layer_norm\.(.*)", r"encoder.\1.ffn_norm.\2"),
    (r"decoder\.block\.(\d+)\.layer\.1\.layer_norm\.(.*)", r"decoder.\1.cross_norm.\2"),
    (r"decoder\.block\.(\d+)\.layer\.2\.layer_norm\.(.*)", r"decoder.\1.ffn_norm.\2"),
]
