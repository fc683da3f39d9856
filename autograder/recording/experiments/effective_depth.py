"""Records ``effective_depth.json``: each layer's change, and the cost of skipping it in models of equal loss.

``python -m autograder.recording.experiments.effective_depth [--device cuda]``; about five minutes on one CPU core.
"""

import dataclasses
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from statistics import mean, median

import torch
from anatomy.experiments import effective_depth as experiment
from anatomy.experiments import warmup
from anatomy.experiments.wirings import build
from torch import Tensor

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import residual

ABOUT = About(seconds=100)

FUNCTIONS = {"post_ln": residual.post_ln, "pre_ln": residual.pre_ln}
NAMES = ("Post-LN", "Pre-LN")


@dataclasses.dataclass(frozen=True)
class Setting:
    """Depths and width of the fresh stacks; (layers, peak rate) and warm-up of the trained ones; seeds of both.

    A trained model is measured when the mean of its last ``window`` losses first falls below each of the goals; if that
    does not happen within ``steps``, there is no row for that goal.
    """

    depths: tuple[int, ...] = (12, 48)
    width: int = 64
    runs: tuple[tuple[int, float], ...] = ((6, 3e-3), (6, 1e-3), (12, 3e-3))
    goals: tuple[float, ...] = (0.1, 0.02)
    window: int = 20
    steps: int = 1200
    warmup: int = 100
    seeds: int = 3


SIZES = {
    "small": Setting(),
    "large": Setting(depths=(12, 48, 96), width=512, runs=((12, 1e-3), (24, 1e-3)), steps=1500, warmup=200),
}


def rounded(values: Iterable[float] | Tensor) -> list[float]:
    """Rounds to four significant digits."""
    return [float(f"{float(v):.4g}") for v in values]


def fresh(name: str, depth: int, seed: int, s: Setting, device: str) -> list[float]:
    """Relative change of the stream per layer before training, with the notebook's weights and input."""
    layers = build(FUNCTIONS, name, depth, s.width, seed=seed).to(device)
    x = torch.randn(4, 16, s.width, generator=torch.Generator().manual_seed(20_000 + seed)).to(device)
    return rounded(residual.layer_changes(experiment.streams(layers, x)))


def look(model: warmup.Copier, seed: int, device: str) -> Row:
    """Change per layer of a trained model, its loss, and its loss without each layer."""
    ids = torch.randint(0, warmup.VOCABULARY, (16, warmup.T), generator=torch.Generator().manual_seed(seed))
    flow = experiment.streams(model.layers, model.embed(ids.to(device)).detach())
    whole, without = experiment.losses_without(model, seed)
    return {"change": rounded(residual.layer_changes(flow)), "loss": rounded([whole])[0], "without": rounded(without)}


def trained(name: str, layers: int, peak: float, seed: int, s: Setting, device: str) -> list[Row]:
    """One training as rows, one for each goal that it reaches."""
    rate = lambda step: residual.warmup_rate(step, peak, s.warmup)
    goals = sorted(s.goals, reverse=True)
    last: deque[float] = deque(maxlen=s.window)
    rows: list[Row] = []
    training = warmup.endless(FUNCTIONS, name, layers, rate, seed, device=device)
    for step, (model, loss) in enumerate(islice(training, s.steps), start=1):
        last.append(loss)
        while len(rows) < len(goals) and len(last) == s.window and sum(last) / s.window < goals[len(rows)]:
            rows.append(
                {
                    "wiring": name,
                    "layers": layers,
                    "peak": peak,
                    "seed": seed,
                    "goal": goals[len(rows)],
                    "step": step,
                    **look(model, seed, device),
                }
            )
        if len(rows) == len(goals):
            break
    return rows


SHORT = {"Post-LN": "post", "Pre-LN": "pre"}


def facts(data: Data) -> Facts:
    """Numbers for sentences: the factor by which the loss grows without a layer of the later half; the number of pairs
    of models, equal except for the wiring, in which Post-LN has the larger factor (``pairs``), and in which Pre-LN
    reached the goal in fewer steps (``faster``).

    A training's factor is the median over its layers; ``median``, ``min``, ``max`` are over the trainings with the most
    layers, the highest peak and the lowest goal.
    """
    key = lambda r: (r["layers"], r["peak"], r["goal"], r["seed"])
    rows = {name: {key(r): r for r in data["trained"] if r["wiring"] == name} for name in NAMES}
    shared = sorted(rows["Post-LN"].keys() & rows["Pre-LN"].keys())
    middle = lambda name, k: median(experiment.late(rows[name][k]))
    best = max(k[0] for k in shared), max(k[1] for k in shared), min(k[2] for k in shared)
    found: Facts = {}
    for name in NAMES:
        factors = [median(experiment.late(r)) for k, r in rows[name].items() if k[:3] == best]
        found[SHORT[name]] = {"median": median(factors), "min": min(factors), "max": max(factors)}
    found["pairs"] = {
        "held": sum(middle("Post-LN", k) > middle("Pre-LN", k) for k in shared),
        "of": len(shared),
        "trainings": len({(n, peak, seed) for n, peak, _, seed in shared}),
    }
    found["faster"] = {
        "held": sum(rows["Pre-LN"][k]["step"] < rows["Post-LN"][k]["step"] for k in shared),
        "of": len(shared),
    }
    deepest = max(data["fresh"]["Pre-LN"], key=int)
    found["fresh"] = {
        SHORT[name]: {
            "first": mean(c[0] for c in data["fresh"][name][deepest]),
            "last": mean(c[-1] for c in data["fresh"][name][deepest]),
        }
        for name in NAMES
    }
    return {**found, "seeds": seeds(data)}


def controls(data: Data) -> dict[str, int]:
    """Varied quantity → number of values."""
    return {
        "learning rate": len({r["peak"] for r in data["trained"]}),
        "depth": len({r["layers"] for r in data["trained"]}),
        "goal": len({r["goal"] for r in data["trained"]}),
    }


def seeds(data: Data) -> int:
    """The smallest number of seeds of any setting."""
    return fewest_seeds(data["trained"], "wiring", "layers", "peak", "goal")


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    device, repeats = options.device, range(s.seeds)
    todo = [(name, n, peak, seed) for n, peak in s.runs for name in NAMES for seed in repeats]
    rows = Rows("effective_depth", options, dataclasses.asdict(s), len(NAMES) * s.seeds * len(s.depths) + len(todo))
    changes = {
        name: {
            n: [
                rows.row(f"fresh {name}, {n} layers, seed {seed}", lambda: fresh(name, n, seed, s, device))
                for seed in repeats
            ]
            for n in s.depths
        }
        for name in NAMES
    }
    found = [
        rows.row("trained {}, {} layers, peak {:g}, seed {}".format(*run), lambda: trained(*run, s, device))
        for run in todo
    ]
    data = {
        "fresh": changes,
        "trained": [row for each in found for row in each],
        "goals": list(s.goals),
        "tried": [list(run) for run in todo],
    }
    save("effective_depth", data, options, repeats)
    rows.finish()


if __name__ == "__main__":
    main()
