"""Unit 10: the loss spike of its text, on another seed than the notebook's, and the numbers of its claims."""

import math

import torch
from anatomy.experiments import spike

from autograder.exercises.u10_stability.training import spike_height
from autograder.reference import optim, stability


def last(run):
    return sum(run["loss"][-20:]) / 20


def test_remedies_for_scores_stop_the_spike_and_the_others_do_not():
    plain = spike.train(0.1, seed=1)
    assert min(plain["loss"][:60]) < 0.1 and spike_height(plain["loss"]) > 0.8 and last(plain) > 0.3
    assert max(plain["score"]) > 1000
    for remedy in ({"qk_norm": stability.qk_norm}, {"cap": lambda s: stability.soft_cap(s, 5.0)}):
        run = spike.train(0.1, seed=1, **remedy)
        assert last(run) < 0.05 and max(run["score"]) < 60
    pulled = spike.train(0.1, seed=1, extra_loss=lambda x: stability.z_loss(x, 1e-2))
    assert max(pulled["log_z"]) < max(plain["log_z"]) / 2 and max(pulled["score"]) > 1000 and last(pulled) > 0.1
    clipped = spike.train(0.1, seed=1, clip=lambda g: optim.clip_by_global_norm(g, 0.05))
    assert max(clipped["score"]) > 1000 and last(clipped) > 0.05
    low = spike.train(0.01, seed=1)
    assert last(low) < 0.05 and max(low["score"]) < 60


def test_condition_number_is_worst_where_attention_is_flat():
    scores = torch.randn(16, 16, generator=torch.Generator().manual_seed(0))
    flat, plain = ((factor * scores).softmax(-1).double() for factor in (0.01, 1.0))
    assert torch.linalg.cond(flat) > 100 * torch.linalg.cond(plain)
    assert stability.entropy(flat).mean() > 0.99 * math.log(16)
    assert stability.entropy((100 * scores).softmax(-1)).mean() < 0.05


def test_a_shift_that_half_precision_cannot_bear():
    shifted = (torch.tensor([2.0, 1, 0]) + 300).bfloat16().float() - 300
    assert shifted.tolist() == [2, 0, 0]
