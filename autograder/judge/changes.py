"""Known mistakes, written as changes to a right answer::

    MISTAKES = changes(layer_norm, '''
    eps_outside: sqrt(variance + eps) → sqrt(variance).add(eps)
        ε is added to the standard deviation. It belongs inside the root: √(variance + ε).
    ''')

A block begins with the mistake's name; the text left of an arrow is replaced by the text right of it (removed if that
is empty). `` ; `` separates several changes, and a line that begins with ``;`` continues the list. The indented lines
are the message.
"""

import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any

from .spec import Implementation, Mutant

_BLOCK = re.compile(r"\n(?=[^\s;])")
Parts = tuple[Any, ...]  # functions and classes


class BadChange(ValueError):
    """A block does not make a valid mistake; the message names the mistake and gives the reason."""


class Change(Mutant):
    """A known mistake that is built on first use: there are thousands."""

    def __init__(self, parts: Parts, several: bool, name: str, message: str, change: str) -> None:
        self.parts, self.several = parts, several
        self.name, self.message, self.change = name, message, change

    @cached_property
    def fn(self) -> Implementation:  # type: ignore[override]
        """The wrong function or class. Raises BadChange."""
        made = _made(self.parts, self.name, _changed(_source(self.parts), self.name, self.change))
        return made if self.several else made[0]


def changes(answer: Implementation, text: str) -> list[Mutant]:
    """The mistakes that a text describes.

    Args:
        answer: the right function or class to change; a tuple of them for an exercise with several targets. Each
            is defined at the top level of a module, in a statement of its own.
        text: blocks as above.

    Raises BadChange if a block has no arrow or no message. A mistake raises it when it is built, if the text to
    replace does not occur exactly once in the answer.
    """
    several = isinstance(answer, tuple)
    parts = answer if isinstance(answer, tuple) else (answer,)
    found = list[Mutant]()
    for block in _BLOCK.split(textwrap.dedent(text).strip()):
        head, _, message = re.sub(r"\n;", " ;", block).partition("\n")
        name, colon, change = head.partition(": ")
        if not (colon and name.isidentifier() and "→" in change and message.strip()):
            raise BadChange(f"{name}: a block is 'name: old → new', and its message below, indented")
        found.append(Change(parts, several, name, " ".join(message.split()), change))
    return found


def problem(mistake: Mutant) -> str | None:
    """A sentence that says why the mistake's change cannot be made; None if it can."""
    try:
        mistake.fn  # noqa: B018  # it is made here
    except BadChange as error:
        return str(error)
    return None


@cache
def _source(parts: Parts) -> str:
    return "\n\n".join(textwrap.dedent(inspect.getsource(part)).rstrip() for part in parts) + "\n"


def edits(change: str) -> Iterator[tuple[str, str]]:
    """The (old text, new text) pairs of a change; none for ""."""
    for edit in filter(None, change.split(" ; ")):
        old, _, new = edit.partition("→")
        yield old.strip(), new.strip()


def _changed(source: str, name: str, change: str) -> str:
    for old, new in edits(change):
        if (count := source.count(old)) != 1:
            raise BadChange(f"{name}: {old!r} occurs {count} times in the answer; it has to occur exactly once")
        source = source.replace(old, new)
    return source


def _made(parts: Parts, name: str, source: str) -> Parts:
    """The functions defined by a changed source, which sees the same names as the answer's module."""
    module = sys.modules[parts[0].__module__]
    file = f"<{module.__name__}, {parts[0].__name__}, {name}>"
    # Tracebacks and inspect.getsource look up the source text here.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = dict(vars(module))
    try:
        exec(compile(source, file, "exec"), space)
    except SyntaxError as error:
        raise BadChange(f"{name}: the changed answer is not Python: {error.msg}") from None
    lost = [part.__name__ for part in parts if space.get(part.__name__) is getattr(module, part.__name__, None)]
    if lost:
        raise BadChange(f"{name}: the changed answer no longer has {lost[0]}")
    return tuple(space[part.__name__] for part in parts)
