"""GLM's blank infilling: tokens, positions and mask."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import objectives as ref

from .shared import LONG


def blank_infilling(ids, spans, order, mask_id, start_id, end_id):
    """tokens, positions, blank positions and labels of GLM's example; the mask is unilm_mask's affair."""
    made = ref.blank_infilling(ids, spans, order, mask_id, start_id, end_id)
    return made.tokens, made.positions, made.blank_positions, made.labels


def _check(ids, spans, order):
    edges = [e for span in spans for e in span]
    apart = all(b > a for a, b in zip(edges[:-1], edges[1:], strict=True))
    if not apart or edges[0] < 0 or edges[-1] > len(ids) or sorted(order) != list(range(len(spans))):
        raise ValueError("spans must be apart and order a permutation")


def by_places(ids, spans, order, mask_id, start_id, end_id):
    """The place of each [MASK] from how much shorter the text has become before it."""
    _check(ids, spans, order)
    hidden = torch.zeros(len(ids), dtype=torch.bool)
    first = torch.zeros(len(ids), dtype=torch.bool)
    for a, b in spans:
        hidden[a:b], first[a] = True, True
    part_a = torch.where(first, mask_id, ids)[~hidden | first]
    A = len(part_a)
    tokens, places, inner, labels = [part_a], [torch.arange(A)], [torch.zeros(A, dtype=LONG)], [torch.full((A,), -100)]
    for k in order:
        a, b = spans[k]
        shorter = sum(y - x - 1 for x, y in spans[:k])
        tokens.append(torch.cat([torch.tensor([start_id]), ids[a:b]]))
        labels.append(torch.cat([ids[a:b], torch.tensor([end_id])]))
        places.append(torch.full((b - a + 1,), a - shorter))
        inner.append(torch.arange(1, b - a + 2))
    return tuple(torch.cat(part) for part in (tokens, places, inner, labels))


def _glm(
    part_a=lambda n, m: [m],
    visit=lambda order: order,
    place=lambda mask, start, A, made, n: [mask] * (n + 1),
    inner=lambda n: range(1, n + 2),
    tokens=lambda s, span: [s, *span],
    labels=lambda span, e, s: [*span, e],
    label_a=lambda a: [-100] * len(a),
    place_a=lambda A: list(range(A)),
):
    def wrong(ids, spans, order, mask_id, start_id, end_id):
        _check(ids, spans, order)
        text, a, masks, last = ids.tolist(), [], [], 0
        for start, stop in spans:
            a += text[last:start]
            masks.append(len(a))
            a += part_a(stop - start, mask_id)
            last = stop
        a += text[last:]
        t, p, b, y = a[:], place_a(len(a)), [0] * len(a), label_a(a)
        for k in visit(order):
            start, stop = spans[k]
            n = stop - start
            p += place(masks[k], start, len(a), len(t), n)
            t += tokens(start_id, text[start:stop])
            b += list(inner(n))
            y += labels(text[start:stop], end_id, start_id)
        return tuple(torch.tensor(x, dtype=LONG) for x in (t, p, b, y))

    return wrong


def unchecked(ids, spans, order, mask_id, start_id, end_id):
    if sorted(order) == list(range(len(spans))) and all(
        b[0] > a[1] for a, b in zip(spans[:-1], spans[1:], strict=True)
    ):
        return blank_infilling(ids, spans, order, mask_id, start_id, end_id)
    return (ids,) * 4


def _blanks(g: Source, T: int, spans: list[tuple[int, int]], order: list[int]) -> Program:
    # A start_id and end_id that tokens never have, so that a missing one is seen.
    return call(torch.randperm(90, generator=g.generator)[:T] + 10, spans, order, 1, 2, 3)


EXERCISE = Exercise(
    id="objective.blank_infilling",
    unit="07-masks-and-objectives",
    title="GLM's blank infilling",
    points=4,
    difficulty=4,
    minutes=25,
    extension=True,
    signature="blank_infilling(ids, spans, order, mask_id, start_id, end_id)",
    reference=blank_infilling,
    alternatives=[by_places, _glm()],
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
    ],
    mutants=[
        Mutant(
            "mask_per_token",
            _glm(part_a=lambda n, m: [m] * n),
            "Part A holds one [MASK] per hidden token, which gives the length of the blank away. One [MASK] stands "
            "for the whole blank.",
        ),
        Mutant(
            "order_ignored",
            _glm(visit=sorted),
            "Part B writes the blanks in the order of the text. order[0] is the blank that it writes first.",
        ),
        Mutant(
            "places_go_on",
            _glm(place=lambda mask, start, A, made, n: list(range(made, made + n + 1))),
            "The first position counts on through part B. There it is the place of the blank's [MASK] in part A, "
            "for all tokens of the blank.",
        ),
        Mutant(
            "places_in_text",
            _glm(place=lambda mask, start, A, made, n: [start] * (n + 1)),
            "Part B uses the blank's place in the original text. Part A is shorter: use the place where the [MASK] "
            "stands in it.",
        ),
        Mutant(
            "places_spread",
            _glm(place=lambda mask, start, A, made, n: list(range(mask, mask + n + 1))),
            "The first position goes up within a blank. It stays at the [MASK]'s place; the second one counts.",
        ),
        Mutant(
            "inner_from_zero",
            _glm(inner=lambda n: range(n + 1)),
            "The second position starts at 0 in a blank. 0 belongs to part A; a blank counts 1, 2, 3 and so on.",
        ),
        Mutant(
            "not_shifted",
            _glm(labels=lambda span, e, s: [s, *span]),
            "In part B the labels equal the tokens. Each token predicts the next: labels are the span and then end_id.",
        ),
        Mutant(
            "end_in_tokens",
            _glm(tokens=lambda s, span: [*span, 3]),
            "Part B reads the span and end_id. It reads start_id and the span; end_id is only predicted.",
        ),
        Mutant(
            "part_a_labels", _glm(label_a=lambda a: a), "Part A has labels. It is given, not predicted: -100 there."
        ),
        Mutant(
            "places_from_one",
            _glm(place=lambda mask, start, A, made, n: [mask + 1] * (n + 1), place_a=lambda A: list(range(1, A + 1))),
            "The first position counts from 1. In this course places count from 0.",
        ),
        Mutant(
            "unchecked",
            unchecked,
            "The examples are right. Raise a ValueError for blanks that touch and for an order that is no permutation.",
        ),
    ],
)
