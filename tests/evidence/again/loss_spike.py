"""Nine remedies, eight seeds each, with the loss at every step; how the runs end and which alarms they raise."""

from statistics import fmean, median

CURES = ("QK-norm", "soft cap on scores", "decay on gains too", "a tenth of the rate")
ELSEWHERE = ("z-loss", "soft cap on logits")


def curve(row, name):
    return [float(word) for word in row[name].split()]


def end(row):
    return fmean(curve(row, "loss")[-20:])


def largest(row, name):
    return max(curve(row, name))


def sounds(row, healthy, name):
    return largest(row, name) > 2 * largest(healthy, name)


def loss_sounds(row):
    learned = False
    for loss in curve(row, "loss"):
        if learned and loss > 0.1:
            return True
        learned = learned or loss < 0.1
    return False


def alarm_steps(row, healthy):
    """Yields, for score and gradient, the first step above twice the healthy run's maximum, or None."""
    for name in ("score", "gradient"):
        limit = 2 * largest(healthy, name)
        yield next((i for i, value in enumerate(curve(row, name)) if value > limit), None)


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    runs = {name: {r["seed"]: r for r in data["rows"] if r["remedy"] == name} for name in data["remedies"]}
    ends = {name: {seed: end(row) for seed, row in mine.items()} for name, mine in runs.items()}
    healthy, broken = runs["a tenth of the rate"], runs["nothing"]

    found = {"seeds": min(len(mine) for mine in runs.values())}
    for step in (0, 20, 30, 40):
        found[f"puzzle.step_{step}"] = curve(broken[0], "loss")[step]
    for path, name in (("nothing", "nothing"), ("qk_norm", "QK-norm")):
        found[f"{path}.loss_alarms"] = sum(map(loss_sounds, runs[name].values()))
        for alarm in ("gradient", "log_z", "score"):
            found[f"{path}.{alarm}_alarms"] = sum(sounds(r, healthy[s], alarm) for s, r in runs[name].items())

    steps = [tuple(alarm_steps(row, healthy[seed])) for seed, row in broken.items()]
    lags = [gradient - score for score, gradient in steps if None not in (score, gradient)]

    for path, names in (("cures", CURES), ("elsewhere", ELSEWHERE)):
        told = [value for name in names for value in ends[name].values()]
        found |= {f"{path}.runs": len(told), f"{path}.held": sum(value < 0.05 for value in told)}

    scores = lambda name: median(largest(row, "score") for row in runs[name].values())
    without, clipped = ends["nothing"], ends["clipping"]
    return found | {
        "nothing.above_005": sum(value > 0.05 for value in without.values()),
        "nothing.end_median": median(without.values()),
        "nothing.end_max": max(without.values()),
        "nothing.gradient_first": sum(lag < 0 for lag in lags),
        "nothing.apart": max(map(abs, lags)),
        "nothing.score_median": scores("nothing"),
        "qk_norm.end_max": max(ends["QK-norm"].values()),
        "decay_on_matrices.score_median": scores("decay on matrices"),
        "decay_on_matrices.above_005": sum(value > 0.05 for value in ends["decay on matrices"].values()),
        "decay_on_gains_too.below_001": sum(value < 0.01 for value in ends["decay on gains too"].values()),
        "clipping.better": sum(clipped[seed] < without[seed] for seed in without),
        "clipping.end_median": median(clipped.values()),
        "clipping.below_005": sum(value < 0.05 for value in clipped.values()),
    }
