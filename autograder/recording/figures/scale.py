"""Drawings of the costs of adapting and serving a model."""

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.experiments.lora import FULL, STARTS, best
from autograder.recording.figures.parts import band, legend, mean, panels, ticks


def lora(data: Data) -> tuple[Figure, str]:
    """Accuracy over rank, with a band from the worst to the best seed; the last point is full training."""
    tasks = list(dict.fromkeys(r["task"] for r in data["rows"]))
    ranks = sorted({r["rank"] for r in data["rows"]}, key=lambda r: (r == FULL, r))
    names = [str(r) if r else "all" for r in ranks]
    figure, axes = panels("Adapting a frozen model", *(f"task: {t}" for t in tasks), width=4)
    told = []
    for ax, task in zip(axes, tasks, strict=True):
        for start in STARTS:
            found = [best(data, task, start, r) for r in ranks]
            band(ax, range(len(ranks)), list(zip(*found, strict=True)), label=f"{start} base")
            means = ", ".join(f"{n} {mean(a):.2f}" for n, a in zip(names, found, strict=True))
            told.append(f"{task}, {start} base: {means}")
        ticks(ax.xaxis, range(len(ranks)))
        ax.set_xticks(range(len(ranks)), names)
        ax.set(xlabel="rank (all: every weight is trained)", ylim=(0, 1.03))
    axes[0].set_ylabel("accuracy")
    legend(figure, axes)
    return figure, f"Mean accuracy by rank. {'; '.join(told)}."


def serving(data: Data) -> tuple[Figure, str]:
    """Milliseconds per step over users: measured as points, predicted as lines."""
    large, tiny = data["rows"]
    figure, axes = panels(
        "A decoding step, predicted and measured",
        f"{large['sizes']['weights'] / 1e6:.0f} million weights",
        f"{tiny['sizes']['weights'] / 1e6:.1f} million weights",
        width=4,
    )
    told = []
    dashes, markers = ("--", ":", "-."), "osD"  # tell three lengths apart without color
    for ax, model in zip(axes, (large, tiny), strict=True):
        for i, tokens in enumerate(dict.fromkeys(r["tokens"] for r in model["steps"])):
            rows = [r for r in model["steps"] if r["tokens"] == tokens]
            x = [r["users"] for r in rows]
            ax.plot(x, [r["predicted"] for r in rows], f"C{i}" + dashes[i], label=f"predicted, {tokens:,} cached")
            ax.plot(x, [r["measured"] for r in rows], f"C{i}-" + markers[i], ms=4, label=f"measured, {tokens:,} cached")
            ratios = [r["ratio"] for r in rows]
            told.append(
                f"{model['sizes']['weights'] / 1e6:.1f} million weights, {tokens:,} cached: {min(ratios):.1f} to "
                f"{max(ratios):.1f} times the predicted time"
            )
        ax.set(xscale="log", yscale="log", xlabel="users")
        ticks(ax.xaxis, sorted({r["users"] for r in model["steps"]}))
        ticks(ax.yaxis)
    axes[0].set_ylabel("ms per step")
    legend(figure, [axes[0]])
    return figure, f"Milliseconds of a decoding step over users. {'; '.join(told)}."
