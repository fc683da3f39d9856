"""Mistakes in the shift by one and the loss on it."""

import math

import torch

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
