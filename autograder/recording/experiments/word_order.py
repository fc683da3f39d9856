"""Records ``word_order.json``: who came first, in sentences of 32 words (large: 128), five seeds per setting.

``python -m autograder.recording.experiments.word_order [--device cuda]``; a few minutes on one CPU core. Also records
the final accuracy for shorter sentences at three learning rates.
"""

import dataclasses
from collections.abc import Sequence

from anatomy.experiments.word_order import SETTINGS, train_reader

from autograder.recording.experiments import About, Data, Facts
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.attention import MultiHeadAttention

ABOUT = About(seconds=20)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Words per sentence, training steps, steps between two measurements, number of seeds, learning rate; words and
    rates of the control, which has the same number of steps."""

    length: int = 32
    steps: int = 400
    every: int = 20
    seeds: int = 5
    rate: float = 3e-3
    short: int = 8
    rates: tuple[float, ...] = (1e-3, 3e-3, 1e-2)


SIZES = {"small": Setting(), "large": Setting(length=128, steps=1000, every=50, short=32)}
LEARNED = 0.95  # accuracy at which a run counts as having found the order; chance is 0.5


def seeds(data: Data) -> int:
    """The smallest number of seeds of any setting."""
    return min(len(row["ends"]) for row in data["rows"])


def controls(data: Data) -> dict[str, int]:
    """Varied quantity → number of values."""
    return {"length": len({r["length"] for r in data["rows"]}), "learning rate": len({r["rate"] for r in data["rows"]})}


def facts(data: Data) -> Facts:
    """Numbers for texts, per setting: mean, lowest and highest accuracy at the end of the curves; and over all lengths
    and rates, the number of runs that found the order."""
    found = {"length": data["length"], "learned": LEARNED}
    for name in data["curves"]:
        ends = [curve[-1][1] for curve in data["curves"][name]]
        every = [end for row in data["rows"] if row["setting"] == name for end in row["ends"]]
        found[name.replace(" ", "_")] = {
            "mean": sum(ends) / len(ends),
            "lowest": min(ends),
            "highest": max(ends),
            "seeds": len(ends),
            "found": sum(end >= LEARNED for end in every),
            "of": len(every),
            "lowest_of_all": min(every),
            "highest_of_all": max(every),
        }
    return found


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__.split("\n")[0]).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    rows = Rows("word_order", options, dataclasses.asdict(s), len(SETTINGS) * s.seeds * (1 + len(s.rates)))

    def measure(name, seed, length, rate, every):
        return rows.row(
            f"{name}, {length} words, rate {rate:g}, seed {seed}",
            lambda: train_reader(
                MultiHeadAttention,
                **SETTINGS[name],
                length=length,
                steps=s.steps,
                every=every,
                seed=seed,
                rate=rate,
                device=options.device,
            ),
        )

    curves = {name: [measure(name, seed, s.length, s.rate, s.every) for seed in range(s.seeds)] for name in SETTINGS}
    ends = [
        {
            "setting": name,
            "length": s.short,
            "rate": rate,
            "ends": [measure(name, seed, s.short, rate, s.steps)[-1][1] for seed in range(s.seeds)],
        }
        for rate in s.rates
        for name in SETTINGS
    ]
    ends += [
        {"setting": name, "length": s.length, "rate": s.rate, "ends": [curve[-1][1] for curve in runs]}
        for name, runs in curves.items()
    ]
    save("word_order", {"length": s.length, "curves": curves, "rows": ends}, options, range(s.seeds))
    rows.finish()


if __name__ == "__main__":
    main()
