"""Words that code puts together with values, such as a plot's labels and a result: looked up without the values.

The code of a notebook is the same in every language, so nothing in it asks for a translation. What it shows is looked
up as a pattern, ``"layer {a} of {b}"``; a text that joins several labels may also be looked up part by part.
"""

import re
from contextlib import suppress

from .translation import ENGLISH, _, language, said, sentences

CONTEXT = "label"  # translation context of all of them
# A number, a list of them, or a shape such as "(B, 4, T, d_head)": what differs from picture to picture.
MOST = 26  # values, since each has a letter
_ITEM = r"[\w.+−-]{1,7}"
_VALUE = re.compile(
    rf"\((?:{_ITEM}, ?)+{_ITEM}\)|\([\d.−-]+\)|\[[\d.,\s−-]+\]|"
    r"(?<![\w.])[-−+]?\d+(?:,\d{3})*(?:\.\d+)*(?:e[-+−]?\d+)?(?!\w)"
)
_BETWEEN = re.compile(r"(: |; |, |\. |\.$|\n)(?![^(]*\))")  # where one label joins several


def pattern(text: str) -> tuple[str, list[str]]:
    """(``"layer {a} of {b}"``, ``["3", "12"]``) of a label ``"layer 3 of 12"``."""
    values: list[str] = []

    def letter(found: re.Match[str]) -> str:
        values.append(found[0])
        return f"{{{chr(96 + len(values))}}}"

    return _VALUE.sub(letter, text), values


def parts(text: str) -> list[str]:
    """The labels that one text joins, without what stands between them: ``["loss", "nats per character"]``."""
    return _BETWEEN.split(text)[::2]


def label(text: str) -> str:
    """A label in the language in use; English where there is no translation."""
    if language() == ENGLISH or not text.strip():
        return text
    whole = _looked_up(text)
    if whole != text:
        return whole
    several = [part if n % 2 else _looked_up(part) for n, part in enumerate(_BETWEEN.split(text))]
    if "".join(several) == text:
        return text
    joined = several[0]
    for between, part in zip(several[1::2], several[2::2], strict=True):
        joined = _joined(between, joined, part)
    return joined


def _joined(between: str, a: str, b: str) -> str:
    if between == "\n":
        return f"{a}\n{b}"
    if between.startswith("."):
        return sentences(_("{sentence}.").format(sentence=a), b)
    return {": ": _("{a}: {b}"), "; ": _("{a}; {b}"), ", ": _("{label}, {more}")}[between].format(
        a=a, b=b, label=a, more=b
    )


def _looked_up(text: str) -> str:
    key, values = pattern(text.strip())
    found = said(CONTEXT, key) if len(values) <= MOST else key
    if found == key:
        return text
    with suppress(LookupError, ValueError):  # braces that are no placeholders
        return found.format(**{chr(97 + n): value for n, value in enumerate(values)})
    return text
