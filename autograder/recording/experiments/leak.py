"""Records ``leak.json``: next-token training with and without a causal mask, five seeds each.

``python -m autograder.recording.experiments.leak [--device cuda]``; a few minutes on one CPU core.
"""

import dataclasses

from anatomy.experiments import leak

from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.masks import causal_mask
from autograder.reference.objectives import next_token_loss

MASKS = {"causal": causal_mask, "bidirectional": leak.full_mask}


@dataclasses.dataclass(frozen=True)
class Setting:
    """Training steps, steps between two measurements, number of seeds, texts written."""

    steps: int = 800
    every: int = 40
    seeds: int = 5
    written: int = 200


SIZES = {"small": Setting(), "large": Setting(steps=3000, every=100, written=1000)}


def measure(name, seed, s, device):
    """Of one run: loss curve, loss by place with and without a future, share of right sentences written."""
    model, curve = leak.train(MASKS[name], next_token_loss, s.steps, s.every, seed, device)
    return {"curves": curve, "whole": leak.loss_by_place(model), "cut": leak.loss_by_place(model, future=False),
            "right": leak.share_right(leak.write(model, s.written))}


def main(argv=None, setting=None):
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__.split("\n")[0]).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    rows = Rows("leak", options, dataclasses.asdict(s), len(MASKS) * s.seeds)
    found = {name: [rows.row(f"{name}, seed {seed}", lambda: measure(name, seed, s, options.device))
                    for seed in range(s.seeds)] for name in MASKS}
    # One table per quantity, as the notebook reads them.
    data = {key: {name: [run[key] for run in runs] for name, runs in found.items()}
            for key in ("curves", "whole", "cut", "right")}
    save("leak", {**data, "entropy": leak.ENTROPY}, options, range(s.seeds))
    rows.finish()


if __name__ == "__main__":
    main()
