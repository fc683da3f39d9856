"""Records ``assets/experiments/loss_spike.json``: a loss spike at a high learning rate, and what stops it.

``python -m autograder.recording.experiments.loss_spike [--device cuda] [--setting small]``; about two minutes on one
CPU core. CUDA gets a deeper and longer setting by default. An interrupted run goes on where it stopped.
"""

import dataclasses

from anatomy.experiments import loss_spike as experiment

from autograder.exercises.u10_stability.decay import parameter_groups
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import optim, stability

SEEDS = range(8)
EVERY = 4  # of all curves but the loss, only every fourth number is kept
REMEDIES = experiment.remedies(stability.qk_norm, stability.soft_cap, stability.z_loss, parameter_groups,
                               optim.clip_by_global_norm)


def short(values):
    """Three significant digits, as one string."""
    return " ".join(f"{v:.3g}" for v in values)


def measure(name, seed, setting, device):
    """One run as a row."""
    curves = experiment.train(seed, setting, device, **REMEDIES[name])
    kept = {k: short(v if k == "loss" else v[::EVERY]) for k, v in curves.items()}
    # The largest of all may lie between the numbers that are kept.
    peaks = {f"largest_{k}": float(f"{max(v):.4g}") for k, v in curves.items() if k != "loss"}
    return {"remedy": name, "seed": seed, **kept, **peaks}


def summary(rows):
    """Printed lines: per remedy, seed by seed, the worst loss after learning, the mean of the last 20, the scores."""
    for name in dict.fromkeys(r["remedy"] for r in rows):
        mine = [r for r in rows if r["remedy"] == name]
        losses = [[float(v) for v in r["loss"].split()] for r in mine]
        worst = " ".join(f"{experiment.worst(v):5.2f}" for v in losses)
        end = " ".join(f"{experiment.end(v):5.3f}" for v in losses)
        scores = " ".join(f"{r['largest_score']:6.0f}" for r in mine)
        yield f"{name:20} worst {worst}   end {end}   scores {scores}"


def main(argv=None, setting=None, seeds=SEEDS, names=tuple(REMEDIES)):
    """Command line; the other arguments are for tests."""
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    setting = setting or (experiment.LARGE if options.setting == "large" else experiment.LAPTOP)
    facts = dataclasses.asdict(setting)
    kept = Rows("loss_spike", options, facts, len(seeds) * len(names))
    rows = [kept.row(f"{name}, seed {seed}", lambda: measure(name, seed, setting, options.device))
            for name in names for seed in seeds]
    print("\n".join(summary(rows)))
    save("loss_spike", {"setting": facts, "remedies": list(names), "every": EVERY, "rows": rows}, options, seeds)
    kept.finish()


if __name__ == "__main__":
    main()
