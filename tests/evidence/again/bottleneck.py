"""The recording holds the recall of single words from a last state and through attention, by size of the state, words
and steps, three seeds each; computes means over the seeds and the lowest run with attention."""

from statistics import mean


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    whole = max(row["steps"] for row in data["rows"])

    def recall(size, words, steps=whole):
        wanted = ("last state", size, words, steps)
        return mean(
            row["accuracy"] for row in data["rows"] if (row["way"], row["size"], row["length"], row["steps"]) == wanted
        )

    return {
        "last_state.size16.length2.mean": recall(16, 2),
        "last_state.size16.length8.mean": recall(16, 8),
        "last_state.size64.length8.mean": recall(64, 8),
        "last_state.size64.length16.mean": recall(64, 16),
        "last_state.size16.length16.mean": recall(16, 16),
        "last_state.size64.length2.mean": recall(64, 2),
        "seeds": len({row["seed"] for row in data["rows"]}),
        "last_state.fewer.size64.length8.mean": recall(64, 8, steps=whole // 2),
        "attention.lowest": min(
            row["accuracy"] for row in data["rows"] if row["way"] == "attention" and row["steps"] == whole
        ),
    }
