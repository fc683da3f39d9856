"""The table that ``parts.show`` displays: each part is the learner's, torch's own, or still to do."""

from collections.abc import Sequence

from ..program import units
from ..system.texts import escaped
from . import books
from .judged import STUB, Part

# The parts of a Transformer in unit 11, in the order of the units.
ASSEMBLY = (
    "attention.softmax",
    "attention.scaled_dot_product",
    "attention.split_heads",
    "norm.layer_norm",
    "norm.rms_norm",
    "placement.post_and_pre",
    "placement.variants",
    "activation.gelu",
    "ffn.gated",
    "position.sinusoidal",
    "position.t5_buckets",
    "position.t5_bias",
    "position.alibi",
    "rope.apply_rope",
    "rope.apply_rope_half",
    "mask.rectangular",
    "mask.causal_padding",
    "cache.grouped",
    "stability.soft_cap",
)

YOURS, TORCHS, OPEN = "yours", "torch's own", "still to do"


class Table:
    """The parts as a table; ``parts`` holds them."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = list(parts)

    def counts(self) -> str:
        """Counts in words, such as ``9 yours, 2 torch's own, 1 still to do``."""
        whose = [_whose(p) for p in self.parts]
        return ", ".join(f"{whose.count(w)} {w}" for w in (YOURS, TORCHS, OPEN) if w in whose)

    def __repr__(self) -> str:
        width = max((len(p.id) for p in self.parts), default=0)
        lines = [f"{p.id:{width}}  {_whose(p)}: {_words(p)}" for p in self.parts]
        return "\n".join([*lines, self.counts()])

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col" style="text-align:left">{h}</th>' for h in ("part", "defines", "whose", "where")
        )
        rows = "".join(map(_row, self.parts))
        return (
            f'<table aria-label="parts"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
            f"<p>{escaped(self.counts())}</p>"
        )


def _whose(part: Part) -> str:
    return TORCHS if part.own else OPEN if part.why else YOURS


def _words(part: Part) -> str:
    if not part.why:
        return f"{part.title}, in {part.where}"
    return f"{part.own.name}. Yours: {part.problem}" if part.own else part.problem


def _row(part: Part) -> str:
    link = units.anchor(books.link(part.path, part.id), escaped(part.title))
    why = "" if part.why in ("", STUB) else f": {escaped(part.why)}"
    where = f"<code>{escaped(part.own.name)}</code>. Yours: {link}{why or ', still to do.'}" if part.own else link + why
    cells = (
        f'<th scope="row" style="text-align:left"><code>{escaped(part.id)}</code></th>',
        f'<td style="text-align:left"><code>{escaped(", ".join(part.targets))}</code></td>',
        f'<td style="text-align:left;white-space:nowrap"><b>{_whose(part)}</b></td>',
        f'<td style="text-align:left">{where}</td>',
    )
    return f"<tr>{''.join(cells)}</tr>"
