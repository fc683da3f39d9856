"""A small scaling law: best sizes by Newton's interpolation in log N, exponents by slopes between pairs of budgets."""

import math
from itertools import combinations
from statistics import fmean


def minimum(points):
    """(size, loss, at an end?) at the lowest point of the parabola through the three points around the lowest one."""
    points = sorted(points)
    i = points.index(min(points, key=lambda p: p[1]))
    if i in (0, len(points) - 1):
        return *points[i], True
    (a, u), (b, v), (c, w) = ((math.log(n), loss) for n, loss in points[i - 1 : i + 2])
    first = (v - u) / (b - a)
    second = ((w - v) / (c - b) - first) / (c - a)
    x = (a + b) / 2 - first / (2 * second)
    return math.exp(x), u + first * (x - a) + second * (x - a) * (x - b), False


def minima(rows):
    """dict seed → dict budget → minimum."""
    found = {}
    for seed in {r["seed"] for r in rows}:
        mine = [r for r in rows if r["seed"] == seed]
        found[seed] = {
            budget: minimum([(r["parameters"], r["loss"]) for r in mine if r["budget"] == budget])
            for budget in sorted({r["budget"] for r in mine})
        }
    return found


def slope(at):
    """The least-squares slope of log size over log budget: slopes of all pairs, weighed by their squared distance."""
    logs = [(math.log(budget), math.log(size)) for budget, (size, *_) in at.items()]
    pairs = [((x2 - x1) ** 2, (y2 - y1) / (x2 - x1)) for (x1, y1), (x2, y2) in combinations(logs, 2)]
    return sum(weight * s for weight, s in pairs) / sum(weight for weight, _ in pairs)


def line(at, budget):
    """The size at ``budget`` on the line of best fit, which goes through the mean of all logarithms."""
    x, y = fmean(map(math.log, at)), fmean(math.log(size) for size, *_ in at.values())
    return math.exp(y + slope(at) * (math.log(budget) - x))


def ends(path, values):
    values = sorted(values)
    return {f"{path}.least": values[0], f"{path}.most": values[-1], f"{path}.apart": values[-1] - values[0]}


def numbers(data):
    """dict path → value (data: the parsed JSON)."""
    rows, other, live = data["rows"], data["other_rate"], data["live"]
    found = minima(rows)
    budgets = sorted({r["budget"] for r in rows})
    told = {
        "seeds": len(found),
        "budgets": len(budgets),
        "edges": sum(edge for at in found.values() for *_, edge in at.values()),
        "times": max(budgets) / min(budgets),
        "largest": max(r["parameters"] for r in rows),
        **ends("exponent", map(slope, found.values())),
    }
    for r in (r for r in rows if r["budget"] == budgets[1]):
        path = f"one.width{r['width']}"
        told |= {f"{path}.parameters": r["parameters"], f"{path}.characters": r["characters"]}
        told[f"{path}.loss"] = fmean(s["loss"] for s in rows if (s["budget"], s["width"]) == (r["budget"], r["width"]))
    again = {(r["budget"], r["width"]) for r in other}
    for name, chosen in {"usual": [r for r in rows if (r["budget"], r["width"]) in again], "other": other}.items():
        told |= ends(f"rates.{name}", map(slope, minima(chosen).values()))
    (budget,) = {r["budget"] for r in live}
    small = minima(live)
    told["live.middle"] = sum(not at[budget][2] for at in small.values())
    told |= ends("live.size", (at[budget][0] for at in small.values()))
    told |= ends("live.asked", (line(at, budget) for at in found.values()))
    return told
