"""The recording holds the share of values found again, by way of remembering, whether keys repeat, steps and seed;
computes means over the seeds."""

from statistics import mean


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    whole = max(row["steps"] for row in data["rows"])

    def shares(way, rewritten):
        wanted = (way, rewritten, whole)
        return [row["accuracy"] for row in data["rows"] if (row["way"], row["rewritten"], row["steps"]) == wanted]

    return {
        "softmax.rewritten.mean": mean(shares("softmax", True)),
        "added.rewritten.mean": mean(shares("added", True)),
        "delta_rule.rewritten.mean": mean(shares("delta rule", True)),
        "softmax.different.mean": mean(shares("softmax", False)),
        "added.different.mean": mean(shares("added", False)),
        "delta_rule.different.mean": mean(shares("delta rule", False)),
        "pairs": max(row["pairs"] for row in data["rows"]),
        "seeds": len({row["seed"] for row in data["rows"]}),
    }
