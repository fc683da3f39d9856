"""MergeExplorer: how a word becomes tokens, one merge of byte-pair encoding after another."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import traitlets as t

from ...system.translation import sentences
from ..tools.base import TableWidget
from ..tools.calls import WrongOutput
from ..tools.drawing import BLUE, GRAY, Figure, new_figure, plain, rectangle
from ..tools.types import Function, Inputs, Tables
from ..tools.words import _
from .counted import COUNTED
from .story import ALL, STORY, WORDS

BASE = 256  # ids below are single bytes
LONGEST = ALL + 1  # bytes of a word
NOTHING = -1  # in tables: no such id, state or merge
Pair = tuple[int, int]


class MergeExplorer(TableWidget):
    """Live picture of ``encode(ids, merges, base=256)``, which gets lists of ids and of pairs of ids.

    For each word, row ``s`` shows ``encode(ids, merges[:k])``, where the first k merges are all that come before the
    merge that changes the word for the (s + 1)th time; the last row has all merges. Traits: word, an index; done, how
    many merges have changed the word; more than there are count as all. The page splits a word that is typed into it by
    the recorded merges, without the function; that word is no trait. Raises as TableWidget says.
    """

    recording, function_name = "merge", "encode"
    controls = ("word", "done")
    story = STORY
    opening = tuple({"word": WORDS.index(" happiness"), "done": n} for n in range(1, 4))  # not the first step's word

    word = t.Int(0, min=0, max=len(WORDS) - 1).tag(sync=True)
    done = t.Int(0, min=0, max=ALL).tag(sync=True)

    @classmethod
    def measure(cls, fn: Function, inputs: Inputs) -> Tables:
        """ids (words, states, 13): the tokens of each state; -1 where there is none."""
        cuts = inputs["cuts"].long().tolist()
        merges, starts = _merges(inputs), _bytes_as_ids(inputs)
        ids = np.full((len(WORDS), len(cuts[0]), LONGEST), NOTHING, dtype=float)
        for i, (start, row) in enumerate(zip(starts, cuts, strict=True)):
            for s, k in enumerate(row):
                if k != NOTHING:
                    found = _as_ids(fn(list(start), merges[:k]), len(start))
                    ids[i, s, : len(found)] = found
        return {"ids": ids}

    def derive(self, mine: Tables, reference: Tables, inputs: Inputs) -> Tables:
        rank = {pair: i for i, pair in enumerate(_merges(inputs))}
        ids = mine["ids"].astype(int)
        ranks = np.full((*ids.shape[:2], LONGEST - 1), NOTHING, dtype=float)
        for i, s, j in np.ndindex(ranks.shape):
            ranks[i, s, j] = rank.get((int(ids[i, s, j]), int(ids[i, s, j + 1])), NOTHING)
        return {
            "rank": ranks,
            "same": (mine["ids"] == reference["ids"]).all(-1),
            "cuts": inputs["cuts"].numpy(),
            "merges": inputs["merges"].numpy(),
        }

    def describe(self, inputs: Inputs) -> dict[str, Any]:
        self._pieces = pieces(inputs)
        return {
            "title": _("From bytes to tokens, one merge after another"),
            "words": [shown(word) for word in WORDS],
            "bytes": [len(word.encode()) for word in WORDS],
            "wide": [_wide(word) for word in WORDS],
            "pieces": self._pieces,
            "byte_of": inputs["byte_of"].long().tolist(),
            "counted": COUNTED,
            "longest": LONGEST,
        }

    def last(self) -> int:
        """How many merges change the word."""
        return int((self._inputs["cuts"][self.word] != NOTHING).sum()) - 1

    def _at(self) -> tuple[int, int]:
        return self.word, min(self.done, self.last())

    def tokens(self) -> list[int]:
        """Ids of the present state."""
        return [int(i) for i in self._mine["ids"][self._at()] if i != NOTHING]

    def pairs(self) -> list[tuple[Pair, int | None]]:
        """Each pair of neighbors in the present state with the number of its merge, None if no merge joins it."""
        ids = self.tokens()
        ranks = np.frombuffer(self.tables["rank"], "<f4").reshape(*self._mine["ids"].shape[:2], -1)[self._at()]
        return [
            (pair, None if rank == NOTHING else int(rank))
            for pair, rank in zip(zip(ids, ids[1:], strict=False), ranks, strict=False)
        ]

    def next_merge(self) -> int | None:
        """Smallest number of a merge that joins a pair of the present state."""
        return min((rank for _pair, rank in self.pairs() if rank is not None), default=None)

    def same(self) -> bool:
        """True if the present state is the reference's."""
        return bool((self._mine["ids"][self._at()] == self._reference["ids"][self._at()]).all())

    def _spelled(self, token):
        return self._pieces[token] if token < len(self._pieces) else "?"

    @property
    def words(self) -> str:
        ids, merge = self.tokens(), self.next_merge()
        told = _(
            "{whose} tokens of “{word}” with the first {k} of {all} merges, {n} for {bytes} bytes: {tokens}."
        ).format(
            whose=self.whose,
            word=shown(WORDS[self.word]),
            k=int(self._inputs["cuts"][self._at()]),
            all=len(self._inputs["merges"]),
            n=len(ids),
            bytes=len(WORDS[self.word].encode()),
            tokens=", ".join(f"{self._spelled(i)} ({i})" for i in ids),
        )
        if merge is None:
            goes_on = _("No merge joins a pair that is left.")
        else:
            goes_on = _("Next comes merge {n}, the smallest of the numbers of its pairs: {pairs}.").format(
                n=merge,
                pairs=", ".join(
                    f"{self._spelled(a)} + {self._spelled(b)} {_('none') if rank is None else rank}"
                    for (a, b), rank in self.pairs()
                ),
            )
        state = _("As the reference (ok).") if self.same() else _("The reference has other tokens here (broken).")
        return sentences(told, goes_on, state)

    def figure(self) -> Figure:
        word, done = self._at()
        table = self._mine["ids"][word, : done + 1].astype(int)
        fig = new_figure(8, 0.75 + 0.33 * len(table))
        axes = fig.add_subplot()
        sizes, cuts = _sizes(self._inputs), self._inputs["cuts"][word].long().tolist()
        for s, row in enumerate(table):
            ids = [i for i in row.tolist() if i != NOTHING]
            x, made = 0, BASE + cuts[s - 1] if s else NOTHING
            for i in ids:
                size = sizes[i] if i < len(sizes) else 1
                axes.add_patch(_tile(x, s, size, i == made))
                axes.text(
                    x + size / 2, s + 0.5, self._spelled(i), ha="center", va="center", fontsize=9, parse_math=False
                )
                if s == done:
                    axes.text(x + size / 2, s + 1.3, str(i), ha="center", va="center", fontsize=8, color=GRAY)
                x += size
        axes.set(xlim=(0, len(WORDS[self.word].encode())), ylim=(len(table) + 0.6, 0), xticks=[])
        names = ["bytes", *(f"merge {k}" for k in cuts[:done]), "id"]
        axes.set_yticks([s + 0.5 for s in range(len(table))] + [len(table) + 0.3], names)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        merge, n = self.next_merge(), len(self.tokens())
        ends = "no merge joins what is left" if merge is None else f"next is merge {merge}"
        plain(axes, f"{n} token{'s' * (n != 1)} for {len(WORDS[self.word].encode())} bytes; {ends}; blue: just made")
        return fig


def shown(text: str) -> str:
    """The text with its spaces to be seen."""
    return text.replace(" ", "·").replace("\n", "⏎")


def pieces(inputs: Inputs) -> list[str]:
    """What each id stands for; a byte that is no character is its number."""
    spelled = [bytes([byte]) for byte in inputs["byte_of"].long().tolist()]
    for a, b in _merges(inputs):
        spelled.append(spelled[a] + spelled[b])
    return [_label(piece) for piece in spelled]


def _label(piece):
    try:
        text = shown(piece.decode())
    except UnicodeDecodeError:
        text = ""
    return text if text.isprintable() and text else " ".join(map(str, piece))


def _merges(inputs: Inputs) -> list[Pair]:
    return [(a, b) for a, b in inputs["merges"].long().tolist()]


def _sizes(inputs):
    """How many bytes each id stands for."""
    sizes = [1] * BASE
    for a, b in _merges(inputs):
        sizes.append(sizes[a] + sizes[b])
    return sizes


def _bytes_as_ids(inputs):
    """The ids of each word's bytes."""
    id_of = {byte: i for i, byte in enumerate(inputs["byte_of"].long().tolist())}
    return [[id_of[byte] for byte in word.encode()] for word in WORDS]


def _wide(word):
    """[character, first byte, bytes] of each character that is more than one byte."""
    sizes = [len(character.encode()) for character in word]
    return [[c, sum(sizes[:i]), sizes[i]] for i, c in enumerate(word) if sizes[i] > 1]


def _as_ids(value: Any, most: int) -> Sequence[int]:
    """The function's result as a list of ids; raises WrongOutput if it is none."""
    if isinstance(value, torch.Tensor) and value.dim() == 1:
        value = value.tolist()
    if not isinstance(value, list | tuple):
        got = "None" if value is None else type(value).__name__
        raise WrongOutput(
            _("{name} must return a list of ids here, and it returned {got}.").format(name="encode", got=got)
        )
    ids = []
    for one in value:
        try:
            ids.append(operator.index(one))
        except TypeError:
            ids.append(NOTHING)
        if ids[-1] < 0:
            said = _("{name} must return a list of ids, whole numbers from 0, and {got} is among them.")
            raise WrongOutput(said.format(name="encode", got=repr(one)))
    if len(ids) > most:
        said = _("{name} returned {got} ids for a word of {n} bytes; merges only make it shorter.")
        raise WrongOutput(said.format(name="encode", got=len(ids), n=most))
    return ids


def _tile(x, y, width, made):
    face = BLUE if made else "white"
    return rectangle(
        (x + 0.04, y + 0.08), width - 0.08, 0.84, facecolor=face, edgecolor=GRAY, alpha=0.35 if made else 1
    )
