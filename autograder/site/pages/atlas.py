"""The atlas of models as a table, each value with its source."""

import re

from anatomy import atlas
from anatomy.atlas.mixing import NO_OPTIMIZER, bytes_per_token, memory, residual
from anatomy.atlas.rows import Row
from anatomy.atlas.spoken import spoken as said
from anatomy.atlas.spoken import spoken_in_parts as said_in_parts
from anatomy.atlas.words import UNKNOWN, families, short, size
from anatomy.system.translation import sentences

from autograder.site import links
from autograder.site.cited import NUMBER

from ..words import N_, _

HERE = "atlas"
COLUMNS = ("norm", "placement", "position", "activation", "attention", "mixing")
LEAD = N_(
    "What {n} released Transformers, from {first} to {last}, are made of. The [widget]({widget}) sorts and compares "
    "them; here is the same as a table, and below it each model with its sizes and sources. A dash means that the "
    "sources do not say."
)
HEAD = N_(
    "| model | year | parameters | norm | placement | position | activation | attention | mixing | bytes a token | "
    "residual | optimizer |"
)
BELOW = N_(
    "Parameters are counted from the published sizes where these suffice, else as published. *pre*, *post*, *inside* "
    "and *parallel* are the places of the norms ([unit 03]({placement})); MHA, MQA, GQA and MLA say how many heads "
    "share keys and values ([unit 08]({heads})). *Mixing* is how layers mix tokens: *windows*, *latent*, *chosen "
    "tokens* and *recurrent state* are in some layers or in all ([unit 14]({mixing})). *Bytes a token* are what a "
    "decoder would keep after a million tokens, cache and state divided by their number, with two bytes for each "
    "number: counted from the sizes."
)


def pages() -> dict[str, str]:
    """The page ``atlas``."""
    rows = atlas.models()
    years = [row.year for row in rows]
    lead = _(LEAD).format(n=len(rows), first=min(years), last=max(years), widget=links.widget(HERE, "atlas"))
    units = {"placement": "03-norm-placement", "heads": "08-kv-cache-and-gqa", "mixing": "14-cheaper-attention"}
    parts = [
        f"# {_('Atlas of models')}",
        lead,
        "\n".join([_(HEAD), f"|---|---|---|{'---|' * len(COLUMNS)}---|---|---|", *map(_row, rows)]),
        _(BELOW).format(**{name: links.unit(HERE, unit) for name, unit in units.items()}),
        f"## {_('The models one by one')}",
        "\n".join(map(_model, rows)),
    ]
    return {HERE: "\n\n".join(parts)}


def _row(row: Row) -> str:
    kinds = families(row)
    cells = [said(kinds[c]) if kinds[c] != UNKNOWN else "–" for c in COLUMNS]
    count = size(row)
    cells += [_kept(row), said(residual(row.values)) or "–", row.get("optimizer", "–")]
    amount = said(short(count)) if count else "–"
    return f"| [{row.title}](#{_anchor(row)}) | {row.year} | {amount} | {' | '.join(cells)} |"


def _kept(row: Row) -> str:
    counted = "bytes" in memory(row.values)
    return f"{bytes_per_token(row.values):,}" if counted else "–"


def _anchor(row: Row) -> str:
    return f"model-{links.anchor(row.name)}"


def _model(row: Row) -> str:
    words = {k: v for k, v in atlas.words(row).items() if v not in (UNKNOWN, NO_OPTIMIZER)}
    aspects = (
        _("{a}; {b}")
        .format(a="", b="")
        .join(
            _("{aspect}: {what}").format(aspect=said(k), what=said_in_parts(k, v))
            for k, v in words.items()
            if k != "sizes"
        )
    )
    about = _("{organization}, {year}.").format(organization=row.organization, year=row.year)
    shown = [f"({_anchor(row)})=\n### {row.title}\n", sentences(about, _sentence(aspects))]
    if "sizes" in words:
        shown.append(_sentence(said_in_parts("sizes", words["sizes"])))
    shown += [_plain(said(remark)) for remark in row.remarks]
    if row.after:
        after = _plain(atlas.find(row.after).title)
        shown.append(_("It starts from {model} ({source}).").format(model=after, source=_linked(row.after_source)))
    if row.differs:
        by = _("The count differs from the published number by up to {n} percent.").format(n=row.differs[0])
        shown.append(sentences(by, _plain(said(row.differs[1]))))
    for note in row.notes_said:
        text = _("Notes that this course checks say of its {aspect}: “{said}”. {why} ({source})")
        told = {"aspect": said(note["key"]), "said": _plain(said(note["said"])), "why": _plain(said(note["why"]))}
        shown.append(text.format(**told, source=_linked(note["source"])))
    sources = _("{a}; {b}").format(a="", b="").join(map(_linked, row.references))
    return "\n\n".join([*shown, _("Sources: {list}.").format(list=sources)]) + "\n"


def _sentence(text: str) -> str:
    text = _plain(text)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else _("{sentence}.").format(sentence=""))


def _plain(text: str) -> str:
    """Escape a text, so that Markdown shows it unchanged."""
    return re.sub(r"([\\`*_\[\]<>$|])", r"\\\1", text)


def _linked(source: str) -> str:
    """A source as its authors name it, with a link to a paper: the same in all languages."""
    return f"<cite>{NUMBER.sub(lambda m: f'[{m[0]}]({links.paper(m[1])})', _plain(source))}</cite>"
