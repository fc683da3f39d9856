"""Three trainings of one small LLaMA on novels, and bits per byte of n-grams; computes sizes from the settings."""


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    s = data["setting"]["training"]
    width, tokens_read = s["d_model"], s["steps"] * s["rows"] * s["context"]
    vocabulary = 256 + s["merges"]  # each byte is a token, and each merge adds one

    attention = 2 * width**2 + 2 * width * width // s["n_heads"] * s["n_kv_heads"]
    layer = attention + 3 * width * s["d_ff"] + 2 * width
    parameters = vocabulary * width + s["n_layers"] * layer + width  # the embedding is the head too

    bits = dict(enumerate(data["ngrams"]["held_out"], 1))
    order = min(bits, key=bits.get)
    # Only the total time of all trainings is recorded, so the minutes of one are the mean.
    minutes = data["made"]["seconds"] / 60 / len({row["seed"] for row in data["rows"]})
    return {
        "epochs": tokens_read / data["text"]["train"]["tokens"],
        "merges": s["merges"],
        "millions": parameters / 1e6,
        "minutes": minutes,
        "ngram.best": bits[order],
        "ngram.order": order,
        "shipped": data["stored"],
        "vocabulary": vocabulary,
    }
