"""Drawings of a small scaling law, and of the costs of adapting and serving a model."""

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.experiments.lora import FULL, STARTS, best
from autograder.recording.experiments.scaling_law import bowls, law
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


def scaling_law(data: Data) -> tuple[Figure, str]:
    """Loss over size at each budget, with parabolas and their lowest points; best size over budget, a law per seed."""
    figure, axes = panels("One budget, many sizes", "loss at each budget", "best size", width=4.6, height=3.8)
    found = bowls(data["rows"])
    budgets, marks = list(found[0]), "osD^v<>"
    for i, budget in enumerate(budgets):
        rows = [r for r in data["rows"] if r["budget"] == budget]
        x, y = [r["parameters"] for r in rows], [r["loss"] for r in rows]
        axes[0].plot(x, y, f"C{i}" + marks[i], ls="none", ms=3, label=f"{budget / 1e9:.4g} billion FLOPs")
        for of_seed in found:
            axes[0].plot(of_seed[budget].sizes, of_seed[budget].losses, color=f"C{i}", ls="-", lw=1)
            axes[0].plot(of_seed[budget].size, of_seed[budget].loss, "kx", ms=7)
    axes[0].plot([], [], "kx", ms=7, label="lowest point of a parabola")
    for i, of_seed in enumerate(found):
        axes[1].plot(budgets, [bowl.size for bowl in of_seed.values()], marks[i], color="black", ms=4)
        coefficient, exponent = law(of_seed)
        fitted = [coefficient * budget**exponent for budget in budgets]
        axes[1].plot(budgets, fitted, color=f"C{i + len(budgets)}", label=f"seed {i}: exponent {exponent:.2f}")
    axes[0].set(xscale="log", xlabel="parameters", ylabel="loss on held-out text (nats per character)")
    axes[1].set(xscale="log", yscale="log", xlabel="FLOPs", ylabel="parameters")
    ticks(axes[0].xaxis, (1_000, 3_000, 10_000, 30_000, 100_000))
    ticks(axes[1].yaxis, (2_000, 3_000, 5_000, 10_000, 20_000, 50_000))
    legend(figure, axes)
    sizes = "; ".join(
        f"at {budget / 1e9:.4g} billion FLOPs " + ", ".join(f"{of_seed[budget].size:,.0f}" for of_seed in found)
        for budget in budgets
    )
    exponents = ", ".join(f"{law(of_seed).exponent:.2f}" for of_seed in found)
    return figure, (
        "Loss over the number of parameters has a lowest point at each budget. Parameters there, by seed: "
        f"{sizes}. Exponents of the budget: {exponents}."
    )


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
