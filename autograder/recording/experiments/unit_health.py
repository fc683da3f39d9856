"""Records ``assets/experiments/unit_health.json``: ReLU units that no training window wakes, and their return.

``python -m autograder.recording.experiments.unit_health [--device cpu]``. The notebook counts on 4,000 held-out
windows; here every window of the training text is asked: a unit that is 0 for all of them gets no gradient at all.
"""

import torch
from anatomy.experiments.ffn_variants import LAPTOP, train, windows
from anatomy.experiments.unit_health import HIGH

from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.activations import relu
from autograder.reference.ffn import FeedForward

SEEDS = range(3)
STEPS = (50, 100, 200, 300)
LAYER = 1
CHUNK = 20_000


@torch.no_grad()
def never_awake(model, device):
    """(d_ff,) boolean: units of the second layer that are 0 for every training window."""
    ids, awake = windows()[0][:, :-1].to(device), []
    hook = model.layers[LAYER].down_proj.register_forward_pre_hook(
        lambda _, args: awake.append((args[0] != 0).any(0)))
    for start in range(0, len(ids), CHUNK):
        model(ids[start:start + CHUNK])
    hook.remove()
    return ~torch.stack(awake).any(0)


def main():
    """Command line."""
    options = arguments(__doc__.splitlines()[0]).parse_args()
    prepare(options.device)
    rows = []
    for setting in (HIGH, LAPTOP):
        for seed in SEEDS:
            dead = {}

            def look(step, model, dead=dead):
                if step in STEPS:
                    dead[step] = never_awake(model, options.device)

            model, row = train(lambda d: FeedForward(d, 4 * d, relu, bias=False), seed, setting, options.device, look)
            end = never_awake(model, options.device)
            for step, d in dead.items():
                rows.append({"lr": setting.lr, "seed": seed, "step": step, "dead": int(d.sum()),
                             "alive_at_the_end": int((d & ~end).sum()), "loss": round(row["loss"], 5)})
                print(rows[-1], flush=True)
    data = {"windows": len(windows()[0]), "layer": LAYER, "units": 4 * HIGH.d_model, "rows": rows}
    save("unit_health", data, options, SEEDS)


if __name__ == "__main__":
    main()
