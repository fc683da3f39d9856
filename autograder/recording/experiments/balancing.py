"""Records ``balancing.json``: eight experts without balance, with a loss of two strengths, and with a moved bias.

``python -m autograder.recording.experiments.balancing [--device cuda]``; under a minute on one CPU core. What keeps
the balance varies, everything else is the same for all runs of a seed.
"""

import dataclasses
from collections.abc import Sequence
from statistics import mean

from anatomy.experiments.balancing import train

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.routing import balance_loss, balanced_bias

ABOUT = About(seconds=60)
WAYS = ("nothing", "weak loss", "loss", "bias")


@dataclasses.dataclass(frozen=True)
class Setting:
    """Steps, number of seeds, the two strengths of the loss."""

    steps: int = 400
    seeds: int = 5
    strengths: tuple[float, float] = (0.02, 0.1)


SIZES = {"small": Setting(), "large": Setting(steps=1000, seeds=5)}


def measure(way: str, seed: int, s: Setting, device: str) -> Row:
    """One training."""
    strength = s.strengths[way != "weak loss"]
    found = train(
        balance_loss if way in ("loss", "weak loss") else None,
        balanced_bias if way == "bias" else None,
        seed,
        s.steps,
        strength,
        device,
    )
    return {
        "way": way,
        "seed": seed,
        "loss": round(found.loss, 4),
        "busiest": round(found.busiest, 4),
        "starved": found.starved,
    }


def facts(data: Data) -> Facts:
    """For each way (``weak`` is the weak loss): mean ``loss``, mean ``busiest`` in percent, most and fewest
    ``starved`` experts; ``seeds`` and ``steps``."""
    found: Facts = {"seeds": seeds(data), "steps": data["setting"]["steps"]}
    for way in WAYS:
        rows = [r for r in data["rows"] if r["way"] == way]
        found["weak" if way == "weak loss" else way] = {
            "loss": mean(r["loss"] for r in rows),
            "busiest": 100 * mean(r["busiest"] for r in rows),
            "fewest": min(r["starved"] for r in rows),
            "most": max(r["starved"] for r in rows),
            "worst": max(r["loss"] for r in rows),
            "best": min(r["loss"] for r in rows),
        }
    return found


def controls(data: Data) -> dict[str, int]:
    """Name of a control → number of recorded values."""
    return {"balancing": len({r["way"] for r in data["rows"]}), "strength of the loss": 2}


def seeds(data: Data) -> int:
    """Smallest number of seeds of any way."""
    return fewest_seeds(data["rows"], "way")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = [(way, seed) for way in WAYS for seed in range(s.seeds)]
    kept = Rows("balancing", options, dataclasses.asdict(s), len(todo))
    rows = [kept.row(f"{way}, seed {seed}", lambda: measure(way, seed, s, options.device)) for way, seed in todo]
    save("balancing", {"rows": rows, "setting": dataclasses.asdict(s)}, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
