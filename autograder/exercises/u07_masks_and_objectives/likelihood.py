"""The log-probability of a text, and perplexity."""

import math

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

EXERCISE = Exercise(
    id="objective.likelihood",
    unit="07-masks-and-objectives",
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
