"""Records ``ffn_variants.json``: feed-forward variants at equal parameters, compared in pairs on the same seeds.

``python -m autograder.recording.experiments.ffn_variants [--device cuda]``. The learning rate of each variant is first
chosen on three seeds, because the best rate differs: at a single rate, the comparison would measure the rate. The
variant is then trained at that rate on fresh seeds, and only these are compared, which excludes lucky choices.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

import torch
from anatomy.experiments import ffn_variants as experiment
from anatomy.experiments.ffn_variants import limit
from torch import Tensor, nn

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import paired
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import activations
from autograder.reference.ffn import FeedForward, GatedFeedForward, matched_hidden_size

Activation = Callable[[Tensor], Tensor]
ABOUT = About(seconds=360)


@dataclasses.dataclass(frozen=True)
class Setting:
    """model: sizes and training. rates: to choose from. seeds: number used to choose. fresh: number of later ones."""

    model: experiment.Setting
    rates: tuple[float, ...]
    seeds: int = 3
    fresh: int = 8


class BothActivated(GatedFeedForward):
    """A gated layer whose value branch is activated as well."""

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.gate_proj(x)) * self.activation(self.up_proj(x)))


class GatedTwice(GatedFeedForward):
    """SwiGLU's product, multiplied by a third branch: four matrices."""

    def __init__(self, d_model: int, d_ff: int, activation: Activation):
        super().__init__(d_model, d_ff, activation)
        self.third_proj = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x) * self.third_proj(x))


def plain(activation: Activation) -> Callable[[int], nn.Module]:
    """Two matrices of width 4·d_model, no bias (so that parameters match those of the gated layers)."""
    return lambda d: FeedForward(d, 4 * d, activation, bias=False)


def gated(
    activation: Activation, layer: Callable[[int, int, Activation], nn.Module] = GatedFeedForward
) -> Callable[[int], nn.Module]:
    """Three matrices of the matched width."""
    return lambda d: layer(d, matched_hidden_size(d), activation)


VARIANTS = {
    "ReLU": plain(activations.relu),
    "GELU": plain(nn.functional.gelu),
    "SiLU": plain(nn.functional.silu),
    "squared ReLU": plain(activations.squared_relu),
    "GLU": gated(activations.sigmoid),
    "ReGLU": gated(activations.relu),
    "GeGLU": gated(nn.functional.gelu),
    "SwiGLU": gated(nn.functional.silu),
    "bilinear": gated(activations.identity),
    "both activated": gated(nn.functional.silu, BothActivated),
    "gated twice": lambda d: GatedTwice(d, 2 * d, nn.functional.silu),
}
SWAPPED = "GELU"  # the trained layer that is also run with other activations

SIZES = {
    "small": Setting(experiment.LAPTOP, (6e-3, 1.5e-2, 4e-2, 1e-1)),
    "large": Setting(dataclasses.replace(experiment.LARGE, steps=800), (5e-4, 1e-3, 2e-3), fresh=4),
}


def wrong_constant(x: Tensor) -> Tensor:
    """The tanh form of GELU with 2/√π instead of √(2/π)."""
    return 0.5 * x * (1 + torch.tanh(2 / math.sqrt(math.pi) * (x + 0.044715 * x**3)))


OTHERS = {"tanh": activations.gelu_tanh, "wrong": wrong_constant}


def swapped(model: experiment.CharModel, s: Setting, device: str) -> dict[str, float]:
    """Validation losses of a trained model with activations other than its own."""
    held_out, losses = experiment.windows(s.model)[1].to(device), {}
    for name, activation in OTHERS.items():
        layers: Iterable[Any] = model.layers
        for layer in layers:
            layer.activation = activation
        losses[name] = round(experiment.validation_loss(model, held_out), 5)
    return losses


def measure(name: str, lr: float, seeds: Iterable[int], s: Setting, device: str) -> Row:
    """One variant at one rate, for these seeds; for the variant ``SWAPPED`` also the results of ``swapped``."""
    row: Row = {"variant": name, "lr": lr, "losses": []}
    for seed in seeds:
        model, run = experiment.train(VARIANTS[name], seed, dataclasses.replace(s.model, lr=lr), device)
        row["losses"].append(round(run["loss"], 5))
        row["parameters"] = run["parameters"]
        if name == SWAPPED:
            for other, loss in swapped(model, s, device).items():
                row.setdefault(other, []).append(loss)
    return row


def main(
    argv: Sequence[str] | None = None, setting: Setting | None = None, variants: Sequence[str] = tuple(VARIANTS)
) -> None:
    """Command line; the other arguments are for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    kept = Rows("ffn_variants", options, dataclasses.asdict(s), len(variants) * (len(s.rates) + 1))
    rows, compared = [], []
    first, fresh = range(s.seeds), range(s.seeds, s.seeds + s.fresh)
    for name in variants:
        tried = [
            kept.row(f"{name} at rate {lr:g}", lambda: measure(name, lr, first, s, options.device)) for lr in s.rates
        ]
        best = min(tried, key=lambda r: mean(r["losses"]))["lr"]
        rows += tried
        compared.append(kept.row(f"{name}, fresh seeds", lambda: measure(name, best, fresh, s, options.device)))
    facts = {"size": options.setting, **dataclasses.asdict(s.model)}
    save("ffn_variants", {"setting": facts, "rows": rows, "compared": compared}, options, range(s.seeds + s.fresh))
    kept.finish()


def controls(data: Data) -> dict[str, int]:
    """Name of a control → number of recorded values."""
    return {"learning rate": len({r["lr"] for r in data["rows"]})}


def seeds(data: Data) -> int:
    """Smallest number of seeds in the comparison; fewer are used to choose a rate (the fact ``choosing``)."""
    return min(len(r["losses"]) for r in data["compared"])


def against(a: Sequence[float], b: Sequence[float]) -> dict[str, float]:
    """a − b over seeds: mean, standard error, and the ratio of the two."""
    found = paired(x - y for x, y in zip(a, b, strict=True))
    return {**found, "errors": found["mean"] / found["error"] if found["error"] else 0.0}


def key(name: str) -> str:
    return name.lower().replace(" ", "_")


PLAIN = ("relu", "gelu", "silu", "squared_relu")
# The comparisons that the text names before it shows a result; only these are judged.
PLANNED = (("swiglu", "gelu"), ("geglu", "swiglu"), ("both_activated", "swiglu"))


def judged(pair: Mapping[str, float], bound: float) -> dict[str, Any]:
    """A pair with its verdict in words; a difference counts beyond ``bound`` standard errors."""
    return {**pair, "says": "a difference" if abs(pair["errors"]) > bound else "not settled"}


def first_rates(data: Data) -> Facts:
    """Facts at the lowest rate: the worst variant, and how many beat GLU there and at their best rates."""
    lowest = min(r["lr"] for r in data["rows"])
    slow = {key(r["variant"]): mean(r["losses"]) for r in data["rows"] if r["lr"] == lowest}
    best = {key(r["variant"]): mean(r["losses"]) for r in data["compared"]}
    better = lambda table: sum(v < table.get("glu", 0) for v in table.values())
    return {
        "rate": lowest,
        "last": max(slow, key=slow.__getitem__),
        "others": len(slow) - 1,
        "better_than_glu": better(slow),
        "better_than_glu_at_best": better(best),
    }


def facts(data: Data) -> Facts:
    """Numbers for texts: each variant's rate and loss, the planned comparisons and the limit of a difference."""
    best = {key(r["variant"]): r for r in data["compared"]}
    rates = sorted({r["lr"] for r in data["rows"]})
    n = min(len(r["losses"]) for r in best.values())
    bound = limit(len(PLANNED), n - 1)
    pair = lambda a, b: against(best[a]["losses"], best[b]["losses"])
    across = [pair(a, b) for a in PLAIN for b in best if a in best and b not in PLAIN]
    own = best.get(key(SWAPPED))
    return {
        **{name: {"mean": mean(r["losses"]), "rate": r["lr"]} for name, r in best.items()},
        "pair": {f"{a}_{b}": judged(pair(a, b), bound) for a, b in PLANNED if a in best and b in best},
        "limit": bound,
        "variants": len(best),
        "rates": len(rates),
        "lowest_rate": rates[0],
        "highest_rate": rates[-1],
        "choosing": len(data["rows"][0]["losses"]),
        "fresh": n,
        "at_edge": sum(r["lr"] in (rates[0], rates[-1]) for r in best.values()),
        "parameters": data["compared"][0]["parameters"],
        "slow": first_rates(data),
        "gate": {"pairs": len(across), "lower": sum(p["mean"] > 0 for p in across)},
        "swapped": {o: against(own[o], own["losses"]) for o in OTHERS} if own else {},
    }


if __name__ == "__main__":
    main()
