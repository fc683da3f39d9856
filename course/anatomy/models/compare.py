"""Compares the learner's models with Hugging Face's: same random weights, strict load, logits, generated tokens."""

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..program.torch_settings import one_thread
from ..system.columns import aligned
from ..system.translation import _
from .families import KNOWN, configuration, name_of
from .library import SEED, STEPS, TINY, Answers, NoTransformers, Theirs, left_padded, of_checkpoint, right_padded, texts
from .library import tiny as their_tiny
from .pretrained import Build, Cut, Rename, renamed

__all__ = ["TINY", "Comparison", "NoTransformers", "Table", "compare", "compare_all", "compare_checkpoint"]


@dataclass(frozen=True)
class Comparison:
    """One family: the outputs' largest difference and largest value, whether the generated tokens are equal (None if
    nothing is generated), parameters of both models; source: a sentence on the origin of Hugging Face's side."""

    family: str
    difference: float
    scale: float
    same_tokens: bool | None
    parameters: tuple[int, int]
    source: str = ""

    @property
    def equal(self) -> bool:
        """True if the outputs agree within float32 rounding, and tokens and parameter counts are equal."""
        return self.difference <= 2e-5 * self.scale and self.same_tokens is not False and len({*self.parameters}) == 1


@torch.no_grad()
def compare(family: str, build: Build, rename: Rename, cut: Cut | None = None, seed: int = SEED) -> Comparison:
    """Compares the learner's model and Hugging Face's with the same weights, on two texts, one of them padded.

    Args:
        family: a key of ``TINY``, or of the library's ``NEWER_TINY``. build: configuration → the learner's model.
        rename, cut: as for load_pretrained; cut is needed for gpt2.

    Raises: NoTransformers; RuntimeError if a name or a shape does not fit (strict load).
    """
    theirs = their_tiny(family, seed)
    mine = build(configuration(theirs.facts))
    mine.load_state_dict(renamed(theirs.state, theirs.facts, rename, cut), strict=True)
    mine.eval()
    return _comparison(KNOWN[family].title, OURS.get(family, _decoder)(mine, texts(seed)), mine, theirs)


def _comparison(title: str, ours: Answers, mine: nn.Module, theirs: Theirs) -> Comparison:
    rows = lambda output: output.flatten(end_dim=-2)[:: theirs.every]
    pairs = [(rows(a), b.flatten(end_dim=-2)) for a, b in zip(ours.outputs, theirs.answers.outputs, strict=True)]
    gap = max(float((a - b).abs().max()) for a, b in pairs)
    scale = max(float(b.abs().max()) for _mine, b in pairs)
    tokens = theirs.answers.tokens
    same = None if ours.tokens is None or tokens is None else torch.equal(ours.tokens, tokens)
    parameters = sum(p.numel() for p in mine.parameters()), theirs.parameters
    return Comparison(title, gap, scale, same, parameters, theirs.source)


def _decoder(mine: Any, ids: Tensor) -> Answers:
    """Outputs without padding and with left padding, and tokens generated greedily with a cache."""
    real = left_padded(ids)
    tokens, past, new = ids, None, ids
    for _step in range(STEPS):
        logits, past = mine(new, None, past)
        new = logits[:, -1:].argmax(-1)
        tokens = torch.cat([tokens, new], dim=1)
    return Answers([mine(ids)[0], mine(ids, real)[0][real]], tokens)


def _encoder(mine: Any, ids: Tensor) -> Answers:
    real = right_padded()
    words, sentence = mine(ids, ids % 2, real)
    return Answers([words[real], sentence], None)


def _t5(mine: Any, ids: Tensor) -> Answers:
    real, target = right_padded(), ids.flip(1)[:, :7]
    memory, past = mine.encode(ids, real), None
    tokens = new = torch.zeros(2, 1, dtype=torch.long)
    for _step in range(STEPS):
        logits, past = mine.decode(new, memory, real, past)
        new = logits[:, -1:].argmax(-1)
        tokens = torch.cat([tokens, new], dim=1)
    return Answers([mine(ids, target, real)], tokens)


OURS: dict[str, Callable[[Any, Tensor], Answers]] = {"bert": _encoder, "albert": _encoder, "t5": _t5}


class Table:
    """Comparisons as a readable table: text, and HTML in a notebook."""

    def __init__(self, rows: Iterable[Comparison | tuple[str, str]]) -> None:
        self.rows = list(rows)

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (r.family, f"{r.difference:.0e}", f"{r.scale:.1f}", _tokens(r), f"{r.parameters[0]:,}", _verdict(r))
            if isinstance(r, Comparison)
            else (r[0], "", "", "", "", r[1])
            for r in self.rows
        ]

    def _head(self) -> tuple[str, ...]:
        return _("family"), _("largest difference"), _("largest output"), _("tokens"), _("parameters"), ""

    def __repr__(self) -> str:
        return "\n".join([*aligned([self._head(), *self._cells()]), *self._sources()])

    def _sources(self) -> list[str]:
        return list(dict.fromkeys(r.source for r in self.rows if isinstance(r, Comparison) and r.source))

    def _repr_html_(self) -> str:
        row = lambda kind, cells: "<tr>" + "".join(f"<{kind}>{html.escape(c)}</{kind}>" for c in cells) + "</tr>"
        sources = "".join(f"<p>{html.escape(s)}</p>" for s in self._sources())
        return f"<table>{row('th', self._head())}{''.join(row('td', c) for c in self._cells())}</table>{sources}"


def _tokens(r: Comparison) -> str:
    return "" if r.same_tokens is None else _("equal") if r.same_tokens else _("differ")


def _verdict(r: Comparison) -> str:
    return _("equal") if r.equal else _("different")


@one_thread
@torch.no_grad()
def compare_checkpoint(mine: Any, folder: Path, ids: Tensor) -> Table:
    """Compares the learner's decoder with Hugging Face's, which gets its weights from a checkpoint's files: one row.

    Args:
        mine: the learner's decoder, with the same weights loaded.
        folder: the checkpoint's folder.
        ids: (2, T) int64, T > 4; the second row is also read as if its first four tokens were padding.
    """
    try:
        theirs = of_checkpoint(folder, ids)
    except NoTransformers as error:
        return Table([(folder.name, str(error))])
    title = KNOWN[name_of(theirs.facts)].title
    return Table([_comparison(title, _decoder(mine, ids), mine, theirs)])


@one_thread
def compare_all(
    build: Build, rename: Rename, cut: Cut | None = None, families: Iterable[str] = TINY, seed: int = SEED
) -> Table:
    """A row for each family: the comparison, or the reason why it is missing. A failure does not stop the others."""
    rows: list[Comparison | tuple[str, str]] = []
    for family in families:
        try:
            rows.append(compare(family, build, rename, cut if family == "gpt2" else None, seed))
        except NoTransformers as error:
            return Table([*rows, (_("all"), str(error))])
        except Exception as error:  # the learner's model can fail in any way
            says = str(error).strip().split("\n")[0] or _("no message")
            rows.append((KNOWN[family].title, f"{type(error).__name__}: {says}"))
    return Table(rows)
