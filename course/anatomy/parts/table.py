"""The table that ``parts.show`` displays: each part is the learner's, torch's own, or still to do."""

from collections.abc import Sequence

from ..program import units
from ..system.texts import escaped
from ..system.translation import N_, _, listed, said
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

YOURS, TORCHS, OPEN = N_("yours"), N_("torch's own"), N_("still to do")


class Table:
    """The parts as a table; ``parts`` holds them."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = list(parts)

    def counts(self) -> str:
        """Counts in words, such as ``9 yours, 2 torch's own, 1 still to do``."""
        whose = [_whose(p) for p in self.parts]
        told = _("{n} {whose}")
        return listed(told.format(n=whose.count(w), whose=_(w)) for w in (YOURS, TORCHS, OPEN) if w in whose)

    def __repr__(self) -> str:
        width = max((len(p.id) for p in self.parts), default=0)
        lines = [f"{p.id:{width}}  {_(_whose(p))}: {_words(p)}" for p in self.parts]
        return "\n".join([*lines, self.counts()])

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col" style="text-align:left">{escaped(h)}</th>'
            for h in (_("part"), _("defines"), _("whose"), _("where"))
        )
        rows = "".join(map(_row, self.parts))
        return (
            f'<table aria-label="{escaped(_("parts"))}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
            f"<p>{escaped(self.counts())}</p>"
        )


def _whose(part: Part) -> str:
    return TORCHS if part.own else OPEN if part.why else YOURS


def _words(part: Part) -> str:
    if not part.why:
        return _("{title}, in {where}").format(title=said(part.id, part.title), where=part.where)
    if not part.own:
        return part.problem
    return _("{own}. Yours: {problem}").format(own=part.own.name, problem=part.problem)


def _row(part: Part) -> str:
    link = units.anchor(books.link(part.path, part.id), escaped(said(part.id, part.title)))
    why = "" if part.why in ("", STUB) else f": {escaped(part.why)}"
    where = link + why
    if part.own:
        told = _("{own}. Yours: {link}: {why}") if why else _("{own}. Yours: {link}, still to do.")
        where = told.format(own=f"<code>{escaped(part.own.name)}</code>", link=link, why=escaped(part.why))
    cells = (
        f'<th scope="row" style="text-align:left"><code>{escaped(part.id)}</code></th>',
        f'<td style="text-align:left"><code>{escaped(", ".join(part.targets))}</code></td>',
        f'<td style="text-align:left;white-space:nowrap"><b>{escaped(_(_whose(part)))}</b></td>',
        f'<td style="text-align:left">{where}</td>',
    )
    return f"<tr>{''.join(cells)}</tr>"
