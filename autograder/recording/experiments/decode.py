"""Records ``decode.json``: one layer's attention in one decoding step, by key-value heads.

``python -m autograder.recording.experiments.decode [--device cuda]``; under a minute on one CPU core. 32 query heads
with 1 to 32 key-value heads, which are read in place (``grouped``) or first copied to 32 heads (``copied``; the copies
alone are ``copying``).
"""

import dataclasses
from collections.abc import Sequence

import torch
from anatomy.experiments.decode import step_times

from autograder.recording.experiments import About, Data, Facts, Row
from autograder.recording.experiments.norm_bandwidth import keep_memory
from autograder.recording.experiments.resume import Rows
from autograder.recording.experiments.writing import arguments, prepare, save
from autograder.reference.gqa import repeat_kv

ABOUT = About(seconds=30, alone=True)


@dataclasses.dataclass(frozen=True)
class Setting:
    """Users decoded at once, query heads, head dim, dtype; key-value heads and numbers of cached tokens to compare."""

    B: int = 1
    H: int = 32
    D: int = 64
    dtype: str = "float32"
    groups: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    lengths: tuple[int, ...] = (1024, 4096, 16384)


SIZES = {"small": Setting(), "large": Setting(B=16, D=128, dtype="bfloat16", lengths=(1024, 4096, 16384, 65536))}


def measure(S: int, G: int, s: Setting, device: str) -> Row:
    """Milliseconds of one step with S cached tokens and G key-value heads."""
    (row,) = step_times(repeat_kv, S, (G,), s.B, s.H, s.D, getattr(torch, s.dtype), device)
    return {**row, "S": S, **{name: round(row[name], 4) for name in ("copying", "copied", "grouped")}}


def facts(data: Data) -> Facts:
    """Numbers for texts: at the longest cache, milliseconds by key-value heads, and the cost of copying first."""
    H, longest = data["setting"]["H"], max(r["S"] for r in data["rows"])
    shared = [r for r in data["rows"] if 1 < r["G"] < H]  # a single head is only viewed, not copied
    last = {r["G"]: r for r in data["rows"] if r["S"] == longest}
    times = [last[G]["copied"] / last[G]["grouped"] for G in last if 1 < G < H]
    return {
        "in_place": {f"g{G}": r["grouped"] for G, r in last.items()},
        "copied": {f"g{G}": r["copied"] for G, r in last.items()},
        "slower": {
            "held": sum(r["copied"] > r["grouped"] for r in shared),
            "of": len(shared),
            "least": min(times),
            "most": max(times),
        },
    }


def main(argv: Sequence[str] | None = None, setting: Setting | None = None) -> None:
    """Command line; ``setting`` is for tests."""
    keep_memory()  # else large copies get fresh memory from the system each time, which takes longer than the copy
    options = arguments(__doc__).parse_args(argv)
    prepare(options.device)
    s = setting or SIZES[options.setting]
    kept = Rows("decode", options, dataclasses.asdict(s), len(s.lengths) * len(s.groups))
    rows = [
        kept.row(f"{S} tokens, {G} heads", lambda: measure(S, G, s, options.device))
        for S in s.lengths
        for G in s.groups
    ]
    facts = {"B": s.B, "H": s.H, "D": s.D, "dtype": s.dtype}
    save("decode", {"setting": facts, "rows": rows}, options, [0])
    kept.finish()


if __name__ == "__main__":
    main()
