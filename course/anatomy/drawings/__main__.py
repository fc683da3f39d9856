"""``python -m anatomy.drawings [--out assets/drawings] [--check]``: writes the stored drawings, or lists stale ones.

Units draw their diagrams live. The stored ones are for pages without a kernel; a drawing with several panels also has a
narrow version, for phones.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..atlas import configuration, find
from ..models.config import Config, config
from . import block, cache, key_value_heads, latent, split_and_merge, stacks, token_path, wirings
from .sheet import Drawing

NARROW = 2  # columns on a phone


def deepseek() -> Config:
    """Returns the attention of DeepSeek-V3; the rest of the model is not drawn here."""
    row = find("deepseek-v3")
    keys = ("attention", "d_model", "n_heads", "head_dim", "q_rank", "kv_rank", "rope_dim", "v_dim", "query_scale")
    return config(**{key: row.values[key] for key in keys})


STORED: dict[str, Callable[[], Drawing]] = {
    "token-path": lambda: token_path(configuration("gpt-2"), 1, 3),
    "heads": lambda: split_and_merge(12, 3, 2, 5),
    "block-llama-3-8b": lambda: block(configuration("llama-3-8b")),
    "block-gpt-2": lambda: block(configuration("gpt-2")),
    "wirings": wirings,
    "stacks": lambda: stacks(*map(configuration, ("bert-base", "gpt-2", "t5-small"))),
    "cache": lambda: cache(configuration("llama-3-8b")),
    "key-value-heads": lambda: key_value_heads(8, 2, 64),
    "latent": lambda: latent(deepseek()),
}


def files() -> dict[str, str]:
    """File name → contents, for all stored drawings."""
    made = {}
    for name, draw in STORED.items():
        drawing = draw()
        made[f"{name}.svg"] = drawing.svg()
        if len(drawing.panels) > 1:
            wide = max(p.width for p in drawing.panels) > 200
            made[f"{name}-narrow.svg"] = drawing.svg(1 if wide else NARROW)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns an exit status."""
    parser = argparse.ArgumentParser(prog="python -m anatomy.drawings", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("assets/drawings"))
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a stored drawing differs")
    options = parser.parse_args(argv)
    made = files()
    stored = {p.name: p.read_text(encoding="utf-8") for p in sorted(options.out.glob("*.svg"))}
    stale = [name for name, text in made.items() if stored.get(name) != text]
    surplus = sorted(stored.keys() - made.keys())
    if options.check:
        for name in stale + surplus:
            print(f"stale: {options.out / name} (run `make drawings`)", file=sys.stderr)
        return 1 if stale or surplus else 0
    options.out.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (options.out / name).write_text(made[name], encoding="utf-8", newline="\n")
        print(f"wrote {options.out / name}")
    for name in surplus:
        (options.out / name).unlink()
        print(f"removed {options.out / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
