"""Load and loss of eight experts, by what keeps the balance; each number from the rows alone."""

from statistics import fmean

NAMES = {"nothing": "nothing", "weak loss": "weak", "loss": "loss", "bias": "bias"}


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    found = {}
    for way, name in NAMES.items():
        rows = [row for row in data["rows"] if row["way"] == way]
        starved = sorted(row["starved"] for row in rows)
        found |= {
            f"{name}.loss": fmean(row["loss"] for row in rows),
            f"{name}.busiest": fmean(100 * row["busiest"] for row in rows),
            f"{name}.fewest": starved[0],
            f"{name}.most": starved[-1],
        }
    seeds = {way: {row["seed"] for row in data["rows"] if row["way"] == way} for way in NAMES}
    (per_way,) = {len(found) for found in seeds.values()}
    return {**found, "seeds": per_way}
