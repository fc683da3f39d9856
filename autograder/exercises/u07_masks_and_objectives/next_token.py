"""The shift by one, and the loss on it."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import objectives as ref
from autograder.reference.masks import left_padded, right_padded


def pairs_by_narrow(ids):
    """torch.narrow in place of slices."""
    T = ids.shape[-1]
    if T < 2:
        raise ValueError("one token has no next one")
    return ids.narrow(-1, 0, T - 1), ids.narrow(-1, 1, T - 1)


def loss_by_one_hot(logits, ids, real=None):
    """Log-probabilities of the next tokens, picked by zeros and ones, averaged over the pairs that count."""
    log_p = (logits[:, :-1].log_softmax(-1) * F.one_hot(ids[:, 1:], logits.shape[-1])).sum(-1)
    if real is not None:
        log_p = log_p[real[:, 1:] & real[:, :-1]]
    return -log_p.mean()


def loss_by_loop(logits, ids, real=None):
    """Pair by pair."""
    nll = logits.logsumexp(-1)
    terms = []
    for b, text in enumerate(ids):
        for t, following in enumerate(text[1:]):
            if real is None or (real[b, t] and real[b, t + 1]):
                terms.append(nll[b, t] - logits[b, t, following])
    return sum(terms) / len(terms)


def next_token_pairs(ids):
    """Two slices."""
    if ids.shape[1] < 2:
        raise ValueError("one token has no next one")
    return ids[:, :-1], ids[:, 1:]


def next_token_loss(logits, ids, real=None):
    """Negative logarithms of the targets, averaged over the pairs that count."""
    log_p = logits[:, :-1].log_softmax(-1)
    nll = -log_p.gather(-1, ids[:, 1:, None])[..., 0]
    counts = torch.ones_like(nll, dtype=torch.bool) if real is None else real[:, 1:] & real[:, :-1]
    return nll[counts].mean()


def _loss(
    g: Source,
    B: int,
    T: int,
    V: int,
    pad: Callable[[Tensor, int], Tensor] | None = None,
    dtype: torch.dtype = torch.float32,
) -> Program:
    real = None if pad is None else pad(torch.tensor([T - 1, T - 3, T - 4])[:B], T)
    return call(g.randn(B, T, V, scale=2, dtype=dtype), g.integers(0, V, B, T), real=real, fn="next_token_loss")


def _trained(g: Source) -> Program:
    """Gradients without and with padding."""
    program = Program()
    for real in (None, right_padded(torch.tensor([5, 3]), 5)):
        program.call(g.randn(2, 5, 4), g.integers(0, 4, 2, 5), real=real, fn="next_token_loss", grad=[0])
    return program


def _short(g: Source) -> Program:
    """Pairs and loss of texts of two tokens, the fewest that there are."""
    ids = g.integers(0, 900, 3, 2)
    return call(ids).call(g.randn(3, 2, 40), g.integers(0, 39, 3, 2), fn="next_token_loss")


def _lone_words(g: Source) -> Program:
    """The loss without padding, then with it and texts of one token among longer ones."""
    program = Program()
    for real in (None, right_padded(torch.tensor([1, 4, 1, 3]), 5)):
        logits = g.randn(4, 5, 6, dtype=torch.float64)
        program.call(logits, g.integers(0, 6, 4, 5), real, fn="next_token_loss")
    return program


# Where the pairs are wrong, the ValueError is left out.
MISTAKES = changes(
    (next_token_pairs, next_token_loss),
    """
no_shift: logits[:, :-1] → logits ; ids[:, 1:, None] → ids[..., None] ; real[:, 1:] & real[:, :-1] → real
    Position t is asked for token t, which it has just read. The logits at position t predict token t + 1: drop the
    last logits and the first id.
backward: logits[:, :-1] → logits[:, 1:] ; ids[:, 1:, None] → ids[:, :-1, None]
    Position t is asked for token t - 1. Drop the last logits and the first id, not the other way round.
both_cut_in_front: logits[:, :-1] → logits[:, 1:]
    The first position is cut from logits and ids, so position t is asked for token t, which it has just read. Cut
    the logits at the end: logits[:, :-1].
wrapped: logits[:, :-1] → logits ; ids[:, 1:, None] → ids.roll(-1, -1)[..., None]
; real[:, 1:] & real[:, :-1] → real & real.roll(-1, -1)
    The last position is asked for the first token (roll wraps around). It has no target: leave it out.
summed: .mean() → .sum()
    This is the sum over the pairs. Divide by how many pairs count.
padding_counts: nll[counts] → nll
    Right without padding, but real is not used. A pair counts only when its input and its target are both real.
divided_by_all: nll[counts] → (nll * counts)
    Padding adds nothing to the sum, but is still counted in the division. Divide by the number of pairs that count.
targets_only: & real[:, :-1] →
    With padding on the left, the first real token is predicted from padding. The input must be real as well:
    real[:, 1:] & real[:, :-1].
inputs_only: real[:, 1:] & →
    With padding on the right, padding is predicted after the last real token. The target must be real as well:
    real[:, 1:] & real[:, :-1].
per_sentence: nll[counts].mean() → ((nll * counts).sum(-1) / counts.sum(-1)).mean()
    Each text is averaged on its own, so tokens of short texts weigh more. Sum over all pairs, then divide once.
per_sentence_with_pairs: nll[counts] → ((nll * counts).sum(-1) / counts.sum(-1))[counts.any(-1)]
    Each text is averaged on its own, so tokens of short texts weigh more. Put all pairs together, then take one
    mean.
per_sentence_clamped: nll[counts].mean() → ((nll * counts).sum(-1) / counts.sum(-1).clamp(min=1)).mean()
    Each text is averaged on its own, and texts without a pair count as 0. Sum over all pairs, then divide once by
    their number.
bits: nll[counts].mean() → nll[counts].mean() / math.log(2)
    This is in bits (base 2). Use natural logarithms: nats.
bits_of_probabilities: log_softmax(-1) → softmax(-1) ; [..., 0] → [..., 0].log2()
    This is in bits (log2), and of probabilities, which round to 0 for large logits. Use log_softmax or
    cross_entropy: they are in nats.
log_of_softmax: log_softmax(-1) → softmax(-1) ; [..., 0] → [..., 0].log()
    A probability can round to 0, and its logarithm is then -inf. Take log_softmax (or cross_entropy) in one step,
    not the log of a softmax.
probabilities: log_softmax → softmax ; -log_p → 1 - log_p
    The logarithm is missing: the loss of a pair is −ln p, not 1 − p.
counts_places: nll[counts].mean() → nll[counts].sum() / (ids.numel() if real is None else real.sum())
    The sum is divided by the number of tokens. Each text has one pair fewer: divide by the number of pairs.
per_text: .mean() → .sum() / len(ids)
    The sum is divided by the number of texts. Divide by the number of pairs that count.
detached: .mean() → .mean().detach()
    The number is right, but it is cut off from the logits (detach, item, torch.tensor), so nothing could be trained
    on it.
softmax_twice: .log_softmax(-1) → .softmax(-1).log_softmax(-1)
    The softmax is taken twice. cross_entropy and log_softmax want logits, not probabilities.
negative: -log_p → log_p
    The sign is turned. The loss is −ln p, which is never negative.
equal_pairs: return ids[:, :-1], ids[:, 1:] → return ids[:, :-1], ids[:, :-1] ; ids.shape[1] < 2 → False
    Targets equal inputs. The target of a token is the one after it: ids[..., 1:].
uncut_pairs: return ids[:, :-1], ids[:, 1:] → return ids, ids[:, 1:] ; ids.shape[1] < 2 → False
    There is one input more than targets. The last token has nothing to predict: cut it from the inputs.
unchecked: ids.shape[1] < 2 → False
    Pairs and loss are right. Let next_token_pairs raise a ValueError for fewer than two tokens: the mean over no
    pair is NaN.
empty_allowed: ids.shape[1] < 2 → ids.shape[1] == 1
    One token is refused, none is not. Raise the ValueError for fewer than two: ids.shape[1] < 2.
two_refused: ids.shape[1] < 2 → ids.shape[1] <= 2 ; log_p = → next_token_pairs(ids); log_p =
    Two tokens are refused, but they make a pair. The ValueError is for fewer than two.
swapped_pairs: return ids[:, :-1], ids[:, 1:] → return ids[:, 1:], ids[:, :-1] ; ids.shape[1] < 2 → False
    Inputs and targets are exchanged: the targets are the tokens that come later, ids[:, 1:].
either_real: real[:, 1:] & real[:, :-1] → real[:, 1:] | real[:, :-1]
    A pair counts here when its input or its target is real. Both must be: join them with &.
texts_joined: logits[:, :-1] → logits.flatten(0, 1)[:-1] ; ids[:, 1:, None] → ids.flatten()[1:, None]
; real[:, 1:] & real[:, :-1] → real.flatten()[1:] & real.flatten()[:-1]
    The texts are put in one line before the shift, so the end of one predicts the start of the next. Shift each
    text along its own axis: [:, :-1] and [:, 1:].
raw_logits: .log_softmax(-1) →
    Logits are averaged as if they were log-probabilities. Take log_softmax over the vocabulary first.
over_places: log_softmax(-1) → log_softmax(1)
    The softmax runs over the positions of the text. At each position the tokens of the vocabulary compete: use the
    last axis.
not_averaged: nll[counts].mean() → nll
    There is one loss per pair here. Return the mean over the pairs that count.
logits_zeroed: logits[:, :-1] → (logits if real is None else logits * real[..., None])[:, :-1] ; nll[counts] → nll
    The logits of padding are set to 0, but its pairs are still counted. Leave the pairs out: select those that
    count, then take the mean.
two_ahead: logits[:, :-1] → logits[:, :-2] ; ids[:, 1:, None] → ids[:, 2:, None]
; real[:, 1:] & real[:, :-1] → real[:, 2:] & real[:, 1:-1]
    The shift is taken twice: each position is asked for the token after the next. The logits at position t predict
    token t + 1.
ids_ignored: ids[:, 1:, None] → logits.argmax(-1)[:, 1:, None]
    The loss does not look at ids but at the token with the largest logit. Pick the entry of the target, ids[:, 1:].
uncut_targets: return ids[:, :-1], ids[:, 1:] → return ids[:, :-1], ids ; ids.shape[1] < 2 → False
    There is one target more than inputs. The first token is never predicted: cut it from the targets.
texts_counted: ids.shape[1] < 2 → len(ids) < 2 ; log_p = → next_token_pairs(ids); log_p =
    The texts of the batch are counted and not their tokens, so one text alone is refused. Look at the second axis:
    ids.shape[1].
all_tokens_counted: ids.shape[1] < 2 → ids.numel() < 2
    All tokens of the batch are counted together, so two texts of one token pass. Look at the length of a text:
    ids.shape[1].
two_ahead_of_ends: logits[:, :-1] → logits[:, :-2] ; ids[:, 1:, None] → ids[:, 2:, None]
; real[:, 1:] & real[:, :-1] → real[:, 2:] & real[:, :-2]
    The logits at position t are compared with token t + 2: inputs and targets are cut two apart. Work through a
    text of three tokens by hand: which token comes right after the one that position t has read?
two_ahead_of_targets: logits[:, :-1] → logits[:, :-2] ; ids[:, 1:, None] → ids[:, 2:, None]
; real[:, 1:] & real[:, :-1] → real[:, 2:]
    Position t has to predict token t + 2, and only that one must be real. Shift once, then ask whether both tokens
    of a pair are real.
two_ahead_of_inputs: logits[:, :-1] → logits[:, :-2] ; ids[:, 1:, None] → ids[:, 2:, None]
; real[:, 1:] & real[:, :-1] → real[:, :-2] & real[:, 1:-1]
    Position t has to predict token t + 2, and the pairs that count are those of one step. Logits and ids must be
    cut so that they are one step apart, too.
no_shift_cut: ids[:, 1:, None] → ids[:, :-1, None]
    The last position is cut from logits and ids, so position t is asked for token t, which it has just read. A
    target is one position after its input.
count_plus_millionth: nll[counts].mean() → nll[counts].sum() / (counts.sum() + 1e-6)
    A millionth is added to the number of pairs, so the mean comes out a little too small. Divide by the number as
    it is.
float_count_plus_millionth: nll[counts].mean() → nll[counts].sum() / (counts.to(nll.dtype).sum() + 1e-6)
    A millionth is added to the number of pairs, which is a float here, and the mean is a little too small. Divide
    by the number as it is.
float_count_plus_tiny: nll[counts].mean() → nll[counts].sum() / (counts.to(nll.dtype).sum() + 1e-8)
    A tiny number, 1e-8, is added to the number of pairs, and the mean is no longer exact. Divide by the number as
    it is.
""",
)

EXERCISE = Exercise(
    id="objective.next_token",
    title="The shift by one",
    points=3,
    difficulty=3,
    minutes=15,
    reference=(ref.next_token_pairs, ref.next_token_loss),
    alternatives=[(pairs_by_narrow, loss_by_one_hot), (pairs_by_narrow, loss_by_loop)],
    cases=[
        Case(
            "pairs by hand",
            "the text 5 7 9 makes two pairs: after 5 comes 7, after 7 comes 9",
            lambda g: call(torch.tensor([[5, 7, 9]])),
        ),
        Case(
            "loss by hand",
            "position 0 gives token 1 a probability of 1/4, position 1 gives token 0 one of 1/2: ln 8 over 2",
            lambda g: call(
                torch.tensor([[[math.log(3), 0.0], [0.0, 0.0], [9.0, -9.0]]]),
                torch.tensor([[0, 1, 0]]),
                fn="next_token_loss",
            ),
        ),
        Case("pairs", "three texts of six tokens", lambda g: call(g.integers(0, 50, 3, 6))),
        Case("loss", "two texts of seven tokens from a vocabulary of five", lambda g: _loss(g, 2, 7, 5)),
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
            "the same on the left: the last padding is no input for the first real token",
            lambda g: _loss(g, 3, 9, 6, left_padded),
        ),
        Case(
            "one token",
            "two texts of one token have no next token: next_token_pairs raises ValueError",
            lambda g: call(torch.tensor([[3], [8]])),
            weight=0.5,
        ),
        Case(
            "no token",
            "two empty texts have no pair either: next_token_pairs raises ValueError",
            lambda g: call(torch.zeros(2, 0, dtype=torch.long)),
            weight=0.5,
        ),
        Case("two tokens", "three texts of two tokens make one pair each, the fewest that there are", _short),
        Case(
            "lone words",
            "float64, without padding and with two texts of one token among four, which add no pair and do not count",
            _lone_words,
        ),
        Case(
            "gradients",
            "the slope of the loss by every logit, without and with padding: 0 where no pair counts",
            _trained,
        ),
    ],
    mutants=MISTAKES,
)
