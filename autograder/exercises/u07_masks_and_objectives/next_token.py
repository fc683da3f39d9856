"""The shift by one, and the loss on it."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import objectives as ref
from autograder.reference.masks import left_padded, right_padded

PAIRS, LOSS = ref.next_token_pairs, ref.next_token_loss


def pairs_by_narrow(ids):
    """torch.narrow in place of slices."""
    T = ids.shape[-1]
    if T == 1:
        raise ValueError("one token has no next one")
    return ids.narrow(-1, 0, T - 1), ids.narrow(-1, 1, T - 1)


def loss_by_gather(logits, ids, real=None):
    """Log-probabilities of the next tokens, picked by gather, averaged over the pairs that count."""
    log_p = torch.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None])[..., 0]
    counts = torch.ones_like(log_p) if real is None else (real[:, 1:] & real[:, :-1]).to(log_p.dtype)
    return -(log_p * counts).sum() / counts.sum()


def loss_by_loop(logits, ids, real=None):
    """Pair by pair."""
    terms = []
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1] - 1):
            if real is None or (real[b, t] and real[b, t + 1]):
                terms.append(torch.logsumexp(logits[b, t], -1) - logits[b, t, ids[b, t + 1]])
    return torch.stack(terms).mean()


def _nll(logits, targets):
    return -torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0]


def _counts(real, like):
    return torch.ones_like(like) if real is None else (real[:, 1:] & real[:, :-1]).to(like.dtype)


def no_shift(logits, ids, real=None):
    nll = _nll(logits, ids)
    counts = torch.ones_like(nll) if real is None else real.to(nll.dtype)
    return (nll * counts).sum() / counts.sum()


def backward(logits, ids, real=None):
    nll = _nll(logits[:, 1:], ids[:, :-1])
    counts = _counts(real, nll)
    return (nll * counts).sum() / counts.sum()


def wrapped(logits, ids, real=None):
    nll = _nll(logits, ids.roll(-1, -1))
    counts = torch.ones_like(nll) if real is None else (real & real.roll(-1, -1)).to(nll.dtype)
    return (nll * counts).sum() / counts.sum()


def summed(logits, ids, real=None):
    nll = _nll(logits[:, :-1], ids[:, 1:])
    return (nll * _counts(real, nll)).sum()


def padding_counts(logits, ids, real=None):
    return _nll(logits[:, :-1], ids[:, 1:]).mean()


def divided_by_all(logits, ids, real=None):
    nll = _nll(logits[:, :-1], ids[:, 1:])
    return (nll * _counts(real, nll)).mean()


def targets_only(logits, ids, real=None):
    nll = _nll(logits[:, :-1], ids[:, 1:])
    counts = torch.ones_like(nll) if real is None else real[:, 1:].to(nll.dtype)
    return (nll * counts).sum() / counts.sum()


def inputs_only(logits, ids, real=None):
    nll = _nll(logits[:, :-1], ids[:, 1:])
    counts = torch.ones_like(nll) if real is None else real[:, :-1].to(nll.dtype)
    return (nll * counts).sum() / counts.sum()


def per_sentence(logits, ids, real=None):
    nll = _nll(logits[:, :-1], ids[:, 1:])
    counts = _counts(real, nll)
    return ((nll * counts).sum(-1) / counts.sum(-1)).mean()


def bits(logits, ids, real=None):
    return LOSS(logits, ids, real) / math.log(2)


def _loss(g: Source, B: int, T: int, V: int, pad: Callable[[Tensor, int], Tensor] | None = None) -> Program:
    real = None if pad is None else pad(torch.tensor([T - 1, T - 3, T - 4])[:B], T)
    return call(g.randn(B, T, V, scale=2), g.integers(0, V, B, T), real=real, fn="next_token_loss")


EXERCISE = Exercise(
    id="objective.next_token",
    unit="07-masks-and-objectives",
    title="The shift by one",
    points=3,
    difficulty=2,
    minutes=15,
    signature="next_token_pairs(ids)",
    targets=("next_token_pairs", "next_token_loss"),
    reference=(PAIRS, LOSS),
    alternatives=[(pairs_by_narrow, loss_by_gather), (pairs_by_narrow, loss_by_loop)],
    cases=[
        Case(
            "pairs by hand",
            "the text 5 7 9 makes two pairs: after 5 comes 7, after 7 comes 9",
            lambda g: call(torch.tensor([[5, 7, 9]])),
        ),
        Case(
            "loss by hand",
            "place 0 gives token 1 probability 1/4, place 1 gives token 0 1/2: ln 8 over 2",
            lambda g: call(
                torch.tensor([[[math.log(3), 0.0], [0.0, 0.0], [9.0, -9.0]]]),
                torch.tensor([[0, 1, 0]]),
                fn="next_token_loss",
            ),
        ),
        Case("pairs", "three texts of six tokens", lambda g: call(g.integers(0, 50, 3, 6))),
        Case("loss", "two texts of seven tokens, five words to choose from", lambda g: _loss(g, 2, 7, 5)),
        Case(
            "large",
            "logits in the thousands stay finite",
            lambda g: call(g.randn(2, 5, 4, scale=3000), g.integers(0, 4, 2, 5), fn="next_token_loss"),
        ),
        Case(
            "padded right",
            "three texts of 8, 6 and 5 tokens padded on the right to 9",
            lambda g: _loss(g, 3, 9, 6, right_padded),
        ),
        Case(
            "padded left",
            "the same on the left: the last padding is no input for the first word",
            lambda g: _loss(g, 3, 9, 6, left_padded),
        ),
        Case(
            "one token",
            "a text of one token has no next token: next_token_pairs raises ValueError",
            lambda g: call(torch.tensor([[3]])),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "no_shift",
            (PAIRS, no_shift),
            "Place t is asked for token t, which it has just read. Logits of place t predict token t + 1: drop the "
            "last logits and the first id.",
        ),
        Mutant(
            "backward",
            (PAIRS, backward),
            "Place t is asked for token t - 1. Drop the last logits and the first id, not the other way round.",
        ),
        Mutant(
            "both_cut_in_front",
            (PAIRS, lambda logits, ids, real=None: LOSS(logits.roll(-1, 1), ids, real)),
            "The first place is cut from logits and ids, so place t is asked for token t, which it has just read. "
            "Cut the logits at the end: logits[:, :-1].",
        ),
        Mutant(
            "wrapped",
            (PAIRS, wrapped),
            "The last place is asked for the first token (roll wraps around). It has no target: leave it out.",
        ),
        Mutant("summed", (PAIRS, summed), "This is the sum over the pairs. Divide by how many pairs count."),
        Mutant(
            "padding_counts",
            (PAIRS, padding_counts),
            "Right without padding, but real is not used. A pair counts only when its input and its target are "
            "both real.",
        ),
        Mutant(
            "divided_by_all",
            (PAIRS, divided_by_all),
            "Padding adds nothing to the sum, but is still counted in the division. Divide by the number of pairs "
            "that count.",
        ),
        Mutant(
            "targets_only",
            (PAIRS, targets_only),
            "With padding on the left, the first word is predicted from padding. The input must be real as well: "
            "real[:, 1:] & real[:, :-1].",
        ),
        Mutant(
            "inputs_only",
            (PAIRS, inputs_only),
            "With padding on the right, padding is predicted after the last word. The target must be real as well: "
            "real[:, 1:] & real[:, :-1].",
        ),
        Mutant(
            "per_sentence",
            (PAIRS, per_sentence),
            "Each text is averaged on its own, so words of short texts weigh more. Sum over all pairs, then divide "
            "once.",
        ),
        Mutant("bits", (PAIRS, bits), "This is in bits (base 2). Use natural logarithms: nats."),
        Mutant(
            "softmax_twice",
            (PAIRS, lambda logits, ids, real=None: LOSS(logits.softmax(-1), ids, real)),
            "The softmax is taken twice. cross_entropy and log_softmax want logits, not probabilities.",
        ),
        Mutant(
            "negative",
            (PAIRS, lambda logits, ids, real=None: -LOSS(logits, ids, real)),
            "The sign is turned. The loss is −ln p, which is never negative.",
        ),
        Mutant(
            "equal_pairs",
            (lambda ids: (ids[..., :-1], ids[..., :-1]), LOSS),
            "Targets equal inputs. The target of a token is the one after it: ids[..., 1:].",
        ),
        Mutant(
            "uncut_pairs",
            (lambda ids: (ids, ids[..., 1:]), LOSS),
            "There is one input more than targets. The last token has nothing to predict: cut it from the inputs.",
        ),
        Mutant(
            "unchecked",
            (lambda ids: (ids[..., :-1], ids[..., 1:]), LOSS),
            "Pairs and loss are right. Let next_token_pairs raise a ValueError for fewer than two tokens: the mean "
            "over no pair is NaN.",
        ),
    ],
)
