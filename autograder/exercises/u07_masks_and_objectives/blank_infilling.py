"""GLM's blank infilling: tokens, positions and mask."""

from itertools import pairwise

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call

from ._infilling import blank_infilling, check_spans, end_in_tokens, end_read_too, glm, part_b, refusing
from .shared import LONG


def by_places(ids, spans, order, mask_id, start_id, end_id):
    """The place of each [MASK] from how much shorter the text has become before it."""
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


def _blanks(g: Source, T: int, spans: list[tuple[int, int]], order: list[int]) -> Program:
    # Ids that tokens never have, so that a missing one is seen.
    special = (torch.randperm(9, generator=g.generator)[:3] + 1).tolist()
    return call(torch.randperm(90, generator=g.generator)[:T] + 10, spans, order, *special)


def _permuted(g: Source) -> Program:
    """Five blanks at random places, in a random order."""
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


EXERCISE = Exercise(
    id="objective.blank_infilling",
    title="GLM's blank infilling",
    points=4,
    difficulty=4,
    minutes=25,
    extension=True,
    signature="blank_infilling(ids, spans, order, mask_id, start_id, end_id)",
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
    mutants=[
        Mutant(
            "mask_per_token",
            glm(part_a=lambda n, m: [m] * n),
            "Part A holds one [MASK] per hidden token, which gives the length of the blank away. One [MASK] stands "
            "for the whole blank.",
        ),
        Mutant(
            "order_ignored",
            glm(visit=sorted),
            "Part B writes the blanks in the order of the text. order[0] is the blank that it writes first.",
        ),
        Mutant(
            "places_go_on",
            glm(place=lambda mask, start, A, made, n: list(range(made, made + n + 1))),
            "The first position counts on through part B. There it is the place of the blank's [MASK] in part A, "
            "for all tokens of the blank.",
        ),
        Mutant(
            "places_in_text",
            glm(place=lambda mask, start, A, made, n: [start] * (n + 1)),
            "Part B uses the blank's place in the original text. Part A is shorter: use the place where the [MASK] "
            "stands in it.",
        ),
        Mutant(
            "places_spread",
            glm(place=lambda mask, start, A, made, n: list(range(mask, mask + n + 1))),
            "The first position goes up within a blank. It stays at the [MASK]'s place; the second one counts.",
        ),
        Mutant(
            "inner_from_zero",
            glm(inner=lambda n: range(n + 1)),
            "The second position starts at 0 in a blank. 0 belongs to part A; a blank counts 1, 2, 3 and so on.",
        ),
        Mutant(
            "not_shifted",
            glm(labels=lambda span, e, s: [s, *span]),
            "In part B the labels equal the tokens. Each token predicts the next: labels are the span and then end_id.",
        ),
        Mutant(
            "end_in_tokens",
            end_in_tokens,
            "Part B reads the span and end_id. It reads start_id and the span; end_id is only predicted.",
        ),
        Mutant(
            "end_read_too",
            end_read_too,
            "end_id stands among the tokens of part B. It is only predicted, never read: tokens are start_id and the "
            "span, one fewer.",
        ),
        Mutant(
            "order_as_ranks",
            glm(visit=lambda order: sorted(range(len(order)), key=order.__getitem__)),
            "order is read as the turn of each blank. It is the list of blanks as they are written: go through it, "
            "for k in order.",
        ),
        Mutant(
            "order_reversed",
            glm(visit=lambda order: order[::-1]),
            "Part B writes the blanks in the reverse of the order. order[0] is the blank that it writes first.",
        ),
        Mutant(
            "no_start",
            glm(
                tokens=lambda s, span: span,
                place=lambda mask, start, A, made, n: [mask] * n,
                inner=lambda n: range(1, n + 1),
                labels=lambda span, e, s: [*span[1:], e],
            ),
            "start_id is missing in part B. Each blank starts with it, and from it the first token is predicted.",
        ),
        Mutant(
            "labels_with_start",
            glm(labels=lambda span, e, s: [-100, *span]),
            "start_id has no label here, and end_id is never predicted. Each token predicts the next: the span, then "
            "end_id.",
        ),
        Mutant(
            "places_of_turns",
            glm(place=lambda mask, start, A, made, n: [mask] + [0] * n),
            "Only start_id has the place of its [MASK]. All tokens of the blank have it.",
        ),
        Mutant(
            "touching_allowed",
            refusing(touch=lambda a, b: b[0] < a[1]),
            "Blanks that touch are accepted. They would leave two [MASK] side by side: raise a ValueError when the "
            "next starts where the last one stops (<=).",
        ),
        Mutant(
            "spans_unchecked",
            refusing(touch=lambda a, b: False),
            "One check is missing: blanks that touch or overlap. Raise a ValueError for them as well.",
        ),
        Mutant(
            "only_counted",
            refusing(order_is_wrong=lambda n, order: len(order) != n),
            "Only the length of order is checked, so a blank may come twice. A permutation names each exactly once: "
            "sorted(order) == list(range(…)).",
        ),
        Mutant(
            "order_unchecked",
            refusing(order_is_wrong=lambda n, order: False),
            "One check is missing: order must be a permutation of the blanks. Raise a ValueError otherwise.",
        ),
        Mutant(
            "as_a_set",
            refusing(order_is_wrong=lambda n, order: set(order) != set(range(n))),
            "A set forgets how often a blank is named. Compare the sorted list, or the length as well.",
        ),
        Mutant(
            "no_blank_refused",
            refusing(order_is_wrong=lambda n, order: not n or sorted(order) != list(range(n))),
            "A text without a blank is refused. It is allowed: part A is the text, and part B is empty.",
        ),
        Mutant("part_a_labels", glm(label_a=lambda a: a), "Part A has labels. It is given, not predicted: -100 there."),
        Mutant(
            "places_from_one",
            glm(place=lambda mask, start, A, made, n: [mask + 1] * (n + 1), place_a=lambda A: list(range(1, A + 1))),
            "The first position counts from 1. In this course places count from 0.",
        ),
        Mutant(
            "unchecked",
            glm(check=lambda spans, order: None),
            "The examples are right. Raise a ValueError for blanks that touch and for an order that is no permutation.",
        ),
        Mutant(
            "places_by_turn",
            part_b(place=lambda places, turn, k: places[turn]),
            "The place is taken by the turn in part B and not by the blank that is written. Use places[k], with k "
            "from order.",
        ),
        Mutant(
            "within_goes_on",
            part_b(inner=lambda done, n: range(done + 1, done + n + 1)),
            "The second position goes on from blank to blank. It starts at 1 again in each.",
        ),
        Mutant(
            "stop_included",
            part_b(stop=1),
            "The token after each blank is written as well. Spans are half-open: text[start:stop].",
        ),
        Mutant(
            "start_and_end_exchanged",
            lambda ids, spans, order, mask_id, start_id, end_id: glm()(ids, spans, order, mask_id, end_id, start_id),
            "start_id and end_id are exchanged. A blank's tokens begin with start_id, its labels close with end_id.",
        ),
        Mutant(
            "starts_with_mask",
            lambda ids, spans, order, mask_id, start_id, end_id: glm()(ids, spans, order, mask_id, mask_id, end_id),
            "Each blank of part B begins with mask_id. It begins with start_id: mask_id stands in part A.",
        ),
        Mutant(
            "ends_with_start",
            lambda ids, spans, order, mask_id, start_id, end_id: glm()(ids, spans, order, mask_id, start_id, start_id),
            "The labels of a blank close with start_id. They close with end_id, which ends the blank.",
        ),
        Mutant(
            "inner_constant",
            glm(inner=lambda n: [1] * (n + 1)),
            "The second position is 1 for all tokens of a blank. It counts within the blank: 1, 2, 3 and so on.",
        ),
        Mutant(
            "place_one_too_far",
            glm(place=lambda mask, start, A, made, n: [mask + 1] * (n + 1)),
            "Part B has the place after the [MASK]. It is the place of the [MASK] itself: places[k].",
        ),
        Mutant(
            "inner_backward",
            glm(inner=lambda n: range(n + 1, 0, -1)),
            "The second position counts backward. It goes up within a blank: 1, 2, 3 and so on.",
        ),
        Mutant(
            "inner_of_part_a",
            glm(inner=lambda n: [0] * (n + 1)),
            "The second position is 0 in part B as well. 0 belongs to part A; a blank counts 1, 2, 3 and so on.",
        ),
    ],
)
