"""Random numbers are judged by their law: right draws hardly ever fail, other laws do, and the message says how."""

import math

import pytest
import torch
from anatomy.program import distributions

N = distributions.normal(0.0, 0.02)
ROWS, COLUMNS = 128, 64


def generator(seed):
    return torch.Generator().manual_seed(seed)


def test_right_draws_pass():
    for seed in range(1500):
        g = generator(seed)
        assert distributions.problem(N, 0.02 * torch.randn(ROWS, COLUMNS, generator=g)) is None


@pytest.mark.parametrize("size", [1, 2, 30, 1000])
def test_few_draws_pass_too(size):
    assert all(distributions.problem(N, 0.02 * torch.randn(size, generator=generator(s))) is None for s in range(300))


def test_the_bound_is_the_one_of_massart():
    """At a level of 5 %, about 5 % of right draws fail, and no more."""
    n, failed = 400, 0
    limit = math.sqrt(math.log(2 / 0.05) / (2 * n))
    for seed in range(2000):
        x = torch.randn(n, generator=generator(seed), dtype=torch.float64).sort().values
        steps = torch.arange(n + 1, dtype=torch.float64) / n
        below = torch.special.ndtr(x)
        failed += torch.maximum((steps[1:] - below).max(), (below - steps[:-1]).max()).item() > limit
    assert 0.02 < failed / 2000 < 0.06


def test_a_spread_that_is_off_by_a_fifth_fails():
    seen = [distributions.problem(N, 0.0236 * torch.randn(ROWS, COLUMNS, generator=generator(s))) for s in range(20)]
    assert sum(s is not None for s in seen) > 15


def sinusoids(rows, columns):
    return 0.02 * math.sqrt(2) * torch.sin(torch.arange(rows)[:, None] / 100 ** (torch.arange(columns) / columns))


WRONG = {
    "standard deviation 1": (lambda g: torch.randn(ROWS, COLUMNS, generator=g), "standard deviation"),
    "the variance for the deviation": (
        lambda g: 0.0004 * torch.randn(ROWS, COLUMNS, generator=g),
        "standard deviation",
    ),
    "a shifted mean": (lambda g: 0.02 + 0.02 * torch.randn(ROWS, COLUMNS, generator=g), "mean 0.0"),
    "uniform of the same deviation": (
        lambda g: 0.02 * math.sqrt(12) * (torch.rand(ROWS, COLUMNS, generator=g) - 0.5),
        "shape",
    ),
    "sinusoids of the same deviation": (lambda g: sinusoids(ROWS, COLUMNS), "draw"),
    "zeros": (lambda g: torch.zeros(ROWS, COLUMNS), "all entries are about 0"),
    "one row for all": (lambda g: 0.02 * torch.randn(1, COLUMNS, generator=g).expand(ROWS, -1), "draw"),
    "halved where negative": (
        lambda g: torch.nn.functional.leaky_relu(0.02 * torch.randn(ROWS, COLUMNS, generator=g), 0.5),
        "draw",
    ),
    "not a number": (lambda g: torch.full((ROWS, COLUMNS), math.nan), "not finite"),
}


@pytest.mark.parametrize("title", WRONG)
def test_another_law_is_found_and_described(title):
    draw, words = WRONG[title]
    for seed in range(20):
        said = distributions.problem(N, draw(generator(seed)))
        assert said is not None and words in said, said


def test_a_law_needs_a_spread():
    with pytest.raises(ValueError):
        distributions.normal(0.0, 0.0)
