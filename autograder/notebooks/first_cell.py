"""The cells below each notebook's title: links to where it can be opened, if the course has a public address, and the
code that installs the course on Colab and Kaggle and does nothing at home.

That code imports nothing of the course, so that it costs nothing at home, and leaves no name there that an answer
might use. Everything else is in ``anatomy.system.hosted``, available once the course is installed. Grading never runs
it.
"""

import re

import nbformat
from nbformat import NotebookNode

from .address import Address

FIRST_CELL = "elsewhere"
OPEN_IN = "open-in"  # id of the line of links above it
# Needed by `import anatomy` and possibly missing there. system/hosted.py checks the rest; torch is preinstalled.
PACKAGES = "anywidget psygnal comm safetensors filelock"
TEXT = """# @title On Colab and Kaggle run this first; anywhere else it does nothing
keep_in_drive = True  # @param {{type:"boolean"}}
import os as _os
if {{"COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE"}} & set(_os.environ):
    _os.system("{install}")
    try: from anatomy import elsewhere
    except ImportError: raise SystemExit("{sentence}") from None
    elsewhere.settle("{unit}", "{version}", keep_in_drive)"""
# --no-deps: replaces no installed package, above all not torch. One try: without a network, five take a minute.
PIP = "pip install -qqq --no-deps --retries 1"
# From a file: in the session's folder, in a Drive connected there, or added on Kaggle as a data set.
# Never from an index, where anyone may have taken the name.
FROM_FILE = "--no-index -f . -f drive/MyDrive -f /kaggle/input/transformer-anatomy transformer-anatomy=={version}"
FETCH = (
    "The course could not be fetched: is there a network? On Kaggle choose Settings, Turn on internet. "
    "Then run this cell again."
)
BRING = (
    "The course is missing: drag {file} into Files on the left (on Kaggle: Add Input, Upload, under the name "
    "transformer-anatomy), and run this cell again."
)


def first_cell(unit: str, address: Address) -> NotebookNode:
    """The cell for one notebook, always with the same id. It is folded in Jupyter, on Colab and on Kaggle."""
    if address.repository:
        install, sentence = f"{PIP} {PACKAGES} {address.wheel_address}", FETCH
    else:
        install = f"{PIP} {PACKAGES}; {PIP} {FROM_FILE.format(version=address.version)}"
        sentence = BRING.format(file=address.wheel)
    text = TEXT.format(install=install, sentence=sentence, unit=unit, version=address.version)
    cell = nbformat.v4.new_code_cell(text, id=FIRST_CELL)
    # In this order: Jupyter's, Colab's and Kaggle's keys for a folded input; the tag removes the cell from pages.
    cell.metadata["jupyter"] = {"source_hidden": True}
    cell.metadata |= {"cellView": "form", "_kg_hide-input": True, "tags": ["remove-cell"]}
    return cell


def is_first_cell(source: str) -> bool:
    """Whether a cell's source is a first cell of any release, whatever its switch says; used if ids were lost.

    White space does not matter. A cell with any other content is not a first cell.
    """
    return _ANY.fullmatch(" ".join(source.split())) is not None


def _any_release() -> re.Pattern[str]:
    parts = re.split("(True|{[a-z]+})", " ".join(TEXT.replace("{{", "\0").replace("}}", "\1").split()))
    wild = {"True": "(?:True|False)"}
    made = "".join(wild.get(p, r'[^"\n]*' if p.startswith("{") else re.escape(p)) for p in parts)
    return re.compile(made.replace("\0", re.escape("{")).replace("\1", re.escape("}")))


_ANY = _any_release()


def open_in_cell(unit: str, address: Address) -> NotebookNode | None:
    """The line of links to where the notebook can be opened; None if the course is not public.

    Links and not badge images, which a notebook would load from somebody else's server whenever it is opened.
    """
    links = [f"[{label}]({there})" for label, there in address.links(unit) if label != "Download"]
    return nbformat.v4.new_markdown_cell(" · ".join(links), id=OPEN_IN) if links else None


def put_in(cells: list[NotebookNode], unit: str, address: Address) -> None:
    """Inserts both cells below the title, which stays the first cell."""
    links = open_in_cell(unit, address)
    cells[1:1] = [*([links] if links else []), first_cell(unit, address)]
