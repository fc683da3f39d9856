"""Oracles: routers and hyper-connections of Hugging Face, torch's Muon, and laws summed over every random choice."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.optim import _muon

from autograder.reference import drafting, grouped_weights, muon, routing, wide_residual
from tests.reference import hugging_face as hf

quick = settings(max_examples=30, deadline=None)


def gen(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_biased_router_is_deepseek_v3s(oracle_report):
    config = hf.DeepseekV3Config(
        hidden_size=12,
        n_routed_experts=6,
        num_local_experts=6,
        num_experts_per_tok=3,
        n_group=1,
        topk_group=1,
        norm_topk_prob=True,
        routed_scaling_factor=2.5,
    )
    router = hf.deepseek_v3.DeepseekV3TopkRouter(config)
    x = torch.randn(9, 12, generator=gen())
    with torch.no_grad():
        router.weight.copy_(torch.randn(6, 12, generator=gen(1)))
        router.e_score_correction_bias.copy_(torch.randn(6, generator=gen(2)) * 0.3)
        logits, weights, chosen = router(x)
        ours, which = routing.route_biased(logits, router.e_score_correction_bias, 3, scale=2.5)
    order, own = chosen.argsort(-1), which.argsort(-1)
    assert torch.equal(chosen.gather(1, order), which.gather(1, own))
    oracle_report("route_biased / DeepseekV3TopkRouter", ours.gather(1, own), weights.gather(1, order))


def test_the_softmax_router_is_qwen3_nexts(oracle_report):
    config = hf.Qwen3NextConfig(hidden_size=12, num_experts=6, num_experts_per_tok=2, norm_topk_prob=False)
    router = hf.qwen3_next.Qwen3NextTopKRouter(config)
    with torch.no_grad():
        router.weight.copy_(torch.randn(6, 12, generator=gen(1)))
        logits, weights, chosen = router(torch.randn(9, 12, generator=gen()))
        ours, which = routing.route(logits, 2)
    assert torch.equal(which, chosen)
    oracle_report("route / Qwen3NextTopKRouter", ours, weights)


def test_rescaled_weights_are_gpt_oss_softmax_after_the_choice(oracle_report):
    config = hf.GptOssConfig(hidden_size=12, num_local_experts=6, num_experts_per_tok=2)
    router = hf.gpt_oss.GptOssTopKRouter(config)
    with torch.no_grad():
        router.weight.copy_(torch.randn(6, 12, generator=gen(1)))
        router.bias.zero_()
        x = torch.randn(9, 12, generator=gen())
        _, weights, chosen = router(x)
        ours, which = routing.route(x @ router.weight.T, 2)
    assert torch.equal(which, chosen)
    oracle_report("route, rescaled / GptOssTopKRouter", ours / ours.sum(-1, keepdim=True), weights)


def test_the_wide_road_is_deepseek_v4s(oracle_report):
    config = hf.DeepseekV4Config(hidden_size=10, hc_mult=4, hc_sinkhorn_iters=5, hc_eps=0.0, rms_norm_eps=1e-6)
    module = hf.deepseek_v4.DeepseekV4HyperConnection(config)
    streams = torch.randn(2, 3, 4, 10, generator=gen())
    with torch.no_grad():
        for i, parameter in enumerate((module.fn, module.base, module.scale)):
            parameter.copy_(torch.randn(parameter.shape, generator=gen(i + 1)) * 0.5)
        post, comb, collapsed = module(streams)
        read, write, mix = wide_residual.road_weights(streams, module.fn, module.base, module.scale, rounds=5)
        oracle_report("road_weights, write / DeepseekV4HyperConnection", write, post)
        oracle_report("road_weights, mix / DeepseekV4HyperConnection", mix, comb)
        oracle_report("road_weights, read / DeepseekV4HyperConnection", (read[..., None] * streams).sum(2), collapsed)
        ours = wide_residual.wide_step(streams, torch.tanh, read, write, mix)
        theirs = post[..., None] * torch.tanh(collapsed)[..., None, :] + comb.transpose(-1, -2) @ streams
        oracle_report("wide_step / DeepSeek-V4's layer", ours, theirs)


@given(n=st.integers(2, 5), seed=st.integers(0, 99))
@quick
def test_sinkhorn_makes_rows_and_columns_sum_to_one(n, seed):
    x = wide_residual.doubly_stochastic(torch.randn(3, n, n, generator=gen(seed), dtype=torch.float64), 200)
    one = torch.ones(3, n, dtype=torch.float64)
    assert torch.allclose(x.sum(-1), one, atol=1e-6) and torch.allclose(x.sum(-2), one, atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 6), (7, 3), (5, 5)])
def test_a_step_is_torch_optim_muons(shape, monkeypatch, oracle_report):
    monkeypatch.setattr(_muon, "_zeropower_via_newtonschulz", lambda g, *rest: muon.orthogonalize(g))
    weight = torch.nn.Parameter(torch.randn(shape, generator=gen(), dtype=torch.float64))
    optimizer = torch.optim.Muon([weight], lr=0.05, weight_decay=0.0)
    ours, momentum = weight.detach().clone(), torch.zeros(shape, dtype=torch.float64)
    for step in range(4):
        weight.grad = torch.randn(shape, generator=gen(step + 1), dtype=torch.float64)
        ours, momentum = muon.muon_step(ours, weight.grad, momentum, 0.05)
        optimizer.step()
    oracle_report("muon_step / torch.optim.Muon", ours, weight.detach())


@pytest.mark.parametrize("shape", [(4, 6), (7, 3)])
def test_the_polynomial_is_torchs_up_to_bfloat16(shape):
    g = torch.randn(shape, generator=gen(3))
    theirs = _muon._zeropower_via_newtonschulz(g, muon.COEFFICIENTS, 5, 1e-7)
    assert (muon.orthogonalize(g) - theirs.float()).abs().max() < 0.05  # five rounds in 8 bits of mantissa


@given(m=st.integers(1, 6), n=st.integers(1, 6), seed=st.integers(0, 99))
@quick
def test_singular_values_go_through_the_polynomial(m, n, seed):
    g = torch.randn(m, n, generator=gen(seed), dtype=torch.float64)
    left, s, right = torch.linalg.svd(g, full_matrices=False)
    s = s / g.norm()
    a, b, c = muon.COEFFICIENTS
    for _ in range(5):
        s = a * s + b * s**3 + c * s**5
    assert torch.allclose(muon.orthogonalize(g), left * s @ right, atol=1e-9)


def summed(q, p, K, n):
    """The law of the first token, summed over all drafts and a grid of n numbers for each decision."""
    grid = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    law = torch.zeros(p.shape[1], dtype=torch.float64)
    for drafted in torch.cartesian_prod(*[torch.arange(p.shape[1])] * K).reshape(-1, K):
        chance = math.prod(q[i, x].item() for i, x in enumerate(drafted))
        for u in torch.cartesian_prod(*[grid] * (K + 1)).reshape(-1, K + 1):
            law[drafting.verify(drafted, q, p, u)[0]] += chance / n ** (K + 1)
    return law


@pytest.mark.parametrize("seed", range(4))
def test_the_law_of_the_output_is_the_models(seed):
    q = torch.randn(1, 3, generator=gen(seed), dtype=torch.float64).softmax(-1)
    p = torch.randn(2, 3, generator=gen(seed + 50), dtype=torch.float64).softmax(-1)
    assert (summed(q, p, 1, 60) - p[0]).abs().max() < 2 / 60  # a grid misses each border by half a cell


def test_many_draws_have_the_models_law_and_the_predicted_length():
    """Two tokens in a row, 40,000 rounds: by Hoeffding a share is off by 0.012 with a chance below 1e-4."""
    g = gen(1)
    q = torch.randn(2, 3, generator=g).softmax(-1)
    p = torch.randn(3, 3, generator=g).softmax(-1)
    q[1], p[1] = q[0], p[0]  # laws that don't depend on what came before
    rounds, length = 40_000, 0
    counts, after = torch.zeros(3), torch.zeros(3)
    drafts = torch.multinomial(q[0], 2 * rounds, replacement=True, generator=g).reshape(rounds, 2)
    for drafted, u in zip(drafts, torch.rand(rounds, 3, generator=g), strict=True):
        out = drafting.verify(drafted, q, p, u)
        counts[out[0]] += 1
        length += len(out)
        if len(out) > 1:
            after[out[1]] += 1
    assert (counts / rounds - p[0]).abs().max() < 0.012
    assert (after / after.sum() - p[1]).abs().max() < 0.02
    rate = drafting.acceptance(p[0], q[0]).item()
    assert length / rounds == pytest.approx(drafting.tokens_per_call(rate, 2), abs=0.02)


def test_even_load_costs_one_and_imbalances_do_not_cancel():
    even = torch.full((2, 6, 3), 1 / 3)
    chosen = torch.arange(6).remainder(3).reshape(1, 6, 1).expand(2, 6, 1)
    assert routing.balance_loss(even, chosen).item() == pytest.approx(1)
    one_sided = torch.tensor([[0.9, 0.1], [0.1, 0.9]])[:, None].expand(2, 4, 2)
    assert routing.balance_loss(one_sided, torch.tensor([0, 1])[:, None, None].expand(2, 4, 1)).item() > 1.7


@given(bits=st.integers(2, 8), group=st.integers(1, 6), seed=st.integers(0, 99))
@quick
def test_no_weight_moves_by_more_than_half_a_scale(bits, group, seed):
    w = torch.randn(3, 4 * group, generator=gen(seed), dtype=torch.float64)
    codes, scale = grouped_weights.quantize_groups(w, group, bits)
    off = (grouped_weights.restore_groups(codes, scale) - w).abs()
    assert (off <= scale.repeat_interleave(group, 1) * (0.5 + 1e-9)).all()
    assert codes.abs().max() == 2 ** (bits - 1) - 1
