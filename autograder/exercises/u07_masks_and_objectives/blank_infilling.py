"""GLM's blank infilling: tokens, positions and mask."""

from itertools import pairwise

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call

from ._infilling import blank_infilling, check_spans
from .shared import LONG


def by_places(ids, spans, order, mask_id, start_id, end_id):
    """The position of each [MASK] from how much shorter the text has become before it."""
    check_spans(spans, order)
    keep = torch.ones(len(ids), dtype=torch.bool)
    part_a = ids.clone()
    for a, b in spans:
        keep[a + 1 : b] = False
        part_a[a] = mask_id
    part_a = part_a[keep]
    A = len(part_a)
    tokens, places, inner, labels = [part_a], [torch.arange(A)], [torch.zeros(A, dtype=LONG)], [torch.full((A,), -100)]
    for k in order:
        a, b = spans[k]
        tokens.append(torch.cat([torch.tensor([start_id]), ids[a:b]]))
        labels.append(torch.cat([ids[a:b], torch.tensor([end_id])]))
        places.append(torch.full((b - a + 1,), keep[:a].sum().item()))
        inner.append(torch.arange(1, b - a + 2))
    return tuple(torch.cat(part) for part in (tokens, places, inner, labels))


def by_rows(ids, spans, order, mask_id, start_id, end_id):
    """One row of four numbers per token, part B sorted by the turn in which its blank is written."""
    check_spans(spans, order)
    part_a, part_b = [], []
    text = ids.tolist()
    for i, token in enumerate(text):
        for k, (a, b) in enumerate(spans):
            if a == i:
                place, turn = len(part_a), order.index(k)
                blank = enumerate(pairwise([start_id, *text[a:b], end_id]), 1)
                part_a.append((mask_id, place, 0, -100))
                part_b += [(turn, t, (x, place, t, y)) for t, (x, y) in blank]
            if a <= i < b:
                break
        else:
            part_a.append((token, len(part_a), 0, -100))
    return torch.tensor([*part_a, *(row for *_, row in sorted(part_b))]).unbind(1)


def by_lists(ids, spans, order, mask_id, start_id, end_id):
    """Four lists: part A first, then each blank in its turn."""
    if any(start <= stop for (_, stop), (start, _) in pairwise(spans)):
        raise ValueError("spans touch")
    if sorted(order) != list(range(len(spans))):
        raise ValueError("order must be a permutation")
    text, tokens, places, last = ids.tolist(), [], [], 0
    for start, stop in spans:
        tokens += text[last:start]
        places.append(len(tokens))
        tokens.append(mask_id)
        last = stop
    tokens += text[last:]
    A = len(tokens)
    positions, inner, labels = list(range(A)), [0] * A, [-100] * A
    for k in order:
        start, stop = spans[k]
        span = text[start:stop]
        n = len(span)
        tokens += [start_id, *span]
        positions += [places[k]] * (n + 1)
        inner += range(1, n + 2)
        labels += [*span, end_id]
    return tuple(torch.tensor(row) for row in (tokens, positions, inner, labels))


def _blanks(g: Source, T: int, spans: list[tuple[int, int]], order: list[int]) -> Program:
    # Ids that tokens never have, so that a missing one is seen.
    special = (torch.randperm(9, generator=g.generator)[:3] + 1).tolist()
    return call(torch.randperm(90, generator=g.generator)[:T] + 10, spans, order, *special)


def _permuted(g: Source) -> Program:
    """Five blanks at random positions, in a random order."""
    spans, stop = [], 0
    for _ in range(5):
        start = stop + g.integer(1, 3)
        stop = start + g.integer(1, 4)
        spans.append((start, stop))
    return _blanks(g, stop + g.integer(0, 2), spans, torch.randperm(5, generator=g.generator).tolist())


def _whole_or_nothing(g: Source) -> Program:
    """A text that is a blank, one without a blank, and one of a single token."""
    special = (torch.randperm(9, generator=g.generator)[:3] + 1).tolist()
    program = Program()
    for T, spans in ((5, [(0, 5)]), (4, []), (1, [(0, 1)])):
        ids = torch.randperm(90, generator=g.generator)[:T] + 10
        program.call(ids, spans, list(range(len(spans))), *special)
    return program


MISTAKES = changes(
    by_lists,
    """
mask_per_token: tokens.append(mask_id) → tokens += [mask_id] * (stop - start)
    Part A holds one [MASK] per hidden token, which gives the length of the blank away. One [MASK] stands for the
    whole blank.
order_ignored: for k in order → for k in sorted(order)
    Part B writes the blanks in the order of the text. order[0] is the blank that it writes first.
places_go_on: [places[k]] * (n + 1) → range(len(positions), len(positions) + n + 1)
    The first position counts on through part B. There it is the position of the blank's [MASK] in part A, for all
    tokens of the blank.
places_in_text: [places[k]] * → [start] *
    Part B uses the blank's position in the original text. Part A is shorter: use the position of the [MASK] in it.
places_spread: [places[k]] * (n + 1) → range(places[k], places[k] + n + 1)
    The first position goes up within a blank. It stays at the [MASK]'s position; the second one counts.
inner_from_zero: range(1, n + 2) → range(n + 1)
    The second position starts at 0 in a blank. 0 belongs to part A; a blank counts 1, 2, 3 and so on.
not_shifted: [*span, end_id] → [start_id, *span]
    In part B the labels equal the tokens. Each token predicts the next: labels are the span and then end_id.
end_in_tokens: [start_id, *span] → [*span, end_id]
    Part B reads the span and end_id. It reads start_id and the span; end_id is only predicted.
end_read_too: [start_id, *span] → [start_id, *span, end_id] ; * (n + 1) → * (n + 2) ; range(1, n + 2) → range(1, n + 3)
; [*span, end_id] → [*span, end_id, -100]
    end_id stands among the tokens of part B. It is only predicted, never read: tokens are start_id and the span,
    one fewer.
order_as_ranks: for k in order → for k in sorted(range(len(order)), key=order.__getitem__)
    order is read as the turn of each blank. It is the list of blanks as they are written: go through it, for k in
    order.
order_reversed: for k in order → for k in order[::-1]
    Part B writes the blanks in the reverse of the order. order[0] is the blank that it writes first.
no_start: [start_id, *span] → span ; * (n + 1) → * n ; range(1, n + 2) → range(1, n + 1)
; [*span, end_id] → [*span[1:], end_id]
    start_id is missing in part B. Each blank starts with it, and from it the first token is predicted.
labels_with_start: [*span, end_id] → [-100, *span]
    start_id has no label here, and end_id is never predicted. Each token predicts the next: the span, then end_id.
places_of_turns: [places[k]] * (n + 1) → [places[k]] + [0] * n
    Only start_id has the position of its [MASK]. All tokens of the blank have it.
touching_allowed: start <= stop → start < stop
    Blanks that touch are accepted. They would leave two [MASK] side by side: raise a ValueError when the next
    starts where the last one stops (<=).
spans_unchecked: any(start <= stop for (_, stop), (start, _) in pairwise(spans)) → False
    One check is missing: blanks that touch or overlap. Raise a ValueError for them as well.
only_counted: sorted(order) != list(range(len(spans))) → len(order) != len(spans)
    Only the length of order is checked, so a blank may come twice. A permutation names each exactly once:
    sorted(order) == list(range(…)).
order_unchecked: sorted(order) != list(range(len(spans))) → False
    One check is missing: order must be a permutation of the blanks. Raise a ValueError otherwise.
as_a_set: sorted(order) != list( → set(order) != set(
    A set forgets how often a blank is named. Compare the sorted list, or the length as well.
no_blank_refused: sorted(order) != → not spans or sorted(order) !=
    A text without a blank is refused. It is allowed: part A is the text, and part B is empty.
part_a_labels: [-100] * A → tokens[:]
    Part A has labels. It is given, not predicted: -100 there.
places_from_one: list(range(A)) → list(range(1, A + 1)) ; [places[k]] → [places[k] + 1]
    The first position counts from 1. In this course positions count from 0.
unchecked: any(start <= stop for (_, stop), (start, _) in pairwise(spans)) → False
; sorted(order) != list(range(len(spans))) → False
    The examples are right. Raise a ValueError for blanks that touch and for an order that is no permutation.
places_by_turn: for k in order → for turn, k in enumerate(order) ; places[k] → places[turn]
    The position is taken by the turn in part B and not by the blank that is written. Use places[k], with k from
    order.
within_goes_on: range(1, n + 2) → range(len(inner) - A + 1, len(inner) - A + n + 2)
    The second position goes on from blank to blank. It starts at 1 again in each.
stop_included: text[start:stop] → text[start : stop + 1]
    The token after each blank is written as well. Spans are half-open: text[start:stop].
start_and_end_exchanged: [start_id, *span] → [end_id, *span] ; [*span, end_id] → [*span, start_id]
    start_id and end_id are exchanged. A blank's tokens begin with start_id, its labels close with end_id.
starts_with_mask: [start_id, *span] → [mask_id, *span]
    Each blank of part B begins with mask_id. It begins with start_id: mask_id stands in part A.
ends_with_start: [*span, end_id] → [*span, start_id]
    The labels of a blank close with start_id. They close with end_id, which ends the blank.
inner_constant: range(1, n + 2) → [1] * (n + 1)
    The second position is 1 for all tokens of a blank. It counts within the blank: 1, 2, 3 and so on.
place_one_too_far: [places[k]] → [places[k] + 1]
    Part B has the position after the [MASK]. It is the position of the [MASK] itself: places[k].
inner_backward: range(1, n + 2) → range(n + 1, 0, -1)
    The second position counts backward. It goes up within a blank: 1, 2, 3 and so on.
inner_of_part_a: range(1, n + 2) → [0] * (n + 1)
    The second position is 0 in part B as well. 0 belongs to part A; a blank counts 1, 2, 3 and so on.
""",
)

EXERCISE = Exercise(
    id="objective.blank_infilling",
    title="GLM's blank infilling",
    points=4,
    difficulty=4,
    minutes=25,
    extension=True,
    reference=blank_infilling,
    alternatives=[by_places, by_rows],
    cases=[
        Case(
            "one blank",
            "11 [12 13] 14 with mask 1, start 2, end 3: tokens 11 1 14 2 12 13, labels 12 13 3 in part B",
            lambda g: call(torch.tensor([11, 12, 13, 14]), [(1, 3)], [0], 1, 2, 3),
        ),
        Case(
            "two blanks",
            "two blanks of two and one tokens, written in the order of the text",
            lambda g: _blanks(g, 7, [(1, 3), (4, 5)], [0, 1]),
        ),
        Case(
            "shuffled",
            "three blanks, the last one written first",
            lambda g: _blanks(g, 11, [(1, 3), (4, 7), (8, 9)], [2, 0, 1]),
            weight=2,
        ),
        Case(
            "ends",
            "blanks at both ends of the text, written backward",
            lambda g: _blanks(g, 9, [(0, 2), (5, 9)], [1, 0]),
        ),
        Case(
            "random",
            "five blanks of random lengths, one token apart or two, in random order",
            _permuted,
        ),
        Case(
            "whole or nothing",
            "a text that is one blank, a text without a blank (part A alone), and a blank of the only token",
            _whole_or_nothing,
        ),
        Case(
            "touching",
            "two blanks with no token between them would leave two [MASK] side by side: ValueError",
            lambda g: _blanks(g, 6, [(1, 3), (3, 4)], [0, 1]),
            weight=0.5,
        ),
        Case(
            "no permutation",
            "an order that names blank 0 twice: ValueError",
            lambda g: _blanks(g, 6, [(1, 2), (3, 4)], [0, 0]),
            weight=0.5,
        ),
        Case(
            "overlapping",
            "the second blank starts inside the first: ValueError",
            lambda g: _blanks(g, 7, [(1, 4), (3, 6)], [1, 0]),
            weight=0.5,
        ),
        Case(
            "touching later",
            "three blanks, of which the last two touch: ValueError",
            lambda g: _blanks(g, 9, [(0, 2), (4, 5), (5, 7)], [2, 0, 1]),
            weight=0.5,
        ),
        Case(
            "blank left out",
            "two blanks and an order of one: ValueError",
            lambda g: _blanks(g, 6, [(1, 2), (3, 4)], [1]),
            weight=0.5,
        ),
        Case(
            "written twice",
            "two blanks and an order of three, which names blank 0 twice: ValueError",
            lambda g: _blanks(g, 6, [(1, 2), (3, 4)], [0, 1, 0]),
            weight=0.5,
        ),
        Case(
            "counted from one",
            "an order that counts two blanks from 1 on: ValueError",
            lambda g: _blanks(g, 6, [(1, 2), (3, 4)], [2, 1]),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
ids as one-entry tensors are put into the same int64 tensor as ids that are numbers
    c45aee28ab alternative by_rows, call: ids.tolist() → ids
""",
)
