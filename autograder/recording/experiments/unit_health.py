"""Records ``unit_health.json``: ReLU units that no training window activates, and whether they recover.

``python -m autograder.recording.experiments.unit_health [--device cuda]``. The notebook counts on 4,000 held-out
windows; here every window of the training text is checked: a unit that is 0 for all of them gets no gradient at all. In
the runs with ``frozen``, everything below the observed layer stops learning when dead units are first counted.
"""

import dataclasses
from collections.abc import Sequence

import torch
from anatomy.experiments import ffn_variants
from anatomy.experiments import ffn_variants as experiment
from anatomy.experiments.ffn_variants import train, windows
from anatomy.experiments.unit_health import HIGH
from torch import Tensor

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.activations import relu
from autograder.reference.ffn import FeedForward

ABOUT = About(seconds=60)

LAYER = 1
CHUNK = 20_000


@dataclasses.dataclass(frozen=True)
class Setting:
    """model: sizes and training; rates to compare, the highest first; steps of counting; number of seeds."""

    model: ffn_variants.Setting = ffn_variants.LAPTOP
    rates: tuple[float, ...] = (HIGH.lr, HIGH.lr / 2, HIGH.lr / 5)
    steps: tuple[int, ...] = (50, 200)
    seeds: int = 3


WIDE = dataclasses.replace(ffn_variants.LAPTOP, d_model=512, layers=4, steps=1600, lr=3e-3)
SIZES = {"small": Setting(), "large": Setting(WIDE, (1e-2, 3e-3), (50, 200, 800), 5)}


@torch.no_grad()
def never_awake(model: experiment.CharModel, setting: experiment.Setting, device: str) -> Tensor:
    """(d_ff,) boolean: units of the observed layer that are 0 for every training window."""
    ids, awake = windows(setting)[0][:, :-1].to(device), []
    hook = (
        model.layers[LAYER]
        .get_submodule("down_proj")
        .register_forward_pre_hook(lambda _, args: awake.append((args[0] != 0).any(0)))
    )
    for start in range(0, len(ids), CHUNK):
        model(ids[start : start + CHUNK])
    hook.remove()
    return ~torch.stack(awake).any(0)


def freeze_below(model: experiment.CharModel) -> None:
    """Freezes everything below the observed layer, so that its inputs stay fixed; its own weights still learn."""
    for part in (model.embed, *model.layers[:LAYER], *model.norms[: LAYER + 1]):
        part.requires_grad_(False)


def measure(lr: float, frozen: bool, seed: int, s: Setting, device: str) -> list[Row]:
    """One run: a row for each step at which units were counted."""
    model_setting, dead = dataclasses.replace(s.model, lr=lr), {}

    def look(step, model):
        if step in s.steps:
            dead[step] = never_awake(model, model_setting, device)
        if frozen and step == s.steps[0]:
            freeze_below(model)

    layer = lambda d: FeedForward(d, 4 * d, relu, bias=False)
    model, row = train(layer, seed, model_setting, device, look)
    end = never_awake(model, model_setting, device)
    return [
        {
            "lr": lr,
            "frozen": frozen,
            "seed": seed,
            "step": step,
            "dead": int(d.sum()),
            "alive_at_the_end": int((d & ~end).sum()),
            "dead_at_the_end": int(end.sum()),
            "loss": round(row["loss"], 5),
        }
        for step, d in dead.items()
    ]


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    todo = [
        (lr, frozen, seed)
        for lr, frozen in [(lr, False) for lr in s.rates] + [(s.rates[0], True)]
        for seed in range(s.seeds)
    ]
    kept = Rows("unit_health", options, dataclasses.asdict(s), len(todo))
    rows = [
        row
        for lr, frozen, seed in todo
        for row in kept.row(
            f"rate {lr:g}{', frozen below' * frozen}, seed {seed}", lambda: measure(lr, frozen, seed, s, options.device)
        )
    ]
    data = {
        "windows": len(windows(s.model)[0]),
        "layer": LAYER,
        "units": 4 * s.model.d_model,
        "steps": s.model.steps,
        "rows": rows,
    }
    save("unit_health", data, options, range(s.seeds))
    kept.finish()


def controls(data: Data) -> dict[str, int]:
    """Name of a control → number of recorded values."""
    return {"learning rate": len({r["lr"] for r in data["rows"]}), "frozen": len({r["frozen"] for r in data["rows"]})}


def seeds(data: Data) -> int:
    """Smallest number of seeds of any setting."""
    return fewest_seeds(data["rows"], "lr", "frozen")


def counted(rows: Sequence[Row]) -> Facts:
    """Units that are dead at the first count, and how many of them recover, over all seeds."""
    dead, back = ([r[name] for r in rows] for name in ("dead", "alive_at_the_end"))
    return {
        "dead_min": min(dead),
        "dead_max": max(dead),
        "dead": sum(dead),
        "back": sum(back),
        "back_min": min(back),
        "back_max": max(back),
        "share": sum(back) / max(1, sum(dead)),
        "end_min": min(r["dead_at_the_end"] for r in rows),
        "end_max": max(r["dead_at_the_end"] for r in rows),
    }


def facts(data: Data) -> Facts:
    """Numbers for texts: units dead at the first count, at each rate (high, half, fifth) and with the layers below
    frozen."""
    first = min(r["step"] for r in data["rows"])
    rates = sorted({r["lr"] for r in data["rows"]}, reverse=True)
    at = lambda lr, frozen: counted(
        [r for r in data["rows"] if (r["lr"], r["frozen"], r["step"]) == (lr, frozen, first)]
    )
    found = {name: {"rate": lr, **at(lr, False)} for name, lr in zip(("high", "half", "fifth"), rates, strict=False)}
    return {
        **found,
        "frozen": at(rates[0], True),
        "step": first,
        "windows": data["windows"],
        "units": data["units"],
        "seeds": seeds(data),
        "rates": len(rates),
    }


if __name__ == "__main__":
    main()
