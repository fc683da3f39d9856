"""Losses of trained models with a part broken, and of small ones trained with a part broken; means over seeds."""

import math
from statistics import fmean


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    guessing = math.log(data["vocab"])
    column = lambda part, key: [row[key] for row in data["learned"] if row["part"] == part]
    (shipped,) = (row["losses"] for row in data["used"] if row["model"] == "shipped")
    (fresh,) = {len(column(row["part"], "seed")) for row in data["learned"]}
    return {
        "fresh": fresh,
        "learned.no_mask.knows_nothing": sum(loss > guessing for loss in column("no mask", "unseen")),
        "learned.no_mask.loss": fmean(column("no mask", "loss")),
        "learned.no_mask.unseen": fmean(column("no mask", "unseen")),
        "learned.whole.loss": fmean(column("whole", "loss")),
        "learned.whole.unseen": fmean(column("whole", "unseen")),
        "log_vocab": guessing,
        "small_steps": data["small"],
        "used.whole.loss": shipped["whole"],
    }
