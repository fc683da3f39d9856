"""Records ``word_order.json``: who came first, in sentences of 32 words (large: 128), five seeds per setting.

``python -m autograder.recording.experiments.word_order [--device cuda]``; a few minutes on one CPU core.
"""

import dataclasses

from anatomy.experiments.word_order import SETTINGS, train_reader

from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.attention import MultiHeadAttention


@dataclasses.dataclass(frozen=True)
class Setting:
    """Words per sentence, training steps, steps between two measurements, number of seeds."""

    length: int = 32
    steps: int = 400
    every: int = 20
    seeds: int = 5


SIZES = {"small": Setting(), "large": Setting(length=128, steps=1000, every=50)}


def main(argv=None, setting=None):
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__.split("\n")[0]).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    rows = Rows("word_order", options, dataclasses.asdict(s), len(SETTINGS) * s.seeds)
    measure = lambda seed, **kind: train_reader(MultiHeadAttention, **kind, length=s.length, steps=s.steps,
                                                every=s.every, seed=seed, device=options.device)
    curves = {name: [rows.row(f"{name}, seed {seed}", lambda: measure(seed, **kind)) for seed in range(s.seeds)]
              for name, kind in SETTINGS.items()}
    save("word_order", {"length": s.length, "curves": curves}, options, range(s.seeds))
    rows.finish()


if __name__ == "__main__":
    main()
