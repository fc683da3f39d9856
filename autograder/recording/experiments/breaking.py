"""Records ``breaking.json``: the trained language model with one part broken, and small models trained with it.

``python -m autograder.recording.experiments.breaking [--device cuda]``; about ten minutes on one CPU core.
"""

import dataclasses
import math
from collections.abc import Sequence
from statistics import mean

from anatomy.experiments import breaking

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.austen import (
    SHIPPED,
    configuration,
    ids,
    patients,
    trained_on,
)
from autograder.recording.experiments.counting import paired
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.assembly.decoder import Decoder

ABOUT = About(seconds=35)

WHOLE = "whole"
LEARNING = (WHOLE, "no mask", "no rotation")


@dataclasses.dataclass(frozen=True)
class Setting:
    """fresh, small: number of seeds and steps of the models trained with a broken part.

    tokens: of held-out text, for each loss. characters: used of each text, from its beginning; None: all.
    """

    fresh: int = 3
    small: int = breaking.STEPS
    tokens: int = breaking.TOKENS
    characters: int | None = None


SIZES = {"small": Setting(), "large": Setting(fresh=6)}


def short(value: float) -> float:
    """Rounds to five significant digits."""
    return float(f"{value:.5g}")


def at_use(name: str, s: Setting, device: str) -> Row:
    """Losses of one trained model, whole and with each part broken."""
    model = patients(device)[name]()
    text = ids(True, s.characters)[: s.tokens + 1].to(device)
    measured = lambda broken: short(breaking.loss(broken, text, trained_on()))
    c = configuration()
    return {
        "model": name,
        "context": trained_on(),
        "losses": {WHOLE: measured(model)}
        | {part: measured(breaking.broken(model, c, part)) for part in breaking.NAMES},
    }


def while_learning(name: str, seed: int, s: Setting, device: str) -> Row:
    """A small model trained with a broken part: its curve, its loss, and its loss if the future is not in the input."""
    c = breaking.small(configuration())
    broken = None if name == WHOLE else name
    text, held_out = ids(False, s.characters), ids(True, s.characters)[: s.tokens + 1].to(device)
    model, losses = breaking.train(Decoder, c, text, broken, seed, s.small, device=device)
    return {
        "part": name,
        "seed": seed,
        "curve": " ".join(f"{v:.3g}" for v in losses[:: max(1, s.small // 60)]),
        "loss": short(breaking.loss(model, held_out, breaking.CONTEXT)),
        "unseen": short(breaking.loss_unseen(model, held_out, (8, 16, breaking.CONTEXT - 1))),
    }


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    names = list(patients(options.device))
    rows = Rows("breaking", options, dataclasses.asdict(s), len(names) + len(LEARNING) * s.fresh)
    learned = [
        rows.row(f"learning with {name}, seed {seed}", lambda: while_learning(name, seed, s, options.device))
        for name in LEARNING
        for seed in range(s.fresh)
    ]
    used = [rows.row(f"at use, {name}", lambda: at_use(name, s, options.device)) for name in names]
    data = {"used": used, "learned": learned, "small": s.small, "vocab": configuration()["vocab"]}
    save("breaking", data, options, range(max(len(names), s.fresh)))
    rows.finish()


def seeds(data: Data) -> int:
    """The number of trained models, or of seeds per part broken during training if that is smaller."""
    return min(len(data["used"]), len(_learned(data, WHOLE)))


def controls(data: Data) -> dict[str, int]:
    """Quantity varied besides the part → number of values."""
    return {"seed of the model": len(data["used"]), "future": 2}


def facts(data: Data) -> Facts:
    """Numbers for the unit's text.

    ``used``: per part the shipped model's loss, its increase over the whole model's (``more``), smallest and largest
    increase over all models, and the number of models with an increase of 0.1 or more. ``learned``: per part losses
    with and without a future in the input.
    """
    return {
        "used": {_identifier(part): _used(data, part) for part in data["used"][0]["losses"]},
        "models": len(data["used"]),
        "learned": {_identifier(part): _told(data, part) for part in LEARNING},
        "fresh": len(_learned(data, WHOLE)),
        "small_steps": data["small"],
        "log_vocab": math.log(data["vocab"]),
    }


def _used(data, part):
    losses = {r["model"]: r["losses"] for r in data["used"]}
    more = [row[part] - row[WHOLE] for row in losses.values()]
    return {
        "loss": losses[SHIPPED][part],
        "more": losses[SHIPPED][part] - losses[SHIPPED][WHOLE],
        "min": min(more),
        "max": max(more),
        "worse": sum(m >= 0.1 for m in more),
    }


def _learned(data, part):
    return [r for r in data["learned"] if r["part"] == part]


def _told(data, part):
    rows, log = _learned(data, part), math.log(data["vocab"])
    whole = {r["seed"]: r["loss"] for r in _learned(data, WHOLE)}
    shipped = next(r["losses"][WHOLE] for r in data["used"] if r["model"] == SHIPPED)
    return {
        "loss": mean(r["loss"] for r in rows),
        "min": min(r["loss"] for r in rows),
        "max": max(r["loss"] for r in rows),
        "unseen": mean(r["unseen"] for r in rows),
        "unseen_min": min(r["unseen"] for r in rows),
        "unseen_max": max(r["unseen"] for r in rows),
        "difference": paired([r["loss"] - whole[r["seed"]] for r in rows]),
        "beats_shipped": sum(r["loss"] < shipped for r in rows),
        "knows_nothing": sum(r["unseen"] > log for r in rows),
    }


def _identifier(name):
    return "".join(c if c.isalnum() else "_" for c in name.lower().replace("√", "root_"))


if __name__ == "__main__":
    main()
