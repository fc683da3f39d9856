"""Inverted dropout."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
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


def _dropout(train, infer=lambda x, p: x, valid=_valid):
    def wrong(x, keep, p, training=True):
        if not training:
            return infer(x, p)
        valid(p)
        return train(x, keep, p)

    return wrong


def _scale(p):
    return 1 / (1 - p) if p < 1 else 0.0


def _raising_where(refused):
    def valid(p):
        if refused(p):
            raise ValueError("p must lie in [0, 1]")

    return valid


def _right(x, keep, p):
    return x * keep * _scale(p)


def checked_always(x, keep, p, training=True):
    _valid(p)
    return dropout(x, keep, p, training)


def no_check(x, keep, p, training=True):
    return x if not training else x * keep * _scale(p)


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


def asserted(p):
    assert 0 <= p <= 1


EXERCISE = Exercise(
    id="stability.dropout",
    title="Inverted dropout",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="dropout(x, keep, p, training=True)",
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
    mutants=[
        Mutant(
            "not_scaled",
            _dropout(lambda x, keep, p: x * keep),
            "What is kept is not scaled, so the mean shrinks by 1 − p in training. Divide it by 1 − p.",
        ),
        Mutant(
            "by_p",
            _dropout(lambda x, keep, p: x * keep / p if p < 1 else x * 0),
            "The kept entries are divided by p. A share of 1 − p is kept: divide by 1 − p.",
        ),
        Mutant(
            "multiplied",
            _dropout(lambda x, keep, p: x * keep * (1 - p)),
            "The kept entries shrink even further. Divide by 1 − p, so that the mean stays.",
        ),
        Mutant(
            "at_inference",
            _dropout(lambda x, keep, p: x * keep, lambda x, p: x * (1 - p)),
            "This is the first form of dropout: no scale in training, 1 − p at inference. Here the scale 1/(1 − p) "
            "belongs to training, and inference does nothing.",
        ),
        Mutant(
            "inference_grows",
            _dropout(lambda x, keep, p: x * keep, lambda x, p: x * _scale(p)),
            "The factor 1/(1 − p) is applied at inference. It belongs to training; inference returns x itself.",
        ),
        Mutant(
            "always",
            lambda x, keep, p, training=True: dropout(x, keep, p),
            "Entries are dropped at inference too. Return x unchanged when training is False.",
        ),
        Mutant(
            "dropped_at_inference",
            lambda x, keep, p, training=True: dropout(x, keep, p) if training else x * keep,
            "Entries are dropped at inference too, without the scale. Return x unchanged when training is False.",
        ),
        Mutant(
            "upside_down",
            _dropout(lambda x, keep, p: x * ~keep * _scale(p)),
            "The pattern is used upside down: True means keep.",
        ),
        Mutant(
            "checked_always",
            checked_always,
            "p is checked at inference too. The ValueError is for training alone; at inference return x first.",
        ),
        Mutant(
            "zero_refused",
            _dropout(_right, valid=_raising_where(lambda p: not 0 < p <= 1)),
            "p = 0 raises an error. It is allowed: [0, 1] holds both ends.",
        ),
        Mutant(
            "one_refused",
            _dropout(_right, valid=_raising_where(lambda p: not 0 <= p < 1)),
            "p = 1 raises an error. It is allowed and drops everything: return zeros.",
        ),
        Mutant(
            "negative_allowed",
            _dropout(_right, valid=_raising_where(lambda p: p > 1)),
            "A negative p passes unnoticed. Raise a ValueError below 0 as well as above 1.",
        ),
        Mutant(
            "one_keeps",
            _dropout(lambda x, keep, p: x * keep * (_scale(p) or 1.0)),
            "At p = 1 the kept entries come back as they are. With p = 1 everything is dropped: zeros.",
        ),
        Mutant(
            "nan_at_one",
            _dropout(lambda x, keep, p: x * keep / (1 - p)),
            "Right for p below 1. At p = 1 this divides 0 by 0: return zeros there.",
        ),
        Mutant("no_check", no_check, "Right for probabilities. Raise a ValueError when p lies outside [0, 1]."),
        Mutant(
            "by_p_ends_right",
            _dropout(lambda x, keep, p: x * keep / p if 0 < p < 1 else x * keep * (1 - p)),
            "The survivors are divided by p, the share that is dropped. A share of 1 − p is kept: divide by 1 − p.",
        ),
        Mutant(
            "by_p_all_kept",
            _dropout(lambda x, keep, p: x * keep / p if 0 < p < 1 else x * (1 - p)),
            "Survivors are divided by p, and with p = 0 the pattern is left out. Divide by 1 − p, the share "
            "that is kept; then p = 0 needs nothing of its own.",
        ),
        Mutant(
            "by_p_everywhere",
            _dropout(lambda x, keep, p: x * keep / p),
            "The survivors are divided by p, which fails at p = 0 and drops nothing at p = 1. Divide by 1 − "
            "p, the share that is kept.",
        ),
        Mutant(
            "by_p_chosen",
            _dropout(lambda x, keep, p: torch.where(keep, x / p, 0.0)),
            "What is kept is divided by p, which is infinite at p = 0. Divide by 1 − p, the share that is "
            "kept, and treat p = 1 apart.",
        ),
        Mutant(
            "by_p_chosen_zero_at_one",
            _dropout(lambda x, keep, p: torch.where(keep, x / p, 0.0) if p < 1 else x * 0),
            "What is kept is divided by p, which is infinite at p = 0. Divide by 1 − p, the share that is kept.",
        ),
        Mutant(
            "not_scaled_but_zero",
            _dropout(lambda x, keep, p: x * keep if p < 1 else x * 0),
            "The survivors come back as they are, so in training the mean shrinks by 1 − p. Divide them by 1 − p.",
        ),
        Mutant(
            "pattern_ignored",
            _dropout(lambda x, keep, p: x * _scale(p)),
            "Nothing is dropped, only scaled: keep is not used. Multiply by it, so that False gives 0.",
        ),
        Mutant(
            "upside_down_nan",
            _dropout(lambda x, keep, p: x * ~keep / (1 - p)),
            "The pattern is upside down: True means keep. And p = 1 divides 0 by 0: return zeros there.",
        ),
        Mutant(
            "infinite_at_one",
            _dropout(
                lambda x, keep, p: torch.where(keep, x / (1 - p), 0.0) if p != 1 else torch.where(keep, x / 0.0, 0.0)
            ),
            "Right for p below 1. At p = 1 what the pattern keeps is divided by 0: return zeros there.",
        ),
        Mutant(
            "shrinks_at_inference",
            _dropout(_right, lambda x, p: x * (1 - p)),
            "Training is right. At inference x is multiplied by 1 − p, which belongs to the first form of "
            "dropout: return x itself.",
        ),
        Mutant(
            "grows_at_inference",
            _dropout(_right, lambda x, p: x * _scale(p)),
            "Training is right. At inference x is divided by 1 − p once more: return x itself.",
        ),
        Mutant(
            "modes_exchanged",
            lambda x, keep, p, training=True: dropout(x, keep, p, not training),
            "The modes are exchanged: entries are dropped in training, and x comes back at inference.",
        ),
        Mutant(
            "above_one_allowed",
            _dropout(_right, valid=_raising_where(lambda p: p < 0)),
            "A p above 1 passes unnoticed. Raise a ValueError above 1 as well as below 0.",
        ),
        Mutant(
            "no_check_of_signs",
            lambda x, keep, p, training=True: x if not training else x * keep / (1 - p) if p != 1 else x * 0,
            "Right for probabilities. A p outside [0, 1] gives numbers here: raise a ValueError.",
        ),
        Mutant(
            "assertion",
            _dropout(_right, valid=asserted),
            "assert raises an AssertionError, and Python may be told to skip it. Write if …: raise ValueError(…).",
        ),
        Mutant(
            "subtracted",
            _dropout(lambda x, keep, p: x * keep - p if p < 1 else x * 0),
            "p is subtracted from what is kept. Divide it by 1 − p.",
        ),
        Mutant(
            "by_p_nothing_at_zero",
            _dropout(lambda x, keep, p: x * keep / p if p > 0 else x),
            "The survivors are divided by p, and with p = 0 x comes back whole, whatever the pattern. p is the share "
            "that is dropped: which share survives?",
        ),
        Mutant(
            "by_p_except_zero",
            _dropout(lambda x, keep, p: x * keep / p if p > 0 else x * keep),
            "The survivors are divided by p wherever p is not 0. p is the share that is dropped: what has to make up "
            "for it is the share that survives.",
        ),
        Mutant(
            "times_p",
            _dropout(lambda x, keep, p: x * keep * p),
            "The survivors are multiplied by p, so they shrink. When three of four entries are dropped, how large must "
            "the fourth become, so that the mean stays?",
        ),
        Mutant(
            "share_of_pattern",
            _dropout(lambda x, keep, p: x * keep / keep.float().mean() if p < 1 else x * 0),
            "The survivors are divided by the share that this very pattern keeps. The scale hangs on p alone, and is "
            "the same for every pattern.",
        ),
        Mutant(
            "share_of_pattern_at_one",
            _dropout(lambda x, keep, p: x * keep / keep.float().mean()),
            "The survivors are divided by the share that this very pattern keeps, which may be 0. The scale hangs on p "
            "alone; treat p = 1 apart.",
        ),
        Mutant(
            "dropped_stay",
            _dropout(lambda x, keep, p: torch.where(keep, x * _scale(p), x) if p < 1 else x * 0),
            "What the pattern drops comes back as it was. Where keep is False the result is 0.",
        ),
        Mutant(
            "zero_without_pattern",
            _dropout(lambda x, keep, p: _right(x, keep, p) if p > 0 else x * 1.0),
            "Right but for p = 0, where x comes back whole. What the pattern drops is dropped there, too.",
        ),
    ],
)
