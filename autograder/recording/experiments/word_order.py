"""Records ``assets/experiments/word_order.json``: who came first, in sentences of 32 words, five seeds per setting.

``python -m autograder.recording.experiments.word_order [--device cuda]``; a few minutes on one CPU core.
"""

from anatomy.experiments.word_order import SETTINGS, train_reader

from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.attention import MultiHeadAttention

LENGTH, STEPS, EVERY, SEEDS = 32, 400, 20, range(5)


def measure(device="cpu", length=LENGTH, steps=STEPS, every=EVERY, seeds=SEEDS):
    """setting → one curve of (step, accuracy) per seed."""
    return {name: [train_reader(MultiHeadAttention, **setting, length=length, steps=steps, every=every, seed=seed,
                                device=device) for seed in seeds] for name, setting in SETTINGS.items()}


def main(argv=None):
    """Command line."""
    options = arguments(__doc__.split("\n")[0]).parse_args(argv)
    prepare(options.device)
    save("word_order", {"length": LENGTH, "curves": measure(options.device)}, options, SEEDS)


if __name__ == "__main__":
    main()
