"""T5's span corruption."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import objectives as ref

from .shared import HAND, edges_of_spans, with_noise


def corrupt_by_loop(ids, noise, first_sentinel):
    """One pass over the text with a flag: is a span open?"""
    inputs, targets, needed = [], [], [first_sentinel]
    is_open = False
    for i, hidden in enumerate(noise):
        if hidden and not is_open:
            inputs.append(needed[-1])
            targets.append(needed[-1])
            needed.append(needed[-1] - 1)
        (targets if hidden else inputs).append(ids[i])
        is_open = hidden
    if set(needed) & set(ids.tolist()):
        raise ValueError("the text holds a sentinel")
    return torch.tensor(inputs), torch.tensor([*targets, needed[-1]])


def corrupt_by_runs(ids, noise, first_sentinel):
    """Runs from the places where the noise changes."""
    inputs, targets, sentinel = [], [], first_sentinel
    lengths = noise.unique_consecutive(return_counts=True)[1].tolist()
    for i, run in enumerate(ids.split(lengths)):
        if noise[0] == (i % 2 == 0):
            mark = torch.tensor([sentinel])
            inputs.append(mark)
            targets += [mark, run]
            sentinel -= 1
        else:
            inputs.append(run)
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
        return torch.tensor(inputs), torch.tensor(targets)

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


def _refusing(taken):
    """The right result, with a check of its own; taken: bool from (ids, noise, first, last sentinel)."""

    def wrong(ids, noise, first_sentinel):
        inputs, targets = _corrupt()(ids, noise, first_sentinel)
        if taken(ids, noise, first_sentinel, targets[-1]).any():
            raise ValueError("the text holds a sentinel")
        return inputs, targets

    return wrong


def _taken(g: Source, place: int, sentinel: int, pattern: str = "..x.xx.") -> Program:
    """A text with one of its own sentinels in it; sentinel: how many below the first."""
    ids, noise = with_noise(g, pattern)
    first = 900 + g.integer(10, 90)
    ids[place] = first - sentinel
    return call(ids, noise, first)


def _corrupted(g: Source, pattern: str, first: int = 999) -> Program:
    return call(*with_noise(g, pattern), first)


def _pass(starts):
    """One pass over the text, with a sentinel wherever starts(i, noise), and the right check."""

    def wrong(ids, noise, first_sentinel):
        inputs, targets, k, noise = [], [], 0, noise.tolist()
        for i, token in enumerate(ids.tolist()):
            if starts(i, noise):
                inputs.append(first_sentinel - k)
                targets.append(first_sentinel - k)
                k += 1
            (targets if noise[i] else inputs).append(token)
        if ((ids <= first_sentinel) & (ids >= first_sentinel - k)).any():
            raise ValueError("the text holds a sentinel")
        return torch.tensor(inputs), torch.tensor([*targets, first_sentinel - k])

    return wrong


def closing_in_inputs(ids, noise, first_sentinel):
    inputs, targets = _corrupt()(ids, noise, first_sentinel)
    return torch.cat([inputs, targets[-1:]]), targets


def counts_up_checked(ids, noise, first_sentinel):
    up = lambda s, k, *tokens: [s + k, *(tokens[0] if tokens else [])]
    inputs, targets = _corrupt(lambda s, k, tokens: [s + k], up, lambda s, n, ids: [s + n])(ids, noise, first_sentinel)
    if ((ids >= first_sentinel) & (ids <= targets[-1])).any():
        raise ValueError("the text holds a sentinel")
    return inputs, targets


EXERCISE = Exercise(
    id="objective.span_corruption",
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
        *edges_of_spans(lambda p, ids, noise, first: p.call(ids, noise, first)),
        Case(
            "first taken",
            "the text holds first_sentinel itself: ValueError",
            lambda g: _taken(g, 0, 0),
            weight=0.5,
        ),
        Case(
            "hidden taken",
            "a hidden token has the id of a sentinel: ValueError",
            lambda g: _taken(g, 4, 1),
            weight=0.5,
        ),
        Case(
            "nothing hidden, taken",
            "no span at all, and the text holds the sentinel that closes: ValueError",
            lambda g: _taken(g, 2, 0, "....."),
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
            "closing_unchecked",
            _refusing(lambda ids, noise, first, last: (ids <= first) & (ids > last)),
            "The check leaves out the closing sentinel, which is needed as well: first_sentinel - spans belongs to the "
            "range.",
        ),
        Mutant(
            "first_unchecked",
            _refusing(lambda ids, noise, first, last: (ids < first) & (ids >= last)),
            "The check leaves out first_sentinel itself. All that are needed count, from the first to the closing one.",
        ),
        Mutant(
            "above_refused",
            _refusing(lambda ids, noise, first, last: ids >= last),
            "Ids above first_sentinel are refused. They are ordinary: only the sentinels needed must not occur.",
        ),
        Mutant(
            "below_refused",
            _refusing(lambda ids, noise, first, last: (ids <= first) & (ids >= last - 1)),
            "The id below the closing sentinel is refused. It is ordinary: only the sentinels needed must not occur.",
        ),
        Mutant(
            "only_first_checked",
            _refusing(lambda ids, noise, first, last: ids == first),
            "Only first_sentinel is looked for. Each span has a sentinel of its own, and one closes: check them all.",
        ),
        Mutant(
            "hidden_unchecked",
            _refusing(lambda ids, noise, first, last: (ids <= first) & (ids >= last) & ~noise),
            "Only the tokens in sight are checked. A hidden token with a sentinel's id is just as ambiguous, in the "
            "targets.",
        ),
        Mutant(
            "sight_unchecked",
            _refusing(lambda ids, noise, first, last: (ids <= first) & (ids >= last) & noise),
            "Only the hidden tokens are checked. One in sight with a sentinel's id is as ambiguous, in the inputs.",
        ),
        Mutant(
            "unchecked",
            _corrupt(),
            "Inputs and targets are right. Raise a ValueError when the text itself holds a sentinel that is needed "
            "(the closing one, too): the way back would be ambiguous.",
        ),
        Mutant(
            "first_span_only",
            _pass(lambda i, noise: noise[i] and not any(noise[:i])),
            "Only the first span gets a sentinel: the flag of an open span is never taken back. Set it for each "
            "token: hidden_before = hidden.",
        ),
        Mutant(
            "start_missed",
            _pass(lambda i, noise: noise[i] and i > 0 and not noise[i - 1]),
            "A span at the very start gets no sentinel. Nothing stands before token 0, so a hidden token 0 starts a "
            "span.",
        ),
        Mutant(
            "sentinel_at_end",
            _pass(lambda i, noise: noise[i] and not (i + 1 < len(noise) and noise[i + 1])),
            "The sentinel is written at the last token of a span. It comes at the first one, before the span's tokens.",
        ),
        Mutant(
            "first_token_lost",
            _corrupt(target=lambda s, k, tokens: [s - k, *tokens[1:]]),
            "The first token of each span is lost. At the start of a span comes the sentinel, and then the token too: "
            "no elif.",
        ),
        Mutant(
            "first_token_in_sight",
            _corrupt(mark=lambda s, k, tokens: [s - k, tokens[0]], target=lambda s, k, tokens: [s - k, *tokens[1:]]),
            "The first token of each span stays in the inputs. Hidden tokens belong to the targets, all of them.",
        ),
        Mutant(
            "closing_repeated",
            _corrupt(closing=lambda s, n, ids: [s - n + 1]),
            "The closing sentinel is that of the last span again. It is the next one: first_sentinel - spans, after "
            "spans has been counted.",
        ),
        Mutant(
            "closing_too_low",
            _corrupt(closing=lambda s, n, ids: [s - n - 1]),
            "The closing sentinel is one too low. After n spans it is first_sentinel - n.",
        ),
        Mutant(
            "closing_is_first",
            _corrupt(closing=lambda s, n, ids: [s]),
            "The targets close with first_sentinel. The closing one is the next that is free: first_sentinel - spans.",
        ),
        Mutant(
            "closing_in_inputs",
            closing_in_inputs,
            "The inputs end with the closing sentinel as well. Only the targets have it.",
        ),
        Mutant(
            "exchanged_results",
            lambda ids, noise, first_sentinel: _corrupt()(ids, noise, first_sentinel)[::-1],
            "The two results stand the other way round. Return the inputs first, then the targets.",
        ),
        Mutant(
            "noise_inverted",
            lambda ids, noise, first_sentinel: _corrupt()(ids, ~noise, first_sentinel),
            "The tokens in sight are hidden, and the others shown. noise is True where a token is hidden.",
        ),
        Mutant(
            "counts_up_checked",
            counts_up_checked,
            "The sentinels count up from first_sentinel, and the check looks for them there. They count down: span k "
            "has first_sentinel - k.",
        ),
    ],
)
