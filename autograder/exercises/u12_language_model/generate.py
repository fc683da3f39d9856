"""The loop that writes: prompt once, then one token at a time, with a stop token and padded batches."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Fn, Mutant, Program, Source, call
from autograder.reference.language.generating import generate

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


def _padding_gone(model, ids, steps, pick, real=None, stop=None, pad=0):
    if real is None:
        return generate(model, ids, steps, pick, real, stop, pad)
    rows = [
        generate(model, row[seen][None], steps, pick, None, stop, pad)[0] for row, seen in zip(ids, real, strict=True)
    ]
    size = max(map(len, rows))
    return torch.stack([torch.cat([row, torch.full((size - len(row),), pad)]) for row in rows])


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


MISTAKES = [
    *changes(
        generate,
        """
whole_text: model(new, real, past) → model(ids, real, None)
    The whole text is read anew for every token. Hand the past back, and feed only the newest token: each is read
    once.
whole_text_with_past: model(new, real, past) → model(ids, None, past)
    The whole text is fed on top of the past, so the model reads it twice. With a past feed only the newest token.
past_lost: model(new, real, past) → model(new, real if past is None else None, None)
    The newest token is fed without a past, so the model has forgotten the text. Hand over the past of the call
    before.
first_past: logits, past = → logits, now =
; (new, real, past) → (new, real if past is None else None, past); past = past or now
    Every step gets the past of the prompt. Keep the one that the last call returned: it holds the new tokens too.
first_past_fitted: logits, past = model(new, real, past) → logits, now = model(new, real, past); past = past or now
; if real is not None: → if real is not None and past is now:
    The past of the prompt is used at every step, so tokens written since are forgotten. Keep the past that each
    call returns.
real_forgotten: model(new, real, past) → model(new, None, past)
    Padding is read like text: real is never handed to the model. Pass it at every call.
real_once: model(new, real, past) → model(new, real if past is None else None, past)
    real is handed over with the prompt only. Its False columns are in the past at every later step: pass it each
    time.
real_as_it_was: real = torch.cat([real, torch.ones_like(real[:, :1])], dim=1) → pass
    From the second step on real is too short: it needs a column for each token of the past and each new one. Add a
    column of True per step.
written_not_real: ones_like → zeros_like
    Tokens that were written are marked as padding. The new column of real is True.
real_in_front: [real, torch.ones_like(real[:, :1])] → [torch.ones_like(real[:, :1]), real]
    The new column of real stands in front, so every row's padding moves. Put it behind.
first_logits: logits[:, -1] → logits[:, 0]
    The logits of the prompt's first token are used. The next token follows from those of the last: logits[:, -1].
at_length: logits[:, -1] → logits[torch.arange(len(ids)), -1 if real is None or new.shape[1] == 1 else real.sum(1) - 1]
    A short row's logits are taken at the number of its tokens. With padding on the left the last token of each row
    is at −1.
""",
    ),
    Mutant(
        "padding_removed",
        _padding_gone,
        "The padding is missing in the result. Prompts come back as they were given, with the new tokens behind.",
    ),
    *changes(
        generate,
        """
new_only: new, past, done = ids → prompt, new, past, done = ids.shape[1], ids ; return ids → return ids[:, prompt:]
    Only the new tokens come back. Return prompt and new tokens together.
first_row: new, past, done = ids → ids, real = ids[:1], real if real is None else real[:1]; new, past, done = ids
    Only the first row comes back. Write for all rows at once.
picks_largest: pick(logits[:, -1]) → logits[:, -1].argmax(-1)
    The largest logit is taken whatever pick says. Call pick(logits) for the next tokens.
picks_from_probabilities: pick(logits[:, -1]) → pick(logits[:, -1].softmax(-1))
    pick gets probabilities, and the largest of them hides it. Hand over the logits as the model gave them.
axis_kept: pick(logits[:, -1]) → pick(logits[:, -1:])[:, 0]
    pick gets logits (B, 1, V). It takes (B, V): index the last token with −1, not with the slice −1:.
axis_lost: pick(logits[:, -1]) → pick(logits[:, -1].squeeze(0)).reshape(-1)
    With a single prompt pick gets logits (V). It takes (B, V) for every B, so leave an axis of size 1 alone.
one_too_many: range(steps) → range(steps + 1 if steps else 0)
    One token too many is written. steps counts the new tokens.
one_too_few: range(steps) → range(steps - 1)
    One token is missing. The prompt's own logits give the first of the steps.
never_stops: done = done | (new[:, 0] == stop) → pass
    The stop token changes nothing. A row that has written it gets pad from then on.
goes_on: torch.where(done, pad, pick(logits[:, -1])) → pick(logits[:, -1])
    A row goes on writing after its stop token, until all have stopped. Give it pad instead.
wakes_up: done | (new[:, 0] == stop) → new[:, 0] == stop
    A row that has stopped writes again two tokens later: only the newest token is looked at. Remember who has
    finished: done = done | (new == stop).
stop_replaced: [ids, new] → [ids, new if stop is None else new.masked_fill(new == stop, pad)]
    The stop token itself is replaced by pad. It is written; what follows it is pad.
repeats_stop: done, pad → done, pad if stop is None else stop
    A finished row repeats the stop token. What follows it is pad.
pads_with_zero: done, pad → done, 0
    A finished row gets 0 whatever pad is. Use the argument.
ends_with_first: done.all() → done.any()
    Everything ends as soon as one row has stopped. Go on until all have.
ends_with_row_zero: done.all() → done[0]
    Everything ends as soon as row 0 has stopped. Go on until all have.
always_full: done.all() → False
    All steps are made although every row has stopped: columns of pad follow. End the loop when all have.
one_late: done.all() → done.all() and (new == pad).all()
    The loop ends one step late, with a column of pad alone. Look whether all have stopped before the next token is
    picked.
stop_in_prompt: device=ids.device) → device=ids.device) | (ids == (-1 if stop is None else stop)).any(1)
    A row counts as finished because its prompt holds the stop token. Only what is written now counts.
stop_anywhere: done | (new[:, 0] == stop) → (ids == stop).any(1)
    The whole text is searched for the stop token, so one in the prompt ends the row after its first new token.
    Search what is written now.
""",
    ),
]

EXERCISE = Exercise(
    id="generate.generate",
    title="The loop that writes",
    points=4,
    difficulty=4,
    minutes=15,
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
    mutants=MISTAKES,
    equivalent="""
only how many steps there are counts, the number of each is not used
    c9ae6e25c0 solution, reversed: range(steps) reversed
no token equals None, so nobody is done
    05f1b081a7 solution, if: if stop is not None always
there is one column
    3feb69a0d7 solution, constant: 0 → -1 in (:, 0)
one more call of the model, whose result is not used
    2cd8c07298 alternative generate_by_columns, branch: model(ids, seen) if steps else (None, None) → model(ids, seen)
one more call of the model behind the last token, whose result is not used
    9e56d4511d alternative generate_by_columns, if: if len(columns) < steps always
    296762a373 alternative generate_by_columns, compare: len(columns) < steps → len(columns) <= steps
    458d17a3a6 alternative generate_by_columns, window: steps + 1 in len(columns) < steps
nothing writes into it
    520356bc4e alternative generate_by_columns, call: real.clone() → real
""",
)
