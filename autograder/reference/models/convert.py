"""Weights of Hugging Face models under our names, for a strict load_state_dict.

Each function takes a state dict of the class in its docstring and returns ours. A short table rewrites
names one by one; a name that no rule matches is an error, so that nothing is dropped silently.
"""

import re
from collections.abc import Iterable, Sequence

from torch import Tensor

State = dict[str, Tensor]
Rules = Sequence[tuple[str, str]]


def rename(state: State, rules: Rules) -> State:
    """Renames each tensor by the first rule whose pattern matches the whole name.

    Raises: KeyError when no rule matches a name.
    """
    renamed = {}
    for name, tensor in state.items():
        for pattern, replacement in rules:
            if re.fullmatch(pattern, name):
                renamed[re.sub(pattern, replacement, name)] = tensor
                break
        else:
            raise KeyError(f"no rule for {name}")
    return renamed


_DECODER: Rules = [
    (r"model\.embed_tokens\.(.*)", r"tokens.\1"),
    (r"model\.layers\.(\d+)\.self_attn\.(.*)", r"blocks.\1.attention.\2"),
    (r"model\.layers\.(\d+)\.mlp\.(.*)", r"blocks.\1.ffn.\2"),
    (r"model\.norm\.(.*)", r"final_norm.\1"),
    (r"lm_head\.(.*)", r"head.\1"),
]


def _norms(**names: str) -> Rules:
    return [(rf"model\.layers\.(\d+)\.{theirs}\.(.*)", rf"blocks.\1.{ours}.\2") for theirs, ours in names.items()]


def from_llama(state: State) -> State:
    """LlamaForCausalLM and models with the same names: Mistral, Qwen2, SmolLM3 (for HybridDecoder)."""
    return rename(state, [*_DECODER, *_norms(input_layernorm="attention_norm", post_attention_layernorm="ffn_norm")])


def from_qwen3(state: State) -> State:
    """Qwen3ForCausalLM."""
    attention = [
        (rf"model\.layers\.(\d+)\.self_attn\.{part}_norm\.weight", rf"blocks.\1.attention.{part}_gain")
        for part in ("q", "k")
    ]
    norms = _norms(input_layernorm="attention_norm", post_attention_layernorm="ffn_norm")
    return rename(state, [*attention, *_DECODER, *norms])


def from_mixtral(state: State) -> State:
    """MixtralForCausalLM, whose experts are stacked: gate and up (E, 2·d_ff, d), down (E, d, d_ff)."""
    parted = {}
    for name, tensor in state.items():
        stem, _, last = name.rpartition(".experts.")
        for index in range(len(tensor) if stem else 0):
            expert = f"{stem}.experts.{index}"
            if last == "gate_up_proj":
                gate, up = tensor[index].chunk(2, dim=0)
                parted[f"{expert}.gate_proj.weight"], parted[f"{expert}.up_proj.weight"] = gate, up
            else:
                parted[f"{expert}.{last}.weight"] = tensor[index]
        if not stem:
            parted[name.replace(".mlp.gate.", ".mlp.router.")] = tensor
    return from_llama(parted)


def from_gemma2(state: State) -> State:
    """Gemma2ForCausalLM."""
    norms = _norms(
        input_layernorm="attention_norm_in",
        post_attention_layernorm="attention_norm_out",
        pre_feedforward_layernorm="ffn_norm_in",
        post_feedforward_layernorm="ffn_norm_out",
    )
    return rename(state, [*_DECODER, *norms])


def from_olmo2(state: State) -> State:
    """Olmo2ForCausalLM."""
    norms = _norms(post_attention_layernorm="attention_norm", post_feedforward_layernorm="ffn_norm")
    return rename(state, [*_DECODER, *norms])


def from_glm(state: State) -> State:
    """GlmForCausalLM, whose gate and up projections are one matrix, the gate first."""
    parted = {}
    for name, tensor in state.items():
        if name.endswith("mlp.gate_up_proj.weight"):
            gate, up = tensor.chunk(2, dim=0)
            parted[name.replace("gate_up_proj", "gate_proj")] = gate
            parted[name.replace("gate_up_proj", "up_proj")] = up
        else:
            parted[name] = tensor
    return from_llama(parted)


def from_deepseek_v3(state: State) -> State:
    """DeepseekV3ForCausalLM with dense layers only."""
    names = {
        "q_a_proj": "q_down",
        "q_a_layernorm": "q_norm",
        "q_b_proj": "q_up",
        "kv_a_proj_with_mqa": "kv_down",
        "kv_a_layernorm": "kv_norm",
        "kv_b_proj": "kv_up",
    }
    attention = [
        (rf"model\.layers\.(\d+)\.self_attn\.{theirs}\.(.*)", rf"blocks.\1.attention.{ours}.\2")
        for theirs, ours in names.items()
    ]
    norms = _norms(input_layernorm="attention_norm", post_attention_layernorm="ffn_norm")
    return rename(state, [*attention, *_DECODER, *norms])


def _split_qkv(state: State, suffix: str) -> State:
    """Splits c_attn, which holds q, k and v side by side."""
    parted = {}
    for name, tensor in state.items():
        if f".{suffix}." in name:
            for part, piece in zip(("q_proj", "k_proj", "v_proj"), tensor.chunk(3, dim=-1), strict=True):
                parted[name.replace(suffix, part)] = piece
        else:
            parted[name] = tensor
    return parted


def _transpose(state: State, ends: Iterable[str]) -> State:
    """Transposes weights: GPT's Conv1D stores them as (d_in, d_out), nn.Linear as (d_out, d_in)."""
    ends = tuple(ends)
    return {name: (t.T.contiguous() if name.endswith(ends) else t) for name, t in state.items()}


_GPT_LINEAR = [f"{part}.weight" for part in ("q_proj", "k_proj", "v_proj", "c_proj", "c_fc")]


def from_gpt2(state: State) -> State:
    """GPT2LMHeadModel."""
    return rename(
        _transpose(_split_qkv(state, "c_attn"), _GPT_LINEAR),
        [
            (r"transformer\.wte\.(.*)", r"tokens.\1"),
            (r"transformer\.wpe\.(.*)", r"positions.\1"),
            (r"transformer\.ln_f\.(.*)", r"final_norm.\1"),
            (r"lm_head\.(.*)", r"head.\1"),
            *_gpt_block("transformer"),
        ],
    )


def from_gpt1(state: State) -> State:
    """OpenAIGPTLMHeadModel; its attn.bias buffers are masks and are left out."""
    state = {name: t for name, t in state.items() if not name.endswith(".attn.bias")}
    return rename(
        _transpose(_split_qkv(state, "c_attn"), _GPT_LINEAR),
        [
            (r"transformer\.tokens_embed\.(.*)", r"tokens.\1"),
            (r"transformer\.positions_embed\.(.*)", r"positions.\1"),
            (r"lm_head\.(.*)", r"head.\1"),
            *_gpt_block("transformer"),
        ],
    )


def _gpt_block(prefix: str) -> Rules:
    block = rf"{prefix}\.h\.(\d+)"
    return [
        (rf"{block}\.attn\.([qkv]_proj)\.(.*)", r"blocks.\1.attention.\2.\3"),
        (rf"{block}\.attn\.c_proj\.(.*)", r"blocks.\1.attention.o_proj.\2"),
        (rf"{block}\.mlp\.c_fc\.(.*)", r"blocks.\1.ffn.up_proj.\2"),
        (rf"{block}\.mlp\.c_proj\.(.*)", r"blocks.\1.ffn.down_proj.\2"),
        (rf"{block}\.ln_1\.(.*)", r"blocks.\1.attention_norm.\2"),
        (rf"{block}\.ln_2\.(.*)", r"blocks.\1.ffn_norm.\2"),
    ]


def from_bert(state: State) -> State:
    """BertForPreTraining; its second copy of the output bias is left out."""
    state = {name: t for name, t in state.items() if name != "cls.predictions.bias"}
    layer = r"bert\.encoder\.layer\.(\d+)"
    block = r"bert.blocks.\1"
    return rename(
        state,
        [
            *_bert_embeddings(r"bert\.", "bert."),
            *_bert_qkv(rf"{layer}\.attention\.self", rf"{block}.attention", 2),
            (rf"{layer}\.attention\.output\.dense\.(.*)", rf"{block}.attention.o_proj.\2"),
            (rf"{layer}\.attention\.output\.LayerNorm\.(.*)", rf"{block}.attention_norm.\2"),
            (rf"{layer}\.intermediate\.dense\.(.*)", rf"{block}.ffn.up_proj.\2"),
            (rf"{layer}\.output\.dense\.(.*)", rf"{block}.ffn.down_proj.\2"),
            (rf"{layer}\.output\.LayerNorm\.(.*)", rf"{block}.ffn_norm.\2"),
            (r"bert\.pooler\.dense\.(.*)", r"bert.pooler.\1"),
            (r"cls\.predictions\.transform\.dense\.(.*)", r"transform.\1"),
            (r"cls\.predictions\.transform\.LayerNorm\.(.*)", r"transform_norm.\1"),
            (r"cls\.predictions\.decoder\.(.*)", r"decoder.\1"),
            (r"cls\.seq_relationship\.(.*)", r"next_sentence.\1"),
        ],
    )


def from_albert(state: State) -> State:
    """AlbertModel with one group of one layer."""
    layer = r"encoder\.albert_layer_groups\.0\.albert_layers\.0"
    return rename(
        state,
        [
            *_bert_embeddings("", ""),
            (r"encoder\.embedding_hidden_mapping_in\.(.*)", r"widen.\1"),
            *_bert_qkv(rf"{layer}\.attention", "block.attention", 1),
            (rf"{layer}\.attention\.dense\.(.*)", r"block.attention.o_proj.\1"),
            (rf"{layer}\.attention\.LayerNorm\.(.*)", r"block.attention_norm.\1"),
            (rf"{layer}\.ffn\.(.*)", r"block.ffn.up_proj.\1"),
            (rf"{layer}\.ffn_output\.(.*)", r"block.ffn.down_proj.\1"),
            (rf"{layer}\.full_layer_layer_norm\.(.*)", r"block.ffn_norm.\1"),
            (r"pooler\.(.*)", r"pooler.\1"),
        ],
    )


def _bert_qkv(pattern: str, prefix: str, group: int) -> Rules:
    parts = {"query": "q_proj", "key": "k_proj", "value": "v_proj"}
    return [(rf"{pattern}\.{n}\.(.*)", rf"{prefix}.{ours}.\{group}") for n, ours in parts.items()]


def _bert_embeddings(pattern: str, prefix: str) -> Rules:
    return [
        (rf"{pattern}embeddings\.word_embeddings\.(.*)", rf"{prefix}embeddings.tokens.\1"),
        (rf"{pattern}embeddings\.position_embeddings\.(.*)", rf"{prefix}embeddings.positions.\1"),
        (rf"{pattern}embeddings\.token_type_embeddings\.(.*)", rf"{prefix}embeddings.segments.\1"),
        (rf"{pattern}embeddings\.LayerNorm\.(.*)", rf"{prefix}embeddings.norm.\1"),
    ]


_T5_FFN = {"wi": "up_proj", "wi_0": "gate_proj", "wi_1": "up_proj", "wo": "down_proj"}
_T5_NORMS = {"encoder": ("attention_norm", "ffn_norm"), "decoder": ("attention_norm", "cross_norm", "ffn_norm")}


def from_t5(state: State) -> State:
    """T5ForConditionalGeneration, both versions; the copies of the embedding are left out."""
    state = {n: t for n, t in state.items() if not re.fullmatch(r"(en|de)coder\.embed_tokens\.weight", n)}
    rules: list[tuple[str, str]] = [
        (r"shared\.(.*)", r"tokens.\1"),
        (r"lm_head\.(.*)", r"head.\1"),
        (r"(encoder|decoder)\.final_layer_norm\.(.*)", r"\1_norm.\2"),
        (r"(encoder|decoder)\.block\.0\.layer\.0\.SelfAttention\.relative_attention_bias\.weight", r"\1_bias.weight"),
    ]
    block = r"(encoder|decoder)\.block\.(\d+)\.layer\.\d"
    for attention, ours in (("SelfAttention", "attention"), ("EncDecAttention", "cross_attention")):
        rules.append((rf"{block}\.{attention}\.([qkvo])\.(.*)", rf"\1.\2.{ours}.\3_proj.\4"))
    for theirs, ours in _T5_FFN.items():
        rules.append((rf"{block}\.DenseReluDense\.{theirs}\.(.*)", rf"\1.\2.ffn.{ours}.\3"))
    for side, norms in _T5_NORMS.items():
        for index, norm in enumerate(norms):
            rules.append((rf"{side}\.block\.(\d+)\.layer\.{index}\.layer_norm\.(.*)", rf"{side}.\1.{norm}.\2"))
    return rename(state, rules)
