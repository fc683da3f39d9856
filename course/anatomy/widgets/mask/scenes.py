"""The masks that MaskExplorer shows: each with its function, arguments and tokens."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..tools.words import N_, _

TEXT = ("one", "dog", "saw", "two", "cats", "and", "ran", ".")
ANSWER = ("ein", "Hund", "sah", "zwei", ".")  # the translation that a decoder has written so far
PAD, MASK, START = "[pad]", "[M]", "[S]"
T = len(TEXT)
SIZE = 12  # length of the longest scene, part A and part B of a GLM example
# GLM examples on TEXT: spans, and their order in part B.
BLANKS = ((((1, 3), (4, 5)), (0, 1)), (((1, 3), (4, 5)), (1, 0)), (((2, 6),), (0,)))
IDS = {"mask_id": 101, "start_id": 102, "end_id": 103}


class Kind(NamedTuple):
    """One entry of the list of masks: what its slider counts, and what a model with this mask learns to predict."""

    name: str
    counts: str  # unit of the slider: "3 real tokens"
    sizes: tuple[int, ...]
    learns: str = "next"  # the next token; "later": the next one outside of the prefix; else what stands in _INSTEAD


KINDS = (
    Kind(N_("causal"), "", (0,)),
    Kind(N_("causal, newest tokens only (cache)"), N_("new tokens"), tuple(range(1, T + 1))),
    Kind(N_("causal, padded on the right"), N_("real tokens"), tuple(range(1, T + 1))),
    Kind(N_("causal, padded on the left"), N_("real tokens"), tuple(range(1, T + 1))),
    Kind(N_("prefix LM"), N_("in the prefix"), tuple(range(T + 1)), "later"),
    Kind(N_("UniLM: bidirectional"), "", (0,), "masked"),
    Kind(N_("UniLM: left-to-right"), "", (0,)),
    Kind(N_("UniLM: right-to-left"), "", (0,), "previous"),
    Kind(N_("UniLM: sequence-to-sequence"), N_("source tokens"), tuple(range(1, T)), "later"),
    Kind(N_("cross-attention, input padded"), N_("real tokens"), tuple(range(1, T + 1))),
    Kind(N_("GLM: part A, part B"), N_("example"), tuple(range(len(BLANKS))), "blanks"),
    Kind(N_("causal, two texts"), "", (0,)),
    Kind(N_("causal, window of 2"), "", (0,)),
)
_INSTEAD = {
    "masked": N_("it predicts masked tokens"),
    "previous": N_("it predicts the previous token"),
}


class Scene(NamedTuple):
    """One mask: tokens of rows and columns, the function that makes it, and its arguments."""

    kind: int
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    function: str
    arguments: tuple
    positions: tuple  # (function, index) of the position rows, or ()
    when: str  # condition for row i to look at column j; {n} is the bound
    bound: int

    @property
    def rule(self) -> str:
        """Condition for row i to look at column j, in the current language."""
        return _(self.when).format(n=self.bound)


def real(count: int, left: bool) -> Tensor:
    """(1, T) boolean: ``count`` real tokens, padding on the left or on the right."""
    place = torch.arange(T)[None]
    return place >= T - count if left else place < count


def _padded(count, left):
    words = TEXT[:count]
    return (PAD,) * (T - count) + words if left else words + (PAD,) * (T - count)


def glm_words(spans: Sequence[Sequence[int]], order: Iterable[int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(tokens of part A, tokens of part B) of a GLM example on TEXT."""
    part_a, last = [], 0
    for start, stop in spans:
        part_a += [*TEXT[last:start], MASK]
        last = stop
    part_a += TEXT[last:]
    return tuple(part_a), tuple(w for k in order for w in (START, *TEXT[slice(*spans[k])]))


def cells(painted: str) -> list[tuple[int, int]]:
    """(row, column) of each cell of "0,3 7,0". Raises ValueError for a different format, and for cells beyond SIZE."""
    found = []
    for cell in painted.split():
        numbers = cell.split(",")
        if len(numbers) != 2 or not all(n.isdecimal() and int(n) < SIZE for n in numbers):
            said = _("painted cells are written “row,column”, each from 0 to {last}; “{cell:.20}” is not")
            raise ValueError(said.format(last=SIZE - 1, cell=cell))
        found.append((int(numbers[0]), int(numbers[1])))
    return found


def _scenes():
    unilm = {
        "UniLM: bidirectional": "bidirectional",
        "UniLM: left-to-right": "left-to-right",
        "UniLM: right-to-left": "right-to-left",
    }
    rules = dict(zip(unilm, (N_("always"), "j ≤ i", "j ≥ i"), strict=True))
    for k, kind in enumerate(KINDS):
        for i, size in enumerate(kind.sizes):
            if kind.name.startswith("causal, padded"):
                left = kind.name.endswith("left")
                words = _padded(size, left)
                yield Scene(
                    k,
                    words,
                    words,
                    "causal_padding_mask",
                    (real(size, left),),
                    ("position_ids", i + T * left),
                    N_("j ≤ i and j ≥ {n}") if left else N_("j ≤ i and j < {n}"),
                    T - size if left else size,
                )
            elif kind.counts == "new tokens":
                yield Scene(k, TEXT[T - size :], TEXT, "causal_mask", (size, T), (), "j ≤ i + {n}", T - size)
            elif kind.name == "prefix LM":
                yield Scene(k, TEXT, TEXT, "prefix_lm_mask", (T, size), (), N_("j ≤ i or j < {n}"), size)
            elif kind.counts == "source tokens":
                arguments = ("sequence-to-sequence", size, T - size)
                yield Scene(k, TEXT, TEXT, "unilm_mask", arguments, (), N_("j ≤ i or j < {n}"), size)
            elif kind.name.startswith("cross"):
                yield Scene(k, ANSWER, _padded(size, False), "", (real(size, False),), (), "j < {n}", size)
            elif kind.counts == "example":
                a, b = glm_words(*BLANKS[size])
                yield Scene(
                    k,
                    a + b,
                    a + b,
                    "unilm_mask",
                    ("sequence-to-sequence", len(a), len(b)),
                    ("blank_infilling", i),
                    N_("j ≤ i or j < {n}"),
                    len(a),
                )
            elif kind.name == "causal, two texts":
                text = torch.arange(T) // (T // 2)
                may = (text[:, None] == text).tril()
                yield Scene(k, TEXT, TEXT, "", (may,), (), N_("j ≤ i and (i < {n} or j ≥ {n})"), T // 2)
            elif kind.name == "causal, window of 2":
                yield Scene(
                    k, TEXT, TEXT, "", (torch.ones(T, T).tril().triu(-1) > 0,), (), N_("j ≤ i and i < j + {n}"), 2
                )
            elif kind.name in unilm:
                yield Scene(k, TEXT, TEXT, "unilm_mask", (unilm[kind.name], T // 2, T // 2), (), rules[kind.name], 0)
            else:
                yield Scene(k, TEXT, TEXT, "causal_mask", (T,), (), "j ≤ i", 0)


SCENES = tuple(_scenes())


def next_words(scene: Scene) -> list[int]:
    """Positions whose next token a model with this mask learns to predict: both are tokens of the text, and the next
    one is not in the prefix; of GLM, those in part B, where a word follows. Empty if queries and keys are different
    tokens, and if it predicts something else."""
    learns = KINDS[scene.kind].learns
    if scene.rows != scene.columns or learns in _INSTEAD:
        return []
    first = {"later": max(scene.bound - 1, 0), "blanks": scene.bound}.get(learns, 0)
    rows = scene.rows
    return [i for i in range(first, len(rows) - 1) if PAD not in rows[i : i + 2] and rows[i + 1] != START]


def instead(scene: Scene) -> str:
    """Why no position of a square mask predicts the next token, in the current language; "" if one does."""
    if scene.rows != scene.columns or next_words(scene):
        return ""
    learns = KINDS[scene.kind].learns
    given = N_("all is prefix") if learns == "later" else N_("one token only")
    return _(_INSTEAD.get(learns, given))
