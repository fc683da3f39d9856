"""Records ``assets/experiments/decode.json``: one layer's attention in one decoding step, by key-value heads.

``python -m autograder.recording.experiments.decode [--device cuda]``; under a minute on one CPU core. 32 query heads
on 1 to 32 key-value heads: read in place (``grouped``), or copied to 32 heads first (``copied``).
"""

import torch
from anatomy.experiments.decode import step_times

from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.gqa import repeat_kv

GROUPS = (1, 2, 4, 8, 16, 32)
SIZES = {"cpu": {"B": 1, "H": 32, "D": 64, "dtype": torch.float32},
         "cuda": {"B": 16, "H": 32, "D": 128, "dtype": torch.bfloat16}}
LENGTHS = {"cpu": (1024, 4096, 16384), "cuda": (1024, 4096, 16384, 65536)}


def main(argv=None, lengths=None, groups=GROUPS):
    """Command line; the other arguments are for tests."""
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    kind = options.device.split(":")[0]
    sizes = SIZES[kind]
    rows = []
    for S in lengths or LENGTHS[kind]:
        for row in step_times(repeat_kv, S, groups, device=options.device, **sizes):
            rows.append({**row, "S": S, "copied": round(row["copied"], 4), "grouped": round(row["grouped"], 4)})
            print(rows[-1], flush=True)
    setting = {**sizes, "dtype": str(sizes["dtype"]).removeprefix("torch.")}
    save("decode", {"setting": setting, "rows": rows}, options, [0])


if __name__ == "__main__":
    main()
