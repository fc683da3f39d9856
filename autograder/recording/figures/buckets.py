"""Drawing of the limits of a training length: both questions, and T5 with its empty buckets filled."""

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.figures.parts import band, mean

CHANCE = 1 / 8


def trained_length(data: Data) -> tuple[Figure, str]:
    """Accuracy over position: one row per trained length, one column per question."""
    lengths, questions = data["setting"]["lengths"], {"twin": "twin", "back": "three back"}
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    grid = figure.subplots(len(lengths), len(questions), sharex=True, sharey=True)
    figure.suptitle(f"Trained on {' and '.join(map(str, lengths))} tokens, tested on {data['setting']['tested']}")
    told = []
    for axes, length in zip(grid, lengths, strict=True):
        rows = [r for r in data["rows"] if r["trained"] == length]
        for ax, (question, words) in zip(axes, questions.items(), strict=True):
            runs = {
                name: [r[question] for r in rows if r["scheme"] == name]
                for name in dict.fromkeys(r["scheme"] for r in rows)
            }
            filled = [r["filled"][question] for r in rows if "filled" in r]
            if filled:
                runs["T5 bias, filled"] = filled
            for name, curves in runs.items():
                band(ax, [data["width"] * (i + 0.5) for i in range(len(curves[0]))], curves, name)
            ax.axvline(length, color="#777777", lw=1)
            ax.axhline(CHANCE, color="#777777", lw=1, ls=":")
            ax.set(ylim=(0, 1.05), title=f"{words}, trained on {length}")
            ends = ", ".join(f"{name} {mean(c[-1] for c in curves):.2f}" for name, curves in runs.items())
            told.append(f"{words}, trained on {length}: {ends}")
        axes[0].set_ylabel("accuracy")
    for ax in grid[-1]:
        ax.set_xlabel("position (tokens)")
    grid[0][0].legend(fontsize=9)
    return figure, (
        "Accuracy over position, band from lowest to highest seed; line: end of the training length, "
        f"dotted: chance. At the last positions, {'; '.join(told)}. Filled: buckets that no training row "
        "reaches hold the number of the last one reached."
    )
