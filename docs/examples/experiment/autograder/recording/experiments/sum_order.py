"""Records ``sum_order.json``: rounding errors of long sums, added forwards and in pairs, three lengths, three seeds.

``python -m autograder.recording.experiments.sum_order [--device cuda]``; two seconds on one CPU core. The control adds
forwards as well, but in float64: what the order costs must then vanish.
"""

import dataclasses
from collections.abc import Sequence
from itertools import product
from statistics import mean

from anatomy.experiments.sum_order import error, forwards, pairwise

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save

ABOUT = About(seconds=5)
WAYS = {
    "forwards": ("float32", forwards),
    "pairwise": ("float32", pairwise),
    "forwards, float64": ("float64", lambda x: forwards(x.double())),
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """Numbers per sum (powers of two), and how many seeds."""

    lengths: tuple[int, ...] = (64, 512, 4096)
    seeds: int = 3


SIZES = {"small": Setting(), "large": Setting(lengths=(512, 4096, 32768))}


def measure(way: str, n: int, seed: int, device: str) -> Row:
    """One measurement as a row."""
    inside, add = WAYS[way]
    return {"way": way, "inside": inside, "n": n, "seed": seed, "error": float(f"{error(add, n, seed, device):.3g}")}


def errors(data: Data, way: str, n: int) -> list[float]:
    """The errors of one way at one length, in the order of the seeds."""
    return [r["error"] for r in data["rows"] if (r["way"], r["n"]) == (way, n)]


def facts(data: Data) -> Facts:
    """What text tells, at the longest sums: ``times``, the error forwards in units of the error in pairs; in how many
    of ``of`` seeds it is ``larger``; and ``control``, the error forwards in float64, in the same units."""
    n = max(r["n"] for r in data["rows"])
    plain, pairs, control = (errors(data, way, n) for way in WAYS)
    return {
        "n": n,
        "times": mean(plain) / mean(pairs),
        "larger": sum(a > b for a, b in zip(plain, pairs, strict=True)),
        "of": len(plain),
        "control": mean(control) / mean(pairs),
    }


def controls(data: Data) -> dict[str, int]:
    """What was varied besides the order → in how many values."""
    count = lambda key: len({r[key] for r in data["rows"]})
    return {"dtype of the sum": count("inside"), "length": count("n")}


def seeds(data: Data) -> int:
    """Seeds of the setting that has fewest."""
    return fewest_seeds(data["rows"], "way", "n")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = list(product(WAYS, s.lengths, range(s.seeds)))
    kept = Rows("sum_order", options, dataclasses.asdict(s), len(todo))
    rows = [
        kept.row(f"{way}, {n} numbers, seed {seed}", lambda: measure(way, n, seed, options.device))
        for way, n, seed in todo
    ]
    save("sum_order", {"rows": rows}, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
