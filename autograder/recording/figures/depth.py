"""Drawings of the effects of depth: gradients before training, warm-up, the change made by each layer."""

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.experiments.counting import numbers
from autograder.recording.figures.parts import band, legend, mean, panels, ticks


def gradient_flow(data: Data) -> tuple[Figure, str]:
    """Gradient of the first and last block's weights over depth, at width 128, or the widest if none is below 128."""
    widths = sorted(map(int, next(iter(data["curves"].values()))))
    width = str(128 if widths[0] < 128 else widths[-1])
    figure, axes = panels(f"Gradient before training, width {width}", "first block", "last block", width=4)
    for name, curves in data["curves"].items():
        depths = sorted(map(int, curves[width]))
        for ax, place in zip(axes, (0, -1), strict=True):
            runs = zip(*([numbers(run)[place] for run in curves[width][str(n)]] for n in depths), strict=True)
            band(ax, depths, list(runs), name, marker="o", ms=3)
    for ax in axes:
        ax.set(xscale="log", yscale="log", xlabel="blocks")
        ticks(ax.xaxis, depths)
    ticks(axes[1].yaxis)
    axes[0].set_ylabel("norm of the weights' gradient")
    legend(figure, axes)
    last = {
        name: [mean(numbers(run)[-1] for run in data["curves"][name][width][str(n)]) for n in (depths[0], depths[-1])]
        for name in ("Post-LN", "Pre-LN")
    }
    told = "; ".join(f"{name} {a:.2f} and {b:.2f}" for name, (a, b) in last.items())
    return figure, (
        f"Gradient norm of the first and the last block's weights before training, {depths[0]} to "
        f"{depths[-1]} blocks, width {width}, {len(data['curves'])} wirings, band from smallest to largest "
        f"seed. Last block at {depths[0]} and {depths[-1]} blocks: {told}."
    )


def warmup(data: Data) -> tuple[Figure, str]:
    """Loss over steps, one panel per wiring, with and without warm-up, at the deepest setting of all wirings."""
    plain = [r for r in data["rows"] if r["factor"] == 1]
    count = lambda r: len({q["wiring"] for q in plain if (q["depth"], q["peak"]) == (r["depth"], r["peak"])})
    best = max(plain, key=lambda r: (count(r), r["depth"]))
    depth, peak = best["depth"], best["peak"]
    rows = [r for r in plain if r["depth"] == depth and r["peak"] == peak]
    names = list(dict.fromkeys(r["wiring"] for r in rows))
    figure, axes = panels(f"Warm-up, {depth} blocks, peak rate {peak:g}", *names, width=2.8)
    ends = {}
    for ax, name in zip(axes, names, strict=True):
        for steps in sorted({r["warmup"] for r in rows}):
            runs = [numbers(r["losses"]) for r in rows if r["wiring"] == name and r["warmup"] == steps]
            if not runs:
                continue
            x = [data["every"] * (i + 1) for i in range(len(runs[0]))]
            band(ax, x, runs, f"warm-up {steps} steps" if steps else "no warm-up")
            ends[name, steps] = mean(run[-1] for run in runs)
        ax.set(xlabel="step", ylim=(0, 3.2))
    axes[0].set_ylabel("loss (nats)")
    legend(figure, axes)
    told = "; ".join(f"{n} {'with' if s else 'without'} {v:.2f}" for (n, s), v in ends.items())
    return figure, f"Loss over training steps of a copying task with and without warm-up. Last mean loss: {told}."


def residuals(data: Data) -> tuple[Figure, str]:
    """Loss over steps with and without residuals, one panel per rate and depth."""
    places = sorted({(r["peak"], r["depth"]) for r in data["rows"]}, key=lambda p: (p[1], p[0]))
    titles = [f"{n} blocks, rate {peak:g}" for peak, n in places]
    figure, axes = panels("With and without residuals", *titles, width=2.5)
    told = []
    for ax, (peak, depth) in zip(axes, places, strict=True):
        ends = {}
        for on in (True, False):
            runs = [
                numbers(r["losses"])
                for r in data["rows"]
                if (r["peak"], r["depth"], r["residual"]) == (peak, depth, on)
            ]
            x = [data["every"] * (i + 1) for i in range(len(runs[0]))]
            band(ax, x, runs, "with residuals" if on else "without")
            ends[on] = mean(run[-1] for run in runs)
        ax.set(xlabel="step", ylim=(0, 3.2))
        told.append(f"{depth} blocks at rate {peak:g} {ends[True]:.2f} with and {ends[False]:.2f} without")
    axes[0].set_ylabel("loss (nats)")
    legend(figure, axes)
    return figure, (
        "Loss over training steps of a copying task, mean of the seeds and their range. Last mean loss: "
        f"{'; '.join(told)}."
    )


def effective_depth(data: Data) -> tuple[Figure, str]:
    """Change of the stream per layer in fresh stacks, and the loss without one layer in trained ones of equal loss."""
    depth = max(map(int, next(iter(data["fresh"].values()))))
    place = lambda r: (r["layers"], r["peak"], -r["goal"])
    both = set.intersection(*({place(r) for r in data["trained"] if r["wiring"] == name} for name in data["fresh"]))
    layers, peak, goal = max(both)
    figure, axes = panels(
        "What each layer changes",
        f"fresh, {depth} layers: size of the change",
        f"trained to a loss below {-goal:g}: loss without a layer",
        width=4.2,
    )
    for name, stacks in data["fresh"].items():
        band(axes[0], range(1, depth + 1), stacks[str(depth)], name)
    costs = {}
    for name in data["fresh"]:
        rows = [r for r in data["trained"] if r["wiring"] == name and place(r) == (layers, peak, goal)]
        line = band(axes[1], range(1, layers + 1), [r["without"] for r in rows], name)
        costs[name] = [mean(c) for c in zip(*(r["without"] for r in rows), strict=True)], mean(r["loss"] for r in rows)
        axes[1].axhline(
            costs[name][1], color=line.get_color(), ls=line.get_linestyle(), lw=0.8, label=f"{name}, all layers"
        )
    axes[0].set(yscale="log", xlabel="layer", ylabel="relative change of the stream")
    axes[1].set(yscale="log", xlabel="layer left out", ylabel="loss (nats)")
    for ax in axes:
        ticks(ax.yaxis)
    legend(figure, axes)
    told = "; ".join(
        f"{n} {mean(r[0] for r in s[str(depth)]):.2f} in the first and "
        f"{mean(r[-1] for r in s[str(depth)]):.2f} in the last"
        for n, s in data["fresh"].items()
    )
    later = "; ".join(
        f"{n} {mean(without[layers // 2 :]):.2g} without one, {whole:.2g} with all"
        for n, (without, whole) in costs.items()
    )
    return figure, (
        f"Left: relative change that each of {depth} layers makes before training, {told}. Right: loss of "
        f"{layers}-layer stacks, all trained to a loss below {-goal:g}, when one layer is left out. Mean "
        f"over the later half of the layers: {later}."
    )
