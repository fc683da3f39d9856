"""Whether a translation still says to the machine what its English says: code, formulas, links, places, tags."""

import re
import string
from collections import Counter
from collections.abc import Iterator

from babel.messages.catalog import Catalog, Message

from . import catalogues

# What stands in a text and is not words: it stands in the translation as often. The first that fits takes its part.
KEPT = {
    "place": r"\{\{[^{}$]*\}\}",
    "formula": r"\$\$.+?\$\$|\$[^$\n]+\$",
    "code": r"``[^`\n]+``|`[^`\n]+`",
    "link": r"\]\(([^)\s]+)\)",
    "value": r"\{[a-z0-9_]*(?:![rs])?(?::[^{}]*)?\}",
    "tag": r"</?[a-z][^<>\n]*>",
}


def problems(catalog: Catalog) -> list[str]:
    """Sentences on the translated entries that differ from their English in more than words."""
    return [
        f"{_named(message)}: {sentence}"
        for message in catalogues.messages(catalog)
        if not message.fuzzy
        for sentence in differences(message)
    ]


def _named(message: Message) -> str:
    english = message.id if isinstance(message.id, str) else message.id[0]
    first = english.strip().split("\n")[0]
    where = f" ({message.locations[0][0]})" if message.locations else ""
    return f"“{first[:60]}{'…' if len(first) > 60 else ''}”{where}"


def differences(message: Message) -> Iterator[str]:
    """What an entry and its translation do not share."""
    english = [message.id] if isinstance(message.id, str) else list(message.id)
    for text in filter(None, catalogues.texts(message)):
        # A plural may leave its number out in one form: the nearest of the English forms counts.
        yield from min((list(compared(e, text)) for e in english), key=len)


def compared(english: str, translation: str) -> Iterator[str]:
    """What two texts do not share."""
    ours, theirs = _parts(english), _parts(translation)
    for what, part in (ours - theirs).elements():
        yield f"the {what} {part} is missing"
    for what, part in (theirs - ours).elements():
        yield f"the {what} {part} is new"
    if english.strip() == english and translation.strip() != translation:
        yield "it begins or ends with a blank"
    edges = {mark: (english.count(mark), translation.count(mark)) for mark in ("**", "\n\n")}
    for mark, (mine, other) in edges.items():
        if mark == "**" and mine % 2 == 0 and other % 2:
            yield "a ** has no partner"
        if mark == "\n\n" and mine != other:
            yield "it has another number of paragraphs"
    if not any(what == "place" for what, _ in ours) and _is_format(english) and not _is_format(translation):
        yield "its braces { } do not close"


def _is_format(text: str) -> bool:
    try:
        list(string.Formatter().parse(text))
    except ValueError:
        return False
    return True


def _parts(text: str) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for what, pattern in KEPT.items():
        for match in re.finditer(pattern, text, re.S):
            part = match[1] if match.re.groups else match[0]
            found[what, re.sub(r"\\text\{[^}]*\}", r"\\text{…}", part)] += 1
        # What is found is out of the way of the next: a place in a formula is part of the formula.
        text = re.sub(pattern, "]" if what == "link" else " ", text, flags=re.S)
    return found
