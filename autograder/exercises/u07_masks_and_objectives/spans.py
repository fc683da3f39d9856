"""Spans: T5's span corruption and its way back, and GLM's blank infilling."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import objectives as ref

UNIT = "07-masks-and-objectives"
LONG = torch.long


# --- span corruption -----------------------------------------------------------------------------------------------
def corrupt_by_loop(ids, noise, first_sentinel):
    """One pass over the text with a flag: is a span open?"""
    inputs, targets, k, is_open = [], [], 0, False
    spans = sum(n and not b for n, b in zip(noise.tolist(), [False, *noise.tolist()[:-1]], strict=True))
    if any(first_sentinel - spans <= x <= first_sentinel for x in ids.tolist()):
        raise ValueError("the text holds a sentinel")
    for token, hidden in zip(ids.tolist(), noise.tolist(), strict=True):
        if hidden and not is_open:
            inputs.append(first_sentinel - k)
            targets.append(first_sentinel - k)
            k += 1
        (targets if hidden else inputs).append(token)
        is_open = hidden
    return torch.tensor(inputs), torch.tensor([*targets, first_sentinel - k])


def corrupt_by_runs(ids, noise, first_sentinel):
    """Runs from the places where the noise changes."""
    edges = torch.cat([torch.tensor([True]), noise[1:] != noise[:-1]]).nonzero()[:, 0].tolist() + [len(ids)]
    inputs, targets, sentinel = [], [], first_sentinel
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        if noise[a]:
            mark = torch.tensor([sentinel])
            inputs.append(mark)
            targets += [mark, ids[a:b]]
            sentinel -= 1
        else:
            inputs.append(ids[a:b])
    if ((ids <= first_sentinel) & (ids >= sentinel)).any():
        raise ValueError("the text holds a sentinel")
    return torch.cat(inputs), torch.cat([*targets, torch.tensor([sentinel])])


def _runs(ids, noise):
    """List of (hidden?, tokens)."""
    runs = []
    for token, hidden in zip(ids.tolist(), noise.tolist(), strict=True):
        if not runs or runs[-1][0] != hidden:
            runs.append((hidden, []))
        runs[-1][1].append(token)
    return runs


# The mistakes leave the ValueError out.
def _corrupt(mark=lambda s, k, tokens: [s - k], target=lambda s, k, tokens: [s - k, *tokens],
             closing=lambda s, n, ids: [s - n], hide=True):
    def wrong(ids, noise, first_sentinel):
        inputs, targets, k = [], [], 0
        for hidden, tokens in _runs(ids, noise):
            if hidden:
                inputs += mark(first_sentinel, k, tokens)
                targets += target(first_sentinel, k, tokens)
                k += 1
            else:
                inputs += tokens
        targets += closing(first_sentinel, k, ids.tolist())
        return torch.tensor(inputs, dtype=LONG), torch.tensor(targets, dtype=LONG)
    return wrong


def per_token(ids, noise, first_sentinel):
    inputs, targets, k = [], [], 0
    for token, hidden in zip(ids.tolist(), noise.tolist(), strict=True):
        inputs.append(first_sentinel - k if hidden else token)
        if hidden:
            targets += [first_sentinel - k, token]
            k += 1
    return torch.tensor(inputs), torch.tensor([*targets, first_sentinel - k])


def whole_text(ids, noise, first_sentinel):
    return _corrupt()(ids, noise, first_sentinel)[0], ids


def wraps_around(ids, noise, first_sentinel):
    inputs, targets, k = [], [], 0
    for i, (token, hidden) in enumerate(zip(ids.tolist(), noise.tolist(), strict=True)):
        if hidden and not noise[i - 1]:
            inputs.append(first_sentinel - k)
            targets.append(first_sentinel - k)
            k += 1
        (targets if hidden else inputs).append(token)
    return torch.tensor(inputs), torch.tensor([*targets, first_sentinel - k])


def _text(g, pattern):
    """Random ids below 800, all different, with a noise pattern such as '..xx.x'."""
    ids = torch.randperm(800, generator=g.generator)[: len(pattern)]
    return ids, torch.tensor([c == "x" for c in pattern])


def _corrupted(g, pattern, first=999):
    return call(*_text(g, pattern), first)


HAND = (torch.tensor([11, 12, 13, 14, 15, 16]), torch.tensor([False, True, True, False, True, False]), 99)
CORRUPT = Exercise(
    id="objective.span_corruption", unit=UNIT, title="T5's span corruption", points=4, difficulty=3, minutes=20,
    signature="span_corruption(ids, noise, first_sentinel)", reference=ref.span_corruption,
    alternatives=[corrupt_by_loop, corrupt_by_runs],
    cases=[
        Case("by hand", "11 [12 13] 14 [15] 16: inputs 11 99 14 98 16, targets 99 12 13 98 15 97",
             lambda g: call(*HAND)),
        Case("ends hidden", "spans at the very start and at the very end",
             lambda g: _corrupted(g, "xx...x.xxx"), weight=2),
        Case("one span", "a single span of three tokens", lambda g: _corrupted(g, "..xxx...")),
        Case("many", "four spans in fourteen tokens, with sentinels from another place of the vocabulary",
             lambda g: _corrupted(g, ".x..xx.x...xx.", 900 + g.integer(10, 90))),
        Case("taken", "the text holds 98, which would be the second sentinel: ValueError",
             lambda g: call(torch.tensor([98, 12, 13, 14]), torch.tensor([False, True, False, True]), 99), weight=0.5),
    ],
    mutants=[
        Mutant("per_token", per_token,
               "Each hidden token gets a sentinel of its own. Neighbors that are hidden together make one span and "
               "share one sentinel."),
        Mutant("one_sentinel", _corrupt(mark=lambda s, k, tokens: [s], target=lambda s, k, tokens: [s, *tokens],
                                        closing=lambda s, n, ids: [s]),
               "All spans share one sentinel, so nothing tells which gap a span fills. Count down: the second span has "
               "first_sentinel - 1."),
        Mutant("counts_up", _corrupt(mark=lambda s, k, tokens: [s + k], target=lambda s, k, tokens: [s + k, *tokens],
                                     closing=lambda s, n, ids: [s + n]),
               "The sentinels count up. They lie at the end of T5's vocabulary and count down: first_sentinel - k."),
        Mutant("no_closing", _corrupt(closing=lambda s, n, ids: []),
               "The targets lack their last sentinel, the one after the last span. It tells the model to stop."),
        Mutant("spans_only", _corrupt(target=lambda s, k, tokens: tokens),
               "The targets list the hidden tokens without sentinels, so nothing tells where a span starts. Put each "
               "span's sentinel before it."),
        Mutant("sentinel_behind", _corrupt(target=lambda s, k, tokens: [*tokens, s - k]),
               "In the targets the sentinel comes after its span. It comes before it, and one more closes the whole."),
        Mutant("wraps_around", wraps_around,
               "A span at the very start gets no sentinel when the last token is hidden: at i = 0, noise[i - 1] is the "
               "last entry. Nothing stands before token 0."),
        Mutant("gaps_closed", _corrupt(mark=lambda s, k, tokens: []),
               "The spans vanish from the inputs without a trace. Each leaves one sentinel in its place."),
        Mutant("one_per_hidden", _corrupt(mark=lambda s, k, tokens: [s - k] * len(tokens)),
               "The inputs repeat a span's sentinel once per hidden token, which gives its length away. One sentinel "
               "stands for the whole span."),
        Mutant("whole_text", whole_text,
               "The targets are the whole text. T5 predicts only what is missing: sentinel, span, sentinel, span, …, "
               "and a last sentinel."),
        Mutant("unchecked", _corrupt(),
               "Inputs and targets are right. Raise a ValueError when the text itself holds a sentinel that is needed: "
               "the way back would be ambiguous."),
    ],
)


# --- and back ------------------------------------------------------------------------------------------------------
def restore_by_dict(inputs, targets, first_sentinel):
    """Spans by their sentinel, then one pass over the inputs."""
    spans, current = {}, None
    for token in targets.tolist():
        if token == first_sentinel - len(spans):
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    last = first_sentinel - len(spans) + 1
    spans.pop(last)
    found = [t for t in inputs.tolist() if t in spans]
    if found != list(spans) or last in inputs.tolist():
        raise ValueError("inputs and targets do not belong together")
    text = [x for t in inputs.tolist() for x in spans.get(t, [t])]
    return torch.tensor(text)


def restore_by_search(inputs, targets, first_sentinel):
    """For each sentinel: the stretch of the targets up to the next one."""
    text, target = [], targets.tolist()
    expected = first_sentinel
    for token in inputs.tolist():
        if token == expected:
            if token - 1 not in target:
                raise ValueError(f"no span for {token}")
            text += target[target.index(token) + 1 : target.index(token - 1)]
            expected -= 1
        else:
            text.append(token)
    if target[-1] != expected:
        raise ValueError("targets describe more spans")
    return torch.tensor(text)


# The mistakes leave the ValueErrors out, and fill a gap without a span with nothing.
def _spans(targets, first, including=0):
    spans, k = [], 0
    for token in targets.tolist():
        if token == first - k:
            spans.append([])
            k += 1
        elif spans:
            spans[-1].append(token)
    return spans[:-1]


def _restore(fill=lambda spans, k: spans[k] if k < len(spans) else [], tail=lambda spans, s: []):
    def wrong(inputs, targets, first_sentinel):
        spans = _spans(targets, first_sentinel)
        text, k = [], 0
        for token in inputs.tolist():
            if token == first_sentinel - k:
                text += fill(spans, k)
                k += 1
            else:
                text.append(token)
        text += tail(spans, first_sentinel)
        return torch.tensor(text, dtype=LONG)
    return wrong


def keeps_sentinels(inputs, targets, first_sentinel):
    spans = _spans(targets, first_sentinel)
    text, k = [], 0
    for token in inputs.tolist():
        text.append(token)
        if token == first_sentinel - k:
            text += spans[k] if k < len(spans) else []
            k += 1
    return torch.tensor(text, dtype=LONG)


def _back(g, pattern, first=999):
    return call(*ref.span_corruption(*_text(g, pattern), first), first)


def _mismatch(g):
    """Inputs with three gaps, targets of a text that has two."""
    inputs = ref.span_corruption(*_text(g, ".x.xx..x"), 999).inputs
    return call(inputs, ref.span_corruption(*_text(g, "xx..x"), 999).targets, 999)


RESTORE = Exercise(
    id="objective.restore_spans", unit=UNIT, title="Nothing is lost", points=2, difficulty=3, minutes=12,
    signature="restore_spans(inputs, targets, first_sentinel)", reference=ref.restore_spans,
    alternatives=[restore_by_dict, restore_by_search],
    cases=[
        Case("by hand", "inputs 11 99 14 98 16 and targets 99 12 13 98 15 97 give 11 12 13 14 15 16",
             lambda g: call(*ref.span_corruption(*HAND), 99)),
        Case("ends hidden", "spans at the very start and at the very end", lambda g: _back(g, "xx...x.xxx")),
        Case("one span", "a single span", lambda g: _back(g, "..xxx...")),
        Case("many", "four spans, sentinels from another place", lambda g: _back(g, ".x..xx.x...xx.", 901), weight=2),
        Case("mismatch", "three gaps in the inputs, two spans in the targets: ValueError", _mismatch, weight=0.5),
    ],
    mutants=[
        Mutant("keeps_sentinels", keeps_sentinels,
               "The sentinels are still in the text. Each is replaced by its span, not followed by it."),
        Mutant("at_the_end", _restore(fill=lambda spans, k: [], tail=lambda spans, s: sum(spans, [])),
               "The spans are appended at the end. Each belongs where its sentinel stands in the inputs."),
        Mutant("first_span_everywhere", _restore(fill=lambda spans, k: spans[0]),
               "Every gap is filled with the first span. The k-th sentinel of the inputs gets the k-th span."),
        Mutant("reversed", _restore(fill=lambda spans, k: spans[-1 - k] if k < len(spans) else []),
               "The spans are put back in reverse order. Sentinels count down, but in inputs and targets they come in "
               "the same order."),
        Mutant("first_tokens", _restore(fill=lambda spans, k: spans[k][:1] if k < len(spans) else []),
               "Only the first token of each span comes back. A span runs up to the next sentinel of the targets."),
        Mutant("gaps_closed", _restore(fill=lambda spans, k: []),
               "The sentinels are removed and nothing is put in their place."),
        Mutant("closing_kept", _restore(tail=lambda spans, s: [s - len(spans)]),
               "The last sentinel of the targets ends up in the text. It only closes the last span."),
        Mutant("unchecked", _restore(),
               "The text is right. Raise a ValueError when inputs and targets do not have the same sentinels."),
    ],
)


# --- blank infilling -----------------------------------------------------------------------------------------------
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


def _glm(part_a=lambda n, m: [m], visit=lambda order: order, place=lambda mask, start, A, made, n: [mask] * (n + 1),
         inner=lambda n: range(1, n + 2), tokens=lambda s, span: [s, *span], labels=lambda span, e, s: [*span, e],
         label_a=lambda a: [-100] * len(a), place_a=lambda A: list(range(A))):
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
            b[0] > a[1] for a, b in zip(spans[:-1], spans[1:], strict=True)):
        return blank_infilling(ids, spans, order, mask_id, start_id, end_id)
    return (ids,) * 4


def _blanks(g, T, spans, order):
    return call(torch.randperm(90, generator=g.generator)[:T] + 10, spans, order, 1, 2, 3)


# A start_id and end_id that tokens never have, so that a missing one is seen.
BLANKS = Exercise(
    id="objective.blank_infilling", unit=UNIT, title="GLM's blank infilling", points=4, difficulty=4, minutes=25,
    signature="blank_infilling(ids, spans, order, mask_id, start_id, end_id)", reference=blank_infilling,
    alternatives=[by_places, _glm()],
    cases=[
        Case("one blank", "11 [12 13] 14 with mask 1, start 2, end 3: tokens 11 1 14 2 12 13, labels 12 13 3 in part B",
             lambda g: call(torch.tensor([11, 12, 13, 14]), [(1, 3)], [0], 1, 2, 3)),
        Case("two blanks", "two blanks of two and one tokens, written in the order of the text",
             lambda g: _blanks(g, 7, [(1, 3), (4, 5)], [0, 1])),
        Case("shuffled", "three blanks, the last one written first",
             lambda g: _blanks(g, 11, [(1, 3), (4, 7), (8, 9)], [2, 0, 1]), weight=2),
        Case("ends", "blanks at both ends of the text, written backward",
             lambda g: _blanks(g, 9, [(0, 2), (5, 9)], [1, 0])),
        Case("touching", "two blanks with no token between them would leave two [MASK] side by side: ValueError",
             lambda g: _blanks(g, 6, [(1, 3), (3, 4)], [0, 1]), weight=0.5),
        Case("no permutation", "an order that names blank 0 twice: ValueError",
             lambda g: _blanks(g, 6, [(1, 2), (3, 4)], [0, 0]), weight=0.5),
    ],
    mutants=[
        Mutant("mask_per_token", _glm(part_a=lambda n, m: [m] * n),
               "Part A holds one [MASK] per hidden token, which gives the length of the blank away. One [MASK] stands "
               "for the whole blank."),
        Mutant("order_ignored", _glm(visit=sorted),
               "Part B writes the blanks in the order of the text. order[0] is the blank that it writes first."),
        Mutant("places_go_on", _glm(place=lambda mask, start, A, made, n: list(range(made, made + n + 1))),
               "The first position counts on through part B. There it is the place of the blank's [MASK] in part A, "
               "for all tokens of the blank."),
        Mutant("places_in_text", _glm(place=lambda mask, start, A, made, n: [start] * (n + 1)),
               "Part B uses the blank's place in the original text. Part A is shorter: use the place where the [MASK] "
               "stands in it."),
        Mutant("places_spread", _glm(place=lambda mask, start, A, made, n: list(range(mask, mask + n + 1))),
               "The first position goes up within a blank. It stays at the [MASK]'s place; the second one counts."),
        Mutant("inner_from_zero", _glm(inner=lambda n: range(n + 1)),
               "The second position starts at 0 in a blank. 0 belongs to part A; a blank counts 1, 2, 3 and so on."),
        Mutant("not_shifted", _glm(labels=lambda span, e, s: [s, *span]),
               "In part B the labels equal the tokens. Each token predicts the next: labels are the span and then "
               "end_id."),
        Mutant("end_in_tokens", _glm(tokens=lambda s, span: [*span, 3]),
               "Part B reads the span and end_id. It reads start_id and the span; end_id is only predicted."),
        Mutant("part_a_labels", _glm(label_a=lambda a: a),
               "Part A has labels. It is given, not predicted: -100 there."),
        Mutant("places_from_one", _glm(place=lambda mask, start, A, made, n: [mask + 1] * (n + 1),
                                       place_a=lambda A: list(range(1, A + 1))),
               "The first position counts from 1. In this course places count from 0."),
        Mutant("unchecked", unchecked,
               "The examples are right. Raise a ValueError for blanks that touch and for an order that is no "
               "permutation."),
    ],
)

EXERCISES = [CORRUPT, RESTORE, BLANKS]
