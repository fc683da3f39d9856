"""The settings of ExpertsExplorer in the order of its tables, and a router of its own for what does not depend on the
learner's: loads, the next biases, and places."""

import itertools

from torch import Tensor

from ..tools.words import N_

WORDS = ("the", "old", "cat", "sat", "on", "a", "mat", "and", "ate", "two", "red", "fish")
N, E = len(WORDS), 3
BIASES = tuple(round(0.1 * n, 1) for n in range(-3, 4))
ZERO = BIASES.index(0.0)
RATE = 0.1  # of a step of the balance: one position of a knob
CHOICES = (1, 2)  # experts for each word
ROUTERS = ("sigmoid and bias", "softmax")
ROUTERS_TOLD = (N_("sigmoid: each by itself, plus bias"), N_("softmax: shares of 1, no bias"))
NO_LIMIT, MEAN, MORE = ROOMS = (N_("no limit"), N_("the mean load"), N_("1.25 times the mean load"))
FACTORS = {MEAN: 1.0, MORE: 1.25}

# (bias, bias, bias) of each setting, in the order of the tables
SETTINGS = tuple(itertools.product(BIASES, repeat=E))


def setting_of(levels: tuple[int, ...]) -> int:
    """Index of the setting with these positions of the knobs."""
    index = 0
    for level in levels:
        index = index * len(BIASES) + level
    return index


def capacity_of(room: str, k: int) -> int | None:
    """Places of each expert, or None if there is no limit."""
    return None if room == NO_LIMIT else int(FACTORS[room] * N * k / E)


def chosen_by(logits: Tensor, bias: Tensor, k: int) -> Tensor:
    """(N, k) int64: the experts with the largest sums of score and bias."""
    return (logits.sigmoid() + bias).topk(k, dim=-1).indices
