"""Records ``longer_text.json``: the language model on texts four times as long as in training, and what helps.

``python -m autograder.recording.experiments.longer_text [--device cuda]``; about ten minutes on one CPU core.
"""

import copy
import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

from anatomy.experiments import longer_text
from anatomy.language import training
from torch import Generator, Tensor, nn

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.austen import SHIPPED, Config, configuration, ids, patients, trained_on
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference import rope, rope_scaling
from autograder.reference.assembly.decoder import Decoder

ABOUT = About(seconds=20)

STRETCH = 4
PLAIN, TUNED = "as trained", ("as trained, tuned", "interpolated, tuned")


@dataclasses.dataclass(frozen=True)
class Setting:
    """tuning: steps on long texts for the tuned models. tokens: of held-out text.

    characters: used of each text, from its beginning; None: all.
    """

    tuning: int = 30
    tokens: int = longer_text.TOKENS
    characters: int | None = None


SIZES = {"small": Setting(), "large": Setting(tuning=200, tokens=65_536)}


def changed(model: nn.Module, c: Config, **changes: object) -> nn.Module:
    """A decoder with a changed configuration and the same weights."""
    other = Decoder({**c, **changes})
    other.load_state_dict(model.state_dict())
    return other.to(next(model.parameters()).device).eval()


def yarn(model: nn.Module, c: Config, s: float, trained: int) -> nn.Module:
    """The model with YaRN's frequencies, applied as a difference to its own, and temperature on queries and keys."""
    D, base = c["head_dim"], c["base"]
    more = rope_scaling.yarn_frequencies(D, base, s, trained) - rope.rope_frequencies(D, base)
    temperature = rope_scaling.yarn_temperature(s)
    return longer_text.turn_more(
        model, c, lambda x, places: rope_scaling.apply_scaled_rope_half(x, places, more, temperature)
    )


def cures(model: nn.Module, trained: int) -> dict[str, Callable[[], nn.Module]]:
    """Name → a copy of the model, changed without training to read ``STRETCH`` times its length."""
    c = configuration()
    base = rope_scaling.ntk_base(c["base"], STRETCH, c["head_dim"])
    return {
        PLAIN: lambda: model,
        "interpolated": lambda: longer_text.squeeze(copy.deepcopy(model), STRETCH),
        "NTK-aware base": lambda: changed(model, c, base=base),
        "YaRN": lambda: yarn(copy.deepcopy(model), c, STRETCH, trained),
        "window": lambda: changed(model, c, window=trained),
    }


def tuned(model: nn.Module, text: Tensor, length: int, steps: int) -> nn.Module:
    """The model after ``steps`` more training steps on sequences of ``length`` tokens, two at a time."""
    device = next(model.parameters()).device
    generator, adam = Generator().manual_seed(0), training.optimizer(model, 1e-3)
    model.train()
    for step in range(steps):
        x, y = training.batch(text, 2, length, generator)
        rate = training.learning_rate(step, steps, 1e-3, max(1, steps // 10))
        training.update(model, adam, x.to(device), y.to(device), rate)
    return model.eval()


def measure(name: str, s: Setting, device: str) -> Row:
    """One trained model: its loss by length, and along long texts with each cure."""
    model, trained = patients(device)[name](), trained_on()
    text = ids(True, s.characters)[: s.tokens + 1].to(device)
    longest = STRETCH * trained
    short = lambda v: float(f"{v:.5g}")
    curve = lambda patient: [short(v) for v in longer_text.by_place(patient, text, longest, trained // 4)]
    along = {cure: curve(made()) for cure, made in cures(model, trained).items()}
    more = partial(tuned, text=ids(False, s.characters), length=longest, steps=s.tuning)
    along[TUNED[0]] = curve(more(copy.deepcopy(model)))
    along[TUNED[1]] = curve(more(longer_text.squeeze(copy.deepcopy(model), STRETCH)))
    lengths = [trained * 2**k // 8 for k in range(6)]
    by_length = {str(n): short(v) for n, v in longer_text.by_length(model, text, lengths).items()}
    return {"model": name, "trained": trained, "along": along, "by_length": by_length}


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    names = list(patients(options.device))
    kept = Rows("longer_text", options, dataclasses.asdict(s), len(names))
    rows = [kept.row(name, lambda: measure(name, s, options.device)) for name in names]
    data = {"rows": rows, "stretch": STRETCH, "tuning": s.tuning}
    save("longer_text", data, options, range(len(names)))
    kept.finish()


def seeds(data: Data) -> int:
    """Number of measured models: the shipped one and those of other seeds."""
    return len(data["rows"])


def controls(data: Data) -> dict[str, int]:
    """Quantity varied besides the model → number of values."""
    plain = {TUNED[0], PLAIN} <= data["rows"][0]["along"].keys()
    return {"length read": len(data["rows"][0]["by_length"]), "further training": 1 + plain}


def facts(data: Data) -> Facts:
    """Numbers for the unit's text: the shipped model's loss by length, and per cure its loss on long texts.

    ``restart``: its loss on the same text in sequences of the trained length. ``whole``, ``end``: its loss on all of
    the long sequences, and on their last tokens (as many as for ``trained_end``). ``better``: how many of the
    ``models`` improve by 0.1 nats or more in the last eighth with the cure. ``holds``: how many have a whole loss at
    most 0.05 above their own ``restart``; ``breaks``: how many are more than 0.1 above it without a cure.
    """
    shipped = next(r for r in data["rows"] if r["model"] == SHIPPED)
    return {
        "models": len(data["rows"]),
        "trained": shipped["trained"],
        "tested": str(data["stretch"] * shipped["trained"]),
        "tuning_steps": data["tuning"],
        "at": {f"length{n}": v for n, v in shipped["by_length"].items()},
        "trained_end": shipped["along"][PLAIN][3],
        "restart": _restart(shipped),
        "breaks": sum(_whole(r, PLAIN) > _restart(r) + 0.1 for r in data["rows"]),
        **{_identifier(cure): _told(data["rows"], shipped, cure) for cure in shipped["along"]},
    }


def _end(row, cure):
    """Loss in the last eighth of the text."""
    return sum(row["along"][cure][-2:]) / 2


def _whole(row, cure):
    """Loss on all of the long text."""
    return sum(row["along"][cure]) / len(row["along"][cure])


def _restart(row):
    """Loss on the same tokens, read in sequences of the trained length."""
    return row["by_length"][str(row["trained"])]


def _told(rows, shipped, cure):
    gains = [_end(r, PLAIN) - _end(r, cure) for r in rows]
    return {
        "end": shipped["along"][cure][-1],
        "whole": _whole(shipped, cure),
        "start": shipped["along"][cure][3],
        "better": sum(gain >= 0.1 for gain in gains),
        "gain_min": min(gains),
        "gain_max": max(gains),
        "holds": sum(_whole(r, cure) <= _restart(r) + 0.05 for r in rows),
    }


def _identifier(name):
    return "".join(c if c.isalnum() else "_" for c in name.lower().replace(", ", "_"))


if __name__ == "__main__":
    main()
