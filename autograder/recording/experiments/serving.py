"""Records ``serving.json``: decoding steps of a whole model, predicted from bytes and FLOPs, and measured.

``python -m autograder.recording.experiments.serving [--device cuda]``; about a minute on one CPU core. Measures the
machine first, then steps over batch and context; last a model so small that neither bytes nor FLOPs dominate.
"""

import dataclasses
from collections.abc import Sequence
from itertools import product

import torch
from anatomy.experiments.serving import Decoder, machine, measured

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.serving import Served, step_seconds

ABOUT = About(seconds=60, alone=True)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Widths and layers of the model and the tiny one, users, cached tokens, size of the measured matrix product."""

    d_model: int = 1024
    layers: int = 4
    tiny: int = 64
    users: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    contexts: tuple[int, ...] = (1, 512, 2048)
    most: int = 32_768  # users · tokens, so that the caches fit in memory
    square: int = 1024
    repeats: int = 7
    dtype: str = "float32"


SIZES = {
    "small": Setting(),
    "large": Setting(
        d_model=4096,
        layers=16,
        tiny=256,
        users=(1, 4, 16, 64, 256, 512),
        contexts=(1, 2048, 8192),
        most=524_288,
        square=8192,
        repeats=15,
        dtype="bfloat16",
    ),
}


def predict(model: dict[str, int], users: int, tokens: int, bandwidth: float, peak: float, itemsize: int) -> float:
    """The reference with the signature of a learner's step_seconds."""
    return step_seconds(Served(**model), users, tokens, bandwidth, peak, itemsize)


def measure(d_model: int, pairs: Sequence[tuple[int, int]], s: Setting, device: str) -> Row:
    """One model: its sizes, the machine at that size, and a row for each (users, tokens)."""
    dtype = getattr(torch, s.dtype)
    decoder = Decoder(d_model, s.layers, device, dtype)
    bandwidth, peak = machine(decoder.sizes["weights"] * dtype.itemsize, s.square, device, dtype)
    rows = measured(predict, pairs, decoder, bandwidth, peak, s.repeats)
    return {
        "d_model": d_model,
        "sizes": decoder.sizes,
        "machine": {"bandwidth": bandwidth, "peak": peak},
        "steps": [{k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows],
    }


def facts(data: Data) -> Facts:
    """``one``: ratio of measured to predicted for one user; ``batch``: for more; ``tiny_ratio``: the tiny model's."""
    large, tiny = data["rows"]
    spans = {
        "one": [r["ratio"] for r in large["steps"] if r["users"] == 1],
        "batch": [r["ratio"] for r in large["steps"] if r["users"] > 1],
    }
    first = {r["users"]: r for r in large["steps"] if r["tokens"] == 1}
    most = max(first)
    # A step for more users needs at least as much work, so a longer time for fewer users is noise.
    quickest = min(r["measured"] for r in tiny["steps"])
    return {
        "weights": large["sizes"]["weights"],
        "megabytes": large["sizes"]["weights"] * getattr(torch, data["setting"]["dtype"]).itemsize / 1e6,
        "bandwidth": large["machine"]["bandwidth"] / 1e9,
        "peak": large["machine"]["peak"] / 1e9,
        "most_users": most,
        "slower": first[most]["measured"] / first[1]["measured"],
        "faster": most * first[1]["measured"] / first[most]["measured"],
        "shrunk": large["sizes"]["weights"] / tiny["sizes"]["weights"],
        "tiny_speedup": first[1]["measured"] / quickest,
        "tiny_ratio": quickest / next(r["predicted"] for r in tiny["steps"] if r["users"] == 1),
        **{name: {"least": min(span), "most": max(span)} for name, span in spans.items()},
    }


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    pairs = [(users, tokens) for tokens, users in product(s.contexts, s.users) if users * tokens <= s.most]
    todo = {"model": (s.d_model, pairs), "tiny model": (s.tiny, [(users, 1) for users in s.users])}
    kept = Rows("serving", options, dataclasses.asdict(s), len(todo))
    rows = [kept.row(name, lambda: measure(*sizes, s, options.device)) for name, sizes in todo.items()]
    save("serving", {"rows": rows, "setting": dataclasses.asdict(s)}, options, [0])
    kept.finish()


if __name__ == "__main__":
    main()
