"""Drawings of unit 01's trainings: recall from a summary of fixed size, and scores with and without the division."""

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.figures.parts import band, legend, mean, panels, spread


def bottleneck(data: Data) -> tuple[Figure, str]:
    """Recall by sentence length, for each size of the state."""
    sizes, lengths = (sorted({r[k] for r in data["rows"]}) for k in ("size", "length"))
    last = max(r["steps"] for r in data["rows"])
    figure, axes = panels("Recall of one word of a sentence", *(f"states of {n} numbers" for n in sizes), width=3.8)
    told = []
    for ax, size in zip(axes, sizes, strict=True):
        for way, marker in (("attention", "o"), ("last state", "s")):
            rows = [r for r in data["rows"] if (r["size"], r["way"], r["steps"]) == (size, way, last)]
            runs = [
                [r["accuracy"] for n in lengths for r in rows if (r["seed"], r["length"]) == (seed, n)]
                for seed in sorted({r["seed"] for r in rows})
            ]
            band(ax, range(len(lengths)), runs, way, marker=marker, ms=4)
            told.append(f"{way}, {size} numbers: " + ", ".join(f"{mean(c):.2f}" for c in zip(*runs, strict=True)))
        ax.set_xticks(range(len(lengths)), lengths)
        ax.set(xlabel="words in the sentence", ylim=(0, 1.05))
    axes[0].set_ylabel("accuracy")
    legend(figure, axes)
    return figure, (
        f"Accuracy after {last} steps for sentences of {', '.join(map(str, lengths))} words, mean of the "
        f"seeds and their range. {'; '.join(told)}."
    )


def recall(data: Data) -> tuple[Figure, str]:
    """Values found again by each way of remembering, with keys that come again and with keys that all differ."""
    last = max(r["steps"] for r in data["rows"])
    ways = list(dict.fromkeys(r["way"] for r in data["rows"]))
    figure, (ax,) = panels("Values found again", "", width=5.4)
    told = []
    for i, (rewritten, name) in enumerate(((True, "keys come again"), (False, "all keys differ"))):
        rows = [r for r in data["rows"] if (r["rewritten"], r["steps"]) == (rewritten, last)]
        runs = [[r["accuracy"] for r in rows if r["way"] == way] for way in ways]
        places = [n + 0.36 * i - 0.18 for n in range(len(ways))]
        ax.bar(places, [mean(run) for run in runs], 0.34, label=name, hatch="/" * i, alpha=0.8)
        for place, run in zip(places, runs, strict=True):
            ax.plot([place] * len(run), run, "k.", ms=4)
        told.append(name + ": " + ", ".join(f"{way} {mean(run):.2f}" for way, run in zip(ways, runs, strict=True)))
    ax.set_xticks(range(len(ways)), ways)
    ax.set(ylabel="accuracy", ylim=(0, 1.05))
    legend(figure, [ax])
    return figure, f"Accuracy after {last} steps, mean of the seeds, and each seed as a dot. {'; '.join(told)}."


def root_d(data: Data) -> tuple[Figure, str]:
    """Final accuracy against head dim, one panel for each learning rate."""
    rates, dims = (sorted({r[k] for r in data["rows"]}) for k in ("rate", "head_dim"))
    figure, axes = panels(
        f"With and without the division by √D, {data['steps']} steps",
        *(f"learning rate {rate:g}" for rate in rates),
        width=3.3,
    )
    told = []
    for ax, rate in zip(axes, rates, strict=True):
        for i, way in enumerate(dict.fromkeys(r["way"] for r in data["rows"])):
            ends = [
                [r["accuracy"] for r in data["rows"] if (r["rate"], r["way"], r["head_dim"]) == (rate, way, D)]
                for D in dims
            ]
            sides = zip(*(spread(e) for e in ends), strict=True)
            errors = [[b[0] for b in side] for side in sides]
            ax.errorbar(
                [x + 0.08 * (i - 1) for x in range(len(dims))],
                [mean(e) for e in ends],
                yerr=errors,
                marker="os^"[i],
                ls=("-", "--", "-.")[i],
                ms=5,
                capsize=3,
                label=way,
            )
            told.append(f"{way} at rate {rate:g}: " + ", ".join(f"{mean(e):.2f}" for e in ends))
        ax.set_xticks(range(len(dims)), dims)
        ax.set(xlabel="head dim D", ylim=(0, 1.05))
    axes[0].set_ylabel("accuracy")
    legend(figure, axes)
    return figure, (f"Mean accuracy and range of the seeds for D = {', '.join(map(str, dims))}. {'; '.join(told)}.")
