"""Accuracy by task, base, rank, rate and seed; each task, base and rank uses the rate with the better mean."""

from collections import defaultdict
from statistics import fmean

FULL = 0  # the rank recorded if every weight is trained


def named(rank):
    """The name of a rank in the texts' paths."""
    return "full" if rank == FULL else f"r{rank}"


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
        **{f"{task}.{start}.{named(rank)}.mean": fmean(found) for (task, start, rank), found in better.items()},
        "parameters.full": weights,
        "seeds": per_case,
    }
