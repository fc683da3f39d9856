"""Records ``recall.json``: values found again by softmax attention, an added state, and a state with the delta rule.

``python -m autograder.recording.experiments.recall [--device cuda]``; about a minute on one CPU core. The controls are
keys that never come twice, so that nothing is rewritten, and the length of training.
"""

import dataclasses
from collections.abc import Sequence
from itertools import product

from anatomy.experiments.recall import KEYS, VALUES, WAYS, WIDTH, train

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save

ABOUT = About(seconds=70)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Pairs where keys repeat, pairs where they don't, steps after which accuracy is measured, number of seeds."""

    pairs: int = 24
    different: int = 16
    measured: tuple[int, ...] = (150, 300)
    seeds: int = 4


SIZES = {"small": Setting(), "large": Setting(pairs=48, measured=(300, 1000), seeds=8)}


def measure(way: str, rewritten: bool, seed: int, s: Setting, device: str) -> list[Row]:
    """One run as a list of rows, one for each number of steps."""
    pairs = s.pairs if rewritten else s.different
    found = train(way, pairs, rewritten, max(s.measured), s.measured, seed, device)
    return [
        {"way": way, "rewritten": rewritten, "pairs": pairs, "seed": seed, "steps": steps, "accuracy": round(a, 4)}
        for steps, a in zip(sorted(s.measured), found, strict=True)
    ]


def facts(data: Data) -> Facts:
    """Mean, lowest and highest accuracy of each way: ``delta_rule.rewritten.mean`` after the longest training, and
    ``delta_rule.fewer.rewritten.mean`` after the shortest."""
    rows = data["rows"]
    steps = sorted({r["steps"] for r in rows})
    found: Facts = {"keys": KEYS, "values": VALUES, "width": WIDTH, "seeds": seeds(data), "steps": steps[-1]}
    found["fewer_steps"] = steps[0]
    found["pairs"] = max(r["pairs"] for r in rows)
    for way in WAYS:
        here = lambda at, rewritten, way=way: [
            r["accuracy"] for r in rows if (r["way"], r["steps"], r["rewritten"]) == (way, at, rewritten)
        ]
        sums = lambda at, here=here: {
            name: _summary(here(at, rewritten)) for name, rewritten in (("rewritten", True), ("different", False))
        }
        found[way.replace(" ", "_")] = sums(steps[-1]) | {"fewer": sums(steps[0])}
    return found


def _summary(values):
    return {"mean": sum(values) / len(values), "lowest": min(values), "highest": max(values)}


def controls(data: Data) -> dict[str, int]:
    """Name of a control → number of recorded values."""
    count = lambda key: len({r[key] for r in data["rows"]})
    return {"keys that repeat": count("rewritten"), "length of training": count("steps")}


def seeds(data: Data) -> int:
    """Smallest number of seeds of any setting."""
    return fewest_seeds(data["rows"], "way", "rewritten", "steps")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = list(product(WAYS, (True, False), range(s.seeds)))
    kept = Rows("recall", options, dataclasses.asdict(s), len(todo))
    rows = [
        row
        for run in todo
        for row in kept.row("{}, rewritten {}, seed {}".format(*run), lambda: measure(*run, s, options.device))
    ]
    save("recall", {"rows": rows}, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
