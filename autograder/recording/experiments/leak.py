"""Records ``leak.json``: next-token training with and without a causal mask, five seeds each, at two learning rates.

``python -m autograder.recording.experiments.leak [--device cuda]``; a few minutes on one CPU core.
"""

import dataclasses
import math
from collections.abc import Sequence
from statistics import mean, median

from anatomy.experiments import leak

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.masks import causal_mask
from autograder.reference.objectives import next_token_loss

ABOUT = About(seconds=90)

MASKS = {"causal": causal_mask, "bidirectional": leak.full_mask}


@dataclasses.dataclass(frozen=True)
class Setting:
    """Training steps, steps between two measurements, number of seeds, texts written."""

    steps: int = 800
    every: int = 20
    seeds: int = 5
    written: int = 200


SIZES = {"small": Setting(), "large": Setting(steps=3000, every=100, written=1000)}


KEYS = ("curves", "whole", "cut", "right")


def measure(name: str, seed: int, rate: float, s: Setting, device: str) -> Row:
    """One run: loss curve, loss by place with and without a future, share of right sentences written."""
    model, curve = leak.train(MASKS[name], next_token_loss, s.steps, s.every, seed, device, rate)
    short = lambda values: [float(f"{v:.5g}") for v in values]
    return {
        "curves": [(step, float(f"{loss:.5g}")) for step, loss in curve],
        "whole": short(leak.loss_by_place(model)),
        "cut": short(leak.loss_by_place(model, future=False)),
        "right": round(leak.share_right(leak.write(model, s.written)), 5),
    }


def seeds(data: Data) -> int:
    """The smallest number of seeds of any setting."""
    return min(len(runs) for table in leak.by_rate(data).values() for runs in table["right"].values())


def controls(data: Data) -> dict[str, int]:
    """Quantity varied besides the mask → number of values."""
    return {"learning rate": len(leak.by_rate(data))}


def facts(data: Data) -> Facts:
    """Numbers for the unit's text about the recorded runs: both rates together, except for the puzzle's curves."""
    tables = leak.by_rate(data).values()
    found = {"seeds": seeds(data), "runs": sum(len(t["right"]["causal"]) for t in tables), "entropy": data["entropy"]}
    for name in leak.SETTINGS:
        whole, cut = ([mean(run) for t in tables for run in t[key][name]] for key in ("whole", "cut"))
        at = [dict(map(tuple, curve)) for curve in data["curves"][name]]
        found[name] = {
            "at_300": median(curve[300] for curve in at),
            "whole": mean(whole),
            "cut": mean(cut),
            "beats": sum(loss < data["entropy"] / 2 for loss in whole),
            "blind": sum(loss > math.log(len(leak.WORDS)) for loss in cut),
            "right": mean(share for t in tables for share in t["right"][name]),
        }
    return found


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = [(rate, name, seed) for rate in (leak.RATE, leak.LOWER_RATE) for name in MASKS for seed in range(s.seeds)]
    rows = Rows("leak", options, dataclasses.asdict(s), len(todo))
    found = {
        (rate, name, seed): rows.row(
            f"{name}, rate {rate:g}, seed {seed}", lambda: measure(name, seed, rate, s, options.device)
        )
        for rate, name, seed in todo
    }
    # One table per quantity, as the notebook expects.
    table = lambda rate, key: {name: [found[rate, name, seed][key] for seed in range(s.seeds)] for name in MASKS}
    data: Data = {key: table(leak.RATE, key) for key in KEYS}
    data["lower_rate"] = {key: table(leak.LOWER_RATE, key) for key in KEYS[1:]}
    save("leak", {**data, "entropy": leak.ENTROPY}, options, range(s.seeds))
    rows.finish()


if __name__ == "__main__":
    main()
