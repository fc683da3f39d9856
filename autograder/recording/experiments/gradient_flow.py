"""Records ``assets/experiments/gradient_flow.json``: gradient norm per layer before training, depths 6 to 96.

``python -m autograder.recording.experiments.gradient_flow [--device cuda] [--large]``. The laptop setting takes
about three minutes on one CPU core; ``--large`` adds widths 512 and 1024.
"""

from anatomy.experiments import gradient_flow as experiment
from anatomy.experiments.wirings import INITS, WIRINGS

from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import residual
from autograder.reference.placement import deepnorm_decoder_only

FUNCTIONS = {w.function: getattr(residual, w.function) for w in WIRINGS.values()}
SEEDS = range(experiment.SEEDS)
# Initializations are compared at two widths: the small one is where Post-LN's gradient can vanish.
INIT_WIDTHS, INIT_DEPTHS = (32, 128), (6, 24, 96)


def measure(name, depth, width, device, init="Xavier"):
    """One string of numbers per seed."""
    scale = deepnorm_decoder_only(depth) if name == "DeepNorm" else None
    return [" ".join(f"{v:.4g}" for v in experiment.curve(FUNCTIONS, name, depth, width, init, seed, scale, device))
            for seed in SEEDS]


def main():
    """Command line."""
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="wider stacks too, for a GPU")
    options = parser.parse_args()
    prepare(options.device)
    widths = experiment.WIDTHS + ((512, 1024) if options.large else ())
    curves, inits = {}, {}
    for name in WIRINGS:
        curves[name] = {w: {n: measure(name, n, w, options.device) for n in experiment.DEPTHS} for w in widths}
        print(name, flush=True)
    for name in ("Post-LN", "Pre-LN"):
        inits[name] = {i: {w: {n: measure(name, n, w, options.device, i) for n in INIT_DEPTHS} for w in INIT_WIDTHS}
                       for i in INITS}
        print(name, "inits", flush=True)
    save("gradient_flow", {"curves": curves, "inits": inits, "tokens": experiment.B * experiment.T}, options, SEEDS)


if __name__ == "__main__":
    main()
