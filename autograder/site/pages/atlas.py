"""The atlas of models as a table, each value with its source."""

import re

from anatomy import atlas
from anatomy.atlas.rows import Row
from anatomy.atlas.words import UNKNOWN, families, short, size

from autograder.site import links
from autograder.site.cited import NUMBER

HERE = "atlas"
COLUMNS = ("norm", "placement", "position", "activation", "attention")


def pages() -> dict[str, str]:
    """The page ``atlas``."""
    rows = atlas.models()
    table = "\n".join(_row(row) for row in rows)
    details = "\n".join(_model(row) for row in rows)
    text = f"""# Atlas of models

What {len(rows)} released Transformers, from {min(r.year for r in rows)} to {max(r.year for r in rows)}, are made of.
The [widget]({links.widget(HERE, "atlas")}) sorts and compares them; here is the same as a table, and below it each
model with its sizes and sources. A dash means that the sources do not say.

| model | year | parameters | {" | ".join(COLUMNS)} |
|---|---|---|{"---|" * len(COLUMNS)}
{table}

Parameters are counted from the published sizes where these suffice, else as published. *pre*, *post*, *inside* and
*parallel* are the places of the norms ([unit 03]({links.unit(HERE, "03-norm-placement")})); MHA, MQA, GQA and MLA say
how many heads share keys and values ([unit 08]({links.unit(HERE, "08-kv-cache-and-gqa")})).

## The models one by one

{details}"""
    return {HERE: text}


def _row(row: Row) -> str:
    kinds = families(row)
    cells = [kinds[c] if kinds[c] != UNKNOWN else "–" for c in COLUMNS]
    count = size(row)
    return f"| [{row.title}](#{_anchor(row)}) | {row.year} | {short(count) if count else '–'} | {' | '.join(cells)} |"


def _anchor(row: Row) -> str:
    return f"model-{links.anchor(row.name)}"


def _model(row: Row) -> str:
    words = {k: v for k, v in atlas.words(row).items() if v != UNKNOWN}
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
