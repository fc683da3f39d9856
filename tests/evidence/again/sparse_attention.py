"""Seconds, bytes moved and bytes held by ways to attend and length; compares shortest times at the longest length."""


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    longest = max(data["setting"]["lengths"])
    at = {row["way"]: row for row in data["rows"] if row["T"] == longest}
    dense, kernel, causal = at["dense, no mask"], at["SDPA, no mask"], at["SDPA, full causal"]
    faster = lambda slow, fast: min(slow["seconds"]) / min(fast["seconds"])
    return {
        "causal.faster": faster(kernel, causal),
        "same_pairs.faster": faster(dense, kernel),
        "same_pairs.less_held": dense["bytes"] / kernel["bytes"],
        "same_pairs.less_moved": dense["moved"] / kernel["moved"],
    }
