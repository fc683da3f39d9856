"""The text back from a corrupted one and its targets."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import objectives as ref

from .shared import HAND, edges_of_spans, with_noise


def _spans(targets, first):
    """Spans of the targets as lists; what follows the last sentinel is none."""
    spans = []
    for token in targets.tolist():
        if token == first - len(spans):
            spans.append([])
        else:
            spans[-1].append(token)
    return spans[:-1]


def restore_by_dict(inputs, targets, first_sentinel):
    """Spans by their sentinel, then one pass over the inputs."""
    spans = {first_sentinel - k: span for k, span in enumerate(_spans(targets, first_sentinel))}
    closing = targets[-1].item()
    if [t for t in inputs.tolist() if t in spans or t == closing] != list(spans):
        raise ValueError("inputs and targets do not belong together")
    return torch.tensor([x for t in inputs.tolist() for x in spans.get(t, [t])])


def restore_by_places(inputs, targets, first_sentinel):
    """Where sentinels stand in both, as tensors: the pieces between them, put together in turn."""
    closing = targets[-1]
    place = torch.arange(len(inputs))[(inputs >= closing) & (inputs <= first_sentinel)]
    marks = torch.arange(first_sentinel, closing.item(), -1)
    if not torch.equal(inputs[place], marks):
        raise ValueError("inputs and targets do not belong together")
    starts = [*torch.arange(len(targets))[torch.isin(targets, marks)], -1]
    pieces, last = [], 0
    for k, p in enumerate(place):
        pieces += [inputs[last:p], targets[starts[k] + 1 : starts[k + 1]]]
        last = p + 1
    return torch.cat([*pieces, inputs[last:]])


def restore_spans(inputs, targets, first_sentinel):
    """The sentinels are compared first, then each gap is filled with the next span."""
    spans = _spans(targets, first_sentinel)
    closing = first_sentinel - len(spans)
    found = [token for token in inputs.tolist() if closing <= token <= first_sentinel]
    marks = list(range(first_sentinel, closing, -1))
    if found != marks:
        raise ValueError("inputs and targets do not belong together")
    text, used, rest = [], 0, iter(spans)
    for token in inputs.tolist():
        if token == first_sentinel - used:
            text += next(rest, [])
            used += 1
        else:
            text.append(token)
    return torch.tensor(text)


def _back(g: Source, pattern: str, first: int = 999) -> Program:
    return call(*ref.span_corruption(*with_noise(g, pattern), first), first)


def _exchanged(g: Source, *sentinels: int) -> Program:
    """Inputs in which other sentinels stand where the first and the second do; so many below the first."""
    inputs, targets = ref.span_corruption(*with_noise(g, "..x.xx."), 999)
    inputs[(inputs == 999) | (inputs == 998)] = 999 - torch.tensor(sentinels)
    return call(inputs, targets, 999)


def _mismatch(g: Source) -> Program:
    """Inputs with three gaps, targets of a text that has two."""
    inputs = ref.span_corruption(*with_noise(g, ".x.xx..x"), 999).inputs
    return call(inputs, ref.span_corruption(*with_noise(g, "xx..x"), 999).targets, 999)


# Where a text is wrong, the ValueErrors are left out, and a gap without a span is filled with nothing.
MISTAKES = changes(
    restore_spans,
    """
keeps_sentinels: text += next(rest, []) → text += [token, *next(rest, [])] ; found != marks → False
    The sentinels are still in the text. Each is replaced by its span, not followed by it.
at_the_end: text += next(rest, []) → ; torch.tensor(text) → torch.tensor(text + sum(spans, [])) ; found != marks → False
    The spans are appended at the end. Each belongs where its sentinel stands in the inputs.
first_span_everywhere: next(rest, []) → spans[0] ; found != marks → False
    Every gap is filled with the first span. The k-th sentinel of the inputs gets the k-th span.
reversed: iter(spans) → reversed(spans) ; found != marks → False
    The spans are put back in reverse order. Sentinels count down, but in inputs and targets they come in the same
    order.
first_tokens: next(rest, []) → next(rest, [])[:1] ; found != marks → False
    Only the first token of each span comes back. A span runs up to the next sentinel of the targets.
gaps_closed: text += next(rest, []) → ; found != marks → False
    The sentinels are removed and nothing is put in their place.
closing_kept: torch.tensor(text) → torch.tensor([*text, closing]) ; found != marks → False
    The last sentinel of the targets ends up in the text. It only closes the last span.
order_unchecked: found != marks → len(found) != len(marks) ; token == first_sentinel - used → token in found
    The sentinels are counted, but not compared. The k-th sentinel of the inputs must be first_sentinel - k: raise a
    ValueError for another one.
spans_left_over: found != marks → found != marks[: len(found)]
    Spans for which the inputs have no sentinel are lost without an error. After the loop, raise a ValueError when
    used < len(spans).
counted_only: found != marks → len(found) > len(marks) ; token == first_sentinel - used → token in found
    Only too many sentinels are refused. Raise a ValueError as well for spans left over, and for a sentinel out of
    turn.
too_many_unchecked: found != marks → len(found) < len(marks) ; token == first_sentinel - used → token in found
; next(rest, []) → spans[used]
    A sentinel without a span ends in an IndexError. Before you take spans[used], raise a ValueError when there is
    none left.
first_missed: token <= first_sentinel → token < first_sentinel ; found != marks → len(found) > len(marks)
; token == first_sentinel - used → token in found
    first_sentinel itself is taken for an ordinary token. The range of the sentinels includes both ends: closing <=
    token <= first_sentinel.
first_missed_checked: token <= first_sentinel → token < first_sentinel ; found != marks → len(found) != len(marks)
; token == first_sentinel - used → token in found
    first_sentinel itself is taken for an ordinary token, so that a span is left over. The range includes both ends:
    closing <= token <= first_sentinel.
above_is_sentinel: closing <= token <= first_sentinel → closing <= token ; found != marks → len(found) != len(marks)
; token == first_sentinel - used → token in found
    Ids above first_sentinel are taken for sentinels. They are ordinary: closing <= token <= first_sentinel.
below_is_sentinel: closing <= token → closing - 1 <= token ; found != marks → len(found) != len(marks)
; token == first_sentinel - used → token in found
    The id below the closing sentinel is taken for a sentinel. The range ends at closing.
spans_reversed: next(rest, []) → next(rest, [])[::-1] ; found != marks → False
    The tokens of each span come back in reverse. They stand in the targets in the order of the text.
unchecked: found != marks → False
    The text is right. Raise a ValueError when inputs and targets do not have the same sentinels.
next_span: iter(spans) → iter(spans[1:]) ; found != marks → False
    Each gap gets the span after its own: the count goes up before the span is taken. Take spans[used] first, then
    count.
last_span_everywhere: next(rest, []) → spans[-1] ; found != marks → False
    Every gap is filled with the last span. The k-th sentinel of the inputs gets the k-th span.
last_tokens: next(rest, []) → next(rest, [])[-1:] ; found != marks → False
    Only the last token of each span comes back. Add the whole span: text += spans[used].
spans_only: torch.tensor(text) → torch.tensor(sum(spans, [])) ; found != marks → False
    Only the hidden tokens come back. The tokens in sight stay where the inputs have them.
""",
)

EXERCISE = Exercise(
    id="objective.restore_spans",
    title="Nothing is lost",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    reference=ref.restore_spans,
    alternatives=[restore_by_dict, restore_by_places],
    cases=[
        Case(
            "by hand",
            "inputs 11 99 14 98 16 and targets 99 12 13 98 15 97 give 11 12 13 14 15 16",
            lambda g: call(*ref.span_corruption(*HAND), 99),
        ),
        Case("ends hidden", "spans at the very start and at the very end", lambda g: _back(g, "xx...x.xxx")),
        Case("one span", "a single span", lambda g: _back(g, "..xxx...")),
        Case(
            "many",
            "four spans, sentinels from another part of the vocabulary",
            lambda g: _back(g, ".x..xx.x...xx.", 901),
            weight=2,
        ),
        Case("mismatch", "three gaps in the inputs, two spans in the targets: ValueError", _mismatch, weight=0.5),
        Case(
            "spans left over",
            "two gaps in the inputs, three spans in the targets: ValueError",
            lambda g: call(
                ref.span_corruption(*with_noise(g, "xx..x"), 999).inputs,
                ref.span_corruption(*with_noise(g, ".x.xx..x"), 999).targets,
                999,
            ),
            weight=0.5,
        ),
        *edges_of_spans(lambda p, ids, noise, first: p.call(*ref.span_corruption(ids, noise, first), first)),
        Case(
            "wrong order",
            "the inputs hold the second sentinel before the first: ValueError",
            lambda g: _exchanged(g, 1, 0),
            weight=0.5,
        ),
        Case(
            "twice", "the inputs hold the first sentinel twice: ValueError", lambda g: _exchanged(g, 0, 0), weight=0.5
        ),
        Case(
            "closing in the inputs",
            "the inputs hold the first sentinel and the closing one, not the second: ValueError",
            lambda g: _exchanged(g, 0, 2),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
ids as one-entry tensors are put into the same int64 tensor as ids that are numbers
    5c04abff45 inputs.tolist() → inputs
ids as one-entry tensors compare and travel like the numbers in them
    1823e7c8b4 targets.tolist() → targets
""",
)
