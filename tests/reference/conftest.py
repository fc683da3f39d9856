"""Comparison with independent oracles, and a table of the largest differences.

``pytest tests/reference --oracle-report`` prints the table; without the option nothing is written.
"""

import pytest
import torch

# (relative, absolute) by dtype; some room above the rounding of a few dozen operations.
TOLERANCE = {
    torch.float64: (1e-11, 1e-12),
    torch.float32: (1e-5, 2e-6),
    torch.bfloat16: (1.6e-2, 1e-2),
    torch.float16: (2e-3, 1e-3),
}
_rows = pytest.StashKey[dict]()


def pytest_addoption(parser):
    parser.addoption("--oracle-report", action="store_true", help="print largest difference per oracle")


def pytest_configure(config):
    config.stash[_rows] = {}


def pytest_terminal_summary(terminalreporter, config):
    rows = config.stash.get(_rows, {})
    if not rows or not config.getoption("--oracle-report", default=False):
        return
    terminalreporter.section("largest difference per oracle")
    named = {key: (*part_and_oracle(key[0]), key[1]) for key in rows}
    widths = [max(len(cells[i]) for cells in named.values()) for i in (0, 1)]
    for key in sorted(rows, key=lambda key: [cell.lower() for cell in named[key]]):
        (part, oracle, dtype), (difference, magnitude) = named[key], rows[key]
        line = f"{part:<{widths[0]}}  {oracle:<{widths[1]}}  {dtype:<8}  {difference:9.2e}  (to {magnitude:.3g})"
        terminalreporter.write_line(line)


def part_and_oracle(name):
    """Names are "part / oracle", or "part, oracle"."""
    part, slash, oracle = name.partition(" / ")
    if not slash:
        part, _, oracle = name.rpartition(", ")
    return part, oracle


@pytest.fixture(autouse=True)
def same_draws():
    """Inputs drawn without a generator of their own are the same in every run."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def oracle_report(request):
    """Callable (name, got, expected, rtol=None, atol=None): record the difference, then assert.

    Whole tensors, equal shape and dtype, tolerance by dtype unless given.
    """
    rows = request.config.stash[_rows]

    def compare(name, got, expected, rtol=None, atol=None):
        if got.dtype.is_floating_point:
            relative, absolute = TOLERANCE[got.dtype]
        else:
            relative = absolute = 0.0
        assert all(part_and_oracle(name)), f"{name!r} must name a part and its oracle"
        if got.shape == expected.shape and got.numel():
            key = (name, str(got.dtype).removeprefix("torch."))
            old_difference, old_magnitude = rows.get(key, (0.0, 0.0))
            exact = expected.detach().double()
            difference = float((got.detach().double() - exact).abs().max())
            rows[key] = (max(old_difference, difference), max(old_magnitude, float(exact.abs().max())))
        torch.testing.assert_close(
            got,
            expected,
            rtol=relative if rtol is None else rtol,
            atol=absolute if atol is None else atol,
            msg=lambda message: f"{name}: {message}",
        )

    return compare
