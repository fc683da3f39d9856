"""24 trainings of 2 or 6 layers, with and without residuals, at two rates; counts the six-layer ones that learn."""

NOTHING = 2.7  # nats; a uniform guess has ln 16 = 2.77


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    six = [(r["residual"], r["peak"], [float(v) for v in r["losses"].split()]) for r in data["rows"] if r["depth"] == 6]
    found = {"steps": data["steps"]}
    for path, residual in (("with", True), ("without", False)):
        curves = [losses for has, _, losses in six if has is residual]
        found |= {f"{path}.d6.of": len(curves), f"{path}.d6.learned": sum(min(losses) < 0.5 for losses in curves)}
    high, low = ([losses[-1] for has, peak, losses in six if not has and peak == rate] for rate in (3e-3, 1e-3))
    return found | {
        "without.d6.high.of": len(high),
        "without.d6.high.nothing": sum(loss > NOTHING for loss in high),
        "without.d6.low.min": min(low),
        "without.d6.low.max": max(low),
    }
