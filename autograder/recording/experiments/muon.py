"""Records ``muon.json``: a character model trained by Muon and by AdamW, at several rates each.

``python -m autograder.recording.experiments.muon [--device cuda]``; about two minutes on one CPU core. The first seeds
choose the rate of each optimizer, and fresh seeds compare the two at these rates.
"""

import dataclasses
from collections.abc import Sequence
from statistics import mean

from anatomy.experiments.muon import train

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.muon import muon_step

ABOUT = About(seconds=120)
OPTIMIZERS = ("AdamW", "Muon")


@dataclasses.dataclass(frozen=True)
class Setting:
    """Rates of AdamW and of Muon, steps, number of seeds, how many of them choose the rate."""

    adamw: tuple[float, ...] = (3e-3, 1e-2, 2e-2)
    muon: tuple[float, ...] = (2e-2, 5e-2, 1e-1)
    steps: int = 150
    seeds: int = 6
    choosing: int = 3


SIZES = {"small": Setting(), "large": Setting(steps=600)}


def measure(optimizer: str, rate: float, seed: int, s: Setting, device: str) -> Row:
    """One training."""
    loss = train(muon_step if optimizer == "Muon" else None, rate, seed, s.steps, device)
    return {"optimizer": optimizer, "rate": rate, "seed": seed, "loss": round(loss, 4)}


def chosen(data: Data, optimizer: str) -> float:
    """The rate with the smallest mean loss of the choosing seeds."""
    limit = data["setting"]["choosing"]
    rows = [r for r in data["rows"] if r["optimizer"] == optimizer and r["seed"] < limit]
    return min(sorted({r["rate"] for r in rows}), key=lambda rate: mean(r["loss"] for r in rows if r["rate"] == rate))


def compared(data: Data, optimizer: str) -> list[float]:
    """Losses of the fresh seeds at the chosen rate, by seed."""
    rate, limit = chosen(data, optimizer), data["setting"]["choosing"]
    rows = [r for r in data["rows"] if r["optimizer"] == optimizer and r["rate"] == rate and r["seed"] >= limit]
    return [r["loss"] for r in sorted(rows, key=lambda r: r["seed"])]


def facts(data: Data) -> Facts:
    """``adamw`` and ``muon``: rate, mean loss and its range over fresh seeds; ``gained``: mean difference; ``better``:
    seeds in which Muon's loss is lower; ``seeds``: fresh ones; ``steps``; ``lowest`` and ``highest`` difference."""
    found: Facts = {"seeds": seeds(data), "steps": data["setting"]["steps"]}
    runs = {name: compared(data, name) for name in OPTIMIZERS}
    for name, losses in runs.items():
        found[name.lower()] = {"rate": chosen(data, name), "loss": mean(losses)}
    gained = [a - m for a, m in zip(runs["AdamW"], runs["Muon"], strict=True)]
    return found | {
        "gained": mean(gained),
        "lowest": min(gained),
        "highest": max(gained),
        "better": sum(g > 0 for g in gained),
    }


def controls(data: Data) -> dict[str, int]:
    """Name of a control → number of recorded values."""
    return {"learning rate": 3, "optimizer": len({r["optimizer"] for r in data["rows"]})}


def seeds(data: Data) -> int:
    """Fresh seeds, those that did not choose a rate."""
    fresh = [r for r in data["rows"] if r["seed"] >= data["setting"]["choosing"]]
    return fewest_seeds(fresh, "optimizer", "rate")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = [
        (name, rate, seed)
        for name, rates in zip(OPTIMIZERS, (s.adamw, s.muon), strict=True)
        for rate in rates
        for seed in range(s.seeds)
    ]
    kept = Rows("muon", options, dataclasses.asdict(s), len(todo))
    rows = [kept.row("{}, rate {}, seed {}".format(*run), lambda: measure(*run, s, options.device)) for run in todo]
    save("muon", {"rows": rows, "setting": dataclasses.asdict(s)}, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
