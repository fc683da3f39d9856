"""Trains the small language model of unit 12 on six novels, and counts n-grams on the same text.

``python -m autograder.recording.experiments.language_model [--device cuda]``. Writes ``language_model.json`` and, in
the small setting, the model of seed 0 as a checkpoint, ``assets/models/austen``, with the weights of the other seeds
in its subfolder ``seeds``. About 18 minutes on one CPU core for each of three seeds. The next call continues an
interrupted one, even in the middle of a run.
"""

import argparse
import copy
import dataclasses
import datetime
import hashlib
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from anatomy.language import corpus

from autograder import ROOT
from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.recording.language_model import checkpoint
from autograder.recording.language_model.sampling import sample
from autograder.recording.language_model.training import Run, Text, Training
from autograder.recording.references import device_facts
from autograder.reference.language import bpe
from autograder.reference.language.ngram import NGram
from autograder.reference.models.decoder import CausalDecoder, parameter_count

ABOUT = About(seconds=135)
NAME = "language_model"


@dataclasses.dataclass(frozen=True)
class Setting:
    """The training; number of seeds; n-grams of order 1 to ``orders``; samples; characters of each part of the text."""

    training: Training = Training()
    seeds: int = 3
    orders: int = 8
    # No space at a prompt's end: a word's token includes the space before it, so a lone space is rare in the text.
    prompts: tuple[str, ...] = ("It was", "Mr. Darcy", '"My dear')
    temperatures: tuple[float, ...] = (0.4, 0.7, 1.0)
    sampled: int = 80
    text: int | None = None  # all


LARGE = Training(
    d_model=384, n_layers=6, n_heads=6, n_kv_heads=2, d_ff=1024, rows=32, steps=2000, warmup=200, rate=1.5e-3
)
SIZES = {"small": Setting(), "large": Setting(LARGE)}


def seeds(data: Data) -> int:
    """Number of trainings."""
    return len(data["rows"])


def controls(data: Data) -> dict[str, int]:
    """Varied quantity → number of values."""
    return {"order of the n-gram": len(data["ngrams"]["held_out"])}


def facts(data: Data) -> Facts:
    """Numbers for texts: losses of the model and of n-grams on the same held-out bytes, and the training's cost."""
    rows, ngrams, setting = data["rows"], data["ngrams"]["held_out"], data["setting"]["training"]
    best = min(ngrams)
    passed = [next((p["step"] for p in r["curve"] if p["held_out"] < min(data["ngrams"]["probe"])), 0) for r in rows]
    losses = [r["held_out"] for r in rows]
    return {
        "seeds": len(rows),
        "parameters": data["parameters"],
        "millions": data["parameters"] / 1e6,
        "steps": setting["steps"],
        "context": setting["context"],
        "vocabulary": 256 + setting["merges"],
        "merges": setting["merges"],
        "epochs": data["epochs"],
        "minutes": data["made"]["seconds"] / 60 / len(rows),
        "train_bytes": data["text"]["train"]["bytes"],
        "held_bytes": data["text"]["held_out"]["bytes"],
        "bytes_per_token": data["text"]["train"]["bytes"] / data["text"]["train"]["tokens"],
        "mean": mean(losses),
        "lowest": min(losses),
        "highest": max(losses),
        "shipped": data["stored"],
        "train": mean(r["curve"][-1]["train"] for r in rows),
        "gap": mean(r["curve"][-1]["held_out"] - r["curve"][-1]["train"] for r in rows),
        "overfit": sum(r["curve"][-1]["held_out"] > min(p["held_out"] for p in r["curve"]) for r in rows),
        "better": sum(loss < best for loss in losses),
        "passed": sum(step > 0 for step in passed),
        "passed_at": max(passed),
        "ngram": {
            "best": best,
            "order": ngrams.index(best) + 1,
            "letters": ngrams.index(best),
            "orders": len(ngrams),
            **{f"order{n}": bits for n, bits in enumerate(ngrams, 1)},
        },
    }


def encoded(s: Setting) -> tuple[Text, str, str]:
    """Both parts of the text, as ids and as text; the merges are learned on the training part only."""
    train, held_out = (part[: s.text] for part in (corpus.training_text(), corpus.held_out_text()))
    tokenizer = bpe.BytePairEncoding(bpe.train(train, s.training.merges))
    return Text.encoded(tokenizer, train, held_out), train, held_out


def counted(s: Setting, text: Text, train: str, held_out: str) -> Row:
    """Bits per byte of each order, on the bytes that the model predicts: all, and those of the curve's points."""
    ngram, skip = NGram(train, s.orders), len(text.tokenizer.bytes[text.held_out[0]])
    probe = text.tokenizer.decode(text.held_out[: s.training.probe].tolist())
    parts = {"held_out": held_out, "probe": probe}
    return {
        **{name: [round(bits, 4) for bits in ngram.bits_per_byte(part, skip)] for name, part in parts.items()},
        "sample": ngram.sample(s.prompts[0], 4 * s.sampled, random.Random(0)),
    }


def trained(run: Run, seed: int) -> Row:
    """One training, to its end."""
    run.go_on()
    run.model.eval()
    return {"seed": seed, "curve": run.curve, "held_out": held_out_bits(run, run.model), "seconds": run.seconds}


def held_out_bits(run: Run, model: CausalDecoder) -> float:
    """Bits per byte on the whole held-out part."""
    return round(run.text.bits(model, run.text.held_out, run.s.context, run.device), 4)


def in_float16(model: CausalDecoder) -> CausalDecoder:
    """A copy with weights rounded to float16, like those of the checkpoint."""
    copied = copy.deepcopy(model)
    for parameter in copied.parameters():
        parameter.data = parameter.data.half().float()
    return copied


def written(run: Run, s: Setting) -> Row:
    """Samples of the checkpoint's model, and its loss."""
    model, tokenizer = in_float16(run.model), run.text.tokenizer
    draw = lambda prompt, t, seed: tokenizer.decode(sample(model, tokenizer.encode(prompt), s.sampled, t, seed))
    samples = [
        {"prompt": prompt, "temperature": t, "seed": seed, "text": draw(prompt, t, seed)}
        for seed, prompt in enumerate(s.prompts)
        for t in s.temperatures
    ]
    probe = run.text.bits(model, run.text.held_out[: run.s.probe], run.s.context, run.device)
    return {"samples": samples, "stored": held_out_bits(run, model), "stored_probe": round(probe, 4)}


def models(options: argparse.Namespace) -> Path | None:
    """The checkpoint's folder; None for the large setting, which only measures."""
    if options.setting == "large":
        return None
    default = ROOT / "assets" / "experiments"
    return (ROOT / "assets" if options.out.resolve() == default else options.out) / "models" / "austen"


def made(run: Run, seed: int, device: str) -> Row:
    """How the weights of one seed were made."""
    facts = {**device_facts(device), "seed": seed, "dtype": "float32", "date": datetime.date.today().isoformat()}
    command = f"python -m autograder.recording.experiments.{NAME} --device {device} --setting small"
    return {**facts, "seconds": round(run.seconds), "command": command}


def publish(folder: Path, run: Run, found: Row, about: Row, device: str) -> None:
    """Writes the checkpoint, with a manifest that states its training and its loss."""
    manifest = {
        "model": "a small LLaMA, trained on Jane Austen's six novels",
        "license": "the novels are in the public domain; the weights are under the course's license for texts",
        "made": made(run, 0, device),
        "training": dataclasses.asdict(run.s),
        "stored": "float16",
        **about,
        "held_out_bits_per_byte": found["stored"],
        "probe_bits_per_byte": found["stored_probe"],
    }
    checkpoint.write(folder, run.model, run.s, run.text.tokenizer.merges, manifest)


def described(text: Text, train: str, held_out: str) -> Row:
    """Sizes and hashes of both parts."""
    told = {}
    for name, part, ids in (("train", train, text.train), ("held_out", held_out, text.held_out)):
        digest = hashlib.sha256(part.encode()).hexdigest()
        told[name] = {"bytes": len(part), "tokens": len(ids), "sha256": digest}
    return told


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    text, train, held_out = encoded(s)
    rows = Rows(NAME, options, dataclasses.asdict(s), s.seeds + 2)
    ngrams = rows.row("n-grams", lambda: counted(s, text, train, held_out))
    states = [options.out / f"{NAME}.seed{seed}.partial" for seed in range(s.seeds)]
    about: Row = {}
    found: Row = {}
    trainings, seconds = [], 0.0
    for seed, state in enumerate(states):
        run = Run(s.training, seed, text, options.device, state)
        row = rows.row(f"seed {seed}", lambda: trained(run, seed))
        seconds += row.pop("seconds")
        trainings.append(row)
        if seed == 0:  # so that the checkpoint is written as early as possible
            about = {
                "parameters": parameter_count(run.model),
                "epochs": s.training.steps * s.training.rows * s.training.context / len(text.train),
                "text": described(text, train, held_out),
            }
            found = rows.row("samples", lambda: written(run, s))
        folder = models(options)
        if folder and seed == 0:
            publish(folder, run, found, about, options.device)
        elif folder:
            told = {"made": made(run, seed, options.device), "held_out_bits_per_byte": row["held_out"]}
            checkpoint.write_other(folder, run.model, seed, told)
    options.seconds = seconds  # processor time of the trainings, including the parts before interruptions
    data = {**about, **found, "ngrams": ngrams, "rows": trainings, "setting": dataclasses.asdict(s)}
    save(NAME, data, options, range(s.seeds))
    rows.finish()
    for state in states:
        state.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
