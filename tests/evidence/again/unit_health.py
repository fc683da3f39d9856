"""Units of a ReLU layer that no training window activates, counted early in each run, and how many live at its end."""


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    step = min(row["step"] for row in data["rows"])  # of the count after which the frozen runs stop learning
    highest = max(row["lr"] for row in data["rows"])

    def total(column, part, frozen=False):
        rate = highest / part
        rows = [r for r in data["rows"] if r["step"] == step and r["frozen"] is frozen]
        return sum(r[column] for r in rows if abs(r["lr"] - rate) < 1e-9)

    return {
        "units": data["units"],
        "windows": data["windows"],
        "step": step,
        "seeds": len({row["seed"] for row in data["rows"]}),
        "high.dead": total("dead", 1),
        "high.back": total("alive_at_the_end", 1),
        "half.dead": total("dead", 2),
        "half.back": total("alive_at_the_end", 2),
        "fifth.dead": total("dead", 5),
        "frozen.dead": total("dead", 1, frozen=True),
        "frozen.back": total("alive_at_the_end", 1, frozen=True),
    }
