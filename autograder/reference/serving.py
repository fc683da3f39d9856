"""Cost of one decoding step of a whole model: weights once, a cache per user, and the arithmetic of both.

Convention as in ``intensity``: 2 FLOPs per multiply-add, every operand read once; activations, norms and written
results are left out. Sources: Pope et al. 2022, arXiv:2211.05102; experts, Jiang et al. 2024, arXiv:2401.04088.
"""

import math
from typing import NamedTuple

from autograder.reference.gqa import kv_bytes_per_token
from autograder.reference.intensity import Cost, roofline_seconds


class Served(NamedTuple):
    """The sizes of a model that determine a step's cost. weights: number of entries in the matrices that it reads."""

    weights: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int


def step_cost(model: Served, users: int, tokens: int, itemsize: int = 2) -> Cost:
    """Cost of one new token for each user, with ``tokens`` cached ones each."""
    attention = 4 * model.n_layers * model.n_heads * model.head_dim * tokens
    cache = kv_bytes_per_token(model.n_layers, model.n_kv_heads, model.head_dim, itemsize) * tokens
    return Cost(users * (2 * model.weights + attention), itemsize * model.weights + users * cache)


def step_seconds(
    model: Served, users: int, tokens: int, bandwidth: float, peak_flops: float, itemsize: int = 2
) -> float:
    """Minimum seconds of a step when fetching (bytes/s) and computing (FLOP/s) overlap."""
    return roofline_seconds(step_cost(model, users, tokens, itemsize), peak_flops, bandwidth)


def compute_bound_users(
    model: Served, tokens: int, bandwidth: float, peak_flops: float, itemsize: int = 2
) -> int | None:
    """Smallest number of users for which computing takes at least as long as fetching; None if there is none.

    Both grow by a fixed amount per user; fetching starts at itemsize·weights bytes. So computing catches up only if a
    user adds more computing time than fetching time; long caches prevent that at any batch size.
    """
    fixed, one = step_cost(model, 0, tokens, itemsize), step_cost(model, 1, tokens, itemsize)
    gained = one.flops / peak_flops - (one.bytes - fixed.bytes) / bandwidth
    return max(1, math.ceil(fixed.bytes / bandwidth / gained)) if gained > 0 else None


def expert_parameters(shared: int, expert: int, n_experts: int, n_active: int) -> tuple[int, int]:
    """(all parameters, those that one token uses) of a mixture; expert: parameters of one expert over all layers."""
    return shared + n_experts * expert, shared + n_active * expert


def experts_read(n_experts: int, n_active: int, users: int) -> float:
    """Expected number of different experts of a layer that a step fetches, for uniform, independent choices of tokens.

    A token misses an expert with probability 1 − k/E, and all n tokens miss it with probability (1 − k/E)^n.
    """
    return n_experts * (1 - (1 - n_active / n_experts) ** users)
