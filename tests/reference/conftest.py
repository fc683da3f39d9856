"""Comparison with independent oracles, and a table of the largest differences.

``pytest tests/reference --oracle-report`` prints the table; without the option nothing is printed.
"""

import json
from pathlib import Path

import pytest
import torch

MEASURED = Path(__file__).parents[2] / "assets" / "recordings" / "precision.json"


def tolerances():
    """(relative, absolute) by dtype: twice the distance from float64 that 90 % of the exercises' references keep to.

    The recorded distance is relative to the tensor's largest entry, so in tensors whose largest entry is about 1 it
    also serves as the absolute tolerance. Float64 has no reference to compare with; it gets some margin above the
    rounding of a few dozen operations.
    """
    rows = json.loads(MEASURED.read_text(encoding="utf-8"))["cpu"]["distances"].values()
    found = {torch.float64: (1e-11, 1e-12)}
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        distances = [row[str(dtype).removeprefix("torch.")] for row in rows]
        ordered = sorted(d["relative"] for d in distances if d)
        found[dtype] = (2 * ordered[int(0.9 * (len(ordered) - 1))],) * 2
    return found


TOLERANCE = tolerances()
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
    """Splits a name of the form "part / oracle" or "part, oracle"."""
    part, slash, oracle = name.partition(" / ")
    if not slash:
        part, _, oracle = name.rpartition(", ")
    return part, oracle


@pytest.fixture(autouse=True)
def same_draws():
    """Makes inputs drawn without their own generator the same in each run."""
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def oracle_report(request):
    """Callable (name, got, expected, rtol=None, atol=None): records the difference, then asserts.

    Compares whole tensors: equal shape and dtype, tolerance by dtype unless given.
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
