"""Milliseconds of a decoding step with keys copied first and read in place; counts settings where copying is slower."""


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    shared = [row for row in data["rows"] if row["G"] in range(2, data["setting"]["H"])]
    longest = max(row["S"] for row in shared)
    times = [row["copied"] / row["grouped"] for row in shared if row["S"] == longest]
    return {
        "slower.held": sum(row["copied"] > row["grouped"] for row in shared),
        "slower.least": min(times),
        "slower.most": max(times),
        "slower.of": len(shared),
    }
