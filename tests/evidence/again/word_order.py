"""The recording holds the accuracy of models that must tell who came first, with 32 words (curves) and with 8 words
at three learning rates (ends); counts the runs that end at 95 % or more."""

LEARNED = 0.95


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""

    def ends(setting):
        long = [curve[-1][1] for curve in data["curves"][setting]]
        shorter = [row for row in data["rows"] if row["setting"] == setting and row["length"] != data["length"]]
        return long + [end for row in shorter for end in row["ends"]]

    places, causal, neither = ends("vector per place"), ends("causal mask"), ends("no positions")
    return {
        "learned": LEARNED,
        "vector_per_place.found": sum(end >= LEARNED for end in places),
        "vector_per_place.of": len(places),
        "causal_mask.found": sum(end >= LEARNED for end in causal),
        "causal_mask.of": len(causal),
        "no_positions.found": sum(end >= LEARNED for end in neither),
        "no_positions.of": len(neither),
        "no_positions.lowest_of_all": min(neither),
        "no_positions.highest_of_all": max(neither),
    }
