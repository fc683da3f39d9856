"""Next-token prediction: the shift by one, the probability of a text, perplexity."""

import math

import torch
import torch.nn.functional as F

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import objectives as ref
from autograder.reference.masks import left_padded, right_padded

UNIT = "07-masks-and-objectives"
PAIRS, LOSS = ref.next_token_pairs, ref.next_token_loss


# --- shift and loss ------------------------------------------------------------------------------------------------
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


def _loss(g, B, T, V, pad=None):
    real = None if pad is None else pad(torch.tensor([T - 1, T - 3, T - 4])[:B], T)
    return call(g.randn(B, T, V, scale=2), g.integers(0, V, B, T), real=real, fn="next_token_loss")


NEXT = Exercise(
    id="objective.next_token",
    unit=UNIT,
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


# --- factorization and perplexity ----------------------------------------------------------------------------------
def perplexity(losses, counts):
    """Perplexity of a corpus from the mean losses of its batches and their numbers of predicted tokens."""
    return ref.perplexity(sum(m * n for m, n in zip(losses, counts, strict=True)), sum(counts))


def log_p_by_product(logits, targets):
    """Cross-entropy per token, summed with the sign turned."""
    nll = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return -nll.reshape(targets.shape).sum(-1)


def log_p_by_steps(logits, targets):
    """One factor after the other."""
    total = torch.zeros(targets.shape[0], dtype=logits.dtype)
    for t in range(targets.shape[1]):
        row = logits[:, t]
        total = total + row[torch.arange(len(row)), targets[:, t]] - torch.logsumexp(row, -1)
    return total


def perplexity_by_tensors(losses, counts):
    """The weighted mean as a dot product, in float64."""
    n = torch.tensor(counts, dtype=torch.float64)
    if n.sum() < 1:
        raise ValueError("no token")
    return torch.exp(torch.tensor(losses, dtype=torch.float64) @ n / n.sum()).item()


def perplexity_by_product(losses, counts):
    """exp(loss) is a batch's own perplexity: the geometric mean of these, weighted by counts."""
    tokens = sum(counts)
    if tokens == 0:
        raise ValueError("no token")
    result = 1.0
    for loss, n in zip(losses, counts, strict=True):
        result *= math.exp(loss) ** (n / tokens)
    return result


# The mistakes leave the ValueError out and answer 1, as a guard against dividing by zero would.
def _perplexity(rule):
    def wrong(losses, counts):
        return rule(losses, counts) if sum(counts) else 1.0

    return wrong


def _log_p(reduce):
    def wrong(logits, targets):
        return reduce(torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0])

    return wrong


LOG_P = ref.sequence_log_probability
LIKELIHOOD = Exercise(
    id="objective.likelihood",
    unit=UNIT,
    title="The probability of a text",
    points=3,
    difficulty=3,
    minutes=15,
    signature="sequence_log_probability(logits, targets)",
    targets=("sequence_log_probability", "perplexity"),
    reference=(LOG_P, perplexity),
    alternatives=[(log_p_by_product, perplexity_by_tensors), (log_p_by_steps, perplexity_by_product)],
    cases=[
        Case(
            "text by hand",
            "two steps with probabilities 1/2 and 1/4: together 1/8, so −ln 8 = −2.079",
            lambda g: call(torch.tensor([[[0.0, 0.0], [math.log(3), 0.0]]]), torch.tensor([[0, 1]])),
        ),
        Case(
            "perplexity by hand",
            "3 tokens of loss ln 2 and 1 of loss ln 8: 6 ln 2 in all over 4 tokens, so 2^1.5",
            lambda g: call([math.log(2), math.log(8)], [3, 1], fn="perplexity"),
        ),
        Case(
            "texts",
            "four texts of five tokens, one number for each",
            lambda g: call(g.randn(4, 5, 7, scale=2), g.integers(0, 7, 4, 5)),
        ),
        Case(
            "long text",
            "a text of 300 tokens has a probability below 1e-38, its logarithm is an ordinary number",
            lambda g: call(g.randn(1, 300, 20), g.integers(0, 20, 1, 300)),
        ),
        Case(
            "die",
            "a fair die: every batch has loss ln 6, and the perplexity is 6, the number of faces",
            lambda g: call([math.log(6)] * 3, [10, 20, 5], fn="perplexity"),
            weight=0.5,
        ),
        Case(
            "batches",
            "three batches of different loss and size",
            lambda g: call(
                [g.number(1, 2), g.number(3, 4), g.number(5, 6)],
                [g.integer(50, 90), g.integer(5, 20), g.integer(100, 200)],
                fn="perplexity",
            ),
        ),
        Case(
            "no tokens",
            "nothing was predicted: perplexity raises ValueError",
            lambda g: call([], [], fn="perplexity"),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "mean_log",
            (_log_p(lambda p: p.mean(-1)), perplexity),
            "This is the mean over the tokens. Probabilities of the steps multiply, so their logarithms add up: "
            "take the sum.",
        ),
        Mutant(
            "plain_product",
            (_log_p(lambda p: p.exp().prod(-1)), perplexity),
            "This is the probability itself, which underflows to 0 for long texts. Return its logarithm: the sum "
            "of the log-probabilities.",
        ),
        Mutant(
            "log_of_product",
            (_log_p(lambda p: p.exp().prod(-1).log()), perplexity),
            "The product underflows to 0 before its logarithm is taken, and log 0 is −∞. Add up the logarithms.",
        ),
        Mutant(
            "whole_batch",
            (_log_p(lambda p: p.sum()), perplexity),
            "All texts are added up. Keep one number per text: sum over the last axis only.",
        ),
        Mutant(
            "negated",
            (_log_p(lambda p: -p.sum(-1)), perplexity),
            "The sign is turned: this is the loss. A log-probability is negative.",
        ),
        Mutant(
            "raw_logits",
            (lambda logits, targets: logits.gather(-1, targets[..., None])[..., 0].sum(-1), perplexity),
            "Logits are added up as if they were log-probabilities. Take log_softmax over the vocabulary first.",
        ),
        Mutant(
            "mean_of_perplexities",
            (LOG_P, _perplexity(lambda m, n: sum(map(math.exp, m)) / len(m))),
            "The perplexities of the batches are averaged. Average the losses over all tokens, and take exp once at "
            "the end.",
        ),
        Mutant(
            "weighted_perplexities",
            (LOG_P, _perplexity(lambda m, n: sum(math.exp(a) * b for a, b in zip(m, n, strict=True)) / sum(n))),
            "exp is taken before the averaging, so the result is too large (Jensen). Average the losses over all "
            "tokens first.",
        ),
        Mutant(
            "unweighted",
            (LOG_P, _perplexity(lambda m, n: math.exp(sum(m) / len(m)))),
            "All batches weigh the same here. Weigh each loss by its number of tokens: total loss divided by total "
            "tokens.",
        ),
        Mutant(
            "base_two",
            (LOG_P, _perplexity(lambda m, n: 2 ** math.log(perplexity(m, n)))),
            "2 is raised to a loss in nats. Nats go with exp; base 2 goes with bits.",
        ),
        Mutant(
            "no_exp",
            (LOG_P, _perplexity(lambda m, n: math.log(perplexity(m, n)))),
            "This is the mean loss over all tokens. One step is left: exp.",
        ),
        Mutant(
            "unchecked",
            (LOG_P, _perplexity(perplexity)),
            "The numbers are right. Raise a ValueError when no token was predicted, since there is no mean.",
        ),
    ],
)

EXERCISES = [NEXT, LIKELIHOOD]
