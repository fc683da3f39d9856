"""22 trainings of 12 layers by wiring, rate and warm-up, and first steps of fresh models; final losses and changes."""

from statistics import fmean, median

STALLED = 2.0  # nats; a uniform guess has 2.77


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    groups = {}
    for row in data["rows"]:
        told = row["wiring"], row["peak"], row["warmup"], row["factor"]
        groups.setdefault(told, []).append(float(row["losses"].rsplit(maxsplit=1)[-1]))

    a, b, c = (groups[told] for told in (("Post-LN", 3e-3, 0, 1), ("Post-LN", 3e-3, 100, 1), ("Pre-LN", 3e-3, 0, 1)))
    low, scaled = groups["Post-LN", 1e-3, 0, 1], groups["Post-LN", 3e-3, 0, 0.01]
    found = {"steps": data["steps"], "seeds": min(len(a), len(b), len(c))}
    for path, ends in (("post_none", a), ("post_warm", b), ("pre_none", c)):
        found |= {f"{path}.median": median(ends), f"{path}.min": min(ends), f"{path}.max": max(ends)}
    no_need = c + groups["DeepNorm", 3e-3, 0, 1]
    for path, ends in (
        ("post_none", a),
        ("post_warm", b),
        ("post_low_none", low),
        ("post_scaled", scaled),
        ("no_need", no_need),
    ):
        found |= {f"{path}.stalled": sum(loss > STALLED for loss in ends), f"{path}.of": len(ends)}

    def moved(wiring, rate=1e-3, factor=1):
        told = {"wiring": wiring, "depth": 12, "rate": rate, "factor": factor}
        return [row["moved"] for row in data["first"] if told.items() <= row.items()]

    return found | {
        "first_seeds": min(len(moved(wiring)) for wiring in ("Post-LN", "Pre-LN", "DeepNorm")),
        "first.post.n12.moved": fmean(moved("Post-LN")),
        "first.pre.n12.moved": fmean(moved("Pre-LN")),
        "first.deep.n12.moved": fmean(moved("DeepNorm")),
        "first.post.n12.scaled": fmean(moved("Post-LN", factor=0.01)),
        "first.post.n12.soft": fmean(moved("Post-LN", rate=3e-5)),
    }
