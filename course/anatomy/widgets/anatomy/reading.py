"""What the model reads instead of the recorded sentence: a text that the learner typed, and what the model wrote."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ...language import shipped
from ..tools.types import Tables
from . import passing
from .packed import CONTEXT

MOST = 96  # tokens of a typed text that are read, its last ones, so that 32 can be written
# Axes of each table whose length is the number of tokens.
_AXES = {"att": (2, 3), "gate": (1,), "turn": (0,), "may": (0, 1)}


@dataclass
class Reading:
    """A pass over a typed text.

    ids: its tokens. words: the last ones as text, as many as the picture has room for. tables: as ``passing.measured``,
    of these tokens alone. likely: lens_i and lens_p of the reference's parts. drift: (2L+1, tokens). failed: places of
    parts that failed on this text.
    """

    ids: list[int]
    words: list[str]
    tables: Tables
    likely: Tables
    drift: np.ndarray
    failed: list[str]

    def sent(self, text: str, room: int) -> Tables:
        """Tables for the page, each with room for that many tokens, and what they are about: ids, and the text as
        UTF-16 units, as JavaScript counts them."""
        reference = {f"ref_{k}": table for k, table in self.likely.items() if not np.array_equal(table, self.tables[k])}
        about = {"ids": np.array(self.ids), "text": np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2")}
        tables = {**self.tables, **reference, "drift": self.drift}
        return {**about, **{name: _padded(name, table, room) for name, table in tables.items()}}


def read(parts: passing.Parts, text: str, written: Sequence[int], room: int) -> Reading:
    """Reads the text and the written tokens with these parts, and stand-ins for the others.

    Only the last MOST tokens of the text are read, and CONTEXT in all. room: tokens in the picture, the last ones.
    """
    ids = [*shipped.tokenizer().encode(text).ids[-MOST:], *written][:CONTEXT]
    one, failed = passing.together(parts, torch.tensor(ids), [])
    reference, first = passing.reference(torch.tensor(ids)), max(0, len(ids) - room)
    cut = lambda table, name: _last(name, table, first)
    return Reading(
        ids,
        [passing.vocabulary()[i] for i in ids[first:]],
        {name: cut(table, name) for name, table in one.tables.items()},
        {name: cut(reference.tables[name], name) for name in ("lens_i", "lens_p")},
        cut(passing.drift(one, reference), "drift"),
        failed,
    )


def _last(name, table, first):
    for axis in _AXES.get(name, (1,)):
        table = np.take(table, range(first, table.shape[axis]), axis)
    return table


def _padded(name, table, room):
    axes = _AXES.get(name, (1,))
    return np.pad(table, [(0, room - n if axis in axes else 0) for axis, n in enumerate(table.shape)])
