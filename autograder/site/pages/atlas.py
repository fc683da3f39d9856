"""The atlas of models as a table, each value with its source."""

import re

from anatomy import atlas
from anatomy.atlas.mixing import NO_OPTIMIZER, bytes_per_token, memory, residual
from anatomy.atlas.rows import Row
from anatomy.atlas.words import UNKNOWN, families, short, size

from autograder.site import links
from autograder.site.cited import NUMBER

HERE = "atlas"
COLUMNS = ("norm", "placement", "position", "activation", "attention", "mixing")


def pages() -> dict[str, str]:
    """The page ``atlas``."""
    rows = atlas.models()
    table = "\n".join(_row(row) for row in rows)
    details = "\n".join(_model(row) for row in rows)
    text = f"""# Atlas of models

What {len(rows)} released Transformers, from {min(r.year for r in rows)} to {max(r.year for r in rows)}, are made of.
The [widget]({links.widget(HERE, "atlas")}) sorts and compares them; here is the same as a table, and below it each
model with its sizes and sources. A dash means that the sources do not say.

| model | year | parameters | {" | ".join(COLUMNS)} | bytes a token | residual | optimizer |
|---|---|---|{"---|" * len(COLUMNS)}---|---|---|
{table}

Parameters are counted from the published sizes where these suffice, else as published. *pre*, *post*, *inside* and
*parallel* are the places of the norms ([unit 03]({links.unit(HERE, "03-norm-placement")})); MHA, MQA, GQA and MLA say
how many heads share keys and values ([unit 08]({links.unit(HERE, "08-kv-cache-and-gqa")})). *Mixing* is how layers mix
tokens: *windows*, *latent*, *chosen tokens* and *recurrent state* are in some layers or in all
([unit 14]({links.unit(HERE, "14-cheaper-attention")})). *Bytes a token* are what a decoder would keep after a million
tokens, cache and state divided by their number, with two bytes for each number: counted from the sizes.

## The models one by one

{details}"""
    return {HERE: text}


def _row(row: Row) -> str:
    kinds = families(row)
    cells = [kinds[c] if kinds[c] != UNKNOWN else "–" for c in COLUMNS]
    count = size(row)
    cells += [_kept(row), residual(row.values) or "–", row.get("optimizer", "–")]
    return f"| [{row.title}](#{_anchor(row)}) | {row.year} | {short(count) if count else '–'} | {' | '.join(cells)} |"


def _kept(row: Row) -> str:
    counted = "bytes" in memory(row.values)
    return f"{bytes_per_token(row.values):,}" if counted else "–"


def _anchor(row: Row) -> str:
    return f"model-{links.anchor(row.name)}"


def _model(row: Row) -> str:
    words = {k: v for k, v in atlas.words(row).items() if v not in (UNKNOWN, NO_OPTIMIZER)}
    said = "; ".join(f"{k}: {v}" for k, v in words.items() if k != "sizes")
    parts = [f"({_anchor(row)})=\n### {row.title}\n", f"{row.organization}, {row.year}. {_sentence(said)}"]
    if "sizes" in words:
        parts.append(_sentence(words["sizes"]))
    parts += [_plain(remark) for remark in row.remarks]
    if row.after:
        parts.append(f"It starts from {_plain(atlas.find(row.after).title)} ({_linked(row.after_source)}).")
    if row.differs:
        parts.append(
            f"The count differs from the published number by up to {row.differs[0]} percent. {_plain(row.differs[1])}"
        )
    for note in row.notes_said:
        parts.append(
            f"Notes that this course checks say of its {note['key']}: “{_plain(note['said'])}”. "
            f"{_plain(note['why'])} ({_linked(note['source'])})"
        )
    parts.append("Sources: " + "; ".join(_linked(source) for source in row.references) + ".")
    return "\n\n".join(parts) + "\n"


def _sentence(text: str) -> str:
    text = _plain(text)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _plain(text: str) -> str:
    """Escape a text, so that Markdown shows it unchanged."""
    return re.sub(r"([\\`*_\[\]<>$|])", r"\\\1", text)


def _linked(source: str) -> str:
    return NUMBER.sub(lambda m: f"[{m[0]}]({links.paper(m[1])})", _plain(source))
