"""The atlas's mixers: parameters as the library's models have them, and what is kept as their caches hold it."""

import pytest
import torch
from anatomy import atlas
from anatomy.atlas import mixing

ROWS = atlas.models()
# Row → the library's configuration class, and arguments of it where the published weights differ from its defaults.
AIR = {"head_dim": 128, "attention_bias": True}
PATTERN = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
LIBRARY: dict[str, tuple[str, dict]] = {
    "smollm3-3b": ("SmolLM3Config", {}),
    "olmo-3-7b": ("Olmo3Config", {"vocab_size": 100278}),
    "olmo-3-32b": (
        "Olmo3Config",
        {"vocab_size": 100278, "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 40,
         "num_key_value_heads": 8, "intermediate_size": 27648},
    ),
    "qwen-3-next-80b-a3b": ("Qwen3NextConfig", {}),
    "glm-4.5-air": ("Glm4MoeConfig", AIR),
    "glm-4.5": (
        "Glm4MoeConfig",
        {**AIR, "hidden_size": 5120, "intermediate_size": 12288, "num_hidden_layers": 92, "moe_intermediate_size": 1536,
         "n_routed_experts": 160, "first_k_dense_replace": 3, "use_qk_norm": True},
    ),
    "minimax-m2": ("MiniMaxM2Config", {}),
    "kimi-linear-48b-a3b": (
        "KimiLinearConfig",
        {"layer_types": ["linear_attention" if i % 4 and i != 27 else "full_attention" for i in range(1, 28)]},
    ),
    "deepseek-v3.2": ("DeepseekV32Config", {}),
    "nemotron-3-nano": (
        "NemotronHConfig",
        {"hybrid_override_pattern": PATTERN, "hidden_size": 2688, "num_key_value_heads": 2, "mamba_num_heads": 64,
         "n_routed_experts": 128, "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712},
    ),
    "qwen-3.5-27b": (
        "Qwen3_5TextConfig",
        {"hidden_size": 5120, "num_hidden_layers": 64, "intermediate_size": 17408, "num_attention_heads": 24,
         "linear_num_value_heads": 48},
    ),
    "qwen-3.5-35b-a3b": ("Qwen3_5MoeTextConfig", {}),
    "glm-5": ("GlmMoeDsaConfig", {}),
    "mistral-small-4": ("Mistral4Config", {}),
    "olmo-hybrid-7b": ("OlmoHybridConfig", {}),
    "deepseek-v4-flash": ("DeepseekV4Config", {"compress_ratios": [0, 0, *([4, 128] * 20), 4]}),
}  # fmt: skip


def built(name):
    kind, arguments = LIBRARY[name]
    with torch.device("meta"):
        import transformers  # takes two seconds: not while tests are collected
        from transformers.models.mistral4.modeling_mistral4 import Mistral4ForCausalLM

        c = getattr(transformers, kind)(**arguments)
        return Mistral4ForCausalLM(c) if name == "mistral-small-4" else transformers.AutoModelForCausalLM.from_config(c)


@pytest.mark.parametrize("name", LIBRARY)
def test_counts_are_those_of_the_library_s_models(name):
    """All parameters, of all layers, with each kind of mixer."""
    assert sum(p.numel() for p in built(name).parameters()) == atlas.closed_form(atlas.find(name))


def test_every_kind_of_mixer_is_tried():
    tried = {kind for name in LIBRARY for kind in mixing.mixers(atlas.find(name).values)}
    assert tried | {"chunk", "sparse"} == set(mixing.NAMES)
    assert set(mixing.NAMES) - {kind for kinds in mixing.FAMILIES.values() for kind in kinds} == {"hca", "none"}


# ---- what is kept ----------------------------------------------------------------------------------------------------
SMALL = {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 16, "num_attention_heads": 4}
LATENT = {"kv_lora_rank": 12, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8}
FEW = {"moe_intermediate_size": 8, "num_experts_per_tok": 2}
CACHED: dict[str, tuple[str, dict, dict]] = {  # configuration class → its arguments, the same as a row's values
    "full and delta": (
        "OlmoHybridConfig",
        {**SMALL, "num_hidden_layers": 4, "num_key_value_heads": 2, "linear_num_key_heads": 2, "linear_key_head_dim": 6,
         "linear_num_value_heads": 4, "linear_value_head_dim": 10, "pad_token_id": 0},
        {"attention": "grouped", "mixers": [["delta", 3], ["full", 1]], "n_layers": 4, "n_kv_heads": 2, "head_dim": 8,
         "linear_heads": 4, "linear_key_heads": 2, "linear_key_dim": 6, "linear_value_dim": 10, "conv": 4},
    ),
    "window": (
        "Olmo3Config",
        {**SMALL, "num_hidden_layers": 4, "num_key_value_heads": 2, "sliding_window": 5, "pad_token_id": 0},
        {"attention": "grouped", "window": 5, "full_every": 4, "n_layers": 4, "n_kv_heads": 2, "head_dim": 8},
    ),
    "state space": (
        "NemotronHConfig",
        {**SMALL, "hybrid_override_pattern": "M*-", "num_key_value_heads": 2, "head_dim": 8, "mamba_num_heads": 6,
         "mamba_head_dim": 4, "ssm_state_size": 10, "n_groups": 2, "pad_token_id": 0},
        {"attention": "grouped", "mixers": [["ssm", 1], ["full", 1], ["none", 1]], "n_layers": 3, "n_kv_heads": 2,
         "head_dim": 8, "ssm_heads": 6, "ssm_head_dim": 4, "ssm_state": 10, "ssm_groups": 2, "conv": 4},
    ),
    "a gate for each channel": (  # the first layer; for the other the library keeps what the latents expand to
        "KimiLinearConfig",
        {**SMALL, **LATENT, **FEW, "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"],
         "linear_num_heads": 2, "linear_head_dim": 8, "num_local_experts": 4, "pad_token_id": 0},
        {"attention": "latent", "mixers": [["kda", 1]], "n_layers": 1, "linear_heads": 2, "linear_key_dim": 8,
         "linear_value_dim": 8, "conv": 4},
    ),
}  # fmt: skip


def numbers(layers):
    """Numbers in the layers of a cache."""
    found = 0
    for layer in layers:
        for name in ("keys", "values", "conv_states", "recurrent_states"):
            tensor = getattr(layer, name, None)
            for part in tensor.values() if isinstance(tensor, dict) else [tensor]:
                if isinstance(part, torch.Tensor):
                    found += part.numel()
    return found


@pytest.mark.parametrize("what", CACHED)
def test_what_is_kept_is_what_the_library_s_cache_holds(what):
    kind, arguments, values = CACHED[what]
    import transformers

    c = getattr(transformers, kind)(**arguments)
    model = transformers.AutoModelForCausalLM.from_config(c).eval()
    cache = transformers.DynamicCache(config=c)
    T = 13
    with torch.no_grad():
        model(torch.randint(32, (1, T)), past_key_values=cache, use_cache=True)
    ours = sum(mixing.kept(name, values, T) for name in mixing.mixers(values))
    assert numbers(cache.layers[: values["n_layers"]]) == ours - SLACK.get(what, lambda v: 0)(values)


# The library keeps one key less than the window has places, for the next token brings its own; and of a convolution's
# inputs as many as the kernel has places, of which the oldest is dropped before it is read.
SLACK = {
    "window": lambda v: 3 * 2 * v["n_kv_heads"] * v["head_dim"],
    "full and delta": lambda v: -3 * (2 * 2 * 6 + 4 * 10),
    "state space": lambda v: -(6 * 4 + 2 * 2 * 10),
    "a gate for each channel": lambda v: -3 * 2 * 8,
}


def test_a_million_tokens():
    def of(name, **more):
        return mixing.bytes_per_token(atlas.find(name).values, **more)

    assert of("llama-3-8b") == 131_072 and of("gpt-2") == 2 * 2 * 12 * 768
    assert of("deepseek-v3") == 61 * (512 + 64) * 2 and of("deepseek-v3.2") == 61 * (512 + 64 + 128) * 2
    # DeepSeek-V4's report: 7 % of V3.2's cache for Flash (arXiv:2606.19348), where some numbers have one byte.
    assert 0.06 < of("deepseek-v4-flash") / of("deepseek-v3.2") < 0.09
    hybrid = atlas.find("qwen-3-next-80b-a3b").values
    attention = 12 * 2 * 2 * 256 * 2
    assert attention < of("qwen-3-next-80b-a3b") < 1.01 * attention, (
        "a state shared by a million tokens is next to nothing"
    )
    assert mixing.bytes_per_token(hybrid, context=1000) > 2 * of("qwen-3-next-80b-a3b"), "and much for a thousand"
    assert of("phi-3-small") is None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_s_pattern_has_all_its_layers(row):
    v = row.values
    layers = mixing.mixers(v)
    assert bool(layers) == ("n_layers" in v and "attention" in v) and len(layers) in (0, v.get("n_layers"))
    said = atlas.words(row)
    assert ("bytes a token" in said["memory"]) == (
        v.get("kind") == "decoder" and bool(layers) and "sparse" not in layers and "n_kv_heads" in v
    )
    if v.get("full_every") or v.get("window_every", 1) > 1:
        assert layers.count("window") > 0 < layers.count("full")
    assert (v.get("residual") == "hyper") == ("streams" in said["residual"])
    known = {"Adam", "AdamW", "Adafactor", "LAMB", "Muon", "MuonClip"}
    assert said["optimizer"] in known | {mixing.NO_OPTIMIZER}


def test_patterns_in_words():
    def said(name):
        return mixing.said(atlas.find(name).values)

    assert said("llama-2-7b") == "softmax in every layer"
    assert said("gemma-3-27b") == "5 × softmax in a window, 1 × softmax, in turn"
    assert said("gpt-oss-20b") == "1 × softmax in a window, 1 × softmax, in turn"
    assert said("kimi-linear-48b-a3b").startswith("20 × the delta rule") and "7 × latent attention" in said(
        "kimi-linear-48b-a3b"
    )
    assert mixing.said({}) == "" and mixing.family({}) == "" and mixing.memory({}) == "" and mixing.residual({}) == ""
