"""Spans: T5's span corruption, and its way back."""

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
def _corrupt(
    mark=lambda s, k, tokens: [s - k],
    target=lambda s, k, tokens: [s - k, *tokens],
    closing=lambda s, n, ids: [s - n],
    hide=True,
):
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
    id="objective.span_corruption",
    unit=UNIT,
    title="T5's span corruption",
    points=4,
    difficulty=3,
    minutes=20,
    extension=True,
    signature="span_corruption(ids, noise, first_sentinel)",
    reference=ref.span_corruption,
    alternatives=[corrupt_by_loop, corrupt_by_runs],
    cases=[
        Case(
            "by hand", "11 [12 13] 14 [15] 16: inputs 11 99 14 98 16, targets 99 12 13 98 15 97", lambda g: call(*HAND)
        ),
        Case(
            "ends hidden",
            "spans at the very start and at the very end",
            lambda g: _corrupted(g, "xx...x.xxx"),
            weight=2,
        ),
        Case("one span", "a single span of three tokens", lambda g: _corrupted(g, "..xxx...")),
        Case(
            "many",
            "four spans in fourteen tokens, with sentinels from another place of the vocabulary",
            lambda g: _corrupted(g, ".x..xx.x...xx.", 900 + g.integer(10, 90)),
        ),
        Case(
            "taken",
            "the text holds 98, which would be the second sentinel: ValueError",
            lambda g: call(torch.tensor([98, 12, 13, 14]), torch.tensor([False, True, False, True]), 99),
            weight=0.5,
        ),
        Case(
            "closing taken",
            "the text holds 97, which would close the targets: ValueError",
            lambda g: call(torch.tensor([97, 12, 13, 14]), torch.tensor([False, True, False, True]), 99),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "per_token",
            per_token,
            "Each hidden token gets a sentinel of its own. Neighbors that are hidden together make one span and "
            "share one sentinel.",
        ),
        Mutant(
            "one_sentinel",
            _corrupt(
                mark=lambda s, k, tokens: [s], target=lambda s, k, tokens: [s, *tokens], closing=lambda s, n, ids: [s]
            ),
            "All spans share one sentinel, so nothing tells which gap a span fills. Count down: the second span has "
            "first_sentinel - 1.",
        ),
        Mutant(
            "one_too_low",
            lambda ids, noise, first_sentinel: _corrupt()(ids, noise, first_sentinel - 1),
            "The sentinels start one too low: the spans are counted before they are written. The first has "
            "first_sentinel itself.",
        ),
        Mutant(
            "exchanged",
            lambda ids, noise, first_sentinel: _corrupt(
                mark=lambda s, k, tokens: [s - k, *tokens], target=lambda s, k, tokens: [s - k]
            )(ids, noise, first_sentinel),
            "Hidden tokens stay in the inputs. They move to the targets, and tokens in sight stay.",
        ),
        Mutant(
            "counts_up",
            _corrupt(
                mark=lambda s, k, tokens: [s + k],
                target=lambda s, k, tokens: [s + k, *tokens],
                closing=lambda s, n, ids: [s + n],
            ),
            "The sentinels count up. They lie at the end of T5's vocabulary and count down: first_sentinel - k.",
        ),
        Mutant(
            "no_closing",
            _corrupt(closing=lambda s, n, ids: []),
            "The targets lack their last sentinel, the one after the last span. It tells the model to stop.",
        ),
        Mutant(
            "spans_only",
            _corrupt(target=lambda s, k, tokens: tokens),
            "The targets list the hidden tokens without sentinels, so nothing tells where a span starts. Put each "
            "span's sentinel before it.",
        ),
        Mutant(
            "sentinel_behind",
            _corrupt(target=lambda s, k, tokens: [*tokens, s - k]),
            "In the targets the sentinel comes after its span. It comes before it, and one more closes the whole.",
        ),
        Mutant(
            "wraps_around",
            wraps_around,
            "A span at the very start gets no sentinel when the last token is hidden: at i = 0, noise[i - 1] is the "
            "last entry. Nothing stands before token 0.",
        ),
        Mutant(
            "gaps_closed",
            _corrupt(mark=lambda s, k, tokens: []),
            "The spans vanish from the inputs without a trace. Each leaves one sentinel in its place.",
        ),
        Mutant(
            "one_per_hidden",
            _corrupt(mark=lambda s, k, tokens: [s - k] * len(tokens)),
            "The inputs repeat a span's sentinel once per hidden token, which gives its length away. One sentinel "
            "stands for the whole span.",
        ),
        Mutant(
            "whole_text",
            whole_text,
            "The targets are the whole text. T5 predicts only what is missing: sentinel, span, sentinel, span, …, "
            "and a last sentinel.",
        ),
        Mutant(
            "unchecked",
            _corrupt(),
            "Inputs and targets are right. Raise a ValueError when the text itself holds a sentinel that is needed "
            "(the closing one, too): the way back would be ambiguous.",
        ),
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
    id="objective.restore_spans",
    unit=UNIT,
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
                ref.span_corruption(*_text(g, "xx..x"), 999).inputs,
                ref.span_corruption(*_text(g, ".x.xx..x"), 999).targets,
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

EXERCISES = [CORRUPT, RESTORE]
