"""Records ``speed_of_speech.json``: seconds per token by the model's width, and the bounds from bytes and operations.

``python -m autograder.recording.experiments.speed_of_speech [--device cuda]``; half a minute on one CPU core.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from anatomy.experiments import speed_of_speech as experiment
from anatomy.experiments.norm_bandwidth import best_time

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.austen import configuration
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.assembly.decoder import Decoder

ABOUT = About(seconds=30, alone=True)

HOLLOW = "hollow"


@dataclasses.dataclass(frozen=True)
class Setting:
    """Widths besides the shipped model's own, tokens before the timed one, number of measurements."""

    widths: tuple[int, ...] = (32, 64, 320, 640, 1280)
    past: int = 64
    rounds: int = 3
    repeats: int = 15


SIZES = {"small": Setting(), "large": Setting(widths=(32, 64, 320, 640, 1280, 2560, 5120), past=512)}


def configurations(s: Setting) -> dict[str, dict[str, Any]]:
    """Name → configuration: hollow, then by width; layers, heads and vocabulary are those of the shipped model."""
    c = configuration()
    found = {HOLLOW: experiment.hollow(c)}
    for d in sorted({*s.widths, c["d_model"]}):
        D = d // c["n_heads"]
        d_ff = round(c["d_ff"] * d / c["d_model"])
        sizes = {"d_model": d, "d_embedding": d, "head_dim": D, "rotary_dim": D, "query_scale": D, "d_ff": d_ff}
        found[str(d)] = {**c, **sizes}
    return found


def measure(name: str, s: Setting, device: str) -> Row:
    """One width: bytes, calls, seconds per token in each round, and the limits of one core (or the GPU)."""
    c = configurations(s)[name]
    torch.manual_seed(0)
    model = Decoder(c).to(device).eval()
    once = experiment.step(model, device, s.past)
    found = experiment.machine(experiment.weight_bytes(model), device)
    reading, computing = experiment.predicted(model, found)
    return {
        "model": name,
        "d_model": c["d_model"],
        "parameters": sum(p.numel() for p in model.parameters()),
        "bytes": experiment.weight_bytes(model),
        "calls": experiment.calls(once),
        "seconds": [best_time(once, device, s.repeats) for _ in range(s.rounds)],
        "reading": reading,
        "computing": computing,
        "machine": found._asdict(),
    }


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    names = list(configurations(s))
    kept = Rows("speed_of_speech", options, dataclasses.asdict(s), len(names))
    rows = [kept.row(name, lambda: measure(name, s, options.device)) for name in names]
    own = configuration()["d_model"]
    token = told({r["model"]: r for r in rows}, str(own))
    print(experiment.verdict(token))
    save("speed_of_speech", {"rows": rows, "own": str(own), "setting": dataclasses.asdict(s)}, options, [0])
    kept.finish()


def told(rows: dict[str, Row], name: str) -> experiment.Token:
    """The times of one row, with that of the hollow model."""
    row = rows[name]
    return experiment.Token(min(row["seconds"]), row["reading"], row["computing"], min(rows[HOLLOW]["seconds"]))


def facts(data: Data) -> Facts:
    """Numbers for the unit's text about the recorded machine, for the shipped model's size and for the widest.

    ``factor``: measured time over the larger of the two bounds. ``hollow_share``: the hollow model's time over the
    measured one. Times in milliseconds, speeds in tokens per second.
    """
    rows = {r["model"]: r for r in data["rows"]}
    widest = max(data["rows"], key=lambda r: r["d_model"])["model"]
    machine = rows[data["own"]]["machine"]
    return {
        "own": _size(rows, data["own"]),
        "widest": _size(rows, widest),
        "hollow_ms": 1e3 * min(rows[HOLLOW]["seconds"]),
        "hollow_parameters": rows[HOLLOW]["parameters"],
        "gigabytes": machine["bytes_per_second"] / 1e9,
        "gigaflops": machine["flops_per_second"] / 1e9,
        "microseconds_per_call": 1e6 * min(rows[HOLLOW]["seconds"]) / rows[HOLLOW]["calls"],
    }


def _size(rows, name):
    token, row = told(rows, name), rows[name]
    bound = max(token.reading, token.computing)
    return {
        "width": row["d_model"],
        "parameters": row["parameters"],
        "calls": row["calls"],
        "ms": 1e3 * token.measured,
        "speed": 1 / token.measured,
        "speed_by_bytes": 1 / token.reading,
        "speed_by_operations": 1 / token.computing,
        "factor": token.measured / bound,
        "hollow_share": token.hollow / token.measured,
    }


if __name__ == "__main__":
    main()
