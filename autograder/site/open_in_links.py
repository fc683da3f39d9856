"""How to begin with a unit: the line under its title, and the sentence under the first page's button."""

import html

from autograder.notebooks import address

from .words import N_, _

DOWNLOAD = N_("Download")
NOTEBOOKS = "notebooks"  # folder of the site: the released notebooks, to download
HERE = N_(
    'To write in it and be checked, <a href="{install}">install the course</a>; then <code>anatomy lab</code> opens '
    "your own copy."
)
ANYWHERE = N_(
    "Open it in {Colab}, {Kaggle} or {Binder}, with nothing to install. On your own computer: "
    '<a href="{install}">install the course</a>; then <code>anatomy lab</code> opens your own copy.'
)


def repository() -> str:
    """Address of the repository, without a slash at its end; "" if the course is not public."""
    return address.read().repository.rstrip("/")


def begin(unit: str, root: str) -> str:
    """HTML of one or two sentences on where to work in a unit: on hosts that open it, if the course is public.

    root: relative address of the site's root, "../" or "".
    """
    hosts = {label: _link(there, label) for label, there in address.read().links(unit) if label != DOWNLOAD}
    return _(ANYWHERE if hosts else HERE).format(install=f"{root}docs/students.html", **hosts)


def opening(unit: str) -> str:
    """HTML of the line under a unit's title, on its page."""
    # The site contains the file, so even a public course's page on disk has it.
    file = f'<a download href="../{NOTEBOOKS}/{html.escape(unit)}.ipynb">{_(DOWNLOAD)}</a>'
    said = f"<p>{begin(unit, '../')} {file}</p>"
    return f'<div class="ta-open" role="group" aria-label="{_("Open this unit")}">{said}</div>\n'


def _link(there: str, label: str) -> str:
    return f'<a href="{html.escape(there)}">{label}</a>'
