"""Oracles: torch's logsumexp, dropout, optimizers and clipping; autograd; Hugging Face's Gemma 2 attention."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from autograder.reference import optim, stability
from autograder.reference.attention import attention_scores
from autograder.reference.masks import causal_mask
from tests.reference.hf_float64 import float64

quick = settings(max_examples=40, deadline=None)
INF = math.inf


def gen(seed=0):
    return torch.Generator().manual_seed(seed)


@given(st.integers(1, 4), st.integers(1, 7), st.sampled_from([0, 1, -1]), st.floats(-1e4, 1e4))
@quick
def test_logsumexp_equals_torch(oracle_report, n, V, dim, shift):
    x = torch.randn(n, V, dtype=torch.float64) + shift
    oracle_report("logsumexp / torch.logsumexp", stability.logsumexp(x, dim), torch.logsumexp(x, dim))


def test_logsumexp_of_extremes():
    assert stability.logsumexp(torch.tensor([1e4, 1e4])).item() == pytest.approx(1e4 + math.log(2))
    rows = torch.tensor([[-INF, -INF], [0.0, -INF], [INF, 0.0]])
    assert stability.logsumexp(rows).tolist() == [-INF, 0.0, INF]
    half = torch.full((4096,), 10.0, dtype=torch.float16)  # exp(10)·4096 is far beyond float16
    assert stability.logsumexp(half).item() == pytest.approx(10 + math.log(4096), abs=0.01)
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(stability.logsumexp, x)


@given(st.lists(st.integers(1, 4), min_size=0, max_size=2), st.integers(1, 9), st.floats(1e-5, 2))
@quick
def test_z_loss_and_its_gradient(oracle_report, shape, V, coefficient):
    logits = (3 * torch.randn(*shape, V, dtype=torch.float64)).requires_grad_()
    loss = stability.z_loss(logits, coefficient)
    oracle_report("z_loss / torch.logsumexp", loss, coefficient * torch.logsumexp(logits, -1).pow(2).mean())
    (expected,) = torch.autograd.grad(loss, logits)
    oracle_report("z_loss_gradient / autograd", stability.z_loss_gradient(logits.detach(), coefficient), expected)


def test_z_loss_sees_a_shift_that_cross_entropy_does_not():
    logits = torch.randn(4, 9, dtype=torch.float64)
    log_z = torch.logsumexp(logits, -1, keepdim=True)
    assert stability.z_loss(logits - log_z, 1.0) < 1e-25
    assert stability.z_loss(logits - log_z + 3, 1.0).item() == pytest.approx(9)


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e4])
def test_qk_norm_bounds_the_logits(scale):
    D = 6
    q, k = scale * torch.randn(2, 3, 40, D, dtype=torch.float64)
    gains = torch.rand(2, D, dtype=torch.float64) * 2 - 1
    scores = attention_scores(*stability.qk_norm(q, k, *gains))
    assert scores.abs().max() <= stability.qk_norm_bound(*gains)
    norm = nn.RMSNorm(D, eps=1e-6, dtype=torch.float64)
    norm.weight.data = gains[0]
    torch.testing.assert_close(stability.qk_norm(q, k, *gains)[0], norm(q))


def test_qk_norm_bound_is_reached():
    q, gain = torch.ones(1, 4, dtype=torch.float64), torch.full((4,), 3.0, dtype=torch.float64)
    scores = attention_scores(*stability.qk_norm(q, q, gain, gain, eps=0.0))
    assert scores.item() == pytest.approx(stability.qk_norm_bound(gain, gain)) == pytest.approx(18)


@given(st.floats(0.5, 100), st.integers(0, 10**6))
@quick
def test_soft_cap_is_bounded_monotone_and_straight_at_zero(cap, seed):
    x = (3 * cap * torch.randn(50, generator=gen(seed), dtype=torch.float64)).sort().values
    y = stability.soft_cap(x, cap)
    assert (y.abs() < cap).all() and (y.diff() >= 0).all() and torch.equal(y.sign(), x.sign())
    zero = torch.zeros((), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(stability.soft_cap(zero, cap), zero)[0] == 1
    assert (y.abs() <= x.abs()).all()


def test_soft_cap_comes_before_the_mask():
    scores, mask = 80 * torch.randn(2, 5, 5), causal_mask(5)
    weights = stability.soft_capped_weights(scores, 20.0, mask)
    assert (weights[:, ~mask] == 0).all()
    wrong = stability.soft_cap(scores.masked_fill(~mask, -INF), 20.0).softmax(-1)
    assert (wrong[:, ~mask] > 0).any()  # the effect of a cap after the mask
    with pytest.raises(ValueError, match="cap"):
        stability.soft_cap(scores, 0.0)


def test_soft_capped_weights_equal_gemma_2s_eager_attention(oracle_report):
    from types import SimpleNamespace

    from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

    q, k, v = torch.randn(3, 1, 2, 5, 4, dtype=torch.float64)
    module = SimpleNamespace(num_key_value_groups=1, training=False, head_dim=4)
    with float64():
        additive = torch.zeros(5, 5).masked_fill(~causal_mask(5), -INF)
        _, expected = eager_attention_forward(module, 9 * q, 9 * k, v, additive, softcap=5.0)
    got = stability.soft_capped_weights(attention_scores(9 * q, 9 * k), 5.0, causal_mask(5))
    oracle_report("soft_capped_weights / Gemma 2", got, expected)


def test_entropy_falls_as_logits_grow():
    logits = torch.randn(7, dtype=torch.float64)
    values = [stability.entropy((c * logits).softmax(-1)).item() for c in (0, 1, 4, 16, 1e4)]
    assert values == sorted(values, reverse=True) and values[-1] == pytest.approx(0, abs=1e-9)
    assert values[0] == pytest.approx(math.log(7))
    assert values[1] == pytest.approx(torch.distributions.Categorical(logits=logits).entropy().item())


@given(st.floats(0, 1), st.integers(0, 10**6))
@quick
def test_dropout_with_equals_a_loop(p, seed):
    x, keep = torch.randn(4, 5, generator=gen(seed)), torch.rand(4, 5, generator=gen(seed + 1)) < 0.5
    got = stability.dropout_with(x, keep, p)
    for value, kept, result in zip(x.flatten(), keep.flatten(), got.flatten(), strict=True):
        assert result == pytest.approx(float(value) / (1 - p) if kept and p < 1 else 0.0)


def test_dropout_scales_in_training_and_does_nothing_in_inference():
    x = torch.randn(200, 300) + 5
    out = stability.dropout(x, 0.3, True, gen(1))  # seed 0 drew x: the pattern must not depend on it
    zero = out == 0
    assert zero.float().mean().item() == pytest.approx(0.3, abs=0.01)
    torch.testing.assert_close(out[~zero], x[~zero] / 0.7)
    assert out.mean().item() == pytest.approx(x.mean().item(), rel=0.01)
    torch.manual_seed(0)
    torchs = nn.functional.dropout(x, 0.3)
    torch.testing.assert_close(stability.dropout_with(x, torchs != 0, 0.3), torchs)
    assert stability.dropout(x, 0.3, False) is x
    assert not stability.dropout(x, 1.0, True).any()
    with pytest.raises(ValueError, match="p must"):
        stability.dropout(x, 1.1, True)


# Optimizers


@pytest.mark.parametrize("name", ["adamw", "adam_l2"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_steps_equal_torch_optim(oracle_report, name, weight_decay):
    settings_ = {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": weight_decay}
    parameter = nn.Parameter(torch.randn(5, 3, generator=gen(), dtype=torch.float64))
    theirs = {"adamw": torch.optim.AdamW, "adam_l2": torch.optim.Adam}[name]([parameter], **settings_)
    step = {"adamw": optim.adamw_step, "adam_l2": optim.adam_l2_step}[name]
    ours, state = parameter.detach().clone(), optim.adam_state(parameter.detach())
    for t in range(12):
        gradient = torch.randn(5, 3, generator=gen(t), dtype=torch.float64) * 10.0 ** (t % 4)
        ours, state = step(ours, gradient, state, **settings_)
        parameter.grad = gradient
        theirs.step()
        oracle_report(f"{name}_step / torch.optim", ours, parameter.detach())


def test_decoupled_decay_ignores_the_size_of_gradients_and_l2_does_not():
    """Two weights of 1 with gradients that differ by a factor of 1000 and average to no movement."""

    def final(step, lr, weight_decay):
        theta, state = torch.ones(2, dtype=torch.float64), optim.adam_state(torch.ones(2).double())
        for t in range(400):
            gradient = torch.tensor([1.0, 1000.0], dtype=torch.float64) * (-1) ** t
            theta, state = step(theta, gradient, state, lr=lr, weight_decay=weight_decay)
        return theta

    adamw, plain = final(optim.adamw_step, 1e-3, 0.5), final(optim.adamw_step, 1e-3, 0.0)
    expected = torch.full((2,), (1 - 1e-3 * 0.5) ** 400, dtype=torch.float64)
    torch.testing.assert_close(adamw, expected, rtol=0, atol=2e-3)
    assert abs(adamw[0] - adamw[1]) < 1e-9
    l2 = plain - final(optim.adam_l2_step, 1e-3, 0.5)
    assert l2[0] > 100 * l2[1]


def test_decay_scales_with_the_learning_rate():
    zero, one = torch.zeros(1), torch.ones(1)
    for lr in (0.1, 0.01):
        theta, _ = optim.adamw_step(one, zero, optim.adam_state(one), lr=lr, weight_decay=0.5)
        assert theta.item() == pytest.approx(1 - lr * 0.5)


def test_parameter_groups():
    model = nn.ModuleDict(
        {"embed": nn.Embedding(7, 4), "ffn": nn.Linear(4, 5), "norm": nn.LayerNorm(4), "head": nn.Linear(4, 7)}
    )
    model["head"].weight = model["embed"].weight
    model["frozen"] = nn.Linear(4, 4).requires_grad_(False)
    decay, rest = optim.parameter_groups(model, 0.1)
    assert (decay["weight_decay"], rest["weight_decay"]) == (0.1, 0.0)
    assert [id(p) for p in decay["params"]] == [id(model["ffn"].weight)]
    names = {id(p): n for n, p in model.named_parameters()}
    expected = {"embed.weight", "ffn.bias", "norm.weight", "norm.bias", "head.bias"}
    assert {names[id(p)] for p in rest["params"]} == expected and len(rest["params"]) == 5
    torch.optim.AdamW([decay, rest])  # accepts them: no duplicate parameters


@pytest.mark.parametrize("limit", [0.1, 5.0, 1e6])
def test_clipping_equals_torch(oracle_report, limit):
    gradients = [torch.randn(3, 4, generator=gen()).double(), torch.randn(5, generator=gen(1)).double()]
    parameters = [nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = g.clone()
    expected = nn.utils.clip_grad_norm_(parameters, limit)
    clipped, norm = optim.clip_by_global_norm(gradients, limit)
    torch.testing.assert_close(norm, expected)
    for ours, p in zip(clipped, parameters, strict=True):
        # torch adds 1e-6 to the norm
        oracle_report("clip_by_global_norm / clip_grad_norm_", ours, p.grad, rtol=1e-5, atol=0)
    assert not optim.clip_by_global_norm([torch.zeros(3)], 1.0)[0][0].any()
    with pytest.raises(ValueError, match="limit"):
        optim.clip_by_global_norm(gradients, 0.0)


def test_warmup_cosine_equals_hugging_faces_after_the_warm_up():
    from transformers import get_cosine_schedule_with_warmup

    weight = nn.Parameter(torch.zeros(1))
    schedule = get_cosine_schedule_with_warmup(torch.optim.SGD([weight], lr=0.3), 4, 20)
    for step in range(24):
        if 4 <= step <= 20:
            theirs = schedule.get_last_lr()[0]
            assert optim.warmup_cosine(step, 0.3, 4, 20) == pytest.approx(theirs, abs=1e-12)
        schedule.optimizer.step()
        schedule.step()
    rates = [optim.warmup_cosine(s, 1.0, 4, 20, floor=0.1) for s in range(25)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert rates[12] == pytest.approx(0.55) and rates[20:] == pytest.approx([0.1] * 5)
    with pytest.raises(ValueError, match="warmup"):
        optim.warmup_cosine(0, 1.0, 5, 5)
