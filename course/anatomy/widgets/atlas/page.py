"""Data on each row for the page and the still picture: words, code, notes, sources, shapes."""

import re
from collections.abc import Iterable
from typing import Any

from ...atlas import Row, lacking, words
from ...atlas.counting import tables
from ...atlas.mixing import RECURRENT, bytes_per_token, mixers
from ...atlas.rows import NEEDED, changes
from ...atlas.spoken import apart, spoken, spoken_in_parts
from ...atlas.words import SENTENCES, UNKNOWN, families, size
from ...models.config import DEFAULTS
from ...system.translation import listed
from .block import KEYS, block

_SIZE = re.compile(
    r"([ -]\(?(base|big|large|small|mini|X+L|[\dx.]+[MB](-A\d+B)?)\)?|[ -]Air)+$", re.I
)  # at a title's end
NOTE = "Some notes say “{said}”. {why} ({source})"
NOT_BUILT = "It cannot be built here: {list}."
NOT_PUBLISHED = "{list} not published"
SUMMARY, NOTHING = "{title}, {organization}, {year}: {list}.", "its design is not published"
SHOWN = ("norm", "placement", "position", "attention", "activation", "memory")
FILTERS = ("norm", "placement", "position", "activation", "attention", "mixing")


def card(row: Row) -> dict[str, Any]:
    """One row as data for the page."""
    height, shapes = block(row)
    said = words(row)
    return {
        "title": row.title,
        "stem": stem(row),
        "year": row.year,
        "organization": row.organization,
        "kind": row.get("kind", ""),
        "family": {name: spoken(family) for name, family in families(row).items()},
        "words": [spoken_in_parts(aspect, said[aspect]) for aspect in SENTENCES],
        "summary": summary(row),
        "untold": untold(row),
        "size": size(row),
        "published": row.published,
        "counts": spoken(row.counts or ""),
        "cache": cache(row),
        "tables": tables(row.values) if row.counts and "d_ff" in row.values else 0,
        "code": code(row),
        "lacking": spoken(NOT_BUILT).format(list=apart(reasons(row))) if lacking(row) else "",
        "notes": notes(row),
        "sources": row.references,
        "height": height,
        "shapes": [[*shape[:-1], spoken(shape[-1])] if shape[0] == "text" else shape for shape in shapes],
    }


def reasons(row: Row) -> list[str]:
    """Why the row cannot be built; ``lacking`` names what is not published by keys of a configuration."""
    unknown = [spoken(KEYS[key]) for key in NEEDED if key not in row.values]
    parts = [*map(spoken, lacking(row)[bool(unknown) :])]
    return [spoken(NOT_PUBLISHED).format(list=listed(unknown)), *parts] if unknown else parts


def stem(row: Row) -> str:
    """Name of the row's family: its title without a size."""
    return _SIZE.sub("", row.title)


def summary(row: Row) -> str:
    """The row in one sentence."""
    said = words(row)
    layers = set(mixers(row.values))
    told = {k: spoken_in_parts(k, said[k]) for k in SHOWN if said[k] != UNKNOWN}
    if len(layers) > 1 and layers & {*RECURRENT, "csa"}:  # the pattern says more than the heads of some layers
        told["attention"] = apart([spoken_in_parts("mixing", said["mixing"]), spoken(families(row)["attention"])])
    return _about(row, told.values())


def line(row: Row, aspects: Iterable[str]) -> str:
    """What the row has of these aspects, in one sentence."""
    said = words(row)
    return _about(row, [spoken_in_parts(k, said[k]) for k in aspects if said[k] != UNKNOWN])


def _about(row, told):
    about = {"title": row.title, "organization": row.organization, "year": row.year}
    return spoken(SUMMARY).format(**about, list=apart(told) or untold(row))


def untold(row: Row) -> str:
    """What is said in the place of an aspect that is not published, or of a whole design."""
    said = words(row)
    return spoken(NOTHING if all(said[k] == UNKNOWN for k in SHOWN) else UNKNOWN)


def cache(row: Row) -> dict[str, str]:
    """What its KV cache takes, as what the phrases “cache” and “filled” leave open; {} where a size is not published,
    and where not all layers keep keys and values of all tokens."""
    v = row.values
    known = row.get("kind") == "decoder" and {"n_kv_heads", "head_dim"} <= v.keys()
    if not known or set(mixers(v)) != {"full"} or (n := bytes_per_token(v)) is None:
        return {}
    told = {"n": f"{n:,}", "layers": str(v["n_layers"]), "heads": str(v["n_kv_heads"]), "dim": str(v["head_dim"])}
    if context := v.get("max_positions"):
        told |= {"context": f"{context:,}", "size": _large(n * context)}
    return told


def _large(count: int) -> str:
    """A number of bytes: 2.1 GB."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"


def notes(row: Row) -> list[str]:
    """Errors about it in the course's notes with their corrections, then the remarks; a sentence or two each."""
    wrong = [
        spoken(NOTE).format(said=spoken(n["said"]), why=spoken(n["why"]), source=n["source"]) for n in row.notes_said
    ]
    return [*wrong, *map(spoken, row.remarks)]


def code(row: Row) -> str:
    """Code that creates the configuration, with all values that are not defaults; "" if the row cannot be built."""
    if lacking(row):
        return ""
    kept = {k: v for k, v in changes(row).items() if v != DEFAULTS[k]}
    if kept.get("n_kv_heads") == kept.get("n_heads"):
        kept.pop("n_kv_heads", None)
    if kept.get("head_dim") == kept["d_model"] // kept["n_heads"]:
        kept.pop("head_dim", None)
    lines, line = [], "   "
    for part in [f" {k}={v!r}," for k, v in kept.items()]:
        if len(line) + len(part) > 46:
            lines.append(line)
            line = "   "
        line += part
    return "\n".join(["from anatomy.models import config", "", "c = config(", *lines, line, ")"])


def fits(row: Row, asked: dict[str, str]) -> bool | None:
    """Whether a row has the families that are asked for, by the name of the filter; None if nobody published that."""
    family = families(row)
    others = {family[name] for name, want in asked.items() if family[name] != want}
    return None if others == {UNKNOWN} else not others


def matches(row: Row, asked: dict[str, str], since: int, until: int, text: str) -> bool:
    """True if a row passes the filter. asked: name of a filter → family."""
    said = (spoken_in_parts(aspect, told) for aspect, told in words(row).items())
    known = f"{row.title} {row.organization} {' '.join(said)}".lower()
    return fits(row, asked) is True and since <= row.year <= until and text.strip().lower() in known
