"""The line under a unit's title: where it can be opened."""

import html
import importlib
from typing import Any

NOTEBOOKS = "notebooks"  # folder of the site: the released notebooks, to download


def _setting() -> Any:
    """The module that knows the repository's address, where there is one."""
    try:
        return importlib.import_module("autograder.site.open_in")
    except ModuleNotFoundError:
        return None


def links(unit: str) -> list[tuple[str, str]]:
    """(label, address) of each place; an address without a host is a path from the site's root."""
    setting = _setting()
    found = list(setting.links(unit)) if setting else []
    own = f"{NOTEBOOKS}/{unit}.ipynb"
    if not any(address.endswith(own) for _, address in found):
        found.append(("Download", own))
    return found


def repository() -> str:
    """Address of the repository, without a slash at its end; "" where nothing says it."""
    address = getattr(_setting(), "REPOSITORY", "")
    return str(address).rstrip("/")


def opening(unit: str) -> str:
    """HTML of the line. JupyterLab has no address: it opens a learner's own copy, so a command stands there."""
    items = "".join(
        f"<li><a{' download' if address.endswith('.ipynb') and '://' not in address else ''} "
        f'href="{html.escape(address if "://" in address else f"../{address}")}">{html.escape(label)}</a></li>'
        for label, address in links(unit)
    )
    return (
        '<div class="ta-open" role="group" aria-label="Open this unit"><span>Open in</span><ul>'
        "<li><details><summary>JupyterLab</summary><p>With the package installed: <code>anatomy lab</code>. In a "
        f"copy of the repository: <code>make lab</code>. Then open <code>{html.escape(unit)}</code> there; what you "
        f"write is yours, and kept.</p></details></li>{items}</ul></div>\n"
    )
