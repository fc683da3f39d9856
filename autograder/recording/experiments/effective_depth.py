"""Records ``effective_depth.json``: what each layer changes, and what skipping it costs.

``python -m autograder.recording.experiments.effective_depth [--device cuda]``; about a minute on one CPU core.
"""

import dataclasses

import torch
from anatomy.experiments import effective_depth as experiment
from anatomy.experiments import warmup
from anatomy.experiments.wirings import build

from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import residual

FUNCTIONS = {"post_ln": residual.post_ln, "pre_ln": residual.pre_ln}
NAMES = ("Post-LN", "Pre-LN")


@dataclasses.dataclass(frozen=True)
class Setting:
    """Depths and width of the fresh stacks; of the trained ones: layers, steps, peak rate, warm-up; seeds of both."""

    depths: tuple = (12, 48)
    width: int = 64
    layers: int = 12
    steps: int = 300
    peak: float = 3e-3
    warmup: int = 100
    seeds: int = 3


SIZES = {"small": Setting(),
         "large": Setting(depths=(12, 48, 96), width=512, layers=24, steps=600, peak=1e-3, warmup=200, seeds=5)}


def rounded(values):
    """Four significant digits."""
    return [float(f"{float(v):.4g}") for v in values]


def fresh(name, depth, seed, s, device):
    """Relative change of the stream per layer before training; weights and input as in the notebook."""
    layers = build(FUNCTIONS, name, depth, s.width, seed=seed).to(device)
    x = torch.randn(4, 16, s.width, generator=torch.Generator().manual_seed(20_000 + seed)).to(device)
    return rounded(residual.layer_changes(experiment.streams(layers, x)))


def trained(name, seed, s, device):
    """Change per layer after training, loss, and loss without each layer."""
    rate = lambda step: residual.warmup_rate(step, s.peak, s.warmup)
    model, _ = warmup.train(FUNCTIONS, name, s.layers, rate, s.steps, seed, device=device)
    ids = torch.randint(0, warmup.VOCABULARY, (16, warmup.T), generator=torch.Generator().manual_seed(seed))
    flow = experiment.streams(model.layers, model.embed(ids.to(device)).detach())
    whole, without = experiment.losses_without(model, seed)
    return {"wiring": name, "seed": seed, "change": rounded(residual.layer_changes(flow)),
            "loss": rounded([whole])[0], "without": rounded(without)}


def main(argv=None, setting=None):
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    seeds, device = range(s.seeds), options.device
    rows = Rows("effective_depth", options, dataclasses.asdict(s), len(NAMES) * s.seeds * (len(s.depths) + 1))
    changes = {name: {n: [rows.row(f"fresh {name}, {n} layers, seed {seed}", lambda: fresh(name, n, seed, s, device))
                          for seed in seeds] for n in s.depths} for name in NAMES}
    costs = [rows.row(f"trained {name}, seed {seed}", lambda: trained(name, seed, s, device))
             for name in NAMES for seed in seeds]
    data = {"fresh": changes, "trained": costs, "layers": s.layers, "steps": s.steps}
    save("effective_depth", data, options, seeds)
    rows.finish()


if __name__ == "__main__":
    main()
