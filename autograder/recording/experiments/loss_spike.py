"""Records ``assets/experiments/loss_spike.json``: a loss spike at a high learning rate, and what stops it.

``python -m autograder.recording.experiments.loss_spike [--device cuda]``; about three minutes on one CPU core. CUDA
gets a deeper and longer setting. An interrupted run goes on where it stopped.
"""

import dataclasses

from anatomy.experiments import loss_spike as experiment

from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import optim, stability

SEEDS = range(5)
EVERY = 10  # scores and log Z change slowly
FUNCTIONS = {"qk_norm": stability.qk_norm, "soft_cap": stability.soft_cap, "z_loss": stability.z_loss,
             "clip_by_global_norm": optim.clip_by_global_norm}


def short(values):
    """Three significant digits, as one string."""
    return " ".join(f"{v:.3g}" for v in values)


def measure(name, seed, setting, device):
    """One run as a row."""
    curves = experiment.train(FUNCTIONS, experiment.REMEDIES[name], seed, setting, device)
    return {"remedy": name, "seed": seed, "loss": short(curves["loss"]), "score": short(curves["score"][::EVERY]),
            "log_z": short(curves["log_z"][::EVERY])}


def summary(rows):
    """Printed lines: per remedy the worst loss after learning and the share of steps in a spike, seed by seed."""
    for name in dict.fromkeys(r["remedy"] for r in rows):
        losses = [[float(v) for v in r["loss"].split()] for r in rows if r["remedy"] == name]
        worst = " ".join(f"{experiment.worst(v):5.2f}" for v in losses)
        share = " ".join(f"{experiment.share_spiking(v):4.0%}" for v in losses)
        yield f"{name:22} worst {worst}   steps above {experiment.LEARNED}: {share}"


def main(argv=None, setting=None, seeds=SEEDS, remedies=tuple(experiment.REMEDIES)):
    """Command line; the other arguments are for tests."""
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    setting = setting or (experiment.LARGE if options.device.startswith("cuda") else experiment.LAPTOP)
    facts = dataclasses.asdict(setting)
    kept = Rows("loss_spike", options, facts, len(seeds) * len(remedies))
    rows = [kept.row(f"{name}, seed {seed}", lambda: measure(name, seed, setting, options.device))
            for name in remedies for seed in seeds]
    print("\n".join(summary(rows)))
    changes = {n: dataclasses.asdict(experiment.REMEDIES[n]) for n in remedies}
    save("loss_spike", {"setting": facts, "remedies": changes, "every": EVERY, "rows": rows}, options, seeds)
    kept.finish()


if __name__ == "__main__":
    main()
