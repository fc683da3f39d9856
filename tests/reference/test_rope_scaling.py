"""Oracles: Hugging Face's linear, dynamic and yarn frequencies, LLaMA's rotary code, pinned values."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference import rope, rope_scaling
from tests.reference.draws import draw, draw_ids, llama_config

from . import hugging_face as hf

FAST = settings(max_examples=25, deadline=None, derandomize=True)


def test_position_interpolation():
    ids = torch.tensor([[0, 3, 8]])
    assert rope_scaling.position_interpolation(ids, 4).tolist() == [[0, 0.75, 2]]
    x = draw(1, 2, 3, 8)
    squeezed = rope.apply_rope(x, rope_scaling.position_interpolation(ids, 4))
    slowed = rope_scaling.apply_scaled_rope(x, ids, rope.rope_frequencies(8, dtype=torch.float64) / 4)
    torch.testing.assert_close(squeezed, slowed)


def test_position_interpolation_equals_hugging_face(oracle_report):
    frequencies, _ = hf.ROPE_INIT_FUNCTIONS["linear"](llama_config(rope_type="linear", factor=4.0))
    got = rope.rope_frequencies(16) / 4
    oracle_report("position interpolation / HF linear", got, frequencies, atol=0, rtol=3e-7)


def test_ntk_base_pinned():
    assert rope_scaling.ntk_base(10000.0, 8, 128) == pytest.approx(82684.6, abs=0.05)
    assert rope_scaling.ntk_base(10000.0, 1, 128) == 10000.0


@FAST
@given(st.integers(2, 64).map(lambda n: 2 * n), st.floats(1, 64))
def test_ntk_base_slows_the_slowest_pair_by_s_and_keeps_the_fastest(D, s):
    before = rope.rope_frequencies(D, dtype=torch.float64)
    after = rope.rope_frequencies(D, rope_scaling.ntk_base(10000.0, s, D), dtype=torch.float64)
    assert float(before[-1] / after[-1]) == pytest.approx(s, rel=1e-9)
    assert after[0] == 1


@pytest.mark.parametrize("factor", [1.0, 2.0, 8.0])
@pytest.mark.parametrize("length", [7, 2048, 2049, 5000, 100_000])
def test_dynamic_ntk_equals_hugging_face(oracle_report, factor, length):
    config = llama_config(rope_type="dynamic", factor=factor)
    expected, _ = hf.ROPE_INIT_FUNCTIONS["dynamic"](config, seq_len=length)
    base = rope_scaling.dynamic_ntk_base(10000.0, 16, length, 2048, factor)
    if length <= 2048:
        assert base == 10000.0
    got = rope.rope_frequencies(16, base)
    oracle_report("dynamic_ntk_base / HF dynamic", got, expected, atol=0, rtol=1e-6)


@pytest.mark.parametrize(
    "D, theta, s, original, fast, slow",
    [
        (128, 10000.0, 16.0, 4096, 32, 1),
        (64, 500000.0, 4.0, 8192, 32, 1),
        (16, 10000.0, 8.0, 64, 32, 1),
        (20, 10000.0, 2.5, 1000, 8, 2),
        (128, 10000.0, 1.0, 4096, 32, 1),
        (4, 1e6, 40.0, 100, 3, 1),
    ],
)
def test_yarn_equals_hugging_face(oracle_report, D, theta, s, original, fast, slow):
    config = llama_config(
        D,
        int(original * s),
        rope_type="yarn",
        factor=s,
        rope_theta=theta,
        original_max_position_embeddings=original,
        beta_fast=fast,
        beta_slow=slow,
    )
    expected, factor = hf.ROPE_INIT_FUNCTIONS["yarn"](config)
    got = rope_scaling.yarn_frequencies(D, theta, s, original, fast, slow)
    oracle_report("yarn_frequencies / HF yarn", got, expected, atol=0, rtol=2e-6)
    assert rope_scaling.yarn_temperature(s) == pytest.approx(factor, rel=1e-12)


def test_yarn_rope_equals_llama_with_yarn(oracle_report):
    config = llama_config(32, 1024, rope_type="yarn", factor=4.0, original_max_position_embeddings=256)
    q, ids = draw(2, 4, 7, 32, dtype=torch.float32), draw_ids(2, 7, high=100)
    cos, sin = hf.llama.LlamaRotaryEmbedding(config)(q, ids)
    expected = hf.llama.apply_rotary_pos_emb(q, q, cos, sin)[0]
    frequencies, t = rope_scaling.yarn_frequencies(32, 10000.0, 4, 256), rope_scaling.yarn_temperature(4)
    got = rope_scaling.apply_scaled_rope_half(q, ids, frequencies, t)
    oracle_report("YaRN rotation / LLaMA with yarn", got, expected, atol=3e-5)


def test_yarn_ramp_pinned():
    # D = 128, L = 4096, base 1e4: pair 20 is the last kept, pair 46 the first divided by s.
    ramp = rope_scaling.yarn_ramp(128, 10000.0, 4096)
    assert int((ramp == 0).sum()) == 21 and int((ramp == 1).sum()) == 64 - 46
    turns = 4096 * rope.rope_frequencies(128, dtype=torch.float64) / (2 * math.pi)
    assert bool((turns[ramp == 0] > 32).all()) and bool((turns[ramp == 1] < 1).all())
    assert rope_scaling.yarn_temperature(1) == 1.0
    assert rope_scaling.yarn_temperature(math.e**5) == pytest.approx(1.5)


def test_scaled_rope_layouts_agree():
    x, ids, p = draw(2, 3, 5, 8), draw_ids(2, 5), rope.interleaved_to_half_permutation(8)
    frequencies = rope_scaling.yarn_frequencies(8, 10000.0, 4, 64)
    a = rope_scaling.apply_scaled_rope(x, ids, frequencies, 1.2)
    b = rope_scaling.apply_scaled_rope_half(x[..., p], ids, frequencies, 1.2)
    torch.testing.assert_close(b, a[..., p])
    torch.testing.assert_close(a.norm(dim=-1), 1.2 * x.norm(dim=-1))


def test_scaling_errors():
    for call in (
        lambda: rope_scaling.position_interpolation(torch.arange(3), 0.5),
        lambda: rope_scaling.ntk_base(1e4, 0.9, 8),
        lambda: rope_scaling.ntk_base(1e4, 2, 2),
        lambda: rope_scaling.dynamic_ntk_base(1e4, 7, 10, 5),
        lambda: rope_scaling.yarn_frequencies(8, 1e4, 0.1, 64),
        lambda: rope_scaling.yarn_temperature(0),
        lambda: rope_scaling.apply_scaled_rope(torch.zeros(1, 1, 2, 8), torch.arange(2), torch.ones(3)),
    ):
        with pytest.raises(ValueError):
            call()
