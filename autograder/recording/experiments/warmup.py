"""Records ``assets/experiments/warmup.json``: Post-LN, Pre-LN and DeepNorm with and without warm-up, three seeds.

``python -m autograder.recording.experiments.warmup [--device cuda] [--large]``. The laptop setting takes about five
minutes on one CPU core; ``--large`` adds 24 and 48 layers.
"""

from anatomy.experiments import warmup as experiment

from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import residual
from autograder.reference.placement import deepnorm_decoder_only

SEEDS = range(3)
STEPS, WARMUP = 300, 100
# (depth, peak learning rate, wirings)
SETTINGS = [(12, 3e-3, ("Post-LN", "Pre-LN", "DeepNorm")), (12, 1e-3, ("Post-LN",))]
LARGE = [(depth, peak, ("Post-LN", "Pre-LN", "DeepNorm")) for depth in (24, 48) for peak in (1e-3, 3e-3)]
FUNCTIONS = {"post_ln": residual.post_ln, "pre_ln": residual.pre_ln, "deepnorm": residual.deepnorm}


def main():
    """Command line."""
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="deeper stacks too, for a GPU")
    options = parser.parse_args()
    prepare(options.device)
    rows = []
    for depth, peak, names in SETTINGS + (LARGE if options.large else []):
        for name in names:
            scale = deepnorm_decoder_only(depth) if name == "DeepNorm" else None
            for warmup in (0, WARMUP):
                for seed in SEEDS:
                    rate = lambda step, peak=peak, warmup=warmup: residual.warmup_rate(step, peak, warmup)
                    _, losses = experiment.train(FUNCTIONS, name, depth, rate, STEPS, seed, scale, options.device)
                    found = experiment.smooth(losses)
                    rows.append({"wiring": name, "depth": depth, "peak": peak, "warmup": warmup, "seed": seed,
                                 "losses": " ".join(f"{v:.4f}" for v in found)})
                print(depth, peak, name, warmup, [r["losses"].split()[-1] for r in rows[-len(SEEDS):]], flush=True)
    save("warmup", {"rows": rows, "steps": STEPS, "every": 10}, options, SEEDS)


if __name__ == "__main__":
    main()
