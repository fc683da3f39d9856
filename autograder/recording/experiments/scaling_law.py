"""Records ``scaling_law.json``: which size of a small character model is best at each of four budgets of FLOPs.

``python -m autograder.recording.experiments.scaling_law [--device cuda]``. Small: about 15 minutes on an idle CPU core.
Large: one more budget.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from statistics import mean

import torch
from anatomy.experiments import scaling_law as experiment

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.scaling import PowerLaw, fit_power_law

ABOUT = About(seconds=530, waits=True)

Grid = Mapping[float, tuple[int, ...]]  # budget in FLOPs → widths that compete for it


@dataclasses.dataclass(frozen=True)
class Setting:
    """grid: budgets and widths, for every seed. again: those that are trained with another ``rate`` as well.

    live: those that a learner trains, at a smaller budget.
    """

    grid: Grid
    again: Grid
    live: Grid
    rate: float = 2 * experiment.RATE
    seeds: int = 3


SIZES = {
    "small": Setting(experiment.GRID, {1e10: (4, 8, 12), 6.25e10: (12, 16, 24)}, experiment.LIVE),
    "large": Setting(
        {**experiment.GRID, 4e11: (16, 24, 32, 48, 64)},
        {1e10: (4, 8, 12), 4e11: (24, 32, 48)},
        experiment.LIVE,
    ),
}

Run = tuple[float, int, float, int]  # budget, width, rate, seed


def plan(s: Setting) -> dict[str, list[Run]]:
    """Part of the data → its runs, in the order of measuring."""
    runs = lambda grid, rate=experiment.RATE: [
        (budget, width, rate, seed) for seed in range(s.seeds) for budget, widths in grid.items() for width in widths
    ]
    return {"rows": runs(s.grid), "live": runs(s.live), "other_rate": runs(s.again, s.rate)}


def measure(budget: float, width: int, rate: float, seed: int, device: str) -> Row:
    """One run as a row."""
    return {**experiment.run(budget, width, seed, rate, device), "rate": rate}


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = plan(s)
    kept = Rows("scaling_law", options, dataclasses.asdict(s), sum(map(len, todo.values())))
    key = "{:g} FLOPs, width {}, rate {:g}, seed {}".format
    data: Data = {
        part: [kept.row(key(*run), lambda: measure(*run, options.device)) for run in runs]
        for part, runs in todo.items()
    }
    save("scaling_law", {**data, "rate": experiment.RATE}, options, range(s.seeds))
    kept.finish()


def seeds(data: Data) -> int:
    """The smallest number of seeds of any setting."""
    return fewest_seeds(data["rows"] + data["other_rate"] + data["live"], "budget", "width", "rate")


def controls(data: Data) -> dict[str, int]:
    """Quantity varied besides budget and width → number of values."""
    return {"learning rate": len({r["rate"] for r in data["rows"] + data["other_rate"]})}


def bowls(rows: Sequence[Row]) -> list[dict[float, experiment.Lowest]]:
    """For each seed: budget → the lowest point of its curve."""
    return [experiment.bowls([r for r in rows if r["seed"] == seed]) for seed in sorted({r["seed"] for r in rows})]


def law(found: dict[float, experiment.Lowest]) -> PowerLaw:
    """The power law of one seed's best sizes over budgets."""
    sizes = [bowl.size for bowl in found.values()]
    return fit_power_law(torch.tensor(list(found), dtype=torch.float64), torch.tensor(sizes, dtype=torch.float64))


def facts(data: Data) -> Facts:
    """Numbers for sentences: curves of one budget, best sizes, exponents by seed, and the same with other rates."""
    rows = data["rows"]
    found = bowls(rows)
    budgets = list(found[0])
    return {
        "seeds": seeds(data),
        "budgets": len(budgets),
        "edges": _edges(found),
        "times": budgets[-1] / budgets[0],
        "largest": max(r["parameters"] for r in rows),
        "exponent": _range([law(of_seed).exponent for of_seed in found]),
        "one": {f"width{width}": _told(rows, budgets[1], width) for width in experiment.GRID[budgets[1]]},
        "rates": _rates(data),
        "live": _live(data),
    }


def _range(values):
    return {"least": min(values), "most": max(values), "apart": max(values) - min(values)}


def _edges(found):
    """Number of curves whose smallest loss is at an end."""
    return sum(bowl.edge for of_seed in found for bowl in of_seed.values())


def _told(rows, budget, width):
    """Parameters, characters read and mean loss of one width at one budget."""
    chosen = [r for r in rows if (r["budget"], r["width"]) == (budget, width)]
    return {**{k: chosen[0][k] for k in ("parameters", "characters")}, "loss": mean(r["loss"] for r in chosen)}


def _rates(data):
    """Exponents between two budgets, from three widths each, at the usual rate and at the other one."""
    other = data["other_rate"]
    widths = {(r["budget"], r["width"]) for r in other}
    found = {
        "usual": bowls([r for r in data["rows"] if (r["budget"], r["width"]) in widths]),
        "other": bowls(other),
    }
    return {
        name: {**_range([law(of_seed).exponent for of_seed in by_seed]), "edges": _edges(by_seed)}
        for name, by_seed in found.items()
    }


def _live(data):
    """Of the learner's budget: how often the middle width has the lowest loss, and the size that the law asks for."""
    found = bowls(data["live"])
    (budget,) = found[0]
    asked = [(one := law(of_seed)).coefficient * budget**one.exponent for of_seed in bowls(data["rows"])]
    return {
        "middle": sum(not of_seed[budget].edge for of_seed in found),
        "size": _range([of_seed[budget].size for of_seed in found]),
        "asked": _range(asked),
    }


if __name__ == "__main__":
    main()
