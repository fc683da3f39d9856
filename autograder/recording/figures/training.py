"""Drawings of small trainings: word order, feed-forward variants, dead units, leak, loss spikes."""

from statistics import median

from anatomy.experiments.loss_spike import LEARNED, end
from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.experiments.counting import numbers
from autograder.recording.figures.parts import band, legend, mean, panels, spread


def word_order(data: Data) -> tuple[Figure, str]:
    """Accuracy over steps for each way to encode positions."""
    figure, (ax,) = panels("Who came first?", f"sentences of {data['length']} words", width=6)
    for name, curves in data["curves"].items():
        band(ax, [step for step, _ in curves[0]], [[v for _, v in curve] for curve in curves], name)
    ax.set(xlabel="step", ylabel="accuracy", ylim=(0.4, 1.02))
    legend(figure, [ax])
    told = "; ".join(f"{n} {mean(c[-1][1] for c in runs):.2f}" for n, runs in data["curves"].items())
    return figure, f"Accuracy over training steps, mean of the seeds and their range. At the end: {told}."


def ffn_variants(data: Data) -> tuple[Figure, str]:
    """Losses of each variant at its best learning rate, on seeds that were not used to choose it."""
    order = sorted(data["compared"], key=lambda r: mean(r["losses"]), reverse=True)
    fresh = f"each at its best learning rate, {len(order[0]['losses'])} fresh seeds"
    figure, (ax,) = panels("Feed-forward variants, equal parameters", fresh, width=6)
    for i, r in enumerate(order):
        ax.plot(r["losses"], [i] * len(r["losses"]), "o", color="#56B4E9", ms=4, label="seeds")
        error = spread(r["losses"])
        ax.errorbar(mean(r["losses"]), i, xerr=error, fmt="D", color="#0072B2", capsize=3, ms=5, label="mean")
    ax.set_yticks(range(len(order)), [r["variant"] for r in order])
    ax.set_xlabel("validation loss (nats per character)")
    told = ", ".join(f"{r['variant']} {mean(r['losses']):.3f}" for r in reversed(order))
    return figure, f"Mean validation loss of {len(order)} variants, lowest first: {told}."


def unit_health(data: Data) -> tuple[Figure, str]:
    """Number of ReLU units that no training window activates, over steps."""
    figure, (ax,) = panels("ReLU units that no window wakes", f"layer of {data['units']} units", width=6)
    told = []
    for lr, frozen in sorted({(r["lr"], r["frozen"]) for r in data["rows"]}, key=lambda s: (s[1], -s[0])):
        rows = [r for r in data["rows"] if (r["lr"], r["frozen"]) == (lr, frozen)]
        name = f"rate {lr:g}{', frozen below' * frozen}"
        counted = sorted({r["step"] for r in rows})
        steps = [*counted, data["steps"]]
        runs = [
            [r["dead"] for s in counted for r in rows if (r["seed"], r["step"]) == (seed, s)]
            + [next(r["dead_at_the_end"] for r in rows if r["seed"] == seed)]
            for seed in sorted({r["seed"] for r in rows})
        ]
        band(ax, steps, runs, name, marker="o", ms=4)
        told.append(
            f"at {name} {mean(r[0] for r in runs):.0f} at step {steps[0]}, {mean(r[-1] for r in runs):.0f} at the end"
        )
    ax.set(xlabel="step", ylabel="units", ylim=(0, data["units"]))
    legend(figure, [ax])
    return figure, f"Units that are 0 for every training window: {'; '.join(told)}."


def leak(data: Data) -> tuple[Figure, str]:
    """Loss during training with and without a causal mask, and the quality of the sentences written."""
    figure, axes = panels(
        "Next token with and without a causal mask", "loss while training", "sentences it writes", width=3.8
    )
    for name, curves in data["curves"].items():
        band(axes[0], [s for s, _ in curves[0]], [[v for _, v in curve] for curve in curves], name)
    axes[0].axhline(data["entropy"], color="#777777", lw=1)
    axes[0].set(yscale="log", xlabel="step", ylabel="loss (nats)")
    for i, shares in enumerate(data["right"].values()):
        axes[1].bar(
            i,
            mean(shares),
            yerr=spread(shares),
            capsize=4,
            color=["#0072B2", "#E69F00"][i],
            hatch=["", "//"][i],
        )
    axes[1].set_xticks(range(len(data["right"])), data["right"])
    axes[1].set(ylabel="share that is right", ylim=(0, 1.05))
    legend(figure, axes)
    told = "; ".join(
        f"{n}: loss {mean(c[-1][1] for c in data['curves'][n]):.4f}, {mean(data['right'][n]):.0%} of its "
        "sentences right"
        for n in data["curves"]
    )
    return figure, f"{told}. The gray line is the entropy {data['entropy']:.2f}, below which only a leak can go."


def loss_spike(data: Data) -> tuple[Figure, str]:
    """The plain run beside QK-norm, and for every remedy the final loss and the largest score, all seeds."""
    figure, axes = panels(
        f"A loss spike at learning rate {data['setting']['rate']:g}",
        "loss, all seeds",
        "mean of the last 20 losses",
        "largest attention score",
        width=3.9,
        height=3.6,
    )
    names: list[str] = data["remedies"]
    told: list[str] = []
    runs = {name: [r for r in data["rows"] if r["remedy"] == name] for name in names}
    curves: list[str] = [n for n in ("nothing", "QK-norm") if n in names]
    for name in curves:
        losses = [numbers(r["loss"]) for r in runs[name]]
        band(axes[0], range(len(losses[0])), losses, name if name != "nothing" else "no remedy", lw=1.3)
    axes[0].axhline(LEARNED, color="#777777", lw=1)
    axes[0].set(yscale="log", xlabel="step", ylabel="loss (nats)")
    axes[0].legend(fontsize=9)
    for i, name in enumerate(reversed(names)):
        ends, scores = [end(numbers(r["loss"])) for r in runs[name]], [max(numbers(r["score"])) for r in runs[name]]
        for ax, values in ((axes[1], ends), (axes[2], scores)):
            ax.plot(values, [i] * len(values), "o", color="#56B4E9", ms=4, label="seeds")
            ax.plot(median(values), i, "D", color="#0072B2", ms=6, label="median")
        told.insert(0, f"{name}: loss {median(ends):.3f}, score {median(scores):,.0f}")
    for ax in axes[1:]:
        ax.set_yticks(range(len(names)), list(reversed(names)))
        ax.set(xscale="log")
    axes[2].tick_params(labelleft=False)
    axes[1].axvline(LEARNED, color="#777777", lw=1)
    axes[1].set(xlabel="nats")
    axes[2].set(xlabel="before a cap")
    return figure, f"Median over the seeds of the last 20 losses' mean and of the largest score. {'; '.join(told)}."
