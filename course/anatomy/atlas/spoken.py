"""The words of the atlas in the language in use.

They are English data, because filters and comparisons use them, so each phrase is looked up when it is shown: once for
all models, whatever its numbers are. Names of models and of sources are the same in all languages.
"""

import re
from collections.abc import Iterable

from ..system.translation import _, listed, said

CONTEXT = "atlas"  # translation context of all of them
IN_PARTS = ("mixing", "attention", "position", "experts", "sizes")  # aspects whose words are phrases in a row
_NUMBER = re.compile(r"(?<![\w-])\d[\d,.]*(?<![,.])")


def spoken(text: str) -> str:
    """A phrase of the atlas with its numbers, or a sentence with places such as ``{a}``; "" for ""."""
    key, numbers = pattern(text)
    return re.sub(r"\{(\d+)\}", lambda found: numbers[int(found[1])], said(CONTEXT, key))


def spoken_in_parts(aspect: str, words: str) -> str:
    """The words for an aspect of a model, which may be several phrases."""
    return listed(map(spoken, parts(aspect, words)))


def apart(several: Iterable[str]) -> str:
    """Phrases that may have commas, in a row: ``"LayerNorm; a learned table"``."""
    return _("{a}; {b}").format(a="", b="").join(several)


def parts(aspect: str, words: str) -> list[str]:
    """The phrases in the words for an aspect of a model."""
    return words.split(", ") if aspect in IN_PARTS else [words]


def pattern(text: str) -> tuple[str, list[str]]:
    """("{0} heads (MHA)", ["32"]) of "32 heads (MHA)"."""
    numbers = _NUMBER.findall(text)
    count = iter(range(len(numbers)))
    return _NUMBER.sub(lambda _found: f"{{{next(count)}}}", text), numbers
