"""AdamW against Muon: the first seeds choose a rate for each, the others compare the two there."""

from collections import defaultdict
from statistics import fmean


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    first = data["setting"]["choosing"]
    tried, fresh = defaultdict(dict), defaultdict(dict)
    for row in data["rows"]:
        part = tried if row["seed"] < first else fresh
        part[row["optimizer"], row["rate"]][row["seed"]] = row["loss"]
    best = {}
    for optimizer in ("AdamW", "Muon"):
        means = {rate: fmean(losses.values()) for (name, rate), losses in tried.items() if name == optimizer}
        best[optimizer] = min(means, key=means.get)
    runs = {optimizer: fresh[optimizer, rate] for optimizer, rate in best.items()}
    gained = [runs["AdamW"][seed] - runs["Muon"][seed] for seed in sorted(runs["Muon"])]
    return {
        "seeds": len(gained),
        "steps": data["setting"]["steps"],
        "adamw.rate": best["AdamW"],
        "muon.rate": best["Muon"],
        "adamw.loss": fmean(runs["AdamW"].values()),
        "muon.loss": fmean(runs["Muon"].values()),
        "better": len([g for g in gained if g > 0]),
        "lowest": min(gained),
        "highest": max(gained),
    }
