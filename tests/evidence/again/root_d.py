"""The recording holds one small head trained with the division by √D, without it, and without it from a narrow start,
at three head dims and three learning rates, five seeds each; compares pairs of equal seeds and means of settings.
"""

from math import sqrt
from statistics import mean, stdev


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    rows = data["rows"]
    dims, rates = sorted({row["head_dim"] for row in rows}), sorted({row["rate"] for row in rows})
    settings = [(dim, rate) for dim in dims for rate in rates]

    def runs(way, dim, rate):
        return [row for row in rows if (row["way"], row["head_dim"], row["rate"]) == (way, dim, rate)]

    def accuracy(way, dim, rate):
        return mean(row["accuracy"] for row in runs(way, dim, rate))

    def excess(way, dim, rate):
        """How much higher the loss ends than with the division, one number for each seed."""
        divided = {row["seed"]: row["loss"] for row in runs("divided", dim, rate)}
        return [row["loss"] - divided[row["seed"]] for row in runs(way, dim, rate)]

    def pairs(way, at):
        return [difference for setting in at for difference in excess(way, *setting)]

    undivided = {setting: excess("not divided", *setting) for setting in settings}
    without = pairs("not divided", settings)
    narrow = pairs("small start", [(dim, rates[-1]) for dim in dims])  # the text says: at a large learning rate
    others = {row["way"] for row in rows} - {"divided"}
    return {
        "not_divided.worse": sum(difference > 0 for difference in without),
        "not_divided.of": len(without),
        "not_divided.clear": sum(mean(d) > 2 * stdev(d) / sqrt(len(d)) for d in undivided.values()),
        "not_divided.settings": len(settings),
        "comparisons": len(settings) * len(others),
        "not_divided.lowest_at_rate0": min(
            row["accuracy"] for row in rows if (row["way"], row["rate"]) == ("not divided", rates[0])
        ),
        "not_divided.d256.spread": mean(
            row["spread"] for row in rows if (row["way"], row["head_dim"]) == ("not divided", 256)
        ),
        "not_divided.d256.rate2.accuracy": accuracy("not divided", 256, 0.01),
        "small_start.d256.rate2.accuracy": accuracy("small start", 256, 0.01),
        "divided.d256.rate2.accuracy": accuracy("divided", 256, 0.01),
        "small_start.fast.worse": sum(difference > 0 for difference in narrow),
        "small_start.fast.of": len(narrow),
    }
