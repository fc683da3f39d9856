"""Records ``warmup.json``: Post-LN, Pre-LN and DeepNorm with and without warm-up, and the first step of each.

``python -m autograder.recording.experiments.warmup [--device cuda]``. Small: 12 layers, about ten minutes on one CPU
core. Large: 24 and 48 layers.
"""

import dataclasses
from collections.abc import Sequence
from statistics import mean, median
from typing import Any

from anatomy.experiments import warmup as experiment
from anatomy.experiments.wirings import Functions

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds, numbers
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import residual
from autograder.reference.placement import deepnorm_decoder_only

ABOUT = About(seconds=320)

WIRINGS = ("Post-LN", "Pre-LN", "DeepNorm")
FUNCTIONS: Functions = {"post_ln": residual.post_ln, "pre_ln": residual.pre_ln, "deepnorm": residual.deepnorm}

# Depth, peak learning rate, wiring, steps of warm-up, factor of the loss, number of seeds. The first three are the
# models of the notebook's puzzle.
SMALL = (
    (12, 3e-3, "Post-LN", 0, 1.0, 5),
    (12, 3e-3, "Post-LN", 100, 1.0, 5),
    (12, 3e-3, "Pre-LN", 0, 1.0, 3),
    (12, 3e-3, "Post-LN", 0, 0.01, 3),
    (12, 1e-3, "Post-LN", 0, 1.0, 3),
    (12, 3e-3, "DeepNorm", 0, 1.0, 3),
)
LARGE = (
    *(
        (depth, peak, name, warmup, 1.0, 3)
        for depth, peak in ((24, 3e-3), (24, 1e-3), (48, 1e-3))
        for name in WIRINGS
        for warmup in (0, 100)
    ),
    (24, 3e-3, "Post-LN", 0, 0.01, 3),
)


@dataclasses.dataclass(frozen=True)
class Setting:
    """runs: as above. steps: of training. The first step is measured for every wiring at ``first_depths`` and
    ``first_rates``, with the plain loss and with the loss times ``factor``, for ``first_seeds`` seeds each."""

    runs: tuple[tuple[int, float, str, int, float, int], ...] = SMALL
    steps: int = 300
    first_depths: tuple[int, ...] = (6, 12, 24)
    first_rates: tuple[float, ...] = (1e-3, 3e-5)
    first_seeds: int = 3
    factor: float = 0.01


SIZES = {"small": Setting(), "large": Setting(runs=LARGE)}


def scale(name: str, depth: int) -> tuple[float, float] | None:
    """DeepNorm's (α, β); None for the other wirings."""
    return deepnorm_decoder_only(depth) if name == "DeepNorm" else None


def measure(depth: int, peak: float, name: str, warmup: int, factor: float, seed: int, s: Setting, device: str) -> Row:
    """One run as a row; the losses are means over 10 steps each."""
    rate = lambda step: residual.warmup_rate(step, peak, warmup)
    _, losses = experiment.train(FUNCTIONS, name, depth, rate, s.steps, seed, scale(name, depth), device, factor)
    return {
        "wiring": name,
        "depth": depth,
        "peak": peak,
        "warmup": warmup,
        "factor": factor,
        "seed": seed,
        "losses": " ".join(f"{v:.4f}" for v in experiment.smooth(losses)),
    }


def first(depth: int, rate: float, name: str, factor: float, seed: int, device: str) -> Row:
    """The first step of a fresh model as a row."""
    gradient, moved = experiment.first_step(FUNCTIONS, name, depth, rate, seed, scale(name, depth), device, factor)
    return {
        "wiring": name,
        "depth": depth,
        "rate": rate,
        "factor": factor,
        "seed": seed,
        "gradient": float(f"{gradient:.4g}"),
        "moved": float(f"{moved:.4g}"),
    }


STALLED = 2.0  # nats; knowing nothing is 2.77
SHORT = {"Post-LN": "post", "Pre-LN": "pre", "DeepNorm": "deep"}


def ends(data: Data, name: str, warm: bool, peak: float, factor: float = 1.0) -> list[float]:
    """The mean of the last ten losses of each seed."""
    return [
        numbers(r["losses"])[-1]
        for r in data["rows"]
        if (r["wiring"], bool(r["warmup"]), r["peak"], r["factor"]) == (name, warm, peak, factor)
    ]


def described(values: Sequence[float]) -> Facts:
    """Numbers for sentences about the last losses of some runs."""
    return {
        "median": median(values),
        "min": min(values),
        "max": max(values),
        "of": len(values),
        "stalled": sum(v > STALLED for v in values),
    }


def facts(data: Data) -> Facts:
    """Numbers for sentences: the last losses of each kind of run, and the first step of Adam by wiring and depth."""
    peak = max(r["peak"] for r in data["rows"])
    low = min(r["peak"] for r in data["rows"])
    runs: dict[str, tuple[Any, ...]] = {
        "post_none": ("Post-LN", False, peak),
        "post_warm": ("Post-LN", True, peak),
        "pre_none": ("Pre-LN", False, peak),
        "deep_none": ("DeepNorm", False, peak),
        "post_low_none": ("Post-LN", False, low),
        "post_scaled": ("Post-LN", False, peak, min(r["factor"] for r in data["rows"])),
    }
    found = {name: described(ends(data, *key)) for name, key in runs.items()}
    found["no_need"] = described(ends(data, "Pre-LN", False, peak) + ends(data, "DeepNorm", False, peak))
    return {
        **found,
        "steps": data["steps"],
        "seeds": seeds(data),
        "first": first_facts(data["first"]),
        "first_seeds": len({r["seed"] for r in data["first"]}),
    }


def first_facts(rows: Sequence[Row]) -> Facts:
    """Means over the seeds, by wiring and depth: ``moved`` at the larger rate, ``scaled`` with the scaled loss,
    ``soft`` at the smaller rate."""
    rates, factors = sorted({r["rate"] for r in rows}), sorted({r["factor"] for r in rows})
    asked = {"moved": (rates[-1], factors[-1]), "scaled": (rates[-1], factors[0]), "soft": (rates[0], factors[-1])}
    key = lambda r: (r["wiring"], r["depth"], r["rate"], r["factor"])
    moved = lambda *wanted: mean(r["moved"] for r in rows if key(r) == wanted)
    return {
        short: {
            f"n{depth}": {what: moved(name, depth, *place) for what, place in asked.items()}
            for depth in sorted({r["depth"] for r in rows})
        }
        for name, short in SHORT.items()
    }


def controls(data: Data) -> dict[str, int]:
    """Varied quantity → number of values; learning rate and loss scale are counted in Post-LN without warm-up."""
    rows = [r for r in data["rows"] if r["wiring"] == "Post-LN" and not r["warmup"]]
    return {
        "learning rate": len({r["peak"] for r in rows}),
        "scale of the loss": len({r["factor"] for r in rows}),
        "wiring": len({r["wiring"] for r in data["rows"]}),
        "warm-up": len({r["warmup"] for r in data["rows"]}),
    }


def seeds(data: Data) -> int:
    """The smallest number of seeds of any setting."""
    return fewest_seeds(data["rows"], "wiring", "depth", "peak", "warmup", "factor")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s, device = setting or SIZES[options.setting], options.device
    todo = [
        (depth, peak, name, steps, factor, seed)
        for depth, peak, name, steps, factor, count in s.runs
        for seed in range(count)
    ]
    single = [
        (depth, rate, name, factor, seed)
        for depth in s.first_depths
        for rate in s.first_rates
        for name in WIRINGS
        for factor in (1.0, s.factor)
        for seed in range(s.first_seeds)
    ]
    kept = Rows("warmup", options, dataclasses.asdict(s), len(todo) + len(single))
    rows = [
        kept.row(
            "{} layers, peak {:g}, {}, warm-up {}, loss times {:g}, seed {}".format(*run),
            lambda: measure(*run, s, device),
        )
        for run in todo
    ]
    firsts = [
        kept.row(
            "first step: {} layers, rate {:g}, {}, loss times {:g}, seed {}".format(*run), lambda: first(*run, device)
        )
        for run in single
    ]
    save(
        "warmup",
        {"rows": rows, "first": firsts, "steps": s.steps, "every": 10},
        options,
        range(max(run[-1] for run in s.runs)),
    )
    kept.finish()


if __name__ == "__main__":
    main()
