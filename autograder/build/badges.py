"""What README and CITATION.cff take from the course's public address and version.

README's table of units has a column that opens a unit elsewhere, where there is such an address. Words, no pictures of
badges: a page that shows them would fetch each from somebody else's server.
"""

import re

from autograder import ROOT
from autograder.notebooks.address import Address

HEAD, COLUMN = "| unit | you build |", " open in |"
UNIT = re.compile(r"\| (\d\d-[a-z0-9-]+) \|")


def readme(address: Address) -> bytes:
    """Bytes of README.md with that column, or without it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return table(text, address).encode()


def citation(address: Address) -> bytes:
    """Bytes of CITATION.cff with the version, and with the repository where it is public."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    return cited(text, address).encode()


def cited(text: str, address: Address) -> str:
    """The text of a CITATION.cff with these two lines as they are now."""
    lines = [line for line in text.split("\n") if not line.startswith("repository-code:")]
    at = next(i for i, line in enumerate(lines) if line.startswith("version:"))
    code = [f'repository-code: "{address.repository}"'] if address.repository else []
    return "\n".join([*lines[:at], f"version: {address.version}", *code, *lines[at + 1 :]])


def table(text: str, address: Address) -> str:
    """A README's text, with the column in its table of units or without; any number of times it gives the same."""
    made, inside = [], False
    for line in text.split("\n"):
        inside = line.startswith("|") and (inside or line.startswith(HEAD))
        made.append(_line(line, address) if inside else line)
    return "\n".join(made)


def _line(line: str, address: Address) -> str:
    """One line of the table. Its own two cells hold no bar."""
    own = "|".join(line.split("|")[:3]) + "|"
    if not address.repository:
        return own
    unit = UNIT.match(line)
    if unit:
        return f"{own} {' · '.join(f'[{label}]({there})' for label, there in address.links(unit[1]))} |"
    return own + (COLUMN if line.startswith(HEAD) else "---|")
