"""The log-probability of a text, and perplexity."""

import math
import statistics

import torch
import torch.nn.functional as F

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, call
from autograder.reference import objectives as ref


def perplexity(losses, counts):
    """Perplexity of a corpus from the mean losses of its batches and their numbers of predicted tokens."""
    return ref.perplexity(sum(m * n for m, n in zip(losses, counts, strict=True)), sum(counts))


def log_p_by_product(logits, targets):
    """Cross-entropy per token, summed with the sign turned."""
    nll = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return -nll.reshape(targets.shape).sum(-1)


def log_p_by_steps(logits, targets):
    """One factor after the other."""
    total = 0
    for t, row in enumerate(logits.unbind(1)):
        total = total + row[torch.arange(len(row)), targets[:, t]] - torch.logsumexp(row, -1)
    return total


def perplexity_by_fmean(losses, counts):
    """The weighted mean of the standard library."""
    if not any(counts):
        raise ValueError("no token")
    return math.exp(statistics.fmean(losses, counts))


def perplexity_by_product(losses, counts):
    """exp(loss) is a batch's own perplexity: the geometric mean of these, weighted by counts."""
    tokens = sum(counts)
    if tokens == 0:
        raise ValueError("no token")
    result = 1.0
    for i, loss in enumerate(losses):
        result *= math.exp(loss) ** (counts[i] / tokens)
    return result


def sequence_log_probability(logits, targets):
    """The targets' entries of log_softmax, added up."""
    log_p = logits.log_softmax(-1)
    steps = log_p.gather(-1, targets[..., None])[..., 0]
    return steps.sum(-1)


def perplexity_by_totals(losses, counts):
    """The total loss over the total number of tokens."""
    total, tokens = sum(m * n for m, n in zip(losses, counts, strict=True)), sum(counts)
    if tokens == 0:
        raise ValueError("no token was predicted")
    return math.exp(total / tokens)


# Where a perplexity is wrong, the answer is 1 without a token, as a guard against dividing by zero would have it.
MISTAKES = changes(
    (sequence_log_probability, perplexity_by_totals),
    """
mean_log: steps.sum(-1) → steps.mean(-1)
    This is the mean over the tokens. Probabilities of the steps multiply, so their logarithms add up: take the sum.
plain_product: steps.sum(-1) → steps.exp().prod(-1)
    This is the probability itself, which underflows to 0 for long texts. Return its logarithm: the sum of the
    log-probabilities.
log_of_product: steps.sum(-1) → steps.exp().prod(-1).log()
    The product underflows to 0 before its logarithm is taken, and log 0 is −∞. Add up the logarithms.
whole_batch: steps.sum(-1) → steps.sum()
    All texts are added up. Keep one number per text: sum over the last axis only.
negated: steps.sum(-1) → -steps.sum(-1)
    The sign is turned: this is the loss. A log-probability is negative.
raw_logits: .log_softmax(-1) →
    Logits are added up as if they were log-probabilities. Take log_softmax over the vocabulary first.
naive_log: log_softmax(-1) → softmax(-1).log()
    The softmax rounds small probabilities to 0 before its logarithm is taken, and log 0 is −∞. Use log_softmax.
shifted: logits.log_softmax → logits[:, :-1].log_softmax ; targets[..., None] → targets[:, 1:, None]
    Logits and targets are shifted by one here. logits[:, t] already belong to targets[:, t]: use all steps.
over_vocabulary: steps.sum(-1) → log_p.sum((-2, -1))
    All tokens of the vocabulary are added up. Pick the target's entry of each step first: gather.
over_time: log_softmax(-1) → log_softmax(1)
    The softmax runs over the steps of the text. At each step the tokens of the vocabulary compete: use the last
    axis.
squeezed: [..., 0] → .squeeze()
    squeeze() without an axis also drops a batch or a text of size 1, and the sum then runs over the wrong axis.
    Write squeeze(-1).
detached: steps.sum(-1) → steps.sum(-1).detach()
    The numbers are right, but they are cut off from the logits (detach, item, torch.tensor), so nothing could be
    trained on them.
mean_of_perplexities: math.exp(total / tokens) → sum(map(math.exp, losses)) / len(losses)
; raise ValueError("no token was predicted") → return 1.0
    The perplexities of the batches are averaged. Average the losses over all tokens, and take exp once at the end.
weighted_perplexities: m * n for → math.exp(m) * n for ; math.exp(total / tokens) → total / tokens
; raise ValueError("no token was predicted") → return 1.0
    exp is taken before the averaging, so the result is too large (Jensen). Average the losses over all tokens
    first.
unweighted: total / tokens → sum(losses) / len(losses) ; raise ValueError("no token was predicted") → return 1.0
    All batches weigh the same here. Weigh each loss by its number of tokens: total loss divided by total tokens.
base_two: math.exp(total / tokens) → 2 ** (total / tokens) ; raise ValueError("no token was predicted") → return 1.0
    2 is raised to a loss in nats. Nats go with exp; base 2 goes with bits.
no_exp: math.exp(total / tokens) → total / tokens ; raise ValueError("no token was predicted") → return 1.0
    This is the mean loss over all tokens. One step is left: exp.
unchecked: raise ValueError("no token was predicted") → return 1.0
    The numbers are right. Raise a ValueError when no token was predicted, since there is no mean.
negative_exponent: total / tokens → -total / tokens ; raise ValueError("no token was predicted") → return 1.0
    This is one over the perplexity. The losses are −ln p already: exp of their mean, without another minus.
not_divided: total / tokens → min(total, 700) ; raise ValueError("no token was predicted") → return 1.0
    This is exp of the total loss. Divide the total by the number of tokens first.
over_batches: total / tokens → min(total / len(counts), 700) ; raise ValueError("no token was predicted") → return 1.0
    The total loss is divided by the number of batches. Divide it by the number of tokens.
one_refused: tokens == 0 → tokens <= 1
    One token is refused, and it is enough for a mean. The ValueError is for no token at all.
empty_only: tokens == 0 → not counts ; math.exp(total / tokens) → math.exp(total / tokens) if tokens else 1.0
    An empty list is refused, but not batches that hold 0 tokens together. Look at the sum of counts.
divides_by_zero: tokens == 0 → False
    Without tokens this divides by 0. Look at the sum of counts first, and raise a ValueError.
over_texts: steps.sum(-1) → steps.sum(0)
    The sum runs over the texts, so there is one number per step. Sum over the steps of each text, the last axis.
mean_of_all: steps.sum(-1) → steps.mean()
    This is one mean over all texts and tokens. Return one number per text, the sum over its steps.
not_summed: steps.sum(-1) → steps
    There is one number per token here. Probabilities of the steps multiply: sum the logarithms of each text.
probabilities_summed: steps.sum(-1) → steps.exp().sum(-1)
    Probabilities are added up. It is their logarithms that add: take log_softmax and sum the targets' entries.
log_of_mean: steps.sum(-1) → steps.exp().mean(-1).log()
    The probabilities are averaged before the logarithm. Take the logarithm of each step first, then add them up.
bits: steps.sum(-1) → steps.sum(-1) / math.log(2)
    This is in bits (base 2). Use natural logarithms: nats.
best_word: log_p.gather(-1, targets[..., None])[..., 0] → log_p.amax(-1)
    The most probable token of each step is taken. Pick the entry of the target: gather with targets.
last_step: steps.sum(-1) → steps[:, -1]
    Only the last step counts here. The log-probability of a text is the sum over all its steps.
last_missing: steps.sum(-1) → steps[:, :-1].sum(-1)
    The last step is left out. logits[:, t] already belong to targets[:, t]: sum over all steps.
first_missing: steps.sum(-1) → steps[:, 1:].sum(-1)
    The first step is left out. logits[:, t] already belong to targets[:, t]: sum over all steps.
over_texts_softmax: log_softmax(-1) → log_softmax(0)
    The softmax runs over the texts of the batch. At each step the tokens of the vocabulary compete: use the last
    axis.
empty_batch_refused: tokens == 0 → not counts or 0 in counts
    A single batch without tokens is refused. It weighs nothing: raise only where no batch has a token, so where the
    sum of counts is 0.
sum_over_tokens: total / tokens → sum(losses) / tokens ; raise ValueError("no token was predicted") → return 1.0
    The mean losses are added without their weights and divided by all tokens. Multiply each by its count first: it
    is a mean over that many tokens.
total_not_exp: math.exp(total / tokens) → total ; raise ValueError("no token was predicted") → return 1.0
    This is the total loss. Divide it by the number of tokens, then take exp.
""",
)

EXERCISE = Exercise(
    id="objective.likelihood",
    title="The probability of a text",
    points=3,
    difficulty=3,
    minutes=15,
    reference=(ref.sequence_log_probability, perplexity),
    alternatives=[(log_p_by_product, perplexity_by_fmean), (log_p_by_steps, perplexity_by_product)],
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
        Case(
            "empty batches",
            "two batches that predicted 0 tokens each: perplexity raises ValueError",
            lambda g: call([g.number(1, 2), g.number(1, 2)], [0, 0], fn="perplexity"),
            weight=0.5,
        ),
        Case(
            "one token",
            "one batch of one token: perplexity is exp of its loss; then a batch of none beside it changes nothing",
            lambda g: call([g.number(1, 4)], [1], fn="perplexity").call(
                [g.number(1, 4), g.number(5, 9)], [1, 0], fn="perplexity"
            ),
        ),
        Case(
            "one step",
            "three texts of a single token in float64: one number for each, in float64",
            lambda g: call(g.randn(3, 1, 5, dtype=torch.float64), g.integers(0, 5, 3, 1)),
        ),
        Case(
            "sharp",
            "logits in the hundreds: the right token's probability rounds to 0, its logarithm does not",
            lambda g: call(g.randn(2, 3, 4, scale=300), g.integers(0, 4, 2, 3)),
        ),
        Case(
            "gradients",
            "the slope of each text's log-probability by every logit",
            lambda g: call(g.randn(2, 3, 4), g.integers(0, 4, 2, 3), grad=[0]),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
numbers of tokens are 0 or more: their sum is 0 exactly when the largest is 0
    6d8fa3fcc8 sum → max in sum(counts)
each pair is only multiplied, and a product does not mind its order
    d2c70c85b5 zip(losses, counts): arguments 1 and 2 swapped
""",
)
