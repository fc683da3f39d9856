"""Mistakes in the shift by one and the loss on it."""

import math

import torch

from autograder.judge.spec import Mutant
from autograder.reference import objectives as ref

PAIRS, LOSS = ref.next_token_pairs, ref.next_token_loss


def negative_log_p(logits, targets):
    return -torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0]


def pairs_that_count(real, like):
    return torch.ones_like(like) if real is None else (real[:, 1:] & real[:, :-1]).to(like.dtype)


def no_shift(logits, ids, real=None):
    nll = negative_log_p(logits, ids)
    counts = torch.ones_like(nll) if real is None else real.to(nll.dtype)
    return (nll * counts).sum() / counts.sum()


def backward(logits, ids, real=None):
    nll = negative_log_p(logits[:, 1:], ids[:, :-1])
    counts = pairs_that_count(real, nll)
    return (nll * counts).sum() / counts.sum()


def wrapped(logits, ids, real=None):
    nll = negative_log_p(logits, ids.roll(-1, -1))
    counts = torch.ones_like(nll) if real is None else (real & real.roll(-1, -1)).to(nll.dtype)
    return (nll * counts).sum() / counts.sum()


def summed(logits, ids, real=None):
    nll = negative_log_p(logits[:, :-1], ids[:, 1:])
    return (nll * pairs_that_count(real, nll)).sum()


def padding_counts(logits, ids, real=None):
    return negative_log_p(logits[:, :-1], ids[:, 1:]).mean()


def divided_by_all(logits, ids, real=None):
    nll = negative_log_p(logits[:, :-1], ids[:, 1:])
    return (nll * pairs_that_count(real, nll)).mean()


def targets_only(logits, ids, real=None):
    nll = negative_log_p(logits[:, :-1], ids[:, 1:])
    counts = torch.ones_like(nll) if real is None else real[:, 1:].to(nll.dtype)
    return (nll * counts).sum() / counts.sum()


def inputs_only(logits, ids, real=None):
    nll = negative_log_p(logits[:, :-1], ids[:, 1:])
    counts = torch.ones_like(nll) if real is None else real[:, :-1].to(nll.dtype)
    return (nll * counts).sum() / counts.sum()


def by_sentence(mean):
    def wrong(logits, ids, real=None):
        nll = negative_log_p(logits[:, :-1], ids[:, 1:])
        counts = pairs_that_count(real, nll)
        return mean((nll * counts).sum(-1), counts.sum(-1))

    return wrong


def two_ahead(counted):
    """Place t is asked for token t + 2; counted(first, between, last): which of the three must be real."""

    def wrong(logits, ids, real=None):
        nll = negative_log_p(logits[:, :-2], ids[:, 2:])
        return nll.mean() if real is None else nll[counted(real[:, :-2], real[:, 1:-1], real[:, 2:])].mean()

    return wrong


def no_shift_cut(logits, ids, real=None):
    nll = negative_log_p(logits[:, :-1], ids[:, :-1])
    return nll.mean() if real is None else nll[real[:, 1:] & real[:, :-1]].mean()


def count_plus(eps, of=lambda counts, dtype: counts.sum()):
    """The mean over the pairs with a small number beside their count, which is a whole number or a float."""

    def wrong(logits, ids, real=None):
        nll = negative_log_p(logits[:, :-1], ids[:, 1:])
        counts = pairs_that_count(real, nll).bool()
        return (nll * counts).sum() / (of(counts, nll.dtype) + eps)

    return wrong


def bits(logits, ids, real=None):
    return LOSS(logits, ids, real) / math.log(2)


def of_probabilities(loss):
    def wrong(logits, ids, real=None):
        p = torch.softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None])[..., 0]
        p = p if real is None else p[real[:, 1:] & real[:, :-1]]
        return loss(p)

    return wrong


def nobody_for_pairs(ids):
    if ids.shape[1] == 1:
        raise ValueError("one token has no next one")
    return ids[:, :-1], ids[:, 1:]


def two_refused(ids):
    if ids.shape[1] <= 2:
        raise ValueError("too short")
    return ids[:, :-1], ids[:, 1:]


def counts_positions(logits, ids, real=None):
    nll = negative_log_p(logits[:, :-1], ids[:, 1:])
    counts = pairs_that_count(real, nll)
    return (nll * counts).sum() / (ids.numel() if real is None else real.sum())


def per_text(logits, ids, real=None):
    nll = negative_log_p(logits[:, :-1], ids[:, 1:])
    return (nll * pairs_that_count(real, nll)).sum() / len(ids)


def mean_of_targets(nll, ids, real):
    """Mean of the targets' entries over the pairs that count; nll (B, T-1, V)."""
    nll = nll.gather(-1, ids[:, 1:, None])[..., 0]
    return nll.mean() if real is None else nll[real[:, 1:] & real[:, :-1]].mean()


def either_real(logits, ids, real=None):
    nll = negative_log_p(logits[:, :-1], ids[:, 1:])
    return nll.mean() if real is None else nll[real[:, 1:] | real[:, :-1]].mean()


def texts_joined(logits, ids, real=None):
    nll = negative_log_p(logits.flatten(0, 1)[:-1], ids.flatten()[1:])
    return nll.mean() if real is None else nll[real.flatten()[1:] & real.flatten()[:-1]].mean()


def refusing(refused):
    """Both right, behind a check of its own in next_token_pairs."""

    def pairs(ids):
        if refused(ids):
            raise ValueError("too short")
        return ids[:, :-1], ids[:, 1:]

    return pairs, lambda logits, ids, real=None: LOSS(logits, ids, real) if pairs(ids) else None


SHIFTS = [
    Mutant(
        "two_ahead_of_ends",
        (PAIRS, two_ahead(lambda first, between, last: first & last)),
        "Logits of place t are compared with token t + 2: inputs and targets are cut apart by two. Work a text of "
        "three tokens by hand: which token comes right after the one that place t has read?",
    ),
    Mutant(
        "two_ahead_of_targets",
        (PAIRS, two_ahead(lambda first, between, last: last)),
        "Place t has to tell token t + 2, and only that one must be real. Shift once, then ask whether both tokens of "
        "a pair are real.",
    ),
    Mutant(
        "two_ahead_of_inputs",
        (PAIRS, two_ahead(lambda first, between, last: first & between)),
        "Place t has to tell token t + 2, and the pairs that count are those of one step. Logits and ids must be cut "
        "so that they are one step apart, too.",
    ),
    Mutant(
        "no_shift_cut",
        (PAIRS, no_shift_cut),
        "The last place is cut from logits and ids, so place t is asked for token t, which it has just read. A target "
        "stands one place after its input.",
    ),
    Mutant(
        "count_plus_millionth",
        (PAIRS, count_plus(1e-6)),
        "A millionth is added to the number of pairs, so the mean comes out a little too small. Divide by the number "
        "as it is.",
    ),
    Mutant(
        "float_count_plus_millionth",
        (PAIRS, count_plus(1e-6, lambda counts, dtype: counts.to(dtype).sum())),
        "A millionth is added to the number of pairs, which is a float here, and the mean is a little too small. "
        "Divide by the number as it is.",
    ),
    Mutant(
        "float_count_plus_tiny",
        (PAIRS, count_plus(1e-8, lambda counts, dtype: counts.to(dtype).sum())),
        "A tiny number, 1e-8, is added to the number of pairs, and the mean is no longer exact. Divide by the number "
        "as it is.",
    ),
]
