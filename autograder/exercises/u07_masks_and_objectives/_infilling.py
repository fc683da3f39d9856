"""GLM's example, right and with mistakes."""

from itertools import pairwise

import torch

from autograder.reference import objectives as ref

from .shared import LONG


def blank_infilling(ids, spans, order, mask_id, start_id, end_id):
    """tokens, positions, blank positions and labels of GLM's example; the mask is unilm_mask's affair."""
    made = ref.blank_infilling(ids, spans, order, mask_id, start_id, end_id)
    return made.tokens, made.positions, made.blank_positions, made.labels


def check_spans(spans, order):
    if any(b <= a for (_, a), (b, _) in pairwise(spans)):
        raise ValueError("spans touch")
    if sorted(order) != list(range(len(spans))):
        raise ValueError("order must be a permutation")


def glm(
    part_a=lambda n, m: [m],
    visit=lambda order: order,
    place=lambda mask, start, A, made, n: [mask] * (n + 1),
    inner=lambda n: range(1, n + 2),
    tokens=lambda s, span: [s, *span],
    labels=lambda span, e, s: [*span, e],
    label_a=lambda a: [-100] * len(a),
    place_a=lambda A: list(range(A)),
    check=check_spans,
):
    def wrong(ids, spans, order, mask_id, start_id, end_id):
        check(spans, order)
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


def end_in_tokens(ids, spans, order, mask_id, start_id, end_id):
    return glm(tokens=lambda s, span: [*span, end_id])(ids, spans, order, mask_id, start_id, end_id)


def end_read_too(ids, spans, order, mask_id, start_id, end_id):
    right = glm(
        tokens=lambda s, span: [s, *span, end_id],
        place=lambda mask, start, A, made, n: [mask] * (n + 2),
        inner=lambda n: range(1, n + 3),
        labels=lambda span, e, s: [*span, e, -100],
    )
    return right(ids, spans, order, mask_id, start_id, end_id)


# The right example behind a check of its own.
def refusing(touch=lambda a, b: b[0] <= a[1], order_is_wrong=lambda n, order: sorted(order) != list(range(n))):
    def wrong(ids, spans, order, mask_id, start_id, end_id):
        if any(touch(a, b) for a, b in pairwise(spans)) or order_is_wrong(len(spans), order):
            raise ValueError("no such example")
        return glm(check=lambda *given: None)(ids, spans, order, mask_id, start_id, end_id)

    return wrong


def part_b(place=lambda places, turn, k: places[k], inner=lambda done, n: range(1, n + 1), stop=0):
    """The right example, with part B written anew behind part A."""

    def wrong(ids, spans, order, mask_id, start_id, end_id):
        tokens, positions, within, labels = (t.tolist() for t in blank_infilling(ids, spans, order, mask_id, 0, 0))
        A = within.index(1) if 1 in within else len(within)
        tokens, positions, within, labels = tokens[:A], positions[:A], within[:A], labels[:A]
        places = [p for p, token in enumerate(tokens) if token == mask_id]
        done = 0
        for turn, k in enumerate(order):
            span = ids[spans[k][0] : spans[k][1] + stop].tolist()
            n = len(span) + 1
            tokens += [start_id, *span]
            positions += [place(places, turn, k)] * n
            within += inner(done, n)
            labels += [*span, end_id]
            done += n
        return tuple(torch.tensor(row) for row in (tokens, positions, within, labels))

    return wrong
