"""Curves of small attention models on rows that repeat; counts seeds with a copying head, and when accuracy jumps."""

from statistics import fmean


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    runs = {way: [row for row in data["rows"] if row["way"] == way] for way in ("two layers", "one layer")}
    two = runs["two layers"]
    heads = lambda way: sum(max(run["curve"][-1]["score"]) > data["found"] for run in runs[way])
    switched_off = lambda layer: fmean(run["off"][layer]["accuracy"] for run in two)
    # The interval that contains the whole jump of every run.
    still_low = [max(at["step"] for at in run["curve"] if at["accuracy"] < 0.2) for run in two]
    high = [min(at["step"] for at in run["curve"] if at["accuracy"] > 0.9) for run in two]
    return {
        "jump.first": min(still_low),
        "jump.last": max(high),
        "one_layer.heads": heads("one layer"),
        "seeds": len({run["seed"] for run in two}),
        "threshold": data["found"],
        "two_layers.accuracy.mean": fmean(run["curve"][-1]["accuracy"] for run in two),
        "two_layers.heads": heads("two layers"),
        "two_layers.off_0.mean": switched_off(0),
        "two_layers.off_1.mean": switched_off(1),
    }
