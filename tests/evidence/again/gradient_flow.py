"""Gradient norm of every layer of fresh stacks, by wiring, width, depth, weights and seed; first layer against last."""

from statistics import fmean


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    deepest = str(max(map(int, data["curves"]["Post-LN"]["128"])))

    def ends(runs):
        """(gradient of the first layer, of the last) per seed."""
        norms = [[float(word) for word in run.split()] for run in runs[deepest]]
        return [(layers[0], layers[-1]) for layers in norms]

    def divided(weights, width):
        return [last / first for first, last in ends(data["inits"]["Post-LN"][weights][width])]

    he, twice = divided("He", "32"), divided("twice Xavier", "32")
    wide = [ratio for weights in data["inits"]["Post-LN"] for ratio in divided(weights, "128")]
    pre = [first / last for runs in data["curves"]["Pre-LN"].values() for first, last in ends(runs)]
    top = {name: fmean(last for _, last in ends(data["curves"][name]["128"])) for name in ("Post-LN", "Pre-LN")}
    return {
        "seeds": min(len(ends(runs)) for widths in data["curves"].values() for runs in widths.values()),
        "post_he_32.least": min(he),
        "post_he_32.most": max(he),
        "post_twice_xavier_32.least": min(twice),
        "post_twice_xavier_32.most": max(twice),
        "post_wide.most": max(wide),
        "pre_xavier.least": min(pre),
        "pre_xavier.most": max(pre),
        "last_post_over_pre": top["Post-LN"] / top["Pre-LN"],
    }
