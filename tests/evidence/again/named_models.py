"""Published configurations with their parameters counted; computes the small T5's parameters from its sizes."""


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    c = data["models"]["t5-small"]["configuration"]
    width, norm = c["d_model"], c["d_model"]
    attention = 4 * width * c["num_heads"] * c["d_kv"]
    feed_forward = 2 * width * c["d_ff"]
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    # Each stack ends in a norm, and has one table of distances for all its layers.
    stacks = c["num_layers"] * (encoder_layer + decoder_layer)
    stacks += 2 * (norm + c["relative_attention_num_buckets"] * c["num_heads"])
    return {"t5_small.counted": c["vocab_size"] * width + stacks}  # embedding and head are one matrix
