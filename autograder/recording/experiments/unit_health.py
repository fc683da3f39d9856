"""Records ``unit_health.json``: ReLU units that no training window wakes, and their return.

``python -m autograder.recording.experiments.unit_health [--device cuda]``. The notebook counts on 4,000 held-out
windows; here every window of the training text is asked: a unit that is 0 for all of them gets no gradient at all.
"""

import dataclasses

import torch
from anatomy.experiments import ffn_variants
from anatomy.experiments.ffn_variants import train, windows
from anatomy.experiments.unit_health import HIGH

from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.activations import relu
from autograder.reference.ffn import FeedForward

LAYER = 1
CHUNK = 20_000


@dataclasses.dataclass(frozen=True)
class Setting:
    """model: sizes and training; rates to compare; steps at which units are counted; number of seeds."""

    model: ffn_variants.Setting = ffn_variants.LAPTOP
    rates: tuple = (HIGH.lr, ffn_variants.LAPTOP.lr)
    steps: tuple = (50, 100, 200, 300)
    seeds: int = 3


WIDE = dataclasses.replace(ffn_variants.LAPTOP, d_model=512, layers=4, steps=1600, lr=3e-3)
SIZES = {"small": Setting(), "large": Setting(WIDE, (1e-2, 3e-3), (50, 100, 200, 400, 800, 1200), 5)}


@torch.no_grad()
def never_awake(model, setting, device):
    """(d_ff,) boolean: units of the second layer that are 0 for every training window."""
    ids, awake = windows(setting)[0][:, :-1].to(device), []
    hook = model.layers[LAYER].down_proj.register_forward_pre_hook(
        lambda _, args: awake.append((args[0] != 0).any(0)))
    for start in range(0, len(ids), CHUNK):
        model(ids[start:start + CHUNK])
    hook.remove()
    return ~torch.stack(awake).any(0)


def measure(lr, seed, s, device):
    """One run: a row for each step at which units were counted."""
    model_setting, dead = dataclasses.replace(s.model, lr=lr), {}

    def look(step, model):
        if step in s.steps:
            dead[step] = never_awake(model, model_setting, device)

    layer = lambda d: FeedForward(d, 4 * d, relu, bias=False)
    model, row = train(layer, seed, model_setting, device, look)
    end = never_awake(model, model_setting, device)
    return [{"lr": lr, "seed": seed, "step": step, "dead": int(d.sum()), "alive_at_the_end": int((d & ~end).sum()),
             "loss": round(row["loss"], 5)} for step, d in dead.items()]


def main(argv=None, setting=None):
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    kept = Rows("unit_health", options, dataclasses.asdict(s), len(s.rates) * s.seeds)
    rows = [row for lr in s.rates for seed in range(s.seeds)
            for row in kept.row(f"rate {lr:g}, seed {seed}", lambda: measure(lr, seed, s, options.device))]
    data = {"windows": len(windows(s.model)[0]), "layer": LAYER, "units": 4 * s.model.d_model, "rows": rows}
    save("unit_health", data, options, range(s.seeds))
    kept.finish()


if __name__ == "__main__":
    main()
