"""The recording holds nanoseconds per entry of norms, a copy and a matrix product at five sizes; computes the share of
the norms' time at 1,024 tokens that operations at the matrix product's rate, or passes at the copy's rate, explain."""


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    row = next(r for r in data["rows"] if (r["tokens"], r["dtype"]) == (1024, "float32"))
    ns = row["ns_per_entry"]
    operation = ns["matrix product"] / (2 * row["d"])  # d multiplications and d additions make one entry
    one_pass = ns["copy"] / 2  # a copy reads once and writes once
    layer, rms = ns["LayerNorm by steps"], ns["RMSNorm by steps"]
    by_operations = [7 * operation / layer, 4 * operation / rms]
    by_passes = [(7 + 5) * one_pass / layer, (4 + 3) * one_pass / rms]
    return {
        "by_operations.least": min(by_operations),
        "by_operations.most": max(by_operations),
        "by_passes.least": min(by_passes),
        "by_passes.most": max(by_passes),
        "fused_to_rms": ns["fused LayerNorm"] / rms,
    }
