"""The loss that is smallest when all experts get equally many tokens."""

from typing import Any

import torch

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference.routing import balance_loss


def by_layers(probabilities, chosen):
    """One layer and one expert after the other."""
    E = probabilities.shape[-1]
    losses = []
    for p, c in zip(probabilities, chosen, strict=True):
        losses.append(E * sum((c == i).to(p.dtype).mean() * p[:, i].mean() for i in range(E)))
    return sum(losses) / len(losses)


def by_bincount(probabilities, chosen):
    """Counts by bincount, layers by a loop."""
    layers, _, E = probabilities.shape
    f = torch.stack([torch.bincount(c.flatten(), minlength=E) for c in chosen]).to(probabilities.dtype)
    return torch.einsum("le,lne->", f / chosen[0].numel(), probabilities) * E / probabilities.shape[1] / layers


def _choices(g: Source, layers: int, N: int, E: int, k: int, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Uneven probabilities, and choices that agree with them more often than not."""
    logits = g.randn(layers, N, E, **kwargs) + 2 * g.randn(layers, 1, E, **kwargs)
    return logits.softmax(-1), (logits + g.randn(layers, N, E, **kwargs)).topk(k, dim=-1).indices


def _by_hand(g: Source) -> Program:
    p = torch.tensor([[[0.7, 0.3]] * 4])
    return call(p, torch.tensor([[[0], [0], [0], [1]]]))


def _opposite(g: Source) -> Program:
    p = torch.tensor([[0.9, 0.1], [0.1, 0.9]])[:, None].expand(2, 3, 2)
    return call(p, torch.tensor([[[0]] * 3, [[1]] * 3]))


MISTAKES = changes(
    balance_loss,
    """
shares_sum_to_k: (N * chosen.shape[-1]) → N
    The shares sum to k, since each token makes k choices. Divide the counts by N · k, so that an even load gives 1.
layers_joined: sum((1, 2)).to(probabilities.dtype) → sum((0, 1, 2)).to(probabilities.dtype) / probabilities.shape[0]
; probabilities.mean(1) → probabilities.mean((0, 1))
    The layers are joined before counting, so that their imbalances cancel. Compute the loss of each layer, then the
    mean of the layers.
layers_summed: .sum(-1).mean() → .sum(-1).sum()
    The losses of the layers are added. Take their mean, so that an even load gives 1 for any number of layers.
first_layer: .sum(-1).mean() → .sum(-1)[0]
    Only the first layer counts. Compute the loss of each layer, then the mean.
per_layer: .sum(-1).mean() → .sum(-1)
    A loss per layer comes back. The result is one number, the mean of the layers.
no_experts: return E * → return
    The result is E times too small. Sum the products over the experts, and multiply by E: an even load then gives 1
    for any number of experts.
twice_counted: (share * probabilities.mean(1)) → (share * share)
    The shares are squared, and counts have no gradient, so nothing would be learned. Multiply the shares by the mean
    probabilities.
twice_probabilities: (share * probabilities.mean(1)) → (probabilities.mean(1) ** 2)
    The mean probabilities are squared, and the choices are not used. Multiply them by the shares.
mean_of_products: return E * (share → return (share ; .sum(-1).mean() → .mean()
    The products are averaged over the experts. Add them up over the experts and multiply by E, then take the mean of
    the layers: an even load then gives 1.
chosen_alone: probabilities.mean(1) → (probabilities * F.one_hot(chosen, E).sum(2)).mean(1)
    Only tokens that chose an expert count for its mean probability. All tokens do: the mean of the probabilities over
    the tokens.
likeliest: F.one_hot(chosen, E).sum((1, 2)) → F.one_hot(probabilities.argmax(-1), E).sum(1) ; (N * chosen.shape[-1]) → N
    Each token's likeliest expert is counted, and chosen is not used. Count the choices that are given.
first_choice: F.one_hot(chosen, E) → F.one_hot(chosen[..., :1], E) ; (N * chosen.shape[-1]) → N
    Only the first choice of each token is counted. All k count: sum over the choices, too.
not_divided: share = counts / (N * chosen.shape[-1]) → share = counts
    The counts are not divided. Shares are counts over N · k.
probabilities_summed: probabilities.mean(1) → probabilities.sum(1)
    The probabilities are added over the tokens. Take their mean.
detached: probabilities.mean(1) → probabilities.detach().mean(1)
    The loss has no gradient. The counts have none, so the probabilities must keep theirs.
token_by_token: F.one_hot(chosen, E).sum((1, 2)) → F.one_hot(chosen, E).sum(2)
; share * probabilities.mean(1) → share * probabilities ; .sum(-1).mean() → .sum((-2, -1)).mean()
    Each token's choice is multiplied by its own probability. Average over the tokens first, both the choices and the
    probabilities: the loss is about the load of all.
""",
)

EXERCISE = Exercise(
    id="experts.balance_loss",
    title="A loss for balance",
    points=2,
    difficulty=3,
    minutes=10,
    reference=balance_loss,
    alternatives=[by_layers, by_bincount],
    cases=[
        Case("by hand", "mean probabilities 0.7 and 0.3, shares 0.75 and 0.25: 1.2", _by_hand),
        Case("opposite layers", "two layers, each uneven in its own way: nothing cancels", _opposite, weight=2),
        Case("top one", "two layers of 12 tokens and 4 experts", lambda g: call(*_choices(g, 2, 12, 4, 1))),
        Case(
            "top three",
            "three layers of 10 tokens, three of six experts, in float64",
            lambda g: call(*_choices(g, 3, 10, 6, 3, dtype=torch.float64)),
            weight=2,
        ),
        Case(
            "one token",
            "a single layer and a single token, two of five experts",
            lambda g: call(*_choices(g, 1, 1, 5, 2)),
        ),
        Case(
            "gradients",
            "the gradient goes to the probabilities, in float64",
            lambda g: call(*_choices(g, 2, 7, 5, 2, dtype=torch.float64), grad=[0]),
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
both have one entry per turn, so there is nothing to refuse
    9f39c8547b alternative by_layers, keyword: zip(probabilities, chosen, strict=True) without strict=True
    48645ca05e alternative by_layers, flag: True → False in strict=True
the order of the loop changes nothing, since each turn is on its own or makes the same step
    ce959857b5 alternative by_layers, reversed: range(E) reversed
equal in value: it divides evenly, has one axis, has converged, or is converted anyway
    c7efe9d62b alternative by_bincount, constant: 0 → -1 in chosen[0]
""",
)
