"""Accuracy by task, base, rank, rate and seed; each task, base and rank uses the rate with the better mean."""

from collections import defaultdict
from statistics import fmean

FULL = 0  # the rank recorded if every weight is trained


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    by_rate = defaultdict(lambda: defaultdict(list))
    seeds = defaultdict(set)
    for row in data["rows"]:
        case = row["task"], row["start"], row["rank"]
        by_rate[case][row["rate"]].append(row["accuracy"])
        seeds[case].add(row["seed"])
    better = {case: max(rates.values(), key=fmean) for case, rates in by_rate.items()}

    (per_case,) = {len(found) for found in seeds.values()}
    (weights,) = {row["trained"] for row in data["rows"] if row["rank"] == FULL}
    longer = {
        f"longer.trained.{name}": [
            r["accuracy"] for r in data["longer"] if (r["start"], r["rank"]) == ("trained", rank)
        ]
        for name, rank in {"r1": 1, "r2": 2, "full": FULL}.items()
    }
    return {
        **{f"{path}.lowest": min(found) for path, found in longer.items()},
        **{f"{path}.highest": max(found) for path, found in longer.items()},
        "longer.steps": data["setting"]["longer"],
        "steps": data["setting"]["steps"],
        "farther.random.r8.mean": fmean(better["farther", "random", 8]),
        "farther.trained.full.mean": fmean(better["farther", "trained", FULL]),
        "farther.trained.r2.highest": max(better["farther", "trained", 2]),
        "farther.trained.r2.lowest": min(better["farther", "trained", 2]),
        "farther.trained.r2.mean": fmean(better["farther", "trained", 2]),
        "farther.trained.r8.mean": fmean(better["farther", "trained", 8]),
        "parameters.full": weights,
        "renamed.random.r1.mean": fmean(better["renamed", "random", 1]),
        "renamed.trained.r1.mean": fmean(better["renamed", "trained", 1]),
        "renamed.trained.r2.mean": fmean(better["renamed", "trained", 2]),
        "seeds": per_case,
    }
