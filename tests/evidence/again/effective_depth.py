"""Trainings of Post-LN and Pre-LN stopped at two losses, with the loss without each layer; compares equal settings."""

from statistics import median


def numbers(data):
    """dict path → value, for every place in the texts (data: the parsed JSON)."""
    sides = {"Post-LN": {}, "Pre-LN": {}}
    for row in data["trained"]:
        later_half = row["without"][row["layers"] // 2 :]
        cost = median(loss / row["loss"] for loss in later_half)
        sides[row["wiring"]][row["layers"], row["peak"], row["seed"], row["goal"]] = cost, row["step"]
    post, pre = sides.values()
    alike = sorted(post.keys() & pre.keys())
    lower = min(data["goals"])
    costs = lambda side: [cost for (layers, _, _, goal), (cost, _) in side.items() if (layers, goal) == (12, lower)]
    return {
        "seeds": len({(wiring, seed) for wiring, _, _, seed in data["tried"]}) // len(sides),
        "pairs.of": len(alike),
        "pairs.held": sum(post[told][0] > pre[told][0] for told in alike),
        "pairs.trainings": len({told[:3] for told in alike}),
        "faster.of": len(alike),
        "faster.held": sum(pre[told][1] < post[told][1] for told in alike),
        "post.min": min(costs(post)),
        "post.max": max(costs(post)),
        "pre.min": min(costs(pre)),
        "pre.max": max(costs(pre)),
    }
