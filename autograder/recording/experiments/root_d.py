"""Records ``root_d.json``: attention with and without the division by √D, three head dims, three learning rates.

``python -m autograder.recording.experiments.root_d [--device cuda]``; about five minutes on one CPU core.
"""

import dataclasses
from collections.abc import Sequence
from itertools import product
from typing import Any

from anatomy.experiments.root_d import WAYS, train_lookup

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds, paired
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save

ABOUT = About(seconds=60)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Head dims, learning rates, training steps, number of seeds."""

    head_dims: tuple[int, ...] = (16, 64, 256)
    rates: tuple[float, ...] = (1e-3, 3e-3, 1e-2)
    steps: int = 300
    seeds: int = 5


SIZES = {"small": Setting(), "large": Setting(head_dims=(64, 256, 1024), steps=500)}


def measure(head_dim: int, rate: float, way: str, seed: int, s: Setting, device: str) -> Row:
    """One run as a row."""
    found = train_lookup(head_dim, way, rate, s.steps, seed, device)
    return {
        "head_dim": head_dim,
        "rate": rate,
        "way": way,
        "seed": seed,
        **{name: round(value, 5) for name, value in found.items()},
    }


def values(data: Data, what: str, **where: Any) -> list[float]:
    """``what`` of all rows that match ``where``, in the order of the seeds."""
    rows = [r for r in data["rows"] if all(r[k] == v for k, v in where.items())]
    return [r[what] for r in sorted(rows, key=lambda r: r["seed"])]


def compare(data: Data, head_dim: int, rate: float, way: str) -> dict[str, float]:
    """A way's loss minus that of "divided", seed by seed: number of larger losses, mean and standard error."""
    find = lambda way: values(data, "loss", head_dim=head_dim, rate=rate, way=way)
    gaps = [a - b for a, b in zip(find(way), find("divided"), strict=True)]
    return {"worse": sum(g > 0 for g in gaps), **paired(gaps)}


def facts(data: Data) -> Facts:
    """Numbers for the text: spread of the fresh scores, mean accuracy of each setting, pairs of losses.

    ``not_divided.worse`` of ``not_divided.of``: pairs of runs in which that way ends with a larger loss than the
    divided one; ``clear`` of ``settings``: head dims and rates at which the mean difference is more than two standard
    errors. ``rate0`` is the smallest learning rate; ``fast`` counts the pairs at the largest.
    """
    dims, rates = (sorted({r[k] for r in data["rows"]}) for k in ("head_dim", "rate"))
    found = {"steps": data["steps"], "seeds": seeds(data), "comparisons": 2 * len(dims) * len(rates)}
    for way in WAYS:
        pairs = [compare(data, D, rate, way) for D, rate in product(dims, rates)]
        fast = [compare(data, D, rates[-1], way) for D in dims]
        found[way.replace(" ", "_")] = {
            **{
                f"d{D}": {
                    "spread": _mean(values(data, "spread", way=way, head_dim=D)),
                    **{
                        f"rate{i}": {"accuracy": _mean(values(data, "accuracy", head_dim=D, rate=rate, way=way))}
                        for i, rate in enumerate(rates)
                    },
                }
                for D in dims
            },
            "worse": sum(p["worse"] for p in pairs),
            "of": sum(p["pairs"] for p in pairs),
            "fast": {"worse": sum(p["worse"] for p in fast), "of": sum(p["pairs"] for p in fast)},
            "clear": sum(p["mean"] > 2 * p["error"] for p in pairs),
            "settings": len(pairs),
            "lowest_at_rate0": min(values(data, "accuracy", way=way, rate=rates[0])),
        }
    return found


def _mean(numbers):
    return sum(numbers) / len(numbers)


def controls(data: Data) -> dict[str, int]:
    """Name of a control → number of recorded values."""
    count = lambda key: len({r[key] for r in data["rows"]})
    return {"learning rate": count("rate"), "head dim": count("head_dim"), "start": count("way")}


def seeds(data: Data) -> int:
    """Smallest number of seeds of any setting."""
    return fewest_seeds(data["rows"], "head_dim", "rate", "way")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = list(product(s.head_dims, s.rates, WAYS, range(s.seeds)))
    kept = Rows("root_d", options, dataclasses.asdict(s), len(todo))
    rows = [
        kept.row("head dim {}, rate {:g}, {}, seed {}".format(*run), lambda: measure(*run, s, options.device))
        for run in todo
    ]
    save("root_d", {"rows": rows, "steps": s.steps}, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
