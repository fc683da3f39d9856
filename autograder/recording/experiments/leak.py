"""Records ``assets/experiments/leak.json``: next-token training with and without a causal mask, five seeds each.

``python -m autograder.recording.experiments.leak [--device cuda]``; a few minutes on one CPU core.
"""

from anatomy.experiments import leak

from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.masks import causal_mask
from autograder.reference.objectives import next_token_loss

STEPS, EVERY, SEEDS = 800, 40, range(5)
MASKS = {"causal": causal_mask, "bidirectional": leak.full_mask}


def measure(device="cpu", steps=STEPS, every=EVERY, seeds=SEEDS):
    """Per setting and seed: loss curve, loss by place with and without a future, share of right sentences written."""
    curves, whole, cut, right = ({name: [] for name in MASKS} for _ in range(4))
    for name, mask_of in MASKS.items():
        for seed in seeds:
            model, curve = leak.train(mask_of, next_token_loss, steps, every, seed, device)
            curves[name].append(curve)
            whole[name].append(leak.loss_by_place(model))
            cut[name].append(leak.loss_by_place(model, future=False))
            right[name].append(leak.share_right(leak.write(model, 200)))
    return {"curves": curves, "whole": whole, "cut": cut, "right": right, "entropy": leak.ENTROPY}


def main(argv=None):
    """Command line."""
    options = arguments(__doc__.split("\n")[0]).parse_args(argv)
    prepare(options.device)
    save("leak", measure(options.device), options, SEEDS)


if __name__ == "__main__":
    main()
