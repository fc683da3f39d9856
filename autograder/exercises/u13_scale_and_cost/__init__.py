"""Specs of unit 13: sizes read off counts, compute and how to spend it, low-rank adapters, what serving costs."""

from . import allocation, compute_bound, experts, flops, forward, hidden_size, loss_fit, merge, step

EXERCISES = [
    hidden_size.EXERCISE,
    flops.EXERCISE,
    allocation.EXERCISE,
    loss_fit.EXERCISE,
    forward.EXERCISE,
    merge.EXERCISE,
    step.EXERCISE,
    compute_bound.EXERCISE,
    experts.EXERCISE,
]
