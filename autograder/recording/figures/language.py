"""Drawings of the small language model."""

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.figures.parts import legend, mean, panels


def language_model(data: Data) -> tuple[Figure, str]:
    """Bits per byte during training, on training text and on held-out text, compared with the best n-gram."""
    ngrams, rows = data["ngrams"]["probe"], data["rows"]
    best = min(ngrams)
    order = ngrams.index(best) + 1
    million = f"{data['parameters'] / 1e6:.1f} million parameters"
    figure, (ax,) = panels("A small Transformer learns from six novels", million, width=6, height=3.6)
    steps = [point["step"] for point in rows[0]["curve"]]
    styles = (("held_out", "held-out text", "#0072B2", "-"), ("train", "training text", "#E69F00", "--"))
    for part, label, color, line in styles:
        for row in rows:
            bits = [point[part] for point in row["curve"]]
            ax.plot(steps, bits, line, color=color, lw=1.3, label=label)
    ax.axhline(best, color="#777777", lw=1.5, ls=":", label=f"best n-gram, order {order}, held-out text")
    ends = [row["curve"][-1]["held_out"] for row in rows]
    ax.set(xlabel="step", ylabel="bits per byte", ylim=(min(min(ends), best) - 0.15, max(2.6, best + 0.3)))
    legend(figure, [ax], columns=3)
    trained = mean(row["curve"][-1]["train"] for row in rows)
    return figure, (
        f"Bits per byte over {steps[-1]:,} training steps, a line for each seed. At the end: {mean(ends):.2f} on "
        f"held-out text, {trained:.2f} on training text, means of the seeds. The best n-gram, of order {order}, needs "
        f"{best:.2f} on the same held-out text."
    )
