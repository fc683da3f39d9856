"""Checks that a translation has the same code, formulas, links, placeholders and tags as its English text."""

import re
import string
from collections import Counter
from collections.abc import Iterator

from babel.messages.catalog import Catalog, Message

from . import catalogues

# Parts of a text that are not words: the translation must contain each as often. The first matching kind applies.
KEPT = {
    "place": r"\{\{[^{}$]*\}\}",
    "formula": r"\$\$.+?\$\$|\$[^$\n]+\$",
    "code": r"``[^`\n]+``|`[^`\n]+`",
    "link": r"\]\(([^)\s]+)\)",
    "value": r"\{[a-z0-9_]*(?:![rs])?(?::[^{}]*)?\}",
    "tag": r"</?[a-z][^<>\n]*>",
}


def problems(catalog: Catalog) -> list[str]:
    """Sentences about translated entries that differ from their English text in more than words."""
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
    """Sentences about differences between an entry and its translation."""
    english = [message.id] if isinstance(message.id, str) else list(message.id)
    for text in filter(None, catalogues.texts(message)):
        # One plural form may omit the number: compare with the closest English form.
        yield from min((list(compared(e, text)) for e in english), key=len)


def compared(english: str, translation: str) -> Iterator[str]:
    """Sentences about differences between two texts, other than words."""
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
        # Remove the matches before searching the next kind: a value in a formula is part of the formula.
        text = re.sub(pattern, "]" if what == "link" else " ", text, flags=re.S)
    return found
