"""The line under a unit's title, with links to open the unit elsewhere."""

import html

from autograder.notebooks import address

from . import open_in
from .words import N_, _

DOWNLOAD = N_("Download")
NOTEBOOKS = "notebooks"  # folder of the site: the released notebooks, to download


def links(unit: str) -> list[tuple[str, str]]:
    """(label, address) of each place; an address without a host is a path from the site's root."""
    hosts = [(label, there) for label, there in open_in.links(unit) if label != DOWNLOAD]
    return [*hosts, (_(DOWNLOAD), f"{NOTEBOOKS}/{unit}.ipynb")]  # the site contains the file


def repository() -> str:
    """Address of the repository, without a slash at its end; "" if the course is not public."""
    return address.read().repository.rstrip("/")


def opening(unit: str) -> str:
    """HTML of the line. For JupyterLab, which opens a learner's own copy and has no address, it shows a command."""
    items = "".join(
        f"<li><a{' download' if where.endswith('.ipynb') and '://' not in where else ''} "
        f'href="{html.escape(where if "://" in where else f"../{where}")}">{html.escape(label)}</a></li>'
        for label, where in links(unit)
    )
    said = _(
        "With the package installed: <code>anatomy lab</code>. In a copy of the repository: <code>make lab</code>. "
        "Then open <code>{unit}</code> there; what you write is yours, and kept."
    ).format(unit=html.escape(unit))
    return (
        f'<div class="ta-open" role="group" aria-label="{_("Open this unit")}"><span>{_("Open in")}</span><ul>'
        f"<li><details><summary>JupyterLab</summary><p>{said}</p></details></li>{items}</ul></div>\n"
    )
