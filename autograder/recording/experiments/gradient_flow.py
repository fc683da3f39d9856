"""Records ``gradient_flow.json``: gradient norm per layer and the size of the stream before training, depths 6 to 96.

``python -m autograder.recording.experiments.gradient_flow [--device cuda]``. Small: widths to 256, about three minutes
on one CPU core. Large: widths to 1024.
"""

import dataclasses
from collections.abc import Sequence
from statistics import mean
from typing import Any

import torch
from anatomy.experiments import gradient_flow as experiment
from anatomy.experiments.wirings import INITS, WIRINGS, build

from autograder.recording.experiments import About, Data, Facts
from autograder.recording.experiments.counting import numbers
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import residual
from autograder.reference.placement import deepnorm_decoder_only

ABOUT = About(seconds=90)

FUNCTIONS = {w.function: getattr(residual, w.function) for w in WIRINGS.values()}


@dataclasses.dataclass(frozen=True)
class Setting:
    """Widths, depths and number of seeds; initializations are compared at init_widths and init_depths.

    At the small width, Post-LN's gradient can vanish.
    """

    widths: tuple[int, ...] = experiment.WIDTHS
    depths: tuple[int, ...] = experiment.DEPTHS
    init_widths: tuple[int, ...] = (32, 128)
    init_depths: tuple[int, ...] = (6, 24, 96)
    seeds: int = experiment.SEEDS


SIZES = {"small": Setting(), "large": Setting(widths=(128, 512, 1024), init_widths=(32, 512))}


def curve(name: str, depth: int, width: int, init: str, seed: int, device: str) -> tuple[str, str]:
    """Gradient norms of one fresh stack, and the RMS of its stream before the first layer and after each, as strings of
    numbers.

    The weights are drawn on the device: a billion of them would take the CPU longer than everything else. On the CPU
    they equal the notebook's.
    """
    scale = deepnorm_decoder_only(depth) if name == "DeepNorm" else None
    with torch.device(device):
        layers = build(FUNCTIONS, name, depth, width, init, seed, scale)
    x, target = (t.to(device) for t in experiment.batch(width, seed))
    written = lambda values: " ".join(f"{v:.4g}" for v in values)
    return written(experiment.weight_gradients(layers, x, target)), written(experiment.stream(layers[:depth], x))


def ratios(data: Data, name: str, init: str, width: int) -> list[float]:
    """The first block's gradient divided by the last one's in the deepest stacks, one number per seed."""
    stacks = data["inits"][name][init][str(width)]
    return [c[0] / c[-1] for c in map(numbers, stacks[max(stacks, key=int)])]


def span(values: Sequence[float]) -> dict[str, float]:
    """``least`` and ``most``."""
    return {"least": min(values), "most": max(values)}


def facts(data: Data) -> Facts:
    """Numbers for sentences, all from the deepest stacks: the factor by which Post-LN's gradient shrinks from the last
    block to the first, the factor by which Pre-LN's grows, and the last block's gradient in Post-LN over Pre-LN's."""
    narrow, wide = sorted(data["inits"]["Post-LN"]["He"], key=int)
    divided = lambda init, width: span([1 / r for r in ratios(data, "Post-LN", init, width)])
    lasts = [
        mean(numbers(c)[-1] for c in data["inits"][name]["Xavier"][wide][str(depth(data))])
        for name in ("Post-LN", "Pre-LN")
    ]
    return {
        "post_he_32": divided("He", narrow),
        "post_twice_xavier_32": divided("twice Xavier", narrow),
        "post_xavier_32": divided("Xavier", narrow),
        "post_wide": span([1 / r for init in INITS for r in ratios(data, "Post-LN", init, wide)]),
        "pre_xavier": span([r for w in (narrow, wide) for r in ratios(data, "Pre-LN", "Xavier", w)]),
        "last_post_over_pre": lasts[0] / lasts[1],
        "depth": depth(data),
        "seeds": seeds(data),
    }


def depth(data: Data) -> int:
    """Blocks of the deepest stack whose initializations were compared."""
    return max(map(int, next(iter(data["inits"]["Post-LN"]["He"].values()))))


def controls(data: Data) -> dict[str, int]:
    """Varied quantity → number of values."""
    inits = data["inits"]["Post-LN"]
    return {
        "initialization": len(inits),
        "width": len(inits["He"]),
        "depth": len(next(iter(inits["He"].values()))),
        "wiring": len(data["curves"]),
    }


def seeds(data: Data) -> int:
    """The smallest number of seeds of any setting."""
    return min(
        len(runs)
        for inits in data["inits"].values()
        for widths in inits.values()
        for depths in widths.values()
        for runs in depths.values()
    )


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    compared = ("Post-LN", "Pre-LN")
    total = len(WIRINGS) * len(s.widths) * len(s.depths) + len(compared) * len(INITS) * len(s.init_widths) * len(
        s.init_depths
    )
    rows = Rows("gradient_flow", options, dataclasses.asdict(s), total)

    def curves(name, width, depth, init="Xavier"):
        """(gradients, stream) per seed."""
        return rows.row(
            f"{name}, {init}, width {width}, depth {depth}",
            lambda: [curve(name, depth, width, init, seed, options.device) for seed in range(s.seeds)],
        )

    usual = {name: {w: {n: curves(name, w, n) for n in s.depths} for w in s.widths} for name in WIRINGS}
    data = {
        **{part: _each(usual, i) for i, part in enumerate(("curves", "streams"))},
        "inits": {
            name: {
                i: _each({w: {n: curves(name, w, n, i) for n in s.init_depths} for w in s.init_widths}, 0)
                for i in INITS
            }
            for name in compared
        },
        "tokens": experiment.B * experiment.T,
    }
    save("gradient_flow", data, options, range(s.seeds))
    rows.finish()


def _each(table: Any, part: int) -> Any:
    """A table of lists of pairs, one per seed, with one part of each pair."""
    if isinstance(table, dict):
        return {key: _each(inner, part) for key, inner in table.items()}
    return [pair[part] for pair in table]


if __name__ == "__main__":
    main()
