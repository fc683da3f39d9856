"""The words of the atlas of models in other languages, from ``docs.po``: each phrase once, whatever its numbers are.

The package's own words for a model stay English data, because filters and comparisons use them. Names of models and
sources are the same in all languages.
"""

import re
from collections.abc import Callable, Iterator

from anatomy import atlas
from anatomy.atlas.words import families, short, size

CONTEXT = "atlas"
IN_PARTS = ("mixing", "attention", "position", "experts", "sizes")  # aspects whose words are phrases in a row
_NUMBER = re.compile(r"(?<![\w-])\d[\d,.]*(?<![,.])")


def phrases() -> Iterator[str]:
    """The phrases to translate, with places for numbers, as they occur."""
    for row in atlas.models():
        for aspect, words in atlas.words(row).items():
            yield aspect
            yield from (_pattern(part)[0] for part in parts(aspect, words))
        for word in (*families(row).values(), short(size(row)) if size(row) else ""):
            yield _pattern(word)[0]
        noted = [text for note in row.notes_said for text in (note["key"], note["said"], note["why"])]
        for text in (*row.remarks, *(row.differs or ())[1:], *noted):
            yield _pattern(str(text))[0]


def translated(text: str, lookup: Callable[[str], str]) -> str:
    """A phrase with its numbers, in another language. lookup: the translation of one of ``phrases``."""
    pattern, numbers = _pattern(text)
    return re.sub(r"\{(\d+)\}", lambda found: numbers[int(found[1])], lookup(pattern))


def parts(aspect: str, words: str) -> list[str]:
    """The phrases in the words for an aspect of a model."""
    return words.split(", ") if aspect in IN_PARTS else [words]


def _pattern(text: str) -> tuple[str, list[str]]:
    """("{0} heads (MHA)", ["32"]) of "32 heads (MHA)"."""
    numbers = _NUMBER.findall(text)
    count = iter(range(len(numbers)))
    return _NUMBER.sub(lambda _found: f"{{{next(count)}}}", text), numbers
