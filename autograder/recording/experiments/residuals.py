"""Records ``residuals.json``: training with and without residual connections, by depth, rate and length.

``python -m autograder.recording.experiments.residuals [--device cuda]``. Small: 2 and 6 blocks, about five minutes
on one CPU core. Large: 6, 12 and 24 blocks.
"""

import dataclasses
from collections.abc import Callable, Sequence
from statistics import median

from anatomy.experiments import warmup
from torch import Tensor

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import residual

ABOUT = About(seconds=230)

EVERY = 20


def no_residual(x: Tensor, sublayer: Callable[[Tensor], Tensor], norm: Callable[[Tensor], Tensor]) -> Tensor:
    """Pre-LN without its residual."""
    return sublayer(norm(x))


STEPS = {True: residual.pre_ln, False: no_residual}


@dataclasses.dataclass(frozen=True)
class Setting:
    """Numbers of blocks, learning rates (constant), steps of training, number of seeds."""

    depths: tuple[int, ...] = (2, 6)
    peaks: tuple[float, ...] = (3e-3, 1e-3)
    steps: int = 600
    seeds: int = 3


SIZES = {"small": Setting(), "large": Setting(depths=(6, 12, 24), peaks=(1e-3, 3e-4), steps=800)}


def measure(depth: int, peak: float, with_residual: bool, seed: int, s: Setting, device: str) -> Row:
    """One run as a row."""
    functions = {"pre_ln": STEPS[with_residual]}
    _, losses = warmup.train(functions, "Pre-LN", depth, lambda step: peak, s.steps, seed, device=device)
    return {
        "residual": with_residual,
        "depth": depth,
        "peak": peak,
        "seed": seed,
        "losses": " ".join(f"{v:.4f}" for v in warmup.smooth(losses, EVERY)),
    }


LEARNED, NOTHING = 0.5, 2.7  # nats; knowing nothing is ln 16 = 2.77
RATES = ("low", "high")


def told(rows: Sequence[Row]) -> Facts:
    """Numbers for sentences about some runs: their last losses, how many have learned, how many know nothing."""
    last = [float(r["losses"].split()[-1]) for r in rows]
    return {
        "min": min(last),
        "max": max(last),
        "median": median(last),
        "of": len(last),
        "learned": sum(v < LEARNED for v in last),
        "nothing": sum(v > NOTHING for v in last),
    }


def facts(data: Data) -> Facts:
    """Numbers for sentences: ``with`` and ``without`` residuals, by depth (``d6``), for all rates together and each."""
    peaks = sorted({r["peak"] for r in data["rows"]})
    found = {"steps": data["steps"], "seeds": seeds(data), "rates": len(peaks)}
    for name, on in (("with", True), ("without", False)):
        for depth in sorted({r["depth"] for r in data["rows"]}):
            rows = [r for r in data["rows"] if (r["residual"], r["depth"]) == (on, depth)]
            by_rate = {RATES[i]: told([r for r in rows if r["peak"] == peak]) for i, peak in enumerate(peaks)}
            found.setdefault(name, {})[f"d{depth}"] = {**told(rows), **by_rate}
    return found


def controls(data: Data) -> dict[str, int]:
    """Varied quantity → number of values; the length of training varies along each curve."""
    return {
        "learning rate": len({r["peak"] for r in data["rows"]}),
        "depth": len({r["depth"] for r in data["rows"]}),
        "length of training": data["steps"] // data["every"],
    }


def seeds(data: Data) -> int:
    """The smallest number of seeds of any setting."""
    return fewest_seeds(data["rows"], "residual", "depth", "peak")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    seeds = range(s.seeds)
    todo = [(depth, peak, on, seed) for depth in s.depths for peak in s.peaks for on in STEPS for seed in seeds]
    kept = Rows("residuals", options, dataclasses.asdict(s), len(todo))
    rows = [
        kept.row("{} layers, rate {:g}, residual {}, seed {}".format(*run), lambda: measure(*run, s, options.device))
        for run in todo
    ]
    save("residuals", {"rows": rows, "steps": s.steps, "every": EVERY}, options, seeds)
    kept.finish()


if __name__ == "__main__":
    main()
