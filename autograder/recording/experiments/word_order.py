"""Records ``assets/experiments/word_order.json``: who came first, in sentences of 64 words, five seeds per setting.

``python -m autograder.recording.experiments.word_order [--device cuda]``; two minutes on one CPU core.
"""

import argparse
import datetime
import json
import sys

import torch
from anatomy.experiments.word_order import SETTINGS, train_reader

from autograder.recording.record import ROOT, device_facts
from autograder.reference.attention import MultiHeadAttention

LENGTH, STEPS, SEEDS = 64, 600, range(5)


def measure(device="cpu", length=LENGTH, steps=STEPS, seeds=SEEDS):
    """setting → one curve of (step, accuracy) per seed."""
    return {name: [train_reader(MultiHeadAttention, **setting, length=length, steps=steps, seed=seed, device=device)
                   for seed in seeds] for name, setting in SETTINGS.items()}


def main(argv=None):
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args(argv)
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        print("No CUDA device here. Record with --device cpu; the file will say so.", file=sys.stderr)
        return 2
    made = {**device_facts(options.device), "seeds": list(SEEDS), "date": datetime.date.today().isoformat(),
            "command": f"python -m autograder.recording.experiments.word_order --device {options.device}"}
    data = {"made": made, "length": LENGTH, "curves": measure(options.device)}
    path = ROOT / "assets" / "experiments" / "word_order.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, sort_keys=True) + "\n", encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
