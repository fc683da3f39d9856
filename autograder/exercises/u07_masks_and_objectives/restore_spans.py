"""The text back from a corrupted one and its targets."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
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


# The mistakes leave the ValueErrors out, and fill a gap without a span with nothing.
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
        return torch.tensor(text)

    return wrong


def keeps_sentinels(inputs, targets, first_sentinel):
    spans = _spans(targets, first_sentinel)
    text, k = [], 0
    for token in inputs.tolist():
        text.append(token)
        if token == first_sentinel - k:
            text += spans[k] if k < len(spans) else []
            k += 1
    return torch.tensor(text)


# Everything right but the ValueErrors; the loop as the hints have it.
def _checked(is_sentinel=None, no_span=lambda used, spans, token, first: False, left_over=lambda used, spans: False):
    def wrong(inputs, targets, first_sentinel):
        spans = _spans(targets, first_sentinel)
        closing = first_sentinel - len(spans)
        text, used = [], 0
        for token in inputs.tolist():
            if is_sentinel(token, closing, first_sentinel) if is_sentinel else closing <= token <= first_sentinel:
                if no_span(used, spans, token, first_sentinel):
                    raise ValueError("no span")
                text += spans[used]
                used += 1
            else:
                text.append(token)
        if left_over(used, spans):
            raise ValueError("spans left over")
        return torch.tensor(text)

    return wrong


def _too_many(used, spans, token, first):
    return used == len(spans)


def _not_next(used, spans, token, first):
    return used == len(spans) or token != first - used


def _some_left(used, spans):
    return used < len(spans)


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


EXERCISE = Exercise(
    id="objective.restore_spans",
    title="Nothing is lost",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="restore_spans(inputs, targets, first_sentinel)",
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
        Case("many", "four spans, sentinels from another place", lambda g: _back(g, ".x..xx.x...xx.", 901), weight=2),
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
    mutants=[
        Mutant(
            "keeps_sentinels",
            keeps_sentinels,
            "The sentinels are still in the text. Each is replaced by its span, not followed by it.",
        ),
        Mutant(
            "at_the_end",
            _restore(fill=lambda spans, k: [], tail=lambda spans, s: sum(spans, [])),
            "The spans are appended at the end. Each belongs where its sentinel stands in the inputs.",
        ),
        Mutant(
            "first_span_everywhere",
            _restore(fill=lambda spans, k: spans[0]),
            "Every gap is filled with the first span. The k-th sentinel of the inputs gets the k-th span.",
        ),
        Mutant(
            "reversed",
            _restore(fill=lambda spans, k: spans[-1 - k] if k < len(spans) else []),
            "The spans are put back in reverse order. Sentinels count down, but in inputs and targets they come in "
            "the same order.",
        ),
        Mutant(
            "first_tokens",
            _restore(fill=lambda spans, k: spans[k][:1] if k < len(spans) else []),
            "Only the first token of each span comes back. A span runs up to the next sentinel of the targets.",
        ),
        Mutant(
            "gaps_closed",
            _restore(fill=lambda spans, k: []),
            "The sentinels are removed and nothing is put in their place.",
        ),
        Mutant(
            "closing_kept",
            _restore(tail=lambda spans, s: [s - len(spans)]),
            "The last sentinel of the targets ends up in the text. It only closes the last span.",
        ),
        Mutant(
            "order_unchecked",
            _checked(no_span=_too_many, left_over=_some_left),
            "The sentinels are counted, but not compared. The k-th sentinel of the inputs must be first_sentinel - k: "
            "raise a ValueError for another one.",
        ),
        Mutant(
            "spans_left_over",
            _checked(no_span=_not_next),
            "Spans for which the inputs have no sentinel are lost without a word. After the loop, raise a ValueError "
            "when used < len(spans).",
        ),
        Mutant(
            "counted_only",
            _checked(no_span=_too_many),
            "Only too many sentinels are refused. Raise a ValueError as well for spans left over, and for a sentinel "
            "out of turn.",
        ),
        Mutant(
            "too_many_unchecked",
            _checked(left_over=_some_left),
            "A sentinel without a span ends in an IndexError. Before you take spans[used], raise a ValueError when "
            "there is none left.",
        ),
        Mutant(
            "first_missed",
            _checked(is_sentinel=lambda t, closing, first: closing <= t < first, no_span=_too_many),
            "first_sentinel itself is taken for an ordinary token. The range of the sentinels includes both ends: "
            "closing <= token <= first_sentinel.",
        ),
        Mutant(
            "first_missed_checked",
            _checked(
                is_sentinel=lambda t, closing, first: closing <= t < first, no_span=_too_many, left_over=_some_left
            ),
            "first_sentinel itself is taken for an ordinary token, so that a span is left over. The range includes "
            "both ends: closing <= token <= first_sentinel.",
        ),
        Mutant(
            "above_is_sentinel",
            _checked(is_sentinel=lambda t, closing, first: t >= closing, no_span=_too_many, left_over=_some_left),
            "Ids above first_sentinel are taken for sentinels. They are ordinary: closing <= token <= first_sentinel.",
        ),
        Mutant(
            "below_is_sentinel",
            _checked(
                is_sentinel=lambda t, closing, first: closing - 1 <= t <= first,
                no_span=_too_many,
                left_over=_some_left,
            ),
            "The id below the closing sentinel is taken for a sentinel. The range ends at closing.",
        ),
        Mutant(
            "spans_reversed",
            _restore(fill=lambda spans, k: spans[k][::-1] if k < len(spans) else []),
            "The tokens of each span come back in reverse. They stand in the targets in the order of the text.",
        ),
        Mutant(
            "unchecked",
            _restore(),
            "The text is right. Raise a ValueError when inputs and targets do not have the same sentinels.",
        ),
        Mutant(
            "next_span",
            _restore(fill=lambda spans, k: spans[k + 1] if k + 1 < len(spans) else []),
            "Each gap gets the span after its own: the count goes up before the span is taken. Take spans[used] "
            "first, then count.",
        ),
        Mutant(
            "last_span_everywhere",
            _restore(fill=lambda spans, k: spans[-1]),
            "Every gap is filled with the last span. The k-th sentinel of the inputs gets the k-th span.",
        ),
        Mutant(
            "last_tokens",
            _restore(fill=lambda spans, k: spans[k][-1:] if k < len(spans) else []),
            "Only the last token of each span comes back. Add the whole span: text += spans[used].",
        ),
        Mutant(
            "spans_only",
            lambda inputs, targets, first_sentinel: torch.tensor(sum(_spans(targets, first_sentinel), [])),
            "Only the hidden tokens come back. The tokens in sight stay where the inputs have them.",
        ),
    ],
)
