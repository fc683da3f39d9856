"""Tier 1 of CacheCalculator: its tables, its arithmetic, mistakes, notices, and where the figures come from."""

import base64
import io

import numpy as np
import pytest
from anatomy.widgets import CacheCalculator, WrongOutput, cache
from anatomy.widgets.cache_models import GPUS, MODELS
from PIL import Image

from autograder.reference import gqa, mla

from .learners import unfinished

NAMES = [m.name for m in MODELS]


def right(n_layers, n_kv_heads, head_dim, itemsize=2):
    return 2 * n_layers * n_kv_heads * head_dim * itemsize


def per_token(name, **state):
    return CacheCalculator(right, model=NAMES.index(name), **state).figures()["per_token"]


@pytest.mark.parametrize("name, expected", [
    ("LLaMA-2 7B", 524_288), ("LLaMA-2 70B", 327_680), ("Llama 3 8B", 131_072), ("ChatGLM2-6B", 28_672),
    ("DeepSeek-V3", mla.mla_bytes_per_token(61, 512, 64)), ("GPT-3", gqa.kv_bytes_per_token(96, 96, 128)),
])
def test_bytes_that_the_course_names(name, expected):
    assert per_token(name) == expected


def test_kinds_and_itemsizes():
    assert per_token("Llama 3 8B", kind=1) == 4 * 131_072
    assert per_token("LLaMA-2 7B", kind=3) == 524_288 / 32
    assert per_token("LLaMA-2 7B", kind=2, itemsize=4) == 524_288 / 2
    assert per_token("LLaMA-2 7B", kind=4) == mla.mla_bytes_per_token(32, 512, 64)
    assert cache.cached_heads(MODELS[NAMES.index("Qwen 2 7B")], 2)[0] == 7, "8 does not divide 28 heads"


def test_a_window_stops_growing_and_hybrid_stacks_add_up():
    mistral = [CacheCalculator(right, model=NAMES.index("Mistral 7B"), tokens=n).figures() for n in (2048, 4096, 65536)]
    assert mistral[0]["per_user"] * 2 == mistral[1]["per_user"] == mistral[2]["per_user"]
    gemma = CacheCalculator(right, model=NAMES.index("Gemma 3 27B"), tokens=32768).figures()
    layer = gqa.kv_bytes_per_token(1, 16, 128)
    assert gemma["per_user"] == 10 * layer * 32768 + 52 * layer * 1024
    full = CacheCalculator(right, model=NAMES.index("Gemma 3 27B"), tokens=32768, stack=1).figures()
    assert full["per_user"] == 62 * layer * 32768


def test_users_and_time():
    n = CacheCalculator(right, users=16).figures()  # LLaMA-2 7B on an A100 of 80 GB, 4,096 tokens
    assert n["fit"] == gqa.users_that_fit(GPUS[1].memory, int(n["weights"]), 524_288, 4096) == 30
    assert n["seconds"] == pytest.approx((13.48e9 + 16 * 2**31) / 2.039e12)


@pytest.mark.parametrize("wrong", [
    lambda n_layers, n_kv_heads, head_dim, itemsize=2: right(n_layers, n_kv_heads, head_dim),
    lambda n_layers, n_kv_heads, head_dim, itemsize=2: n_layers * n_kv_heads * head_dim * itemsize,
    lambda n_layers, n_kv_heads, head_dim, itemsize=2: 0,
])
def test_mistakes_show(wrong):
    widget = CacheCalculator(wrong)
    assert np.frombuffer(widget.tables["gap"], "<f4")[0] > 0.4 and "differs from the recorded" in widget.alt
    assert "agrees with" in CacheCalculator(right).alt


def test_notices_and_errors():
    assert CacheCalculator(unfinished).notice == "Showing the reference: kv_bytes_per_token is not written yet"
    assert CacheCalculator().notice == "Showing the reference: no kv_bytes_per_token was given"
    with pytest.raises(WrongOutput, match="must return a number of bytes"):
        CacheCalculator(lambda *args, **kwargs: "many")
    with pytest.raises(ZeroDivisionError):
        CacheCalculator(lambda *args, **kwargs: 1 / 0)


def test_parameters_of_the_seven_billion_are_counted():
    d, f = 4096, 11008
    count = 2 * 32000 * d + 32 * (4 * d * d + 3 * d * f + 2 * d) + d
    assert round(count / 1e9, 2) == MODELS[NAMES.index("LLaMA-1 7B")].parameters == 6.74


def test_every_figure_names_its_source():
    assert len(set(NAMES)) == len(NAMES)
    for row in (*MODELS, *GPUS):
        assert row.source.startswith("https://"), row.name
    for model in MODELS:
        assert model.latent or model.heads % model.kv_heads == 0


def test_bundle_and_page(tmp_path):
    widget = CacheCalculator(right)
    data, metadata = widget._repr_mimebundle_()
    assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).width > 600
    assert data["text/plain"] == widget.alt == metadata["image/png"]["alt"] and widget.png() == widget.png()
    page = widget.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert not any(word in page for word in ("http:", "https:", 'src="//', "@import", "url("))
