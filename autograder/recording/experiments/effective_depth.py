"""Records ``assets/experiments/effective_depth.json``: what each layer changes, and what skipping it costs.

``python -m autograder.recording.experiments.effective_depth [--device cuda]``; about a minute on one CPU core.
"""

import torch
from anatomy.experiments import effective_depth as experiment
from anatomy.experiments import warmup

from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import residual

SEEDS = range(3)
DEPTHS = (12, 48)
LAYERS, STEPS, PEAK, WARMUP = 12, 300, 3e-3, 100
FUNCTIONS = {"post_ln": residual.post_ln, "pre_ln": residual.pre_ln}
NAMES = ("Post-LN", "Pre-LN")


def rounded(values):
    """Four significant digits."""
    return [float(f"{float(v):.4g}") for v in values]


def main():
    """Command line."""
    options = arguments(__doc__.splitlines()[0]).parse_args()
    prepare(options.device)
    fresh = {name: {n: [rounded(residual.layer_changes(experiment.fresh_streams(FUNCTIONS, name, n, seed=seed)))
                        for seed in SEEDS] for n in DEPTHS} for name in NAMES}
    trained = []
    for name in NAMES:
        for seed in SEEDS:
            rate = lambda step: residual.warmup_rate(step, PEAK, WARMUP)
            model, _ = warmup.train(FUNCTIONS, name, LAYERS, rate, STEPS, seed, device=options.device)
            ids = torch.randint(0, warmup.VOCABULARY, (16, warmup.T), generator=torch.Generator().manual_seed(seed))
            flow = experiment.streams(model.layers, model.embed(ids.to(options.device)).detach())
            whole, without = experiment.losses_without(model, seed)
            trained.append({"wiring": name, "seed": seed, "change": rounded(residual.layer_changes(flow)),
                            "loss": rounded([whole])[0], "without": rounded(without)})
            print(trained[-1], flush=True)
    save("effective_depth", {"fresh": fresh, "trained": trained, "layers": LAYERS, "steps": STEPS}, options, SEEDS)


if __name__ == "__main__":
    main()
