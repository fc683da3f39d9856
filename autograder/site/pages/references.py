"""Every paper that the course cites, once, with the units that cite it."""

from anatomy.system.translation import listed

from autograder.site import cited, links

from ..words import N_, _, unit_title

HERE = "references"
LEAD = N_(
    "{n} papers from {first} to {last}: all that the units and the [atlas]({atlas}) cite, in the order of their first "
    "authors. The year is that of the first version. A number leads to the first place in that unit; *atlas* means "
    "that a model's values come from there, *code* that the paper is named only where the course's code follows it."
)


def pages() -> dict[str, str]:
    """The page ``references``."""
    known = cited.papers()
    keys = sorted(cited.every_key(), key=lambda k: (_sorting(k), k))
    years = [known[k]["year"] for k in keys if k in known]
    atlas = links.page(HERE, "atlas")
    parts = [
        f"# {_('References')}",
        _(LEAD).format(n=len(keys), first=min(years), last=max(years), atlas=atlas),
        "\n".join([_("| paper | cited in |"), "|---|---|", *(f"| {cited.reference(k)} | {_where(k)} |" for k in keys)]),
        _("Code and explanations of code that the units cite:"),
        _code(),
    ]
    return {HERE: "\n\n".join(parts) + "\n"}


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
        places.append(f"[{_('atlas')}]({links.page(HERE, 'atlas')})")
    return listed(places) or _("code")


def _code() -> str:
    found: dict[str, set[str]] = {}
    for link in cited.all_links():
        if link.key.startswith(cited.CODE):
            found.setdefault(link.key, set()).add(link.unit)
    return "\n".join(
        _("- [{name}]({address}): {units}").format(
            name=address.removeprefix("https://").removeprefix("github.com/"),
            address=address,
            units=listed(f"[{name[:2]} {unit_title(name)}]({links.unit(HERE, name)})" for name in sorted(where)),
        )
        for address, where in sorted(found.items())
    )
