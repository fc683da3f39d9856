"""Eleven feed-forward layers at four rates, and at the best rate again with fresh seeds, compared seed by seed."""

import math
from statistics import fmean, stdev

PLAIN = {"ReLU", "GELU", "SiLU", "squared ReLU"}
PLANNED = (("SwiGLU", "GELU"), ("GeGLU", "SwiGLU"), ("both activated", "SwiGLU"))


def beyond(t, freedom):
    """Probability of Student's t outside ±t for an odd number of degrees of freedom, in closed form."""
    angle = math.atan(t / math.sqrt(freedom))
    term = total = math.cos(angle)
    for k in range(3, freedom - 1, 2):
        term *= math.cos(angle) ** 2 * (k - 1) / k
        total += term
    return 1 - 2 / math.pi * (angle + math.sin(angle) * total)


def bound(chance, freedom):
    """The t that is exceeded with that chance."""
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle, freedom) > chance else (low, middle)
    return high


def difference(a, b):
    """(mean of a − b over the seeds, its standard error)."""
    each = [x - y for x, y in zip(a, b, strict=True)]
    return fmean(each), stdev(each) / math.sqrt(len(each))


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    final = {row["variant"]: row for row in data["compared"]}
    losses = {name: row["losses"] for name, row in final.items()}
    rates = sorted({row["lr"] for row in data["rows"]})
    fresh = min(map(len, losses.values()))
    needed = bound(0.05 / len(PLANNED), fresh - 1)
    says = lambda mean, error: "a difference" if abs(mean) / error > needed else "not settled"

    found = {}
    for one, other in PLANNED:
        mean, error = difference(losses[one], losses[other])
        path = "pair." + f"{one} {other}".lower().replace(" ", "_")
        found |= {f"{path}.mean": mean, f"{path}.error": error, f"{path}.says": says(mean, error)}

    gate = [difference(losses[g], losses[p]) for g in losses.keys() - PLAIN for p in losses.keys() & PLAIN]
    lower = [pair for pair in gate if pair[0] < 0]

    slow = {row["variant"]: fmean(row["losses"]) for row in data["rows"] if row["lr"] == rates[0]}
    best = {name: fmean(values) for name, values in losses.items()}
    beat_glu = lambda means: sum(mean < means["GLU"] for mean in means.values())

    gelu = final["GELU"]
    (parameters,) = {row["parameters"] for row in data["rows"] + data["compared"]}
    return found | {
        "variants": len(losses),
        "rates": len(rates),
        "choosing": min(len(row["losses"]) for row in data["rows"]),
        "fresh": fresh,
        "limit": needed,
        "gate.pairs": len(gate),
        "gate.lower": len(lower),
        "slow.rate": rates[0],
        "slow.others": len(slow) - 1,
        "slow.better_than_glu": beat_glu(slow),
        "slow.better_than_glu_at_best": beat_glu(best),
        "parameters": parameters,
        "at_edge": sum(row["lr"] in (rates[0], rates[-1]) for row in data["compared"]),
        "swapped.tanh.mean": difference(gelu["tanh"], gelu["losses"])[0],
        "swapped.wrong.mean": difference(gelu["wrong"], gelu["losses"])[0],
    }
