"""Updates the parts of README and CITATION.cff that depend on measurements, the public address and the version.

If there is a public address, README's table of units has a column with links that open a unit elsewhere. The links are
words, not badge images, because a page with badges would load each from a third party's server.
"""

import re
from pathlib import Path

from autograder import ROOT, measured
from autograder.notebooks.address import Address

HEAD, COLUMN, CELLS = "| unit | you build | see |", " open in |", 3
UNIT = re.compile(r"\| \[(\d\d-[a-z0-9-]+)\]")


def readmes(address: Address) -> dict[Path, bytes]:
    """README in each language → its bytes, with the measured numbers, and with that column if there is an address.

    Raises LostSentence.
    """
    made = {}
    for name in measured.SENTENCES:
        path = ROOT / name
        made[path] = table(measured.filled(name, path.read_text(encoding="utf-8")), address).encode()
    return made


def citation(address: Address) -> bytes:
    """Bytes of CITATION.cff with the version, and with the repository if it is public."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    return cited(text, address).encode()


def cited(text: str, address: Address) -> str:
    """The text of a CITATION.cff with these two lines updated."""
    lines = [line for line in text.split("\n") if not line.startswith("repository-code:")]
    at = next(i for i, line in enumerate(lines) if line.startswith("version:"))
    code = [f'repository-code: "{address.repository}"'] if address.repository else []
    return "\n".join([*lines[:at], f"version: {address.version}", *code, *lines[at + 1 :]])


def table(text: str, address: Address) -> str:
    """A README's text, with or without the column in its table of units; idempotent."""
    made, inside = [], False
    for line in text.split("\n"):
        inside = line.startswith("|") and (inside or line.startswith(HEAD))
        made.append(_line(line, address) if inside else line)
    return "\n".join(made)


def _line(line: str, address: Address) -> str:
    """One line of the table. Its own cells must not contain "|"."""
    own = "|".join(line.split("|")[: CELLS + 1]) + "|"
    if not address.repository:
        return own
    unit = UNIT.match(line)
    if unit:
        return f"{own} {' · '.join(f'[{label}]({there})' for label, there in address.links(unit[1]))} |"
    return own + (COLUMN if line.startswith(HEAD) else "---|")
