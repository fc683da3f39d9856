"""Draws the experiments on parts of current models: balanced experts, and Muon beside AdamW."""

from statistics import fmean

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.experiments.balancing import WAYS
from autograder.recording.experiments.muon import OPTIMIZERS
from autograder.recording.figures.parts import legend, panels


def balancing(data: Data) -> tuple[Figure, str]:
    """Every run's busiest expert and loss, by what keeps the balance."""
    figure, axes = panels("Eight experts, one for each token", "busiest expert", "loss of the task", width=4)
    told = []
    for i, way in enumerate(WAYS):
        rows = [r for r in data["rows"] if r["way"] == way]
        axes[0].plot([i] * len(rows), [100 * r["busiest"] for r in rows], "osD^"[i], color=f"C{i}", label=way)
        axes[1].plot([i] * len(rows), [r["loss"] for r in rows], "osD^"[i], color=f"C{i}", label=way)
        busiest, loss = fmean(100 * r["busiest"] for r in rows), fmean(r["loss"] for r in rows)
        told.append(f"{way}: busiest {busiest:.0f} %, loss {loss:.3f}")
    for ax in axes:
        ax.set_xticks(range(len(WAYS)), WAYS)
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("percent of the tokens")
    legend(figure, axes)
    return figure, f"Means of all runs. {'; '.join(told)}."


def muon(data: Data) -> tuple[Figure, str]:
    """Held-out loss of every run over the rate, one panel for each optimizer."""
    figure, axes = panels("The same steps by two optimizers", *OPTIMIZERS, width=4)
    told = []
    losses = [r["loss"] for r in data["rows"]]
    for ax, name in zip(axes, OPTIMIZERS, strict=True):
        rows = [r for r in data["rows"] if r["optimizer"] == name]
        ax.semilogx([r["rate"] for r in rows], [r["loss"] for r in rows], "o", label="a run")
        rates = sorted({r["rate"] for r in rows})
        means = [fmean(r["loss"] for r in rows if r["rate"] == rate) for rate in rates]
        ax.semilogx(rates, means, "-", label="mean")
        ax.set(xlabel="rate", ylim=(min(losses) - 0.05, max(losses) + 0.05))
        told.append(f"{name}: " + ", ".join(f"{m:.3f} at {rate:g}" for rate, m in zip(rates, means, strict=True)))
    axes[0].set_ylabel("nats per character")
    legend(figure, axes)
    return figure, f"Mean held-out loss by rate. {'; '.join(told)}."
