"""The residual wirings as functions. Oracles: the blocks of placement.py, themselves checked against torch and Hugging
Face; autograd; known power laws; loops."""

import itertools
import math

import pytest
import torch
from torch import nn

from autograder.reference import placement, residual
from autograder.reference.attention import MultiHeadAttention
from autograder.reference.ffn import FeedForward
from autograder.reference.norms import LayerNorm
from tests.reference.draws import draw, seeded

D_MODEL, DEPTH = 12, 3
TWO_STEPS = {
    "post_ln": (placement.PostLN, residual.post_ln, ("norm",)),
    "pre_ln": (placement.PreLN, residual.pre_ln, ("norm",)),
    "sandwich": (placement.SandwichLN, residual.sandwich, ("norm_in", "norm_out")),
    "norm_inside": (placement.NormInside, residual.norm_inside, ("norm",)),
    "deepnorm": (
        lambda d, a, f, norm: placement.DeepNorm(d, a, f, 1.7, norm),
        lambda x, sublayer, norm: residual.deepnorm(x, sublayer, norm, 1.7),
        ("norm",),
    ),
}


def block(wiring):
    return seeded(wiring(D_MODEL, MultiHeadAttention(D_MODEL, 3), FeedForward(D_MODEL, 20), LayerNorm))


@pytest.mark.parametrize("name", TWO_STEPS)
def test_a_step_for_each_sublayer_equals_the_block(oracle_report, name):
    wiring, step, norms = TWO_STEPS[name]
    whole, x = block(wiring), draw(2, 5, D_MODEL)
    got = step(x, whole.attention, *(getattr(whole, f"attention_{norm}") for norm in norms))
    got = step(got, whole.ffn, *(getattr(whole, f"ffn_{norm}") for norm in norms))
    oracle_report(f"residual.{name} / the block", got, whole(x))


def test_parallel_equals_the_block(oracle_report):
    whole, x = block(placement.ParallelBlock), draw(2, 5, D_MODEL)
    got = residual.parallel(x, whole.attention, whole.ffn, whole.norm)
    oracle_report("residual.parallel / the block", got, whole(x))


def test_two_fused_products_equal_six_single_ones(oracle_report):
    d, d_ff, x = 6, 9, draw(2, 4, 6)
    attention = seeded(MultiHeadAttention(d, 1, bias=False))
    ffn, norm = seeded(FeedForward(d, d_ff, bias=False)), seeded(LayerNorm(d))
    matrices = (attention.q_proj, attention.k_proj, attention.v_proj, ffn.up_proj, attention.o_proj, ffn.down_proj)
    w_in, w_out = residual.fuse(*(linear.weight for linear in matrices))
    assert w_in.shape == (3 * d + d_ff, d) and w_out.shape == (d, d + d_ff)
    expected = residual.parallel(x, attention, ffn, norm)
    oracle_report("fused_parallel / single products", residual.fused_parallel(x, norm, w_in, w_out), expected)


def test_watched_gradients_equal_autograds():
    layers = [seeded(nn.Linear(4, 4), seed=i) for i in range(DEPTH)]
    x = draw(2, 4).requires_grad_()
    out, norms = residual.watch(layers, x)
    assert norms == [None] * DEPTH
    out.square().sum().backward()
    streams = [x]
    for layer in layers:
        streams.append(layer(streams[-1]))
    expected = torch.autograd.grad(streams[-1].square().sum(), streams[1:])
    assert norms == pytest.approx([float(g.norm()) for g in expected])


@pytest.mark.parametrize("power, said", [(-0.5, "falls"), (-0.2, "flat"), (0.0, "flat"), (0.2, "flat"), (1.0, "rises")])
def test_exponent_of_power_laws(power, said):
    depths = [6, 12, 24, 96]
    norms = [3.0 * n**power for n in depths]
    assert residual.exponent(depths, norms) == pytest.approx(power, abs=1e-12)
    assert residual.trend(depths, norms) == said


def test_deepnorm_gains_are_those_that_the_initialization_draws_with():
    """64 wide, so that the spread of a matrix reveals its gain."""
    d, beta = 64, 0.3
    layer = placement.DeepNorm(d, MultiHeadAttention(d, 4), FeedForward(d, 128), 1.5)
    torch.manual_seed(0)
    placement.deepnorm_init_(layer, beta)
    parameters = dict(layer.named_parameters())
    gains = residual.deepnorm_gains(parameters, beta)
    assert set(gains) == {n for n, p in parameters.items() if p.dim() == 2}
    assert set(gains.values()) == {beta, 1.0}
    for name, gain in gains.items():
        spread = gain * math.sqrt(2 / sum(parameters[name].shape))
        assert float(parameters[name].detach().std()) == pytest.approx(spread, rel=0.05), name


@pytest.mark.parametrize("warmup", [0, 1, 4, 9])
def test_warmup_rate_equals_hugging_faces_one_step_later(warmup):
    """Theirs starts at 0, so its first step changes nothing; ours starts one step higher."""
    from transformers import get_constant_schedule_with_warmup

    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.3)
    schedule = get_constant_schedule_with_warmup(optimizer, warmup)
    for step in range(12):
        optimizer.step()
        schedule.step()
        assert residual.warmup_rate(step, 0.3, warmup) == pytest.approx(schedule.get_last_lr()[0]), step


def test_layer_changes_equal_a_loop(oracle_report):
    streams = draw(DEPTH + 1, 2, 5, 4)
    expected = torch.zeros(DEPTH, dtype=torch.float64)
    for i, b, t in itertools.product(range(DEPTH), range(2), range(5)):
        before, after = streams[i, b, t].tolist(), streams[i + 1, b, t].tolist()
        expected[i] += math.dist(before, after) / math.hypot(*before) / 10
    oracle_report("layer_changes / loop", residual.layer_changes(streams), expected)
    with pytest.raises(ValueError, match="at least one layer"):
        residual.layer_changes(streams[:1])
