"""Seconds per token and bytes of weights of models by width; compares the shortest time to that of reading weights."""


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    rows = {row["model"]: row for row in data["rows"]}
    own, hollow, widest = rows[data["own"]], rows["hollow"], max(data["rows"], key=lambda row: row["d_model"])
    ms = lambda row: 1000 * min(row["seconds"])  # the shortest of several, as the course's own clock takes
    factor = lambda row: min(row["seconds"]) * row["machine"]["bytes_per_second"] / row["bytes"]
    return {
        "hollow_ms": ms(hollow),
        "own.factor": factor(own),
        "own.ms": ms(own),
        "own.width": own["d_model"],
        "widest.factor": factor(widest),
        "widest.width": widest["d_model"],
    }
