"""Records ``bottleneck.json``: recall by sentence length, from an encoder's last state and through attention.

``python -m autograder.recording.experiments.bottleneck [--device cuda]``; about four minutes on one CPU core. The
controls are two state sizes and two lengths of training: does the size of the state passed on decide the result?
"""

import dataclasses
from collections.abc import Sequence
from itertools import product

from anatomy.experiments.bottleneck import VOCABULARY, WAYS, train_recaller

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save

ABOUT = About(seconds=40)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Sentence lengths, state sizes, steps after which accuracy is measured, number of seeds."""

    lengths: tuple[int, ...] = (2, 4, 8, 16)
    sizes: tuple[int, ...] = (16, 64)
    measured: tuple[int, ...] = (200, 400)
    seeds: int = 3


SIZES = {"small": Setting(), "large": Setting(lengths=(4, 8, 16, 32), sizes=(64, 256), measured=(500, 1000))}


def measure(size: int, length: int, way: str, seed: int, s: Setting, device: str) -> list[Row]:
    """One run as a list of rows, one for each number of steps."""
    found = train_recaller(way, length, size, max(s.measured), s.measured, seed, device)
    return [
        {"way": way, "size": size, "length": length, "seed": seed, "steps": steps, "accuracy": round(a, 4)}
        for steps, a in zip(sorted(s.measured), found, strict=True)
    ]


def facts(data: Data) -> Facts:
    """Mean and lowest accuracy: ``attention.size16.length8`` after the longest training, ``fewer`` for shorter ones."""
    found = {
        "guess": 1 / VOCABULARY,
        "seeds": seeds(data),
        "steps": max(r["steps"] for r in data["rows"]),
        "fewer_steps": min(r["steps"] for r in data["rows"]),
    }
    for r in data["rows"]:
        way = found.setdefault(r["way"].replace(" ", "_"), {})
        here = way if r["steps"] == found["steps"] else way.setdefault("fewer", {})
        here.setdefault(f"size{r['size']}", {}).setdefault(f"length{r['length']}", []).append(r["accuracy"])
    for way in WAYS:
        _summarize(found[way.replace(" ", "_")])
    worst = [r["accuracy"] for r in data["rows"] if r["way"] == "attention" and r["steps"] == found["steps"]]
    found["attention"]["lowest"] = min(worst)
    return found


def _summarize(tree):
    for key, value in tree.items():
        if isinstance(value, dict):
            _summarize(value)
        else:
            tree[key] = {"mean": sum(value) / len(value), "lowest": min(value)}


def controls(data: Data) -> dict[str, int]:
    """Name of a control → number of recorded values."""
    count = lambda key: len({r[key] for r in data["rows"]})
    return {
        "size of the state": count("size"),
        "length of training": count("steps"),
        "sentence length": count("length"),
    }


def seeds(data: Data) -> int:
    """Smallest number of seeds of any setting."""
    return fewest_seeds(data["rows"], "way", "size", "length", "steps")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = list(product(s.sizes, s.lengths, WAYS, range(s.seeds)))
    kept = Rows("bottleneck", options, dataclasses.asdict(s), len(todo))
    rows = [
        row
        for run in todo
        for row in kept.row("size {}, {} words, {}, seed {}".format(*run), lambda: measure(*run, s, options.device))
    ]
    save("bottleneck", {"rows": rows}, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
