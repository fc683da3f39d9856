"""Published configurations of named models, each with the published number of parameters and its source.

Sizes come from the named paper, or from the configuration file that the authors published with the weights; keys are
those of ``transformers``' configuration classes.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from torch import nn

TOKENS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


@dataclasses.dataclass(frozen=True)
class Named:
    """One model. tiny: changes that make it small but keep its flags; alternatives: name → changes for another count.

    parts: name → function of the full model (on meta) that counts something else. compared: name of the count that
    corresponds to the published number. score: whether the factor of its scores can be measured from projections and
    weights.
    """

    published: int
    source: str
    model: str
    config: dict[str, Any]
    tiny: dict[str, Any]
    alternatives: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    parts: dict[str, Callable[[Any], int]] = dataclasses.field(default_factory=dict)
    compared: str = "counted"
    score: bool = True
    latent: bool = False
    swiglu: bool = False


def sum_of(module: nn.Module) -> int:
    """Parameters of a module."""
    return sum(p.numel() for p in module.parameters())


# -- the GPT family --------------------------------------------------------------------------------------------------
GPT_TINY = {"n_embd": 24, "n_layer": 2, "n_head": 3, "vocab_size": 50, "n_positions": 16, **TOKENS}
OPT_TINY = {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "ffn_dim": 48,
    "vocab_size": 50,
    "max_position_embeddings": 16,
    **TOKENS,
}


def gpt2(published: int, source: str, width: int, layers: int, heads: int, wide: int, positions: int = 1024) -> Named:
    """GPT-2's class at these sizes; ``wide``: the FFN width, which a claim mistakes for the hidden size."""
    config = {"vocab_size": 50257, "n_positions": positions, "n_embd": width, "n_layer": layers, "n_head": heads}
    return Named(published, source, "GPT2LMHeadModel", config, GPT_TINY, {f"with_hidden_size_{wide}": {"n_embd": wide}})


def opt(published: int, width: int, layers: int, heads: int, **more: Any) -> Named:
    """An OPT model; its context is 2,048 tokens, its vocabulary padded to 50,272."""
    config = {
        "vocab_size": 50272,
        "max_position_embeddings": 2048,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "ffn_dim": 4 * width,
        "do_layer_norm_before": True,
        "word_embed_proj_dim": width,
        **more,
    }
    small = {"word_embed_proj_dim": 12 if config["word_embed_proj_dim"] != width else 24}
    return Named(published, "arXiv 2205.01068, table 1", "OPTForCausalLM", config, {**OPT_TINY, **small})


# -- the LLaMA family ------------------------------------------------------------------------------------------------
LLAMA_TINY = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 50,
    "max_position_embeddings": 16,
    "head_dim": 6,
    **TOKENS,
}


def llama(
    published: int,
    source: str,
    width: int = 4096,
    d_ff: int = 11008,
    layers: int = 32,
    heads: int = 32,
    kv_heads: int = 32,
    vocab: int = 32000,
    context: int = 2048,
    base: float = 10000.0,
    eps: float = 1e-5,
    model: str = "LlamaForCausalLM",
    **more: Any,
) -> Named:
    """A model with LLaMA's keys; also counted with 8 key-value heads and with as many as heads, if these differ."""
    config = {
        "vocab_size": vocab,
        "hidden_size": width,
        "intermediate_size": d_ff,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "max_position_embeddings": context,
        "rms_norm_eps": eps,
        "rope_parameters": {"rope_type": "default", "rope_theta": base},
        "tie_word_embeddings": False,
        **more.pop("config", {}),
    }
    others = {"with_8_kv_heads": 8, "with_mha": heads}
    alternatives = {name: {"num_key_value_heads": n} for name, n in others.items() if n != kv_heads}
    tiny = {**LLAMA_TINY, "num_key_value_heads": 4 if kv_heads == heads else 2, **more.pop("tiny", {})}
    return Named(published, source, model, config, tiny, alternatives, **more)


# -- the others ------------------------------------------------------------------------------------------------------
BERT = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}
BERT_TINY = {
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 48,
    "vocab_size": 50,
    "max_position_embeddings": 16,
    "pad_token_id": 0,
}
# c2p and p2c: the terms with which the base model was trained; positions enter nowhere else.
DEBERTA = {
    **BERT,
    "vocab_size": 50265,
    "type_vocab_size": 0,
    "relative_attention": True,
    "max_relative_positions": -1,
    "pos_att_type": ["c2p", "p2c"],
    "position_biased_input": False,
    "layer_norm_eps": 1e-7,
}
BLOOM = {
    "vocab_size": 250880,
    "hidden_size": 14336,
    "n_layer": 70,
    "n_head": 112,
    "apply_residual_connection_post_layernorm": False,
}
DEEPSEEK = {
    "vocab_size": 129280,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "n_shared_experts": 1,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "n_group": 8,
    "topk_group": 4,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "tie_word_embeddings": False,
}
DEEPSEEK_TINY = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "moe_intermediate_size": 8,
    "num_hidden_layers": 2,
    "vocab_size": 50,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "q_lora_rank": 12,
    "kv_lora_rank": 8,
    "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4,
    "v_head_dim": 6,
    "max_position_embeddings": 16,
    **TOKENS,
}
CLIP = {
    "projection_dim": 512,
    "text_config": {
        "vocab_size": 49408,
        "hidden_size": 512,
        "intermediate_size": 2048,
        "num_hidden_layers": 12,
        "num_attention_heads": 8,
        "max_position_embeddings": 77,
    },
    "vision_config": {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "image_size": 224,
        "patch_size": 32,
    },
}
CLIP_TINY = {
    "projection_dim": 12,
    "text_config": {
        "vocab_size": 50,
        "hidden_size": 24,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "max_position_embeddings": 16,
        **TOKENS,
    },
    "vision_config": {
        "hidden_size": 24,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "image_size": 16,
        "patch_size": 8,
    },
}
# Table 1 and section 2 of arXiv 2204.02311: key and value shared by all heads, SwiGLU 4 × d_model wide, embeddings
# shared by input and output, 256k words. positions_2048: the table that learned absolute positions would need.
PALM = {
    "layers": 118,
    "d_model": 18432,
    "d_ff": 4 * 18432,
    "heads": 48,
    "kv_heads": 1,
    "d_head": 256,
    "vocab": 256_000,
    "positions_2048": 2048,
}


def t5(published: int, width: int, d_ff: int, layers: int, heads: int) -> Named:
    """A released T5 model of the first version: two stacks of these sizes, 32 buckets."""
    config = {
        "vocab_size": 32128,
        "d_model": width,
        "d_kv": 64,
        "d_ff": d_ff,
        "num_layers": layers,
        "num_heads": heads,
        "relative_attention_num_buckets": 32,
        "feed_forward_proj": "relu",
    }
    tiny = {
        "vocab_size": 50,
        "d_model": 24,
        "d_kv": 8,
        "d_ff": 48,
        "num_layers": 2,
        "num_heads": 3,
        "decoder_start_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 0,
    }
    return Named(published, "arXiv 1910.10683, section 3.7", "T5ForConditionalGeneration", config, tiny)


def routing_biases(model: nn.Module) -> int:
    """Parameters plus the router's biases, which are adjusted instead of trained and are buffers in transformers."""
    biases = {n: b for n, b in model.named_buffers() if n.endswith("e_score_correction_bias")}
    return sum_of(model) + sum(b.numel() for b in biases.values())


GPT2_README = "github.com/openai/gpt-2, README.md and DEVELOPERS.md"
LLAMA1, LLAMA2 = "arXiv 2302.13971, table 2", "arXiv 2307.09288, table 1"
OLMO2: dict[str, Any] = {"model": "Olmo2ForCausalLM", "score": False}
GEMMA2: dict[str, Any] = {
    "model": "Gemma2ForCausalLM",
    "score": False,
    "config": {"head_dim": 256, "query_pre_attn_scalar": 256, "tie_word_embeddings": True, "sliding_window": 4096},
}

MODELS = {
    # GPT's paper gives no count; GPT-2's calls its smallest size, 117M, "equivalent to the original GPT".
    "gpt1": Named(
        117_000_000,
        "Radford et al. 2019, table 2",
        "OpenAIGPTModel",
        {"vocab_size": 40478, "n_positions": 512, "n_embd": 768, "n_layer": 12, "n_head": 12},
        GPT_TINY,
    ),
    "gpt2": gpt2(124_000_000, GPT2_README, 768, 12, 12, 3072),
    "gpt2-xl": gpt2(1_558_000_000, GPT2_README, 1600, 48, 25, 6400),
    "gpt3-175b": gpt2(175_000_000_000, "arXiv 2005.14165, table 2.1", 12288, 96, 96, 49152, 2048),
    "opt-350m": opt(350_000_000, 1024, 24, 16, do_layer_norm_before=False, word_embed_proj_dim=512),
    "opt-1.3b": opt(1_300_000_000, 2048, 24, 32),
    "bert-base": Named(110_000_000, "arXiv 1810.04805, section 3", "BertModel", BERT, BERT_TINY),
    "t5-small": t5(60_000_000, 512, 2048, 6, 8),
    "t5-base": t5(220_000_000, 768, 3072, 12, 12),
    "llama-1-7b": llama(6_700_000_000, LLAMA1, eps=1e-6),
    "llama-2-7b": llama(7_000_000_000, LLAMA2, context=4096, swiglu=True),
    "llama-2-13b": llama(13_000_000_000, LLAMA2, 5120, 13824, 40, 40, 40, context=4096),
    "llama-2-70b": llama(70_000_000_000, LLAMA2, 8192, 28672, 80, 64, 8, context=4096),
    "llama-3-8b": llama(
        8_000_000_000, "arXiv 2407.21783, table 3", d_ff=14336, kv_heads=8, vocab=128256, context=8192, base=500000.0
    ),
    "mistral-7b": llama(
        7_300_000_000,
        "mistral.ai/news/announcing-mistral-7b; arXiv 2310.06825, table 1",
        d_ff=14336,
        kv_heads=8,
        context=32768,
        model="MistralForCausalLM",
        config={"sliding_window": 4096},
    ),
    "olmo2-7b": llama(7_000_000_000, "arXiv 2501.00656", vocab=100352, context=4096, base=500000.0, eps=1e-6, **OLMO2),
    # Table 2: 917,962,752 in the embedding of 256,128 tokens, 8,324,201,984 elsewhere. The file has 256,000 tokens.
    "gemma2-9b": llama(
        9_242_164_736,
        "arXiv 2408.00118, table 2",
        3584,
        14336,
        42,
        16,
        8,
        256000,
        8192,
        eps=1e-6,
        parts={"non_embedding": lambda m: sum_of(m) - sum_of(m.get_input_embeddings())},
        **GEMMA2,
    ),
    "bloom": Named(
        176_247_271_424,
        "model card of bigscience/bloom; arXiv 2211.05100, table 3",
        "BloomForCausalLM",
        BLOOM,
        {"hidden_size": 24, "n_layer": 2, "n_head": 4, "vocab_size": 50, **TOKENS},
    ),
    "palm-540b": Named(540_350_000_000, "arXiv 2204.02311, table 1", "PaLM", {}, {}),
    "deepseek-v3": Named(
        671_000_000_000,
        "arXiv 2412.19437",
        "DeepseekV3ForCausalLM",
        DEEPSEEK,
        DEEPSEEK_TINY,
        parts={"with_routing_biases": routing_biases},
        score=False,
        latent=True,
    ),
    "deberta-base": Named(
        100_000_000,
        "github.com/microsoft/DeBERTa, README.md; arXiv 2006.03654",
        "DebertaModel",
        DEBERTA,
        BERT_TINY,
        compared="without_word_embedding",
        parts={"without_word_embedding": lambda m: sum_of(m) - sum_of(m.get_input_embeddings())},
    ),
    "clip-vit-base-patch32": Named(
        151_277_313,
        "github.com/openai/CLIP, notebooks/Interacting_with_CLIP.ipynb",
        "CLIPModel",
        CLIP,
        CLIP_TINY,
        parts={"text_encoder": lambda m: sum_of(m.text_model), "image_encoder": lambda m: sum_of(m.vision_model)},
    ),
}
