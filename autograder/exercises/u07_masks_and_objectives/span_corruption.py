"""T5's span corruption."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import objectives as ref

from .shared import HAND, LONG, with_noise


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


def _corrupted(g: Source, pattern: str, first: int = 999) -> Program:
    return call(*with_noise(g, pattern), first)


EXERCISE = Exercise(
    id="objective.span_corruption",
    unit="07-masks-and-objectives",
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
