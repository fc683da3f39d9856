"""Drawing of the order of a sum."""

from matplotlib.figure import Figure

from autograder.recording.experiments import Data
from autograder.recording.figures.parts import legend, mean, panels


def sum_order(data: Data) -> tuple[Figure, str]:
    """Error over the length of the sum, one line per way to add."""
    lengths = sorted({r["n"] for r in data["rows"]})
    figure, axes = panels("Rounding errors of a sum", "relative to the sum in float64", width=5.4)
    told = []
    for way in dict.fromkeys(r["way"] for r in data["rows"]):
        errors = [mean(r["error"] for r in data["rows"] if (r["way"], r["n"]) == (way, n)) for n in lengths]
        axes[0].plot(lengths, errors, marker="o", ms=4, label=way)
        told.append(f"{way} {errors[0]:.1e} and {errors[-1]:.1e}")
    axes[0].set(xscale="log", xlabel="numbers in the sum", ylabel="relative error")
    axes[0].set_yscale("symlog", linthresh=1e-9)
    legend(figure, axes)
    return figure, (
        f"Relative error of a sum of {lengths[0]} and of {lengths[-1]:,} numbers, mean of the seeds: {'; '.join(told)}."
    )
