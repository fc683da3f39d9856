"""T5's span corruption."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
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
    """Runs from the positions at which the noise changes."""
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


def _taken(g: Source, place: int, sentinel: int, pattern: str = "..x.xx.") -> Program:
    """A text with one of its own sentinels in it; sentinel: how many below the first."""
    ids, noise = with_noise(g, pattern)
    first = 900 + g.integer(10, 90)
    ids[place] = first - sentinel
    return call(ids, noise, first)


def _corrupted(g: Source, pattern: str, first: int = 999) -> Program:
    return call(*with_noise(g, pattern), first)


# Where inputs or targets are wrong, the ValueError is mostly left out.
MISTAKES = [
    *changes(
        corrupt_by_loop,
        """
per_token: hidden and not is_open → hidden ; set(needed) & set(ids.tolist()) → False
    Each hidden token gets a sentinel of its own. Neighbors that are hidden together make one span and share one
    sentinel.
one_sentinel: needed[-1] - 1 → needed[-1] ; set(needed) & set(ids.tolist()) → False
    All spans share one sentinel, so nothing tells which gap a span fills. Count down: the second span has
    first_sentinel - 1.
one_too_low: [first_sentinel] → [first_sentinel - 1] ; set(needed) & set(ids.tolist()) → False
    The sentinels start one too low: the spans are counted before they are written. The first has first_sentinel
    itself.
exchanged: (targets if hidden else inputs) → inputs ; set(needed) & set(ids.tolist()) → False
    Hidden tokens stay in the inputs. They move to the targets, and tokens in sight stay.
counts_up: needed[-1] - 1 → needed[-1] + 1 ; set(needed) & set(ids.tolist()) → False
    The sentinels count up. They lie at the end of T5's vocabulary and count down: first_sentinel - k.
no_closing: [*targets, needed[-1]] → targets ; set(needed) & set(ids.tolist()) → False
    The targets lack their last sentinel, the one after the last span. It tells the model to stop.
spans_only: targets.append(needed[-1]) → ; set(needed) & set(ids.tolist()) → False
    The targets list the hidden tokens without sentinels, so nothing tells where a span starts. Put each span's
    sentinel before it.
""",
    ),
    *changes(
        corrupt_by_runs,
        """
sentinel_behind: [mark, run] → [run, mark] ; ((ids <= first_sentinel) & (ids >= sentinel)).any() → False
    In the targets the sentinel comes after its span. It comes before it, and one more closes the whole.
""",
    ),
    *changes(
        corrupt_by_loop,
        """
wraps_around: not is_open → not noise[i - 1] ; set(needed) & set(ids.tolist()) → False
    A span at the very start gets no sentinel when the last token is hidden: at i = 0, noise[i - 1] is the last
    entry. Nothing stands before token 0.
gaps_closed: inputs.append(needed[-1]) → ; set(needed) & set(ids.tolist()) → False
    The spans vanish from the inputs without a trace. Each leaves one sentinel in its place.
""",
    ),
    *changes(
        corrupt_by_runs,
        """
one_per_hidden: inputs.append(mark) → inputs += [mark] * len(run)
; ((ids <= first_sentinel) & (ids >= sentinel)).any() → False
    The inputs repeat a span's sentinel once per hidden token, which gives its length away. One sentinel stands for
    the whole span.
whole_text: torch.cat([*targets, torch.tensor([sentinel])]) → ids
; ((ids <= first_sentinel) & (ids >= sentinel)).any() → False
    The targets are the whole text. T5 predicts only what is missing: sentinel, span, sentinel, span, …, and a last
    sentinel.
closing_unchecked: ids >= sentinel → ids > sentinel
    The check leaves out the closing sentinel, which is needed as well: first_sentinel - spans belongs to the range.
first_unchecked: ids <= first_sentinel → ids < first_sentinel
    The check leaves out first_sentinel itself. All that are needed count, from the first to the closing one.
above_refused: (ids <= first_sentinel) & →
    Ids above first_sentinel are refused. They are ordinary: only the sentinels needed must not occur.
below_refused: ids >= sentinel → ids >= sentinel - 1
    The id below the closing sentinel is refused. It is ordinary: only the sentinels needed must not occur.
only_first_checked: (ids <= first_sentinel) & (ids >= sentinel) → ids == first_sentinel
    Only first_sentinel is looked for. Each span has a sentinel of its own, and one closes: check them all.
hidden_unchecked: (ids >= sentinel)) → (ids >= sentinel) & ~noise)
    Only the tokens in sight are checked. A hidden token with a sentinel's id is just as ambiguous, in the targets.
sight_unchecked: (ids >= sentinel)) → (ids >= sentinel) & noise)
    Only the hidden tokens are checked. One in sight with a sentinel's id is as ambiguous, in the inputs.
unchecked: ((ids <= first_sentinel) & (ids >= sentinel)).any() → False
    Inputs and targets are right. Raise a ValueError when the text itself holds a sentinel that is needed (the
    closing one, too): the way back would be ambiguous.
""",
    ),
    *changes(
        corrupt_by_loop,
        """
first_span_only: is_open = hidden → is_open = is_open or hidden
    Only the first span gets a sentinel: the flag of an open span is never taken back. Set it for each token:
    hidden_before = hidden.
start_missed: hidden and not is_open → hidden and i > 0 and not is_open
    A span at the very start gets no sentinel. Nothing stands before token 0, so a hidden token 0 starts a span.
sentinel_at_end: not is_open → not noise[i + 1 : i + 2].any()
    The sentinel is written at the last token of a span. It comes at the first one, before the span's tokens.
""",
    ),
    *changes(
        corrupt_by_runs,
        """
first_token_lost: [mark, run] → [mark, run[1:]] ; ((ids <= first_sentinel) & (ids >= sentinel)).any() → False
    The first token of each span is lost. At the start of a span comes the sentinel, and then the token too: no
    elif.
first_token_in_sight: inputs.append(mark) → inputs += [mark, run[:1]]
; targets += [mark, run] → targets += [mark, run[1:]] ; ((ids <= first_sentinel) & (ids >= sentinel)).any() → False
    The first token of each span stays in the inputs. Hidden tokens belong to the targets, all of them.
""",
    ),
    *changes(
        corrupt_by_loop,
        """
closing_repeated: *targets, needed[-1] → *targets, needed[-1] + 1 ; set(needed) & set(ids.tolist()) → False
    The closing sentinel is that of the last span again. It is the next one: first_sentinel - spans, after spans has
    been counted.
closing_too_low: *targets, needed[-1] → *targets, needed[-1] - 1 ; set(needed) & set(ids.tolist()) → False
    The closing sentinel is one too low. After n spans it is first_sentinel - n.
closing_is_first: *targets, needed[-1] → *targets, first_sentinel ; set(needed) & set(ids.tolist()) → False
    The targets close with first_sentinel. The closing one is the next that is free: first_sentinel - spans.
closing_in_inputs: torch.tensor(inputs) → torch.tensor([*inputs, needed[-1]]) ; set(needed) & set(ids.tolist()) → False
    The inputs end with the closing sentinel as well. Only the targets have it.
exchanged_results: torch.tensor(inputs), → ; needed[-1]]) → needed[-1]]), torch.tensor(inputs)
; set(needed) & set(ids.tolist()) → False
    The two results stand the other way round. Return the inputs first, then the targets.
noise_inverted: enumerate(noise) → enumerate(~noise) ; set(needed) & set(ids.tolist()) → False
    The tokens in sight are hidden, and the others shown. noise is True where a token is hidden.
counts_up_checked: needed[-1] - 1 → needed[-1] + 1
    The sentinels count up from first_sentinel, and the check looks for them there. They count down: span k has
    first_sentinel - k.
""",
    ),
]

EXERCISE = Exercise(
    id="objective.span_corruption",
    title="T5's span corruption",
    points=4,
    difficulty=3,
    minutes=20,
    extension=True,
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
            "four spans in fourteen tokens, with sentinels from another part of the vocabulary",
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
    mutants=MISTAKES,
    equivalent="""
ids as one-entry tensors are put into the same int64 tensor as ids that are numbers
    1b5a8a70f4 ids.tolist() → ids
a one-entry boolean tensor is as true as the boolean in it
    cd44f4d78f noise.tolist() → noise
one-entry tensors compare like the numbers in them
    3e0ee05bf3 ids.tolist() → ids in the check
""",
)
