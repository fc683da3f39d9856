"""Records ``warmup.json``: Post-LN, Pre-LN and DeepNorm with and without warm-up, three seeds.

``python -m autograder.recording.experiments.warmup [--device cuda]``. Small: 12 layers, about five minutes on one CPU
core. Large: 24 and 48 layers.
"""

import dataclasses

from anatomy.experiments import warmup as experiment

from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import residual
from autograder.reference.placement import deepnorm_decoder_only

WIRINGS = ("Post-LN", "Pre-LN", "DeepNorm")
FUNCTIONS = {"post_ln": residual.post_ln, "pre_ln": residual.pre_ln, "deepnorm": residual.deepnorm}


@dataclasses.dataclass(frozen=True)
class Setting:
    """runs: (depth, peak learning rate, wirings); steps of training and, of these, of warm-up; number of seeds."""

    runs: tuple = ((12, 3e-3, WIRINGS), (12, 1e-3, WIRINGS[:1]))
    steps: int = 300
    warmup: int = 100
    seeds: int = 3


SIZES = {"small": Setting(), "large": Setting(runs=((24, 3e-3, WIRINGS), (24, 1e-3, WIRINGS), (48, 1e-3, WIRINGS)))}


def measure(depth, peak, name, warmup, seed, s, device):
    """One run as a row; the losses are the mean of every 10 steps."""
    scale = deepnorm_decoder_only(depth) if name == "DeepNorm" else None
    rate = lambda step: residual.warmup_rate(step, peak, warmup)
    _, losses = experiment.train(FUNCTIONS, name, depth, rate, s.steps, seed, scale, device)
    return {"wiring": name, "depth": depth, "peak": peak, "warmup": warmup, "seed": seed,
            "losses": " ".join(f"{v:.4f}" for v in experiment.smooth(losses))}


def main(argv=None, setting=None):
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = [(depth, peak, name, warmup, seed) for depth, peak, names in s.runs for name in names
            for warmup in (0, s.warmup) for seed in range(s.seeds)]
    kept = Rows("warmup", options, dataclasses.asdict(s), len(todo))
    rows = [kept.row("{} layers, peak {:g}, {}, warm-up {}, seed {}".format(*run),
                     lambda: measure(*run, s, options.device)) for run in todo]
    save("warmup", {"rows": rows, "steps": s.steps, "every": 10}, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
