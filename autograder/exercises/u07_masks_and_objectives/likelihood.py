"""The log-probability of a text, and perplexity."""

import math
import statistics

import torch
import torch.nn.functional as F

from autograder.judge.spec import Case, Exercise, Mutant, call
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


# The mistakes leave the ValueError out and answer 1, as a guard against dividing by zero would.
def _perplexity(rule):
    def wrong(losses, counts):
        return rule(losses, counts) if sum(counts) else 1.0

    return wrong


def _log_p(reduce):
    def wrong(logits, targets):
        return reduce(torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0])

    return wrong


def naive_log(logits, targets):
    return torch.softmax(logits, -1).log().gather(-1, targets[..., None])[..., 0].sum(-1)


def shifted(logits, targets):
    return _log_p(lambda p: p.sum(-1))(logits[:, :-1], targets[:, 1:])


def squeezed(logits, targets):
    return torch.log_softmax(logits, -1).gather(-1, targets[..., None]).squeeze().sum(-1)


def one_refused(losses, counts):
    if sum(counts) <= 1:
        raise ValueError("too few tokens")
    return perplexity(losses, counts)


def empty_only(losses, counts):
    if not counts:
        raise ValueError("no batch")
    return perplexity(losses, counts) if any(counts) else 1.0


def divides(losses, counts):
    return math.exp(sum(m * n for m, n in zip(losses, counts, strict=True)) / sum(counts))


LOG_P = ref.sequence_log_probability


def empty_batch_refused(losses, counts):
    if not all(counts) or not counts:
        raise ValueError("a batch without tokens")
    return perplexity(losses, counts)


EXERCISE = Exercise(
    id="objective.likelihood",
    title="The probability of a text",
    points=3,
    difficulty=3,
    minutes=15,
    signature="sequence_log_probability(logits, targets)",
    targets=("sequence_log_probability", "perplexity"),
    reference=(LOG_P, perplexity),
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
            "logits in the hundreds: the right word's probability rounds to 0, its logarithm does not",
            lambda g: call(g.randn(2, 3, 4, scale=300), g.integers(0, 4, 2, 3)),
        ),
        Case(
            "gradients",
            "the slope of each text's log-probability by every logit",
            lambda g: call(g.randn(2, 3, 4), g.integers(0, 4, 2, 3), grad=[0]),
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
            "naive_log",
            (naive_log, perplexity),
            "The softmax rounds small probabilities to 0 before its logarithm is taken, and log 0 is −∞. Use "
            "log_softmax.",
        ),
        Mutant(
            "shifted",
            (shifted, perplexity),
            "Logits and targets are shifted by one here. logits[:, t] already belong to targets[:, t]: use all steps.",
        ),
        Mutant(
            "over_vocabulary",
            (lambda logits, targets: torch.log_softmax(logits, -1).sum((-2, -1)), perplexity),
            "All words of the vocabulary are added up. Pick the target's entry of each step first: gather.",
        ),
        Mutant(
            "over_time",
            (
                lambda logits, targets: torch.log_softmax(logits, 1).gather(-1, targets[..., None])[..., 0].sum(-1),
                perplexity,
            ),
            "The softmax runs over the steps of the text. At each step the words compete: use the last axis.",
        ),
        Mutant(
            "squeezed",
            (squeezed, perplexity),
            "squeeze() without an axis also drops a batch or a text of size 1, and the sum then runs over the wrong "
            "axis. Write squeeze(-1).",
        ),
        Mutant(
            "detached",
            (lambda logits, targets: LOG_P(logits, targets).detach(), perplexity),
            "The numbers are right, but they are cut off from the logits (detach, item, torch.tensor), so nothing "
            "could be trained on them.",
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
        Mutant(
            "negative_exponent",
            (LOG_P, _perplexity(lambda m, n: 1 / perplexity(m, n))),
            "This is one over the perplexity. The losses are −ln p already: exp of their mean, without another minus.",
        ),
        Mutant(
            "not_divided",
            (LOG_P, _perplexity(lambda m, n: math.exp(min(sum(a * b for a, b in zip(m, n, strict=True)), 700)))),
            "This is exp of the total loss. Divide the total by the number of tokens first.",
        ),
        Mutant(
            "over_batches",
            (
                LOG_P,
                _perplexity(lambda m, n: math.exp(min(sum(a * b for a, b in zip(m, n, strict=True)) / len(n), 700))),
            ),
            "The total loss is divided by the number of batches. Divide it by the number of tokens.",
        ),
        Mutant(
            "one_refused",
            (LOG_P, one_refused),
            "One token is refused, and it is enough for a mean. The ValueError is for no token at all.",
        ),
        Mutant(
            "empty_only",
            (LOG_P, empty_only),
            "An empty list is refused, but not batches that hold 0 tokens together. Look at the sum of counts.",
        ),
        Mutant(
            "divides_by_zero",
            (LOG_P, divides),
            "Without tokens this divides by 0. Look at the sum of counts first, and raise a ValueError.",
        ),
        Mutant(
            "over_texts",
            (_log_p(lambda p: p.sum(0)), perplexity),
            "The sum runs over the texts, so there is one number per place. Sum over the steps of each text, the last "
            "axis.",
        ),
        Mutant(
            "mean_of_all",
            (_log_p(lambda p: p.mean()), perplexity),
            "This is one mean over all texts and tokens. Return one number per text, the sum over its steps.",
        ),
        Mutant(
            "not_summed",
            (_log_p(lambda p: p), perplexity),
            "There is one number per token here. Probabilities of the steps multiply: sum the logarithms of each text.",
        ),
        Mutant(
            "probabilities_summed",
            (_log_p(lambda p: p.exp().sum(-1)), perplexity),
            "Probabilities are added up. It is their logarithms that add: take log_softmax and sum the targets' "
            "entries.",
        ),
        Mutant(
            "log_of_mean",
            (_log_p(lambda p: p.exp().mean(-1).log()), perplexity),
            "The probabilities are averaged before the logarithm. Take the logarithm of each step first, then add "
            "them up.",
        ),
        Mutant(
            "bits",
            (_log_p(lambda p: p.sum(-1) / math.log(2)), perplexity),
            "This is in bits (base 2). Use natural logarithms: nats.",
        ),
        Mutant(
            "best_word",
            (lambda logits, targets: logits.log_softmax(-1).amax(-1).sum(-1), perplexity),
            "The most probable word of each step is taken. Pick the entry of the target: gather with targets.",
        ),
        Mutant(
            "last_step",
            (_log_p(lambda p: p[:, -1]), perplexity),
            "Only the last step counts here. The log-probability of a text is the sum over all its steps.",
        ),
        Mutant(
            "last_missing",
            (_log_p(lambda p: p[:, :-1].sum(-1)), perplexity),
            "The last step is left out. logits[:, t] already belong to targets[:, t]: sum over all steps.",
        ),
        Mutant(
            "first_missing",
            (_log_p(lambda p: p[:, 1:].sum(-1)), perplexity),
            "The first step is left out. logits[:, t] already belong to targets[:, t]: sum over all steps.",
        ),
        Mutant(
            "over_texts_softmax",
            (lambda logits, targets: logits.log_softmax(0).gather(-1, targets[..., None])[..., 0].sum(-1), perplexity),
            "The softmax runs over the texts of the batch. At each step the words compete: use the last axis.",
        ),
        Mutant(
            "empty_batch_refused",
            (LOG_P, empty_batch_refused),
            "A single batch without tokens is refused. It weighs nothing: raise only where no batch has a token, so "
            "where the sum of counts is 0.",
        ),
        Mutant(
            "sum_over_tokens",
            (LOG_P, _perplexity(lambda m, n: math.exp(sum(m) / sum(n)))),
            "The mean losses are added without their weights and divided by all tokens. Multiply each by its count "
            "first: it is a mean over that many tokens.",
        ),
        Mutant(
            "total_not_exp",
            (LOG_P, _perplexity(lambda m, n: sum(a * b for a, b in zip(m, n, strict=True)))),
            "This is the total loss. Divide it by the number of tokens, then take exp.",
        ),
    ],
)
