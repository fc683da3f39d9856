"""Records ``induction.json``: when a head learns to copy, the effect of switching heads off, and two controls.

``python -m autograder.recording.experiments.induction [--device cuda]``; about two minutes on one CPU core.
"""

import dataclasses
import math
from collections.abc import Sequence
from statistics import mean
from typing import Any

from anatomy.experiments import induction

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.language.induction import induction_score
from autograder.reference.rope import apply_rope

ABOUT = About(seconds=24)

WAYS: dict[str, dict[str, Any]] = {
    "two layers": {},
    "one layer": {"layers": 1},
    "no repetition in training": {"repeats": False},
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """Training steps, steps between two measurements, number of seeds."""

    steps: int = induction.STEPS
    every: int = induction.EVERY
    seeds: int = 5


SIZES = {"small": Setting(), "large": Setting(seeds=6)}


def rounded(found: induction.Measured) -> Row:
    """The measurement as a row, with five significant digits."""
    short = lambda v: float(f"{v:.5g}")
    return {k: list(map(short, v)) if isinstance(v, list) else short(v) for k, v in found._asdict().items()}


def measure(name: str, seed: int, s: Setting, device: str) -> Row:
    """One run: its curve, and its results with each head switched off."""
    model, curve = induction.train(apply_rope, induction_score, seed, s.steps, s.every, device=device, **WAYS[name])
    return {
        "way": name,
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "curve": [{"step": step, **rounded(found)} for step, found in curve],
        "off": [rounded(induction.test(model, off=(layer,))) for layer in range(len(model.layers))],
    }


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    kept = Rows("induction", options, dataclasses.asdict(s), len(WAYS) * s.seeds)
    rows = [
        kept.row(f"{name}, seed {seed}", lambda: measure(name, seed, s, options.device))
        for name in WAYS
        for seed in range(s.seeds)
    ]
    save("induction", {"rows": rows, "steps": s.steps, "found": induction.FOUND}, options, range(s.seeds))
    kept.finish()


def seeds(data: Data) -> int:
    """The smallest number of seeds of any way."""
    return fewest_seeds(data["rows"], "way")


def controls(data: Data) -> dict[str, int]:
    """Quantity varied besides the seed → number of values."""
    ways = {r["way"] for r in data["rows"]}
    return {"layers": len({"two layers", "one layer"} & ways), "repetition": len(ways - {"one layer"})}


def facts(data: Data) -> Facts:
    """Numbers for the unit's text: per way, counts of heads found and ranges; for two layers, the time of the jump."""
    of = {name: [r for r in data["rows"] if r["way"] == name] for name in WAYS}
    found = {"_".join(name.split()[:2]): _way(rows, data["found"]) for name, rows in of.items()}
    return {
        **found,
        "seeds": seeds(data),
        "steps": data["steps"],
        "threshold": data["found"],
        "parameters": of["two layers"][0]["parameters"],
        "chance": 1 / induction.KINDS,
        "log_kinds": math.log(induction.KINDS),
        "jump": _jump(of["two layers"]),
    }


def _way(rows, threshold):
    """Counts and ranges of one way at the end of its training."""
    ends = [r["curve"][-1] for r in rows]
    off = [[r["off"][layer]["accuracy"] for r in rows] for layer in range(len(rows[0]["off"]))]
    return {
        "heads": sum(max(e["score"]) > threshold for e in ends),
        "loss": _range(e["loss"] for e in ends),
        "accuracy": _range(e["accuracy"] for e in ends),
        "score": _range(e["score"][-1] for e in ends),
        "previous": _range(e["previous"][0] for e in ends),
        **{f"off_{layer}": _range(values) for layer, values in enumerate(off)},
    }


def _jump(rows):
    """The steps between which accuracy rises from below 0.2 to above 0.9: earliest and latest over the seeds.

    A run that never gets above 0.9 counts as reaching it at its last step.
    """
    low = [max([c["step"] for c in r["curve"] if c["accuracy"] < 0.2], default=0) for r in rows]
    high = [next((c["step"] for c in r["curve"] if c["accuracy"] > 0.9), r["curve"][-1]["step"]) for r in rows]
    return {"first": min(low), "last": max(high)}


def _range(values):
    values = list(values)
    return {"min": min(values), "mean": mean(values), "max": max(values)}


if __name__ == "__main__":
    main()
