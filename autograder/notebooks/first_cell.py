"""The cell below each notebook's title that installs the course on Colab and Kaggle, and does nothing at home.

It needs no package of the course, so that it costs nothing at home, and leaves no name there that an answer might
use. All else is in ``anatomy.system.hosted``, which is there as soon as the course is installed. Grading never runs it.
"""

import re

import nbformat
from nbformat import NotebookNode

from .address import Address

FIRST_CELL = "elsewhere"
# What `import anatomy` needs and these places may lack. The rest is looked at by system/hosted.py; torch is theirs.
PACKAGES = "anywidget psygnal comm safetensors filelock"
TEXT = """# @title On Colab and Kaggle run this first; anywhere else it does nothing
keep_in_drive = True  # @param {{type:"boolean"}}
import os as _os
if {{"COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE"}} & set(_os.environ):
    _os.system("{install}")
    try: from anatomy import elsewhere
    except ImportError: raise SystemExit("{sentence}") from None
    elsewhere.settle("{unit}", "{version}", keep_in_drive)"""
# --no-deps: nothing that is there is exchanged, torch above all. One try: without a network five take a minute.
PIP = "pip install -qqq --no-deps --retries 1"
# From a file: in the folder of the session, in a Drive that was connected there, or added on Kaggle as a data set.
# Never from an index, where anybody may have taken the name.
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
    """The cell for one notebook, always with the same id. It is folded away in Jupyter, on Colab and on Kaggle."""
    if address.repository:
        install, sentence = f"{PIP} {PACKAGES} {address.wheel_address}", FETCH
    else:
        install = f"{PIP} {PACKAGES}; {PIP} {FROM_FILE.format(version=address.version)}"
        sentence = BRING.format(file=address.wheel)
    text = TEXT.format(install=install, sentence=sentence, unit=unit, version=address.version)
    cell = nbformat.v4.new_code_cell(text, id=FIRST_CELL)
    # In this order: Jupyter's, Colab's and Kaggle's own words for a folded input; the last takes it out of pages.
    cell.metadata["jupyter"] = {"source_hidden": True}
    cell.metadata |= {"cellView": "form", "_kg_hide-input": True, "tags": ["remove-cell"]}
    return cell


def is_first_cell(source: str) -> bool:
    """Whether a cell's source is a first cell of any release, whatever its switch says: for where ids were lost.

    White space does not matter. A cell with anything else in it is none.
    """
    return _ANY.fullmatch(" ".join(source.split())) is not None


def _any_release() -> re.Pattern[str]:
    parts = re.split("(True|{[a-z]+})", " ".join(TEXT.replace("{{", "\0").replace("}}", "\1").split()))
    wild = {"True": "(?:True|False)"}
    made = "".join(wild.get(p, r'[^"\n]*' if p.startswith("{") else re.escape(p)) for p in parts)
    return re.compile(made.replace("\0", re.escape("{")).replace("\1", re.escape("}")))


_ANY = _any_release()


def put_in(cells: list[NotebookNode], unit: str, address: Address) -> None:
    """Puts the cell below the title, which stays what a notebook opens with."""
    cells.insert(1, first_cell(unit, address))
