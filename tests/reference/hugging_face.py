"""Hugging Face's code, an oracle of many tests: ``hf.LlamaConfig`` imports it when a test runs, not before.

Importing everything named here takes as long as collecting the tests of the whole course.
"""

import importlib

MODULES = {
    "deberta_v1": "models.deberta.modeling_deberta",
    "deberta_v2": "models.deberta_v2.modeling_deberta_v2",
    "deepseek_v3": "models.deepseek_v3.modeling_deepseek_v3",
    "deepseek_v4": "models.deepseek_v4.modeling_deepseek_v4",
    "gemma2": "models.gemma2.modeling_gemma2",
    "gpt_oss": "models.gpt_oss.modeling_gpt_oss",
    "gptj": "models.gptj.modeling_gptj",
    "llama": "models.llama.modeling_llama",
    "neox": "models.gpt_neox.modeling_gpt_neox",
    "olmo2": "models.olmo2.modeling_olmo2",
    "qwen3_next": "models.qwen3_next.modeling_qwen3_next",
}
# Other names that the tests use, besides configurations.
DEFINED_IN = {
    "activations": ["ACT2FN"],
    "modeling_rope_utils": ["ROPE_INIT_FUNCTIONS"],
    "models.bert.modeling_bert": ["BertEmbeddings", "BertLayer"],
    "models.bloom.modeling_bloom": ["BloomAttention", "build_alibi_tensor"],
    "models.gemma2.modeling_gemma2": ["Gemma2RMSNorm"],
    "models.gpt2.modeling_gpt2": ["GPT2MLP"],
    "models.gptj.modeling_gptj": ["GPTJBlock"],
    "models.llama.modeling_llama": ["LlamaMLP", "LlamaRMSNorm", "repeat_kv"],
    "models.marian.modeling_marian": ["MarianSinusoidalPositionalEmbedding"],
    "models.t5.modeling_t5": ["T5Attention", "T5DenseActDense", "T5DenseGatedActDense", "T5LayerNorm"],
    "models.wav2vec2_bert.modeling_wav2vec2_bert": ["Wav2Vec2BertSelfAttention"],
    "models.xlnet.modeling_xlnet": ["XLNetModel", "XLNetRelativeAttention"],
}


def __getattr__(name):
    if name in MODULES:
        return importlib.import_module(f"transformers.{MODULES[name]}")
    if name.endswith("Config"):
        return getattr(importlib.import_module("transformers"), name)
    for module, names in DEFINED_IN.items():
        if name in names:
            return getattr(importlib.import_module(f"transformers.{module}"), name)
    raise AttributeError(f"name the place of {name} in {__file__}")
