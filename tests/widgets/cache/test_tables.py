"""Tier 1 of CacheCalculator: its tables, its arithmetic, mistakes, notices, and the sources of its figures."""

import re

import numpy as np
import pytest
import transformers
from anatomy.widgets import CacheCalculator, WrongOutput, cache
from anatomy.widgets.cache.models import GPUS, MODELS
from anatomy.widgets.tools.base import NOTHING_GIVEN

from autograder.reference import gqa, mla

from ..learners import unfinished
from .learners import right_bytes

NAMES = [m.name for m in MODELS]


def per_token(name, **state):
    return CacheCalculator(right_bytes, model=NAMES.index(name), **state).readings()["per_token"]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("LLaMA-2 7B", 524_288),
        ("LLaMA-2 70B", 327_680),
        ("Llama 3 8B", 131_072),
        ("ChatGLM2-6B", 28_672),
        ("DeepSeek-V3", 70_272),
        ("GPT-3", 4_718_592),
        ("Qwen 2 7B", 57_344),
        ("Gemma 2 9B", 344_064),
    ],
)
def test_bytes_that_the_course_names(name, expected):
    """Bytes of one token, from the row's figures and from the reference's formulas."""
    model = MODELS[NAMES.index(name)]
    if model.latent:
        again = mla.mla_bytes_per_token(model.layers, *model.latent)
    else:
        again = gqa.kv_bytes_per_token(model.layers, model.kv_heads, model.head_dim)
    assert per_token(name) == expected == again


def test_kinds_and_itemsizes():
    assert per_token("Llama 3 8B", kind=1) == 4 * 131_072
    assert per_token("LLaMA-2 7B", kind=3) == 524_288 / 32
    assert per_token("LLaMA-2 7B", kind=2, itemsize=4) == 524_288 / 2
    assert per_token("LLaMA-2 7B", kind=4) == mla.mla_bytes_per_token(32, 512, 64)
    assert cache.cached_heads(MODELS[NAMES.index("Qwen 2 7B")], 2)[0] == 7, "8 does not divide 28 heads"


def test_a_window_stops_growing_and_hybrid_stacks_add_up():
    mistral = [
        CacheCalculator(right_bytes, model=NAMES.index("Mistral 7B"), tokens=n).readings() for n in (2048, 4096, 65536)
    ]
    assert mistral[0]["per_user"] * 2 == mistral[1]["per_user"] == mistral[2]["per_user"]
    gemma = CacheCalculator(right_bytes, model=NAMES.index("Gemma 3 27B"), tokens=32768).readings()
    layer = gqa.kv_bytes_per_token(1, 16, 128)
    assert gemma["per_user"] == 10 * layer * 32768 + 52 * layer * 1024
    full = CacheCalculator(right_bytes, model=NAMES.index("Gemma 3 27B"), tokens=32768, stack=1).readings()
    assert full["per_user"] == 62 * layer * 32768


def test_users_and_time():
    n = CacheCalculator(right_bytes, users=16).readings()  # LLaMA-2 7B on an A100 of 80 GB, 4,096 tokens
    assert n["fit"] == gqa.users_that_fit(GPUS[1].memory, int(n["weights"]), 524_288, 4096) == 30
    assert n["seconds"] == pytest.approx((13.48e9 + 16 * 2**31) / 2.039e12)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda n_layers, n_kv_heads, head_dim, itemsize=2: right_bytes(n_layers, n_kv_heads, head_dim),
        lambda n_layers, n_kv_heads, head_dim, itemsize=2: n_layers * n_kv_heads * head_dim * itemsize,
        lambda n_layers, n_kv_heads, head_dim, itemsize=2: 0,
    ],
)
def test_mistakes_show(wrong):
    widget = CacheCalculator(wrong)
    assert np.frombuffer(widget.tables["gap"], "<f4")[0] > 0.4 and "differs from the recorded" in widget.alt
    assert "agrees with" in CacheCalculator(right_bytes).alt


def test_notices_and_errors():
    assert CacheCalculator(unfinished).notice == "Showing the reference: kv_bytes_per_token is not written yet"
    assert CacheCalculator().notice == NOTHING_GIVEN
    with pytest.raises(WrongOutput, match="must return a number of bytes"):
        CacheCalculator(lambda *args, **kwargs: "many")
    with pytest.raises(ZeroDivisionError):
        CacheCalculator(lambda *args, **kwargs: 1 / 0)


# d_model, d_ff, vocabulary; biases of q, k and v; norms per layer, norms per head; whether embedding and head are tied
SHAPES = {
    "LLaMA-1 7B": (4096, 11008, 32000),
    "LLaMA-1 65B": (8192, 22016, 32000),
    "LLaMA-2 7B": (4096, 11008, 32000),
    "LLaMA-2 70B": (8192, 28672, 32000),
    "Llama 3 8B": (4096, 14336, 128256),
    "Llama 3 70B": (8192, 28672, 128256),
    "Llama 3 405B": (16384, 53248, 128256),
    "Mistral 7B": (4096, 14336, 32000),
    "Qwen 2 7B": (3584, 18944, 152064, 1),
    "Qwen 2 72B": (8192, 29568, 152064, 1),
    "ChatGLM2-6B": (4096, 13696, 65024, 1),
    "Gemma 2 9B": (3584, 14336, 256000, 0, 4, 0, True),
    "Gemma 2 27B": (4608, 36864, 256000, 0, 4, 0, True),
    "Gemma 3 27B": (5376, 21504, 262144, 0, 4, 2, True),
}


def count(m, d, f, vocabulary, bias=0, norms=2, head_norms=0, tied=False):
    """Parameters of a decoder with gated feed-forward layers and RMSNorms."""
    layer = m.head_dim * (d * 2 * (m.heads + m.kv_heads) + bias * (m.heads + 2 * m.kv_heads)) + 3 * d * f
    return (1 if tied else 2) * vocabulary * d + m.layers * (layer + norms * d + head_norms * m.head_dim) + d


@pytest.mark.parametrize("name", SHAPES)
def test_parameters_are_counted_from_the_sizes(name):
    """Finds wrong numbers of layers, heads, key-value heads or dimensions per head."""
    model = MODELS[NAMES.index(name)]
    digits = len(str(model.parameters).split(".")[1])
    assert round(count(model, *SHAPES[name]) / 1e9, digits) == model.parameters


@pytest.mark.parametrize(
    "name, config",
    [("LLaMA-1 7B", "LlamaConfig"), ("Mistral 7B", "MistralConfig"), ("DeepSeek-V3", "DeepseekV3Config")],
)
def test_sizes_equal_the_released_defaults(name, config):
    theirs, model = getattr(transformers, config)(), MODELS[NAMES.index(name)]
    assert (theirs.num_hidden_layers, theirs.num_attention_heads) == (model.layers, model.heads)
    if model.latent:
        assert (theirs.kv_lora_rank, theirs.qk_rope_head_dim) == model.latent == (512, 64)
    else:
        assert (theirs.num_key_value_heads, theirs.hidden_size // theirs.num_attention_heads) == (model.kv_heads, 128)
        assert (getattr(theirs, "sliding_window", None) or 0) == model.window
    assert config in model.checked


def test_every_figure_names_its_source_and_shows_it():
    assert len(set(NAMES)) == len(NAMES)
    shown = CacheCalculator(right_bytes).spec
    for model, text in zip(MODELS, shown["sources"], strict=True):
        assert re.search(r"arXiv:\d{4}\.\d{5}", model.source) and model.source in text and model.checked in text
        assert f"{model.layers} layers" in text
        assert model.latent or model.heads % model.kv_heads == 0
        assert (model.full is None) == (model.window == 0)
    for gpu, text in zip(GPUS, shown["gpuSources"], strict=True):
        assert "data sheet" in gpu.source and gpu.source in text
