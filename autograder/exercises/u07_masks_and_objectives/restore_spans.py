"""The text back from a corrupted one and its targets."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import objectives as ref

from .shared import HAND, LONG, with_noise


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


def _back(g: Source, pattern: str, first: int = 999) -> Program:
    return call(*ref.span_corruption(*with_noise(g, pattern), first), first)


def _mismatch(g: Source) -> Program:
    """Inputs with three gaps, targets of a text that has two."""
    inputs = ref.span_corruption(*with_noise(g, ".x.xx..x"), 999).inputs
    return call(inputs, ref.span_corruption(*with_noise(g, "xx..x"), 999).targets, 999)


EXERCISE = Exercise(
    id="objective.restore_spans",
    unit="07-masks-and-objectives",
    title="Nothing is lost",
    points=2,
    difficulty=3,
    minutes=12,
    extension=True,
    signature="restore_spans(inputs, targets, first_sentinel)",
    reference=ref.restore_spans,
    alternatives=[restore_by_dict, restore_by_search],
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
            "unchecked",
            _restore(),
            "The text is right. Raise a ValueError when inputs and targets do not have the same sentinels.",
        ),
    ],
)
