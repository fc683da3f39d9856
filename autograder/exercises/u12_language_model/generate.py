"""The loop that writes: prompt once, then one token at a time, with a stop token and padded batches."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source, call
from autograder.reference.language.generating import generate

from ._writing_mistakes import MISTAKES

PLAIN, ROUNDING = Fn("toy_decoder"), Fn("toy_rounding_decoder")
LARGEST, SMALLEST, ABOVE_ONE = Fn("largest"), Fn("smallest"), Fn("above_one")


def generate_by_columns(model, ids, steps, pick, real=None, stop=None, pad=0):
    """Correct: columns in a list, a mask that is always there, finished rows found by what they hold."""
    columns = []
    seen = torch.ones_like(ids, dtype=torch.bool) if real is None else real.clone()
    logits, past = model(ids, seen) if steps else (None, None)
    while len(columns) < steps:
        token = pick(logits[:, -1, :])
        if stop is not None and columns:
            ended = torch.stack([(c == stop) for c in columns]).any(0)
            if ended.all():
                break
            token = token.masked_fill(ended, pad)
        columns.append(token)
        if len(columns) < steps:
            seen = torch.cat([seen, seen.new_ones(len(ids), 1)], 1)
            logits, past = model(token.unsqueeze(1), seen, past)
    return torch.cat([ids, *[c.unsqueeze(1) for c in columns]], 1)


def _loop(
    feed=lambda ids, new, past, prompt: (new, past),
    real_of=lambda real, first, T: real,
    grow=lambda real: torch.cat([real, torch.ones_like(real[:, :1])], 1),
    last=lambda logits, real: logits[:, -1],
    write=lambda token, done, stop, pad: torch.where(done, pad, token),
    ended=lambda done, token, stop: done | (token == stop),
    ends=lambda done: done.all(),
    start=lambda ids, stop: torch.zeros(len(ids), dtype=torch.bool),
    keep_past=lambda old, new: new,
    out=lambda ids, T: ids,
    steps_of=lambda steps: steps,
    pick_of=lambda pick: pick,
):
    """The loop in steps, each of which a mistake can replace."""

    def wrong(model, ids, steps, pick, real=None, stop=None, pad=0):
        prompt, new, past = ids, ids, None
        done = torch.zeros(len(ids), dtype=torch.bool) if stop is None else start(ids, stop)
        for step in range(steps_of(steps)):
            if ends(done):
                break
            tokens, given = feed(ids, new, past, prompt)
            mask = None if real is None else real_of(real, step == 0, tokens.shape[1])
            logits, now = model(tokens, mask, given)
            past = keep_past(past, now)
            token = write(pick_of(pick)(last(logits, real)), done, stop, pad)
            if stop is not None:
                done = ended(done, token, stop)
            new, ids = token[:, None], torch.cat([ids, token[:, None]], 1)
            real = None if real is None else grow(real)
        return out(ids, prompt.shape[1])

    return wrong


def _at_length(logits, real):
    if real is None or logits.shape[1] == 1:
        return logits[:, -1]
    return logits[torch.arange(len(logits)), real.sum(1) - 1]


def _stop_left_out(token, done, stop, pad):
    return torch.where(done | (token == stop), pad, token) if stop is not None else token


def _stop_replaced(model, ids, steps, pick, real=None, stop=None, pad=0):
    whole = generate(model, ids, steps, pick, real, stop, pad)
    if stop is not None:
        new = whole[:, ids.shape[1] :]
        new[new == stop] = pad
    return whole


def _repeating(model, ids, steps, pick, real=None, stop=None, pad=0):
    return generate(model, ids, steps, pick, real, stop, 0 if stop is None else stop)


def _always_full(model, ids, steps, pick, real=None, stop=None, pad=0):
    whole = generate(model, ids, steps, pick, real, stop, pad)
    missing = ids.shape[1] + steps - whole.shape[1]
    return torch.cat([whole, torch.full((len(ids), missing), pad)], 1)


def _one_late(model, ids, steps, pick, real=None, stop=None, pad=0):
    whole = generate(model, ids, steps, pick, real, stop, pad)
    missing = min(1, ids.shape[1] + steps - whole.shape[1])
    return torch.cat([whole, torch.full((len(ids), missing), pad)], 1)


def _padding_gone(model, ids, steps, pick, real=None, stop=None, pad=0):
    if real is None:
        return generate(model, ids, steps, pick, real, stop, pad)
    rows = [
        generate(model, row[seen][None], steps, pick, None, stop, pad)[0] for row, seen in zip(ids, real, strict=True)
    ]
    size = max(map(len, rows))
    return torch.stack([torch.cat([row, torch.full((size - len(row),), pad)]) for row in rows])


def _row_by_row(model, ids, steps, pick, real=None, stop=None, pad=0):
    """Each row for itself: rows that stopped early are never filled up, so only the first is returned."""
    return generate(model, ids[:1], steps, pick, None if real is None else real[:1], stop, pad)


def _prompt(g: Source, B: int, T: int, padding: tuple[int, ...] = ()) -> tuple[Tensor, Tensor]:
    """Random prompts, and which of their tokens are real: row i begins with padding[i] that are not."""
    ids = g.integers(0, 16, B, T)
    real = torch.ones(B, T, dtype=torch.bool)
    for row, n in enumerate(padding):
        real[row, :n] = False
    return ids, real


def _stopping(
    g: Source, at: tuple[int, ...], T: int, steps: int, padding: tuple[int, ...] = (), in_prompt: bool = False
) -> tuple[Tensor, Tensor, int, int]:
    """(prompts, real, stop, pad) for which row i writes its first stop as token number at[i] (``steps``: never)."""
    from anatomy.program import toys

    while True:
        ids, real = _prompt(g, len(at), T, padding)
        stops = [g.integer(0, 16)]
        if in_prompt:
            ids[:, -2] = stops[0]
        else:  # a text is dear to write: every token may be the one that ends it
            stops = [(stops[0] + i) % 16 for i in range(16)]
        new = generate(toys.decoder, ids, steps, lambda logits: logits.argmax(-1), real)[:, T:].tolist()
        for stop in stops:
            first = tuple(row.index(stop) if stop in row else steps for row in new)
            pad = (stop + 1 + g.integer(0, 14)) % 16
            if first == at and not any(pad in row for row in new) and pad:
                return ids, real, stop, pad


def _other_picks(g: Source) -> Program:
    """The last one needs logits (B, V) themselves: probabilities are never above 1."""
    program = call(PLAIN, _prompt(g, 2, 4)[0], 6, SMALLEST)
    for B in (1, 2):
        program.call(PLAIN, _prompt(g, B, 4)[0], 4, ABOVE_ONE)
    return program


def _padded(g: Source, model: Fn) -> Program:
    ids, real = _prompt(g, 3, 6, (3, 0, 1))
    return call(model, ids, 5, LARGEST, real=real)


def _stopped(g: Source, at: tuple[int, ...], steps: int, in_prompt: bool = False) -> Program:
    ids, _, stop, pad = _stopping(g, at, 4, steps, in_prompt=in_prompt)
    return call(PLAIN, ids, steps, LARGEST, stop=stop, pad=pad)


def _default_pad(g: Source) -> Program:
    ids, _, stop, _ = _stopping(g, (1, 6), 4, 6)
    return call(PLAIN, ids, 6, LARGEST, stop=stop)


def _both(g: Source) -> Program:
    ids, real, stop, pad = _stopping(g, (5, 2), 5, 5, (2, 0))
    return call(PLAIN, ids, 5, LARGEST, real=real, stop=stop, pad=pad)


EXERCISE = Exercise(
    id="generate.generate",
    title="The loop that writes",
    points=4,
    difficulty=4,
    minutes=15,
    signature="generate(model, ids, steps, pick, real=None, stop=None, pad=0)",
    reference=generate,
    alternatives=[generate_by_columns],
    cases=[
        Case(
            "one token",
            "one prompt of three tokens, one token written",
            lambda g: call(PLAIN, torch.tensor([[3, 1, 4]]), 1, LARGEST),
            weight=0.5,
        ),
        Case(
            "greedy",
            "two prompts, six tokens, the largest logit each time",
            lambda g: call(PLAIN, _prompt(g, 2, 5)[0], 6, LARGEST),
        ),
        Case(
            "other pick",
            "pick takes the smallest logit, then tells how many are above 1, for one prompt and for two",
            _other_picks,
        ),
        Case(
            "read once",
            "a model that stores its past rounded: prompt once, then the newest token alone",
            lambda g: call(ROUNDING, _prompt(g, 2, 5)[0], 8, LARGEST),
            weight=3,
        ),
        Case("padded", "three prompts of 3, 6 and 5 tokens, padded on the left", lambda g: _padded(g, PLAIN), weight=2),
        Case(
            "padded, read once",
            "padded prompts, and a model that stores its past rounded",
            lambda g: _padded(g, ROUNDING),
            weight=2,
        ),
        Case(
            "stop",
            "row 0 writes stop as its second token, row 1 as its fourth, row 2 never",
            lambda g: _stopped(g, (1, 3, 6), 6),
            weight=2,
        ),
        Case(
            "all stopped",
            "both rows have stopped after three tokens of seven: nothing more is written",
            lambda g: _stopped(g, (0, 2), 7),
        ),
        Case(
            "stop in the prompt",
            "prompts that hold the stop token themselves",
            lambda g: _stopped(g, (2, 4), 4, in_prompt=True),
        ),
        Case("pad by default", "a row that has stopped gets 0 where no pad is given", _default_pad, weight=0.5),
        Case("padded and stopped", "padding on the left, and a row that stops", _both),
        Case(
            "no steps",
            "no token is asked for: the prompt comes back",
            lambda g: call(PLAIN, _prompt(g, 2, 4)[0], 0, LARGEST),
            weight=0,
        ),
    ],
    mutants=[
        Mutant(
            "whole_text",
            _loop(feed=lambda ids, new, past, prompt: (ids, None)),
            "The whole text is read anew for every token. Hand the past back, and feed only the newest token: each is "
            "read once.",
        ),
        Mutant(
            "whole_text_with_past",
            _loop(feed=lambda ids, new, past, prompt: (ids, past), real_of=lambda real, first, T: None),
            "The whole text is fed on top of the past, so the model reads it twice. With a past feed only the newest "
            "token.",
        ),
        Mutant(
            "past_lost",
            _loop(
                feed=lambda ids, new, past, prompt: (new, None), real_of=lambda real, first, T: real if first else None
            ),
            "The newest token is fed without a past, so the model has forgotten the text. Hand over the past of the "
            "call before.",
        ),
        Mutant(
            "first_past",
            _loop(keep_past=lambda old, new: old or new, real_of=lambda real, first, T: real if first else None),
            "Every step gets the past of the prompt. Keep the one that the last call returned: it holds the new "
            "tokens too.",
        ),
        Mutant(
            "first_past_fitted",
            _loop(
                keep_past=lambda old, new: old or new,
                grow=lambda real: real,
                real_of=lambda real, first, T: real if first else torch.cat([real, real.new_ones(len(real), 1)], 1),
            ),
            "The past of the prompt is used at every step, so tokens written since are forgotten. Keep the past that "
            "each call returns.",
        ),
        Mutant(
            "real_forgotten",
            _loop(real_of=lambda real, first, T: None),
            "Padding is read like text: real is never handed to the model. Pass it at every call.",
        ),
        Mutant(
            "real_once",
            _loop(real_of=lambda real, first, T: real if first else None),
            "real is handed over with the prompt only. Its False columns are in the past at every later step: pass it "
            "each time.",
        ),
        Mutant(
            "real_as_it_was",
            _loop(grow=lambda real: real),
            "From the second step on real is too short: it needs a column for each token of the past and each new "
            "one. Add a column of True per step.",
        ),
        Mutant(
            "written_not_real",
            _loop(grow=lambda real: torch.cat([real, torch.zeros_like(real[:, :1])], 1)),
            "Tokens that were written are marked as padding. The new column of real is True.",
        ),
        Mutant(
            "real_in_front",
            _loop(grow=lambda real: torch.cat([torch.ones_like(real[:, :1]), real], 1)),
            "The new column of real stands in front, so every row's padding moves. Put it behind.",
        ),
        Mutant(
            "first_logits",
            _loop(last=lambda logits, real: logits[:, 0]),
            "The logits of the prompt's first token are used. The next token follows from those of the last: "
            "logits[:, -1].",
        ),
        Mutant(
            "at_length",
            _loop(last=_at_length),
            "A short row's logits are taken at the number of its tokens. With padding on the left the last token of "
            "each row is at −1.",
        ),
        Mutant(
            "padding_removed",
            _padding_gone,
            "The padding is missing in the result. Prompts come back as they were given, with the new tokens behind.",
        ),
        Mutant(
            "new_only",
            _loop(out=lambda ids, T: ids[:, T:]),
            "Only the new tokens come back. Return prompt and new tokens together.",
        ),
        Mutant("first_row", _row_by_row, "Only the first row comes back. Write for all rows at once."),
        Mutant(
            "picks_largest",
            _loop(pick_of=lambda pick: lambda logits: logits.argmax(-1)),
            "The largest logit is taken whatever pick says. Call pick(logits) for the next tokens.",
        ),
        Mutant(
            "picks_from_probabilities",
            _loop(pick_of=lambda pick: lambda logits: pick(logits.softmax(-1))),
            "pick gets probabilities, and the largest of them hides it. Hand over the logits as the model gave them.",
        ),
        Mutant(
            "axis_kept",
            _loop(last=lambda logits, real: logits[:, -1:], pick_of=lambda pick: lambda logits: pick(logits)[:, 0]),
            "pick gets logits (B, 1, V). It takes (B, V): index the last token with −1, not with the slice −1:.",
        ),
        Mutant(
            "axis_lost",
            _loop(
                last=lambda logits, real: logits[:, -1].squeeze(0),
                pick_of=lambda pick: lambda logits: pick(logits).reshape(-1),
            ),
            "With a single prompt pick gets logits (V). It takes (B, V) for every B, so leave an axis of size 1 alone.",
        ),
        Mutant(
            "one_too_many",
            _loop(steps_of=lambda steps: steps + 1 if steps else 0),
            "One token too many is written. steps counts the new tokens.",
        ),
        Mutant(
            "one_too_few",
            _loop(steps_of=lambda steps: steps - 1),
            "One token is missing. The prompt's own logits give the first of the steps.",
        ),
        Mutant(
            "never_stops",
            _loop(ended=lambda done, token, stop: done),
            "The stop token changes nothing. A row that has written it gets pad from then on.",
        ),
        Mutant(
            "goes_on",
            _loop(write=lambda token, done, stop, pad: token),
            "A row goes on writing after its stop token, until all have stopped. Give it pad instead.",
        ),
        Mutant(
            "wakes_up",
            _loop(ended=lambda done, token, stop: token == stop),
            "A row that has stopped writes again two tokens later: only the newest token is looked at. Remember who "
            "has finished: done = done | (new == stop).",
        ),
        Mutant(
            "stop_replaced",
            _stop_replaced,
            "The stop token itself is replaced by pad. It is written; what follows it is pad.",
        ),
        Mutant("repeats_stop", _repeating, "A finished row repeats the stop token. What follows it is pad."),
        Mutant(
            "pads_with_zero",
            _loop(write=lambda token, done, stop, pad: torch.where(done, 0, token)),
            "A finished row gets 0 whatever pad is. Use the argument.",
        ),
        Mutant(
            "ends_with_first",
            _loop(ends=lambda done: done.any()),
            "Everything ends as soon as one row has stopped. Go on until all have.",
        ),
        Mutant(
            "ends_with_row_zero",
            _loop(ends=lambda done: done[0]),
            "Everything ends as soon as row 0 has stopped. Go on until all have.",
        ),
        Mutant(
            "always_full",
            _always_full,
            "All steps are made although every row has stopped: columns of pad follow. End the loop when all have.",
        ),
        Mutant(
            "one_late",
            _one_late,
            "The loop ends one step late, with a column of pad alone. Look whether all have stopped before the next "
            "token is picked.",
        ),
        Mutant(
            "stop_in_prompt",
            _loop(start=lambda ids, stop: (ids == stop).any(1)),
            "A row counts as finished because its prompt holds the stop token. Only what is written now counts.",
        ),
        *MISTAKES,
    ],
)
