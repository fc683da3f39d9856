"""Records ``decode.json``: one layer's attention in one decoding step, by key-value heads.

``python -m autograder.recording.experiments.decode [--device cuda]``; under a minute on one CPU core. 32 query heads
on 1 to 32 key-value heads: read in place (``grouped``), or copied to 32 heads first (``copied``).
"""

import dataclasses

import torch
from anatomy.experiments.decode import step_times

from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.gqa import repeat_kv


@dataclasses.dataclass(frozen=True)
class Setting:
    """Users decoded at once, query heads, head dim, dtype; key-value heads and numbers of cached tokens to compare."""

    B: int = 1
    H: int = 32
    D: int = 64
    dtype: str = "float32"
    groups: tuple = (1, 2, 4, 8, 16, 32)
    lengths: tuple = (1024, 4096, 16384)


SIZES = {"small": Setting(), "large": Setting(B=16, D=128, dtype="bfloat16", lengths=(1024, 4096, 16384, 65536))}


def measure(S, G, s, device):
    """Milliseconds of one step on S cached tokens and G key-value heads."""
    row, = step_times(repeat_kv, S, (G,), s.B, s.H, s.D, getattr(torch, s.dtype), device)
    return {**row, "S": S, "copied": round(row["copied"], 4), "grouped": round(row["grouped"], 4)}


def main(argv=None, setting=None):
    """Command line; ``setting`` is for tests."""
    options = arguments(__doc__.splitlines()[0]).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    kept = Rows("decode", options, dataclasses.asdict(s), len(s.lengths) * len(s.groups))
    rows = [kept.row(f"{S} tokens, {G} heads", lambda: measure(S, G, s, options.device))
            for S in s.lengths for G in s.groups]
    facts = {"B": s.B, "H": s.H, "D": s.D, "dtype": s.dtype}
    save("decode", {"setting": facts, "rows": rows}, options, [0])
    kept.finish()


if __name__ == "__main__":
    main()
