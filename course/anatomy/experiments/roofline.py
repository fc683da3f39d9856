"""The recorded roofline: the limits of a machine, and where the measured decoding and prefill are below them."""

from collections.abc import Callable

import torch

from . import Recorded


def measured(
    record: Recorded, attention_cost: Callable[[int, int, int, int, int, int, int], tuple[float, float]]
) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Points of ``recorded("roofline")``, placed by the learner's ``attention_cost(B, T, S, H, G, D, itemsize)``.

    Decoding is measured at the longest context, one token per user on a full cache, with the fastest attention; prefill
    is a whole layer on the longest prompt, with the recording's own FLOPs and bytes. Returns peak (FLOP/s), bandwidth
    (bytes/s), and a dict name → (FLOPs per byte, FLOP/s measured).
    """
    sizes, chip = record["setting"], record["machine"]
    groups = {"MHA": sizes["heads"], "GQA": sizes["groups"], "MQA": 1}
    itemsize, S, dots = getattr(torch, sizes["dtype"]).itemsize, max(sizes["contexts"]), {}
    for row in record["attention"]:
        if row["context"] == S and row["kind"] in groups:
            flops, moved = attention_cost(
                sizes["users"], 1, S, sizes["heads"], groups[row["kind"]], sizes["head_dim"], itemsize
            )
            seconds = min(min(times) for times in row["seconds"].values())
            dots[f"decode, {row['kind']}"] = flops / moved, flops / seconds
    last = [row for row in record["roofline"] if row["phase"] == "prefill"][-1]
    dots[f"prefill of {last['T']:,}"] = last["flops"] / last["bytes"], last["flops"] / min(last["seconds"])
    return chip["flops"], max(chip["copy"], chip["read"]), dots
