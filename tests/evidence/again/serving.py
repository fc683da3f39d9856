"""Measured and predicted milliseconds per step of two models, by users and cached tokens; computes their ratios."""

ITEM_BYTES = {"float32": 4, "bfloat16": 2}


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    large, tiny = sorted(data["rows"], key=lambda row: -row["sizes"]["weights"])
    off = lambda row, wanted: [s["measured"] / s["predicted"] for s in row["steps"] if wanted(s["users"])]
    alone, batch = off(large, lambda users: users == 1), off(large, lambda users: users > 1)

    # With almost nothing cached, the setting in which both models and the most users were timed.
    fewest = min(step["tokens"] for step in large["steps"])
    ms = {step["users"]: step["measured"] for step in large["steps"] if step["tokens"] == fewest}
    # One user can't take longer than two, so the shortest time is the least disturbed.
    tiny_ms = sorted(step["measured"] for step in tiny["steps"])[0]
    (predicted,) = (step["predicted"] for step in tiny["steps"] if step["users"] == 1)
    most = max(ms)
    return {
        "batch.least": min(batch),
        "batch.most": max(batch),
        "faster": (most / ms[most]) / (1 / ms[1]),
        "megabytes": large["sizes"]["weights"] * ITEM_BYTES[data["setting"]["dtype"]] / 1e6,
        "most_users": most,
        "one.least": min(alone),
        "one.most": max(alone),
        "shrunk": large["sizes"]["weights"] / tiny["sizes"]["weights"],
        "slower": ms[most] / ms[1],
        "tiny_ratio": tiny_ms / predicted,
        "tiny_speedup": ms[1] / tiny_ms,
    }
