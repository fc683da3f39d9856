"""Oracles: Hugging Face LLaMA, GPT-NeoX and GPT-J rotary code, loops over pairs in Python floats, and
pinned values. Length extension is in test_rope_scaling.py."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.reference import rope
from tests.reference.draws import draw, draw_ids, llama_config

from . import hugging_face as hf

FAST = settings(max_examples=25, deadline=None, derandomize=True)
sizes = st.integers(1, 5)
even = st.integers(1, 8).map(lambda n: 2 * n)


def loop_rope(x, ids, base, pair):
    """x (B, H, T, D), ids (B, T); pair(i, D) names the two features of pair i."""
    B, H, T, D = x.shape
    out = torch.empty_like(x)
    for b in range(B):
        for h in range(H):
            for t in range(T):
                for i in range(D // 2):
                    angle = int(ids[b, t]) * base ** (-2 * i / D)
                    c, s = math.cos(angle), math.sin(angle)
                    m, n = pair(i, D)
                    first, second = float(x[b, h, t, m]), float(x[b, h, t, n])
                    out[b, h, t, m] = c * first - s * second
                    out[b, h, t, n] = s * first + c * second
    return out


def neighbors(i, D):
    return 2 * i, 2 * i + 1


def halves(i, D):
    return i, i + D // 2


# one plane


def test_rotation_matrix_pinned():
    quarter = rope.rotation_matrix_2d(math.pi / 2)
    torch.testing.assert_close(quarter, torch.tensor([[0.0, -1], [1, 0]], dtype=torch.float64))
    third = rope.rotation_matrix_2d(torch.tensor([math.pi / 3], dtype=torch.float64))
    expected = torch.tensor([[[0.5, -(0.75**0.5)], [0.75**0.5, 0.5]]], dtype=torch.float64)
    torch.testing.assert_close(third, expected)


@FAST
@given(sizes, sizes, st.integers(0, 99))
def test_complex_product_equals_matrix(oracle_report, a, b, seed):
    x, angle = draw(a, b, 2, seed=seed), 10 * draw(a, b, seed=seed + 1)
    expected = (rope.rotation_matrix_2d(angle) @ x[..., None])[..., 0]
    oracle_report("rotate_complex / matrix", rope.rotate_complex(x, angle), expected)


def test_rotate_complex_errors_and_dtype():
    with pytest.raises(ValueError, match="pair"):
        rope.rotate_complex(torch.zeros(3), 1.0)
    assert rope.rotate_complex(torch.ones(3, 2, dtype=torch.bfloat16), 1.0).dtype == torch.bfloat16


@FAST
@given(st.integers(-50, 50), st.integers(-50, 50), even)
def test_rotations_compose_to_the_relative_one(m, n, D):
    matrix = rope.rope_matrix
    torch.testing.assert_close(matrix(m, D).T @ matrix(n, D), matrix(n - m, D), rtol=0, atol=1e-12)
    torch.testing.assert_close(matrix(m, D).T @ matrix(m, D), torch.eye(D, dtype=torch.float64), rtol=0, atol=1e-13)


# frequencies


@pytest.mark.parametrize("D, base", [(128, 10000.0), (64, 500000.0), (10, 123.4), (2, 10000.0)])
def test_frequencies_equal_a_loop(oracle_report, D, base):
    got = rope.rope_frequencies(D, base)
    assert got.dtype == torch.float32
    expected = torch.tensor([base ** (-2 * i / D) for i in range(D // 2)], dtype=torch.float64)
    oracle_report("rope_frequencies / Python", got, expected.float(), rtol=1e-7, atol=0)


def test_frequencies_pinned():
    expected = torch.tensor([1.0, 0.1, 0.01, 0.001])
    torch.testing.assert_close(rope.rope_frequencies(8), expected, rtol=1e-7, atol=0)


def test_longest_wavelength_pinned():
    lengths = rope.wavelengths(128)
    assert round(float(lengths[-1])) == 54410
    assert float(lengths[0]) == pytest.approx(2 * math.pi)


@pytest.mark.parametrize("D", [0, 7, -2])
def test_frequencies_errors(D):
    with pytest.raises(ValueError, match="even"):
        rope.rope_frequencies(D)


# the rotation


@FAST
@given(sizes, sizes, sizes, even, st.sampled_from([10000.0, 500000.0, 7.0]), st.integers(0, 99))
def test_layouts_equal_loops(oracle_report, B, H, T, D, base, seed):
    x, ids = draw(B, H, T, D, seed=seed), draw_ids(B, T, seed=seed)
    interleaved = loop_rope(x, ids, base, neighbors)
    oracle_report("apply_rope / loop", rope.apply_rope(x, ids, base), interleaved)
    oracle_report("apply_rope_complex / loop", rope.apply_rope_complex(x, ids, base), interleaved)
    half = loop_rope(x, ids, base, halves)
    oracle_report("apply_rope_half / loop", rope.apply_rope_half(x, ids, base), half)


def test_rope_equals_its_block_diagonal_matrix(oracle_report):
    x, ids = draw(1, 1, 6, 10), torch.tensor([0, 1, 5, 17, 4, 1000])
    expected = torch.stack([rope.rope_matrix(int(m), 10) @ x[0, 0, t] for t, m in enumerate(ids)])
    oracle_report("apply_rope / block-diagonal matrix", rope.apply_rope(x, ids)[0, 0], expected)


def test_rope_pinned():
    # D = 4: θ = 1 and 0.01. Position 1 turns the first pair by 1 rad and the second by 0.01.
    x = torch.tensor([1.0, 0, 1, 0]).view(1, 1, 1, 4)
    c, s = 0.54030231, 0.84147098
    c2, s2 = 0.99995000, 0.00999983
    out = rope.apply_rope(x, torch.tensor([1])).flatten()
    torch.testing.assert_close(out, torch.tensor([c, s, c2, s2]))
    x = torch.tensor([1.0, 1, 0, 0]).view(1, 1, 1, 4)
    half = rope.apply_rope_half(x, torch.tensor([1])).flatten()
    torch.testing.assert_close(half, torch.tensor([c, c2, s, s2]))


def test_rotate_half_pinned():
    x = torch.tensor([1.0, 2, 3, 4, 5, 6])
    assert rope.rotate_half(x).tolist() == [-4, -5, -6, 1, 2, 3]
    assert torch.equal(rope.rotate_half(rope.rotate_half(x)), -x)
    with pytest.raises(ValueError, match="even"):
        rope.rotate_half(torch.zeros(3))


def test_permutation_pinned():
    assert rope.interleaved_to_half_permutation(6).tolist() == [0, 2, 4, 1, 3, 5]


@FAST
@given(sizes, even, st.integers(0, 99))
def test_permutation_turns_one_layout_into_the_other(T, D, seed):
    q, k = draw(2, 3, T, D, seed=seed), draw(2, 3, T, D, seed=seed + 1)
    ids, p = draw_ids(2, T, seed=seed), rope.interleaved_to_half_permutation(D)
    q1, k1 = rope.apply_rope(q, ids), rope.apply_rope(k, ids)
    q2, k2 = rope.apply_rope_half(q[..., p], ids), rope.apply_rope_half(k[..., p], ids)
    torch.testing.assert_close(q2, q1[..., p], rtol=0, atol=1e-14)
    scores = q1 @ k1.transpose(-2, -1)
    torch.testing.assert_close(q2 @ k2.transpose(-2, -1), scores, rtol=1e-12, atol=1e-12)


@FAST
@given(st.integers(1, 6), even, st.integers(0, 400), st.integers(0, 99))
def test_scores_depend_on_distances_only(T, D, shift, seed):
    q, k = draw(1, 2, T, D, seed=seed), draw(1, 2, T, D, seed=seed + 1)
    ids = draw_ids(T, seed=seed)
    for apply in (rope.apply_rope, rope.apply_rope_half, rope.apply_rope_complex):
        scores = apply(q, ids) @ apply(k, ids).transpose(-2, -1)
        moved = apply(q, ids + shift) @ apply(k, ids + shift).transpose(-2, -1)
        torch.testing.assert_close(moved, scores, rtol=0, atol=1e-11)
        torch.testing.assert_close(apply(q, ids).norm(dim=-1), q.norm(dim=-1))


def test_scores_do_depend_on_distances():
    q = torch.ones(1, 1, 1, 8, dtype=torch.float64)
    for apply in (rope.apply_rope, rope.apply_rope_half, rope.apply_rope_complex):
        turned = [float((apply(q, torch.tensor([m])) * q).sum()) for m in range(4)]
        expected = [2 * sum(math.cos(m * 10.0**-i) for i in range(4)) for m in range(4)]
        assert turned == pytest.approx(expected, abs=1e-12)  # 8, 7.07, 5.13, 3.93


def test_score_of_one_pair_has_both_a_cosine_and_a_sine_term():
    q, k, m, n = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -1.0]), 5, 2
    place = lambda v, p: rope.apply_rope(v.double().view(1, 1, 1, 2), torch.tensor([p])).flatten()
    got = float(place(q, m) @ place(k, n))
    dot, cross = 1.0 * 3 + 2 * -1, 1.0 * -1 - 2 * 3
    # cross = q₀k₁ - q₁k₀; R(m)q·R(n)k = q·R(n-m)k.
    assert got == pytest.approx(dot * math.cos(m - n) + cross * math.sin(m - n), abs=1e-12)
    assert abs(got - dot * math.cos(m - n)) > 0.9


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("apply", [rope.apply_rope, rope.apply_rope_half, rope.apply_rope_complex])
def test_output_dtype_and_precision(oracle_report, dtype, apply):
    x, ids = draw(2, 3, 5, 16).to(dtype), draw_ids(2, 5, high=8000)
    # Angles are float32: off by about position·6e-8, hence 1e-3 at 8000 whatever the dtype.
    oracle_report(
        "rope / float64",
        apply(x, ids),
        apply(x.double(), ids).to(dtype),
        atol=1e-2 if dtype == torch.bfloat16 else 2e-3,
    )


def test_one_dimensional_ids_mean_the_same_for_every_sequence():
    x, ids = draw(3, 2, 4, 6), torch.tensor([7, 8, 11, 0])
    assert torch.equal(rope.apply_rope(x, ids), rope.apply_rope(x, ids.expand(3, 4)))


@pytest.mark.parametrize("ids", [torch.zeros(3), torch.zeros(3, 4), torch.zeros(1, 1, 4), torch.tensor(1)])
def test_position_id_errors(ids):
    for apply in (rope.apply_rope, rope.apply_rope_half, rope.apply_rope_complex):
        with pytest.raises(ValueError, match="position_ids"):
            apply(torch.zeros(2, 3, 4, 6), ids)


@FAST
@given(sizes, even, even, st.integers(0, 99))
def test_partial_rope_leaves_the_tail(T, rotary, rest, seed):
    x, ids = draw(2, 2, T, rotary + rest, seed=seed), draw_ids(2, T, seed=seed)
    pairs = (rope.apply_partial_rope, rope.apply_rope), (rope.apply_partial_rope_half, rope.apply_rope_half)
    for partial, full in pairs:
        out = partial(x, ids, rotary)
        assert torch.equal(out[..., rotary:], x[..., rotary:])
        assert torch.equal(out[..., :rotary], full(x[..., :rotary], ids))
        assert torch.equal(partial(x, ids, rotary + rest), full(x, ids))


@pytest.mark.parametrize("rotary", [0, 3, 10])
def test_partial_rope_errors(rotary):
    with pytest.raises(ValueError):
        rope.apply_partial_rope(torch.zeros(1, 1, 2, 8), torch.arange(2), rotary)


# Hugging Face


@pytest.mark.parametrize("B, T, D, theta", [(1, 7, 16, 10000.0), (3, 5, 10, 10000.0), (2, 9, 64, 500000.0)])
def test_half_split_equals_llama(oracle_report, B, T, D, theta):
    q, k, ids = (
        draw(B, 4, T, D, dtype=torch.float32),
        draw(B, 4, T, D, seed=1).float(),
        draw_ids(B, T, high=60),
    )
    cos, sin = hf.llama.LlamaRotaryEmbedding(llama_config(D, rope_theta=theta))(q, ids)
    expected = hf.llama.apply_rotary_pos_emb(q, k, cos, sin)
    for x, y in zip((q, k), expected, strict=True):
        oracle_report("apply_rope_half / LLaMA", rope.apply_rope_half(x, ids, theta), y, atol=2e-5)


def test_far_positions_stay_as_close_to_float64_as_llama(oracle_report):
    q, ids = draw(1, 4, 8, 64, dtype=torch.float32), draw_ids(1, 8, high=100_000)
    cos, sin = hf.llama.LlamaRotaryEmbedding(llama_config(64))(q, ids)
    theirs = hf.llama.apply_rotary_pos_emb(q, q, cos, sin)[0]
    exact = rope.apply_rope_half(q.double(), ids)
    ours_off = float((rope.apply_rope_half(q, ids) - exact).abs().max())
    oracle_report("LLaMA at 1e5 / float64", theirs.double(), exact, atol=0.05)
    assert ours_off <= float((theirs - exact).abs().max()) + 1e-4


def test_bfloat16_is_closer_to_float64_than_llama():
    q, ids = draw(1, 4, 50, 64).bfloat16(), torch.arange(50)[None]
    cos, sin = hf.llama.LlamaRotaryEmbedding(llama_config(64))(q, ids)
    theirs = hf.llama.apply_rotary_pos_emb(q, q, cos, sin)[0]
    exact = rope.apply_rope_half(q.double(), ids)
    off = lambda out: float((out.double() - exact).square().mean().sqrt())
    assert off(rope.apply_rope_half(q, ids)) < off(theirs) < 0.02


def test_partial_half_split_equals_gpt_neox(oracle_report):
    config = hf.GPTNeoXConfig(
        hidden_size=80,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4},
    )
    q, ids = draw(2, 4, 7, 20, dtype=torch.float32), draw_ids(2, 7, high=60)
    cos, sin = hf.neox.GPTNeoXRotaryEmbedding(config)(q, ids)
    assert cos.shape[-1] == 8
    expected = hf.neox.apply_rotary_pos_emb(q, q, cos, sin)[0]
    oracle_report("partial half-split / GPT-NeoX", rope.apply_partial_rope_half(q, ids, 8), expected, atol=2e-5)


def test_partial_interleaved_equals_gpt_j(oracle_report):
    q, ids, rotary = draw(2, 4, 7, 20, dtype=torch.float32), draw_ids(2, 7, high=60), 12
    table = hf.gptj.create_sinusoidal_positions(60, rotary)[ids]
    sin, cos = table.chunk(2, dim=-1)
    by_token = q.transpose(1, 2)  # GPT-J rotates (B, T, H, D)
    turned = hf.gptj.apply_rotary_pos_emb(by_token[..., :rotary], sin, cos)
    expected = torch.cat([turned, by_token[..., rotary:]], dim=-1).transpose(1, 2)
    got = rope.apply_partial_rope(q, ids, rotary)
    oracle_report("partial interleaved / GPT-J", got, expected, atol=2e-5)
