"""Records ``trained_length.json``: the limits of training on 64 and on 128 places, tested on rows of 256.

``python -m autograder.recording.experiments.trained_length [--device cuda]``. The game of ``length``, with the three
schemes that unit 05 plays live, and ALiBi with the eight heads of its paper; about twenty minutes on one CPU core. For
T5 also the learned table, the buckets that no training row reaches, and the curves after filling these buckets with the
value of the last bucket reached.
"""

import dataclasses
from collections.abc import Sequence
from statistics import mean

import torch
from anatomy.experiments import length as experiment

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.counting import fewest_seeds, paired
from autograder.recording.experiments.length import PLACES, TRAINED, T5Bias
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.measuring import accuracy_by_position
from autograder.reference.positions.alibi import alibi_slopes
from autograder.reference.positions.t5_buckets import t5_relative_bucket

ABOUT = About(seconds=160)

SCHEMES = {name: TRAINED[name] for name in ("T5 bias", "sinusoidal", "ALiBi")}
SCHEMES["ALiBi, 8 heads"] = lambda: experiment.Scheme(bias=of_eight_heads, heads=8)
NAMES = {"T5 bias": "t5", "sinusoidal": "sinusoidal", "ALiBi": "alibi", "ALiBi, 8 heads": "alibi8"}  # in facts
BUCKETS, PER_STEP = 32, 2048  # PER_STEP: places in a training step, whatever the row length
LEARNED = 0.95


@dataclasses.dataclass(frozen=True)
class Setting:
    """Lengths of the training rows, steps, number of seeds, rows and places in the test."""

    lengths: tuple[int, ...] = (64, 128)
    steps: int = 1000
    seeds: int = 3
    rows: int = 384
    tested: int = 256


SIZES = {"small": Setting(), "large": Setting(steps=1500, seeds=5, rows=1536)}


def seeds(data: Data) -> int:
    """The smallest number of seeds of any setting."""
    return fewest_seeds(data["rows"], "scheme", "trained")


def controls(data: Data) -> dict[str, int]:
    """Varied quantity → number of values."""
    return {"trained length": len({row["trained"] for row in data["rows"]})}


def facts(data: Data) -> Facts:
    """Numbers for texts: accuracy within and beyond the training length, and what T5's table learned."""
    rows = data["rows"]
    found = {"seeds": seeds(data), "steps": data["setting"]["steps"]}
    for scheme, name in NAMES.items():
        found[name] = {
            f"on{n}": _shares([r for r in rows if (r["scheme"], r["trained"]) == (scheme, n)], data["width"])
            for n in data["setting"]["lengths"]
        }
    kept = [r for r in rows if r["scheme"] in ("T5 bias", "ALiBi")]
    found["both_runs"] = len(kept)
    found["twin_missed"] = max(1 - mean(r["twin"][r["trained"] // data["width"] :]) for r in kept)
    short = [r for r in rows if "filled" in r]
    looks_back = [max(zip(*r["table"], strict=True), key=lambda head: head[experiment.BACK]) for r in short]
    gains = [r["filled"]["back"][-1] - r["back"][-1] for r in short]
    found["t5"] |= {
        "first": short[0]["unreached"][0],
        "last": short[0]["unreached"][-1],
        "third": mean(head[experiment.BACK] for head in looks_back),
        "lowered": -mean(mean(head[experiment.BACK + 1 : short[0]["unreached"][0]]) for head in looks_back),
        "unchanged": sum(r["unchanged"] == r["unreached"] for r in short),
        "filled_end": mean(r["filled"]["back"][-1] for r in short),
        "gained": sum(gain > 0 for gain in gains),
        "gain": paired(gains)["mean"],
        "gain_error": paired(gains)["error"],
    }
    return found


def _shares(rows, width):
    """Each seed's mean accuracy over places: mean, lowest and highest of these; ``end``: the last stretch; ``learned``:
    seeds with more than 0.95 within the training length; ``fell``: seeds that lose more than 0.1 beyond it."""
    found = {}
    for question in experiment.QUESTIONS:
        edge = rows[0]["trained"] // width
        inside, beyond = ([mean(r[question][part]) for r in rows] for part in (slice(edge), slice(edge, None)))
        found |= {
            f"{question}_inside": mean(inside),
            f"{question}_beyond": mean(beyond),
            f"{question}_beyond_lowest": min(beyond),
            f"{question}_beyond_highest": max(beyond),
            f"{question}_end": mean(r[question][-1] for r in rows),
            f"{question}_missed_end": 1 - mean(r[question][-1] for r in rows),
            f"{question}_learned": sum(a > LEARNED for a in inside),
            f"{question}_fell": sum(a - b > 0.1 for a, b in zip(inside, beyond, strict=True)),
        }
    return found


def of_eight_heads(distance: torch.Tensor) -> torch.Tensor:
    """ALiBi's bias with slopes 1/2 to 1/256."""
    return -alibi_slopes(8).to(distance.device)[:, None, None] * distance


def unreached(length: int) -> list[int]:
    """Causal T5 buckets (32, up to distance 128) that no pair in a row of ``length`` places reaches."""
    return sorted(set(range(BUCKETS)) - set(t5_relative_bucket(-torch.arange(length), bidirectional=False).tolist()))


def run(scheme: str, length: int, seed: int, s: Setting, device: str) -> Row:
    """One row: training on ``length`` places, both questions tested along rows of ``s.tested``."""
    torch.manual_seed(seed)  # modules draw their initial weights when they are created
    model, _ = experiment.train(SCHEMES[scheme](), s.steps, length, PER_STEP // length, seed, device=device)
    test = lambda: {
        name: [round(v, 4) for v in values]
        for name, values in experiment.test(model, accuracy_by_position, None, s.tested, s.rows, PLACES, device).items()
    }
    row = {"scheme": scheme, "trained": length, "seed": seed, **test()}
    if isinstance(model.scheme.bias, T5Bias):
        table, empty = model.scheme.bias.table.weight.data, unreached(length)
        row |= {
            "table": [[round(v, 4) for v in bucket] for bucket in table.tolist()],
            "unreached": empty,
            "unchanged": (table == 0).all(1).nonzero().flatten().tolist(),
        }
        if empty:
            table[empty] = table[min(empty) - 1].clone()
            row["filled"] = test()
    return row


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    rows = Rows("trained_length", options, dataclasses.asdict(s), len(SCHEMES) * len(s.lengths) * s.seeds)
    found = [
        rows.row(f"{scheme}, trained on {length}, seed {seed}", lambda: run(scheme, length, seed, s, options.device))
        for scheme in SCHEMES
        for length in s.lengths
        for seed in range(s.seeds)
    ]
    save("trained_length", {"rows": found, "setting": dataclasses.asdict(s), "width": PLACES}, options, range(s.seeds))
    rows.finish()


if __name__ == "__main__":
    main()
