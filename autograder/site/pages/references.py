"""Every paper that the course cites, once, with the units that cite it."""

from autograder.notebooks import facts
from autograder.site import cited, links

HERE = "references"


def pages() -> dict[str, str]:
    """The page ``references``."""
    known = cited.papers()
    keys = sorted(cited.every_key(), key=lambda k: (_sorting(k), k))
    rows = "\n".join(f"| {cited.reference(k)} | {_where(k)} |" for k in keys)
    years = [known[k]["year"] for k in keys if k in known]
    text = f"""# References

{len(keys)} papers from {min(years)} to {max(years)}: all that the units and the
[atlas]({links.page(HERE, "atlas")}) cite, in the order of their first authors. The year is that of the first version.
A number leads to the first place in that unit; *atlas* means that a model's values come from there, *code* that the
paper is named only where the course's code follows it.

| paper | cited in |
|---|---|
{rows}

Code and explanations of code that the units cite:

{_code()}
"""
    return {HERE: text}


def _sorting(key: str) -> tuple[str, int]:
    known = cited.papers().get(key)
    return (known["authors"].lower(), known["year"]) if known else ("~", 0)


def _where(key: str) -> str:
    first: dict[str, str] = {}
    for citation in cited.citations().get(key, []):
        first.setdefault(citation.unit, citation.cell)
    places = [f"[{name[:2]}]({links.unit(HERE, name, cell)})" for name, cell in first.items()]
    models = cited.in_atlas().get(key, [])
    if models:
        places.append(f"[atlas]({links.page(HERE, 'atlas')})")
    return ", ".join(places) or "code"


def _code() -> str:
    found: dict[str, tuple[str, set[str]]] = {}
    for link in cited.all_links():
        if link.key.startswith(cited.CODE):
            found.setdefault(link.key, (link.words, set()))[1].add(link.unit)
    return "\n".join(
        f"- [{address.removeprefix('https://').removeprefix('github.com/')}]({address}): "
        + ", ".join(f"[{name[:2]} {facts.title_of(name)}]({links.unit(HERE, name)})" for name in sorted(where))
        for address, (_, where) in sorted(found.items())
    )
