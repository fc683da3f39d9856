"""Oracles: products counted by torch, bytes of tensors, both sides of the crossing, random draws of experts."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from autograder.reference import scaling
from autograder.reference.models import sizes
from autograder.reference.serving import (
    Served,
    compute_bound_users,
    expert_parameters,
    experts_read,
    step_cost,
    step_seconds,
)

SMALL = st.integers(1, 5)


@given(SMALL, SMALL, SMALL, st.integers(1, 3), SMALL, st.integers(1, 9), st.sampled_from([torch.float32, torch.half]))
@settings(max_examples=25, deadline=None)
def test_a_step_costs_what_a_run_counts(users, layers, kv, group, head_dim, tokens, dtype):
    """Matrices and caches on the meta device: FLOPs from torch's counter, bytes from the tensors that are read."""
    heads, d = kv * group, 8
    with torch.device("meta"):
        shapes = [
            (heads * head_dim, d),
            (kv * head_dim, d),
            (kv * head_dim, d),
            (d, heads * head_dim),
            (24, d),
            (d, 24),
        ]
        matrices = [[torch.empty(s, dtype=dtype) for s in shapes] for _ in range(layers)]
        caches = torch.empty(layers, 2, users, kv, tokens, head_dim, dtype=dtype)
        x = torch.empty(users, d, dtype=dtype)
    with FlopCounterMode(display=False) as counter:
        for (q, k, v, o, up, down), (keys, values) in zip(matrices, caches, strict=True):
            F.linear(x, k), F.linear(x, v)
            grouped = F.linear(x, q).view(users, kv, group, head_dim)
            x = F.linear((grouped @ keys.mT @ values).view(users, -1), o)
            x = F.linear(F.linear(x, up), down)
    read = [w for layer in matrices for w in layer] + [caches]
    model = Served(sum(w.numel() for w in read[:-1]), layers, heads, kv, head_dim)
    cost = step_cost(model, users, tokens, dtype.itemsize)
    assert cost == (counter.get_total_flops(), sum(t.numel() * t.itemsize for t in read))


def test_a_step_of_llama_2_7b_reads_its_weights_and_half_a_megabyte_per_token():
    """Figures from papers and vendors: 13.5 GB in 2 bytes, 0.5 MiB of cache per token; 2 FLOPs per weight."""
    model = Served(scaling.llama_parameters(sizes.LLAMA_2_7B), 32, 32, 32, 128)
    flops, moved = step_cost(model, 1, 0)
    assert round(moved / 1e9, 1) == 13.5 and flops == 2 * model.weights
    assert step_cost(model, 1, 1).bytes - moved == 2**19
    assert step_seconds(model, 1, 0, 2e12, 312e12) == pytest.approx(moved / 2e12)


MODELS = st.builds(Served, st.integers(1, 2000), SMALL, SMALL, SMALL, SMALL)


@given(MODELS, st.integers(0, 9), st.integers(1, 9), st.integers(1, 99), st.sampled_from([1, 2, 4]))
@settings(max_examples=200, deadline=None)
def test_compute_bound_users_are_the_first_of_all_that_are_tried(model, tokens, bandwidth, peak, itemsize):
    def ahead(users):
        """Compute time minus fetch time, times both rates, in whole numbers: positive if computing takes longer."""
        flops, moved = step_cost(model, users, tokens, itemsize)
        return flops * bandwidth - moved * peak

    found = compute_bound_users(model, tokens, bandwidth, peak, itemsize)
    if found is None:
        assert ahead(1) < 0 and ahead(10**9) < 0
        return
    assume(ahead(found) and ahead(found - 1))  # on a tie, rounding decides
    assert ahead(found) > 0 > ahead(found - 1)
    step = step_seconds(model, 2 * found, tokens, bandwidth, peak, itemsize)
    assert step == pytest.approx(step_cost(model, 2 * found, tokens, itemsize).flops / peak)


def test_experts_of_mixtral():
    c = sizes.MIXTRAL_8X7B
    expert = 3 * c.d_model * c.d_ff * c.n_layers
    shared = scaling.mixtral_parameters(c, 8) - 8 * expert
    found = expert_parameters(shared, expert, 8, 2)
    assert found == (scaling.mixtral_parameters(c, 8), scaling.mixtral_parameters(c, 8, active=2))


@pytest.mark.parametrize("n_experts, n_active, users", [(8, 2, 1), (8, 2, 5), (16, 1, 12), (6, 6, 2), (5, 2, 0)])
def test_experts_read_is_the_mean_of_draws(n_experts, n_active, users):
    torch.manual_seed(0)
    chosen = torch.rand(20_000, users, n_experts).topk(n_active, -1).indices  # draws without replacement
    read = torch.zeros(20_000, n_experts).scatter_(1, chosen.flatten(1), 1.0).sum(-1)
    spread = max(read.std().item(), 1e-9) / math.sqrt(len(read))
    assert abs(read.mean().item() - experts_read(n_experts, n_active, users)) < 5 * spread + 1e-6
