"""Errors of long sums by way, length and seed: how many times the one added forwards is the one added in pairs."""

from statistics import fmean


def numbers(data):
    """dict path → value, for every place in the texts."""
    longest = max(row["n"] for row in data["rows"])
    at_end = [row for row in data["rows"] if row["n"] == longest]
    by_way = lambda way: {row["seed"]: row["error"] for row in at_end if row["way"] == way}
    loop, pairs, exact = by_way("forwards"), by_way("pairwise"), by_way("forwards, float64")
    average = lambda errors: fmean(errors.values())
    return {
        "n": longest,
        "of": len(loop),
        "larger": sum(loop[seed] > pairs[seed] for seed in loop),
        "times": average(loop) / average(pairs),
        "control": average(exact) / average(pairs),
    }
