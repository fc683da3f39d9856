"""What do residual connections buy? The copying task of ``warmup``, with and without them.

Every batch is new, so no model can learn its training data by heart: a loss that stays high is not overfitting.
"""

from ..system.translation import _
from . import Recorded
from . import recorded as load


def recorded() -> Recorded:
    """Recorded runs.

    Returns:
        dict with ``rows`` (each with residual (bool), depth, peak, seed and losses, the mean of every 20 steps of
        training), ``steps``, ``every`` and ``made`` (device, torch, date, command).

    Raises:
        MissingRecording: the file is missing.
    """
    data = load("residuals")
    for row in data["rows"]:
        row["losses"] = [float(v) for v in row["losses"].split()]
    return data


def words(data: Recorded) -> str:
    """Describes the figure in a sentence: final losses at each rate and depth, with and without the residual."""
    told = []
    for peak in sorted({r["peak"] for r in data["rows"]}):
        for depth in sorted({r["depth"] for r in data["rows"]}):
            ends = {
                on: [
                    r["losses"][-1] for r in data["rows"] if (r["peak"], r["depth"], r["residual"]) == (peak, depth, on)
                ]
                for on in (True, False)
            }
            one = _("rate {peak:g}, {depth} layers: {a:.3f} to {b:.3f} with, {c:.3f} to {d:.3f} without")
            a, b, c, d = (f(ends[on]) for on in (True, False) for f in (min, max))
            told.append(one.format(peak=peak, depth=depth, a=a, b=b, c=c, d=d))
    said = _("Loss after {steps} steps with and without residuals. {told}.")
    return said.format(steps=data["steps"], told="; ".join(told))
