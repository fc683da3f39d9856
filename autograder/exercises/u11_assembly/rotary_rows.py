"""Rows of query and key matrices, from one layout of RoPE's pairs to the other."""

from collections.abc import Callable

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call, several
from autograder.reference.assembly.loading import to_half_rows, to_interleaved_rows

BOTH = (to_half_rows, to_interleaved_rows)


def _places(rows, n_heads):
    """For each row of the half-split layout the row that it was in the interleaved one."""
    if rows % (2 * n_heads):
        raise ValueError(f"{rows} rows, {n_heads} heads")
    return torch.arange(rows).view(n_heads, -1, 2).mT.flatten()


def half_by_index(weight, n_heads):
    """One list of rows."""
    return weight[_places(weight.shape[0], n_heads)]


def interleaved_by_index(weight, n_heads):
    """The inverse permutation, by sorting."""
    return weight[_places(weight.shape[0], n_heads).argsort()]


def half_by_heads(weight, n_heads):
    """One head at a time, evens before odds. Where heads differ in size, it is by one row: some are odd."""
    heads = weight.tensor_split(n_heads)
    if any(len(head) % 2 for head in heads):
        raise ValueError("heads of pairs")
    return torch.cat([half for head in heads for half in (head[::2], head[1::2])])


def interleaved_by_writing(weight, n_heads):
    """Rows written where they belong."""
    out = torch.empty_like(weight)
    out[_places(len(weight), n_heads)] = weight
    return out


def _ways(to_half, to_interleaved):
    """Both functions, each from ``how(weight, H, D)``, None for the right one. What does not fit raises ValueError."""

    def checked(how, right):
        def wrong(weight, n_heads):
            right(weight, n_heads)
            return how(weight, n_heads, len(weight) // n_heads)

        return right if how is None else wrong

    return checked(to_half, to_half_rows), checked(to_interleaved, to_interleaved_rows)


def _half(weight, H):
    return weight.unflatten(0, (H, -1, 2)).transpose(1, 2).flatten(0, 2)


def _interleaved(weight, H):
    return weight.unflatten(0, (H, 2, -1)).transpose(1, 2).flatten(0, 2)


def _columns(weight, H, D):
    return _half(weight.T, 1).T if weight.dim() > 1 and weight.shape[1] % 2 == 0 else _half(weight, H)


def _swapped_neighbors(weight, H, D):
    return weight.unflatten(0, (H, -1, 2)).flip(2).flatten(0, 2)


def _odds_first(weight, H, D):
    return weight.unflatten(0, (H, -1, 2)).flip(2).transpose(1, 2).flatten(0, 2)


def _heads_mixed(weight, H, D):
    return weight.unflatten(0, (H, D // 2, 2)).transpose(0, 2).flatten(0, 2)


def _first_head(weight, H, D):
    return torch.cat([_half(weight[:D], 1), weight[D:]])


def _not_flat(weight, H, D):
    return weight.unflatten(0, (H, -1, 2)).transpose(1, 2).flatten(1, 2)


def _heads_by_columns(weight, H, D):
    """The number of heads taken for their size."""
    return _half(weight, D) if H % 2 == 0 else _half(weight, H)


def accepting(odd, uneven):
    """Both functions by index. odd: heads of three rows pass. uneven: rows that are left over are lost."""

    def moving(order):
        def wrong(weight, n_heads):
            D, rest = divmod(len(weight), n_heads)
            if (rest and not uneven) or (D % 2 and not odd):
                raise ValueError(f"{len(weight)} rows, {n_heads} heads")
            one = order(torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]))
            return weight[torch.cat([head * D + one for head in range(n_heads)])]

        return wrong

    return moving(lambda places: places), moving(torch.argsort)


def to_float(weight, H, D):
    return _half(weight, H).float()


def _by_hand(g: Source) -> Program:
    return call(torch.arange(6.0).reshape(6, 1), 1)


def _matrices(fn: str, dtype: torch.dtype = torch.float32) -> Callable[[Source], Program]:
    return lambda g: several(2, lambda p: p.call(g.randn(24, g.integer(3, 8), dtype=dtype), g.choice((2, 3, 4)), fn=fn))


def _back(g: Source) -> Program:
    weight = g.randn(16, 5)
    return call(weight, 2).call(weight, 2, fn="to_interleaved_rows")


EXERCISE = Exercise(
    id="assembly.rotary_rows",
    title="Rows in the other order",
    points=3,
    difficulty=4,
    minutes=15,
    extension=True,
    signature="to_half_rows(weight, n_heads)",
    targets=("to_half_rows", "to_interleaved_rows"),
    reference=BOTH,
    alternatives=[(half_by_index, interleaved_by_index), (half_by_heads, interleaved_by_writing)],
    cases=[
        Case("by hand", "one head of six rows 0 to 5: 0, 2, 4, then 1, 3, 5", _by_hand),
        Case("heads", "two matrices of 24 rows, each of two to four heads", _matrices("to_half_rows"), weight=2),
        Case(
            "the way back",
            "two matrices in the half-split layout, in float64",
            _matrices("to_interleaved_rows", torch.float64),
            weight=2,
        ),
        Case("there and back", "the same matrix through both functions, two heads of eight rows", _back),
        Case(
            "bias",
            "a bias has rows and no columns: two of three heads in float16, one for each function",
            lambda g: call(g.randn(18, dtype=torch.float16), 3).call(
                g.randn(18, dtype=torch.float16), 3, fn="to_interleaved_rows"
            ),
        ),
        Case(
            "odd",
            "12 rows and 4 heads leave three rows each, no pairs: ValueError",
            lambda g: call(g.randn(12, 2), 4),
            weight=0.25,
        ),
        Case(
            "odd, back",
            "three rows to a head on the way back: ValueError",
            lambda g: call(g.randn(12, 2), 4, fn="to_interleaved_rows"),
            weight=0.25,
        ),
        Case("uneven", "10 rows are no 4 heads: ValueError", lambda g: call(g.randn(10, 2), 4), weight=0.25),
        Case(
            "uneven, back",
            "10 rows for 4 heads on the way back: ValueError",
            lambda g: call(g.randn(10, 2), 4, fn="to_interleaved_rows"),
            weight=0.25,
        ),
    ],
    mutants=[
        Mutant(
            "exchanged",
            (to_interleaved_rows, to_half_rows),
            "The two functions are exchanged. to_half_rows gets pairs 2i, 2i + 1 and puts all first members before all "
            "second ones.",
        ),
        Mutant(
            "one_way",
            _ways(None, lambda weight, H, D: _half(weight, H)),
            "to_interleaved_rows makes the same move as to_half_rows. It has to undo it: unflatten to (H, 2, D/2), "
            "then swap.",
        ),
        Mutant(
            "all_heads_at_once",
            _ways(lambda weight, H, D: _half(weight, 1), lambda weight, H, D: _interleaved(weight, 1)),
            "All rows are sorted at once, so heads are mixed. Each head's rows stay together: unflatten the heads "
            "first.",
        ),
        Mutant(
            "heads_last",
            _ways(_heads_mixed, None),
            "The halves come first and the heads inside them. Heads stay in order, and the rows move within each.",
        ),
        Mutant(
            "columns",
            _ways(_columns, None),
            "Columns are moved. The rows of a projection make the heads; its columns meet the stream.",
        ),
        Mutant(
            "neighbors",
            _ways(_swapped_neighbors, None),
            "Neighbors change places. All first members of the pairs come first, then all second ones.",
        ),
        Mutant(
            "odds_first",
            _ways(_odds_first, None),
            "The second members come first. The first half holds rows 0, 2, 4, … of the head.",
        ),
        Mutant(
            "first_head",
            _ways(_first_head, None),
            "Only the first head is sorted. All heads turn their pairs.",
        ),
        Mutant(
            "not_flat",
            _ways(_not_flat, None),
            "The rows are right, but they lie in heads, (H, D, …). The matrix is wanted as it came: flatten(0, 2).",
        ),
        Mutant(
            "size_for_number",
            _ways(_heads_by_columns, None),
            "n_heads is taken for the size of a head. It is their number: a head has len(weight) // n_heads rows.",
        ),
        Mutant(
            "halves_swapped",
            _ways(lambda weight, H, D: weight.unflatten(0, (H, 2, -1)).flip(1).flatten(0, 2), None),
            "The two halves of each head change places. Pairs 2i, 2i + 1 must come to i and i + D/2.",
        ),
        Mutant(
            "unchanged",
            _ways(lambda weight, H, D: weight.clone(), None),
            "to_half_rows moves nothing: a reshape alone leaves rows where they are. Rows 0, 2, 4, … of each head come "
            "first, then 1, 3, 5, ….",
        ),
        Mutant(
            "back_unchanged",
            _ways(None, lambda weight, H, D: weight.clone()),
            "to_interleaved_rows moves nothing. Rows i and i + D/2 of each head come to 2i and 2i + 1.",
        ),
        Mutant(
            "back_all_heads",
            _ways(None, lambda weight, H, D: _interleaved(weight, 1)),
            "to_interleaved_rows sorts all rows at once and mixes heads. Unflatten to (n_heads, 2, −1) first.",
        ),
        Mutant(
            "in_float32",
            _ways(to_float, None),
            "The order is right, but the numbers are turned into float32. Keep the dtype that came.",
        ),
        Mutant(
            "odd_accepted",
            accepting(odd=True, uneven=False),
            "Three rows to a head were accepted. Raise ValueError: the last has no partner.",
        ),
        Mutant(
            "uneven_accepted",
            accepting(odd=False, uneven=True),
            "Rows that do not divide among the heads were accepted, and the last ones are lost. Raise ValueError.",
        ),
        Mutant(
            "unchecked",
            accepting(odd=True, uneven=True),
            "Any number of rows was accepted. Of 12 rows, 4 heads get three each, and the last has no partner; of 10, "
            "two are lost. Raise ValueError.",
        ),
    ],
)
