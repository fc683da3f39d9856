"""Records ``assets/experiments/loss_spike.json``: a loss spike at a high learning rate, and what stops it.

``python -m autograder.recording.experiments.loss_spike [--device cuda] [--setting small]``; about two minutes on one
CPU core. CUDA gets a deeper and longer setting by default. An interrupted run continues where it stopped.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from anatomy.experiments import loss_spike as experiment

from autograder.exercises.u10_stability.parameter_groups import parameter_groups
from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import optim, stability

ABOUT = About(seconds=320)

SEEDS = range(8)
REMEDIES = experiment.remedies(
    stability.qk_norm, stability.soft_cap, stability.z_loss, parameter_groups, optim.clip_by_global_norm
)


def short(values: Iterable[float]) -> str:
    """Formats values with three significant digits, as one string."""
    return " ".join(f"{v:.3g}" for v in values)


def measure(name: str, seed: int, setting: experiment.Setting, device: str) -> Row:
    """One run as a row."""
    curves = experiment.train(seed, setting, device, **REMEDIES[name])
    return {"remedy": name, "seed": seed, **{k: short(v) for k, v in curves.items()}}


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Lines to print: per remedy, seed by seed, the worst loss after learning, the mean of the last 20, the scores."""
    for name in dict.fromkeys(r["remedy"] for r in rows):
        mine = [r for r in rows if r["remedy"] == name]
        losses = [[float(v) for v in r["loss"].split()] for r in mine]
        worst = " ".join(f"{experiment.worst(v):5.2f}" for v in losses)
        end = " ".join(f"{experiment.end(v):5.3f}" for v in losses)
        scores = " ".join(f"{max(map(float, r['score'].split())):6.0f}" for r in mine)
        yield f"{name:20} worst {worst}   end {end}   scores {scores}"


def seeds(data: Data) -> int:
    """The smallest number of seeds of any remedy."""
    return fewest_seeds(data["rows"], "remedy")


def controls(data: Data) -> dict[str, int]:
    """Quantity varied besides the remedies → number of values."""
    return {"learning rate": len({"nothing", "a tenth of the rate"} & set(data["remedies"]))}


def facts(data: Data) -> Facts:
    """Numbers for the unit's text about the recorded runs."""
    remedies = {name: _facts_of(data, name) for name in data["remedies"]}
    ends = {name: _ends(data, name) for name in data["remedies"]}
    first = _losses(data, "nothing")[0]
    cures = [e for n in ("QK-norm", "soft cap on scores", "decay on gains too", "a tenth of the rate") for e in ends[n]]
    other = [e for n in ("z-loss", "soft cap on logits") for e in ends[n]]
    found = {re.sub(r"\W", "_", name.lower()): facts for name, facts in remedies.items()}
    found["clipping"]["better"] = sum(c < n for c, n in zip(ends["clipping"], ends["nothing"], strict=True))
    return {
        "seeds": seeds(data),
        "puzzle": {f"step_{i}": first[i] for i in (0, 20, 30, 40)},
        **found,
        "cures": {"runs": len(cures), "held": sum(e < 0.05 for e in cures)},
        "elsewhere": {"runs": len(other), "held": sum(e < 0.05 for e in other)},
    }


def _losses(data, name):
    rows = sorted((r for r in data["rows"] if r["remedy"] == name), key=lambda r: r["seed"])
    return [[float(v) for v in r["loss"].split()] for r in rows]


def _ends(data, name):
    return [experiment.end(losses) for losses in _losses(data, name)]


def _facts_of(data, name):
    ends, alarms = _ends(data, name), experiment.recorded_alarms(data, name)
    scores = [max(map(float, r["score"].split())) for r in data["rows"] if r["remedy"] == name]
    return {
        "end_min": min(ends),
        "end_median": median(ends),
        "end_max": max(ends),
        "score_median": median(scores),
        "above_005": sum(e > 0.05 for e in ends),
        "below_005": sum(e < 0.05 for e in ends),
        "below_001": sum(e < 0.01 for e in ends),
        **{f"{what}_alarms": sum(a[what] is not None for a in alarms) for what in alarms[0]},
        "gradient_first": sum(None not in (a["gradient"], a["score"]) and a["gradient"] < a["score"] for a in alarms),
        "apart": max(
            (abs(a["gradient"] - a["score"]) for a in alarms if None not in (a["gradient"], a["score"])), default=0
        ),
    }


def main(
    argv: Sequence[str] | None = None,
    setting: experiment.Setting | None = None,
    seeds: Sequence[int] = SEEDS,
    names: Sequence[str] = tuple(REMEDIES),
) -> None:
    """Command line; the other arguments are for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    setting = setting or (experiment.LARGE if options.setting == "large" else experiment.LAPTOP)
    facts = dataclasses.asdict(setting)
    kept = Rows("loss_spike", options, facts, len(seeds) * len(names))
    rows = [
        kept.row(f"{name}, seed {seed}", lambda: measure(name, seed, setting, options.device))
        for name in names
        for seed in seeds
    ]
    print("\n".join(summary(rows)))
    save("loss_spike", {"setting": facts, "remedies": list(names), "rows": rows}, options, seeds)
    kept.finish()


if __name__ == "__main__":
    main()
