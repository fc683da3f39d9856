"""Inverted dropout."""

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import stability


def dropout(x, keep, p, training=True):
    """Inverted dropout for a given pattern, x itself at inference."""
    return stability.dropout_with(x, keep, p) if training else x


def _valid(p):
    if not 0 <= p <= 1:
        raise ValueError("p must lie in [0, 1]")


def dropout_by_where(x, keep, p, training=True):
    """torch.where."""
    if not training:
        return x
    _valid(p)
    return torch.where(keep, x * _scale(p), 0.0)


def dropout_by_factor(x, keep, p, training=True):
    """A factor per entry."""
    if training:
        _valid(p)
        x = x * (keep.to(x.dtype) * _scale(p))
    return x


def _scale(p):
    return 1 / (1 - p) if p < 1 else 0.0


_KEEP = torch.tensor([True, False, True, True])


def _both_modes(g: Source) -> Program:
    x, keep = 3 + g.randn(3, 5), torch.tensor([[True, False, True, True, False]] * 3).roll(g.integer(0, 5), 1)
    return Program().call(x, keep, 0.4).call(x, keep, 0.4, training=False)


def _doubles(g: Source) -> Program:
    x, keep, p = g.randn(2, 4, dtype=torch.float64), g.mask(2, 4), g.number(0.1, 0.9)
    return Program().call(x, keep, p).call(x, keep, p, training=False)


def _gradients(g: Source) -> Program:
    x, keep, p = g.randn(2, 4), g.mask(2, 4), g.number(0.1, 0.9)
    return Program().call(x, keep, p, grad=[0]).call(g.randn(2, 4), keep, p, training=False, grad=[0])


MISTAKES = changes(
    dropout_by_where,
    """
not_scaled: x * _scale(p) → x
    What is kept is not scaled, so the mean shrinks by 1 − p in training. Divide it by 1 − p.
by_p: torch.where(keep, x * _scale(p), 0.0) → x * keep / p if p < 1 else x * 0
    The kept entries are divided by p. A share of 1 − p is kept: divide by 1 − p.
multiplied: x * _scale(p) → x * (1 - p)
    The kept entries shrink even further. Divide by 1 − p, so that the mean stays.
at_inference: x * _scale(p) → x ; return x → return x * (1 - p)
    This is the first form of dropout: no scale in training, 1 − p at inference. Here the scale 1/(1 − p) belongs to
    training, and inference does nothing.
inference_grows: x * _scale(p) → x ; return x → return x * _scale(p)
    The factor 1/(1 − p) is applied at inference. It belongs to training; inference returns x itself.
always: not training → False
    Entries are dropped at inference too. Return x unchanged when training is False.
dropped_at_inference: return x → return x * keep
    Entries are dropped at inference too, without the scale. Return x unchanged when training is False.
upside_down: (keep, → (~keep,
    The pattern is used upside down: True means keep.
checked_always: return x → _valid(p); return x
    p is checked at inference too. The ValueError is for training alone; at inference return x first.
zero_refused: _valid(p) → if not 0 < p <= 1: raise ValueError(p)
    p = 0 raises an error. It is allowed: [0, 1] holds both ends.
one_refused: _valid(p) → if not 0 <= p < 1: raise ValueError(p)
    p = 1 raises an error. It is allowed and drops everything: return zeros.
negative_allowed: _valid(p) → if p > 1: raise ValueError(p)
    A negative p passes unnoticed. Raise a ValueError below 0 as well as above 1.
one_keeps: _scale(p) → (_scale(p) or 1.0)
    At p = 1 the kept entries come back as they are. With p = 1 everything is dropped: zeros.
nan_at_one: torch.where(keep, x * _scale(p), 0.0) → x * keep / (1 - p)
    Right for p below 1. At p = 1 this divides 0 by 0: return zeros there.
no_check: _valid(p) →
    Right for probabilities. Raise a ValueError when p lies outside [0, 1].
by_p_ends_right: torch.where(keep, x * _scale(p), 0.0) → x * keep / p if 0 < p < 1 else x * keep * (1 - p)
    The survivors are divided by p, the share that is dropped. A share of 1 − p is kept: divide by 1 − p.
by_p_all_kept: torch.where(keep, x * _scale(p), 0.0) → x * keep / p if 0 < p < 1 else x * (1 - p)
    Survivors are divided by p, and with p = 0 the pattern is left out. Divide by 1 − p, the share that is kept;
    then p = 0 needs nothing of its own.
by_p_everywhere: torch.where(keep, x * _scale(p), 0.0) → x * keep / p
    The survivors are divided by p, which fails at p = 0 and drops nothing at p = 1. Divide by 1 − p, the share that
    is kept.
by_p_chosen: x * _scale(p) → x / p
    What is kept is divided by p, which is infinite at p = 0. Divide by 1 − p, the share that is kept, and treat p =
    1 apart.
by_p_chosen_zero_at_one: x * _scale(p), 0.0) → x / p, 0.0) if p < 1 else x * 0
    What is kept is divided by p, which is infinite at p = 0. Divide by 1 − p, the share that is kept.
not_scaled_but_zero: x * _scale(p), 0.0) → x, 0.0) if p < 1 else x * 0
    The survivors come back as they are, so in training the mean shrinks by 1 − p. Divide them by 1 − p.
pattern_ignored: torch.where(keep, x * _scale(p), 0.0) → x * _scale(p)
    Nothing is dropped, only scaled: keep is not used. Multiply by it, so that False gives 0.
upside_down_nan: torch.where(keep, x * _scale(p), 0.0) → x * ~keep / (1 - p)
    The pattern is upside down: True means keep. And p = 1 divides 0 by 0: return zeros there.
infinite_at_one: x * _scale(p) → x / (1 - p)
    Right for p below 1. At p = 1 what the pattern keeps is divided by 0: return zeros there.
shrinks_at_inference: return x → return x * (1 - p)
    Training is right. At inference x is multiplied by 1 − p, which belongs to the first form of dropout: return x
    itself.
grows_at_inference: return x → return x * _scale(p)
    Training is right. At inference x is divided by 1 − p once more: return x itself.
modes_exchanged: not training → training
    The modes are exchanged: entries are dropped in training, and x comes back at inference.
above_one_allowed: _valid(p) → if p < 0: raise ValueError(p)
    A p above 1 passes unnoticed. Raise a ValueError above 1 as well as below 0.
no_check_of_signs: _valid(p) → ; torch.where(keep, x * _scale(p), 0.0) → x * keep / (1 - p) if p != 1 else x * 0
    Right for probabilities. A p outside [0, 1] gives numbers here: raise a ValueError.
assertion: _valid(p) → assert 0 <= p <= 1
    assert raises an AssertionError, and Python may be told to skip it. Write if …: raise ValueError(…).
subtracted: torch.where(keep, x * _scale(p), 0.0) → x * keep - p if p < 1 else x * 0
    p is subtracted from what is kept. Divide it by 1 − p.
by_p_nothing_at_zero: torch.where(keep, x * _scale(p), 0.0) → x * keep / p if p > 0 else x
    The survivors are divided by p, and with p = 0 x comes back whole, whatever the pattern. p is the share that is
    dropped: which share survives?
by_p_except_zero: torch.where(keep, x * _scale(p), 0.0) → x * keep / p if p > 0 else x * keep
    The survivors are divided by p wherever p is not 0. p is the share that is dropped: what has to make up for it
    is the share that survives.
times_p: _scale(p) → p
    The survivors are multiplied by p, so they shrink. When three of four entries are dropped, how large must the
    fourth become, so that the mean stays?
share_of_pattern: torch.where(keep, x * _scale(p), 0.0) → x * keep / keep.float().mean() if p < 1 else x * 0
    The survivors are divided by the share that this very pattern keeps. The scale hangs on p alone, and is the same
    for every pattern.
share_of_pattern_at_one: torch.where(keep, x * _scale(p), 0.0) → x * keep / keep.float().mean()
    The survivors are divided by the share that this very pattern keeps, which may be 0. The scale hangs on p alone;
    treat p = 1 apart.
dropped_stay: 0.0) → x) if p < 1 else x * 0
    What the pattern drops comes back as it was. Where keep is False the result is 0.
zero_without_pattern: 0.0) → 0.0) if p > 0 else x * 1.0
    Right but for p = 0, where x comes back whole. What the pattern drops is dropped there, too.
""",
)


EXERCISE = Exercise(
    id="stability.dropout",
    title="Inverted dropout",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    reference=dropout,
    alternatives=[dropout_by_where, dropout_by_factor],
    forbidden=("dropout",),
    forbidden_message="The pattern is given: multiply and divide yourself.",
    cases=[
        Case(
            "by hand",
            "p = 0.75: what is kept is multiplied by 4",
            lambda g: call(torch.tensor([1.0, 2.0, 3.0, 4.0]), _KEEP, 0.75),
        ),
        Case(
            "both",
            "training with a random pattern, then inference on the same input, which changes nothing",
            lambda g: _both_modes(g),
        ),
        Case(
            "one pattern",
            "one pattern for all rows, p = 0.2",
            lambda g: call(g.randn(3, 4), torch.tensor([False, True, True, False]), 0.2),
        ),
        Case(
            "all dropped",
            "p = 1 drops everything and makes no NaN",
            lambda g: call(torch.tensor([1.0, 2.0]), torch.tensor([False, False]), 1.0),
        ),
        Case(
            "all dropped, whatever the pattern",
            "p = 1 drops also what the pattern keeps",
            lambda g: call(g.randn(2, 3), torch.tensor([True, False, True]), 1.0),
            weight=0.5,
        ),
        Case(
            "nothing dropped",
            "p = 0 is allowed and scales nothing",
            lambda g: call(g.randn(2, 4), torch.tensor([True, True, False, True]), 0.0),
            weight=0.5,
        ),
        Case(
            "double",
            "float64 input: the result is float64, in training and at inference",
            _doubles,
            weight=0.5,
        ),
        Case(
            "gradients",
            "the gradient flows through what is kept, and through everything at inference",
            _gradients,
        ),
        Case(
            "not a probability",
            "p = 1.5 is a ValueError",
            lambda g: call(torch.tensor([1.0]), torch.tensor([True]), 1.5),
            weight=0.5,
        ),
        Case(
            "negative",
            "p below 0 is a ValueError",
            lambda g: call(torch.tensor([1.0]), torch.tensor([True]), -g.number(0.1, 0.9)),
            weight=0.5,
        ),
        Case(
            "no probability at inference",
            "training with p = 0.3, then inference, where p is not looked at: with p = 1.5 the result is x",
            lambda g: call(g.randn(2, 3), _KEEP[:3], 0.3).call(g.randn(2, 3), _KEEP[:3], 1.5, training=False),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
)
