"""A score for heads that look for what came next the last time."""

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference.language.induction import induction_score


def score_in_loops(weights, ids):
    """Correct: position by position."""
    total, count = weights.new_zeros(len(weights)), 0
    tokens = ids.tolist()
    for t, token in enumerate(tokens):
        earlier = [s for s in range(t) if tokens[s] == token]
        if earlier:
            total, count = total + sum(weights[:, t, s + 1] for s in earlier), count + 1
    return total / max(count, 1)


def _weights(g: Source, H: int, T: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Causal attention weights of random scores."""
    scores = g.randn(H, T, T, scale=1.5, dtype=dtype)
    return scores.masked_fill(~torch.ones(T, T).tril().bool(), -torch.inf).softmax(-1)


def _random(g: Source, H: int, T: int, letters: int, dtype: torch.dtype = torch.float32) -> Program:
    return call(_weights(g, H, T, dtype), g.integers(0, letters, T))


def _repeated(g: Source) -> Program:
    period = g.integers(0, 50, 5)
    return call(_weights(g, 2, 12), period.repeat(3)[:12])


def _none(g: Source) -> Program:
    """No token comes twice in the first call, and the last one does in the second."""
    ids = torch.randperm(30, generator=g.generator)[:6]
    program = call(_weights(g, 3, 6, torch.float64), ids)
    again = ids.clone()
    again[-1] = ids[2]
    return program.call(_weights(g, 3, 6), again)


BY_HAND = torch.tensor([[[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.1, 0.7, 0.2, 0], [0.25, 0.25, 0.3, 0.2]]])


MISTAKES = changes(
    induction_score,
    """
same_token: behind[:, 1:] = before[:, :-1] → behind = before
    This is attention to the earlier occurrence itself. An induction head looks at the token right behind it: one
    column further.
two_behind: behind[:, 1:] = before[:, :-1] → behind[:, 2:] = before[:, :-2]
    This is attention two behind the earlier occurrence. Move by one column.
one_before: behind[:, 1:] = before[:, :-1] → behind = before.roll(-1, -1)
    This is attention to what stands before the earlier occurrence. The token behind it tells what may come next.
previous_token: behind[:, 1:] = before[:, :-1] → behind = torch.ones_like(before).tril(-1).triu(-1)
    This is attention to the previous position. That is another kind of head; this one looks behind earlier
    occurrences of the current token.
later: .tril(-1) → .triu(1)
    Later occurrences are looked for. Only s < t is earlier: tril(-1).
latest: = before[:, :-1] → = (before & (before.flip(-1).cumsum(-1).flip(-1) == 1))[:, :-1]
    Only the latest earlier occurrence counts. Add the weights behind all of them.
first: = before[:, :-1] → = (before & (before.cumsum(-1) == 1))[:, :-1]
    Only the first occurrence counts. Add the weights behind all of them.
mean_of_targets: (weights * behind).sum(-1) → ((weights * behind).sum(-1) / behind.sum(-1).clamp(min=1))
    The weights behind several occurrences are averaged. A head may split its attention: add them.
largest: (weights * behind).sum(-1) → (weights * behind).amax(-1)
    Only the largest of several weights counts. Add them.
all_positions: [:, again] →
    The mean runs over all positions, or each one counts as its own earlier occurrence. Only those whose token has
    come before count: s < t, as tril(-1) has it.
total: .mean(-1) → .sum(-1)
    This is the sum over positions. The score is their mean.
per_pair: .sum(-1)[:, again].mean(-1) → .sum((-1, -2)) / before.sum()
    The sum is divided by the number of pairs. Divide by the number of positions whose token came before.
one_number: .mean(-1) → .mean()
    One number for all heads came back. Each head has its own score: average over positions only.
transposed: (weights * → (weights.mT *
    Rows and columns of the weights are exchanged. weights[h, t, s]: query t, key s.
nan: not again.any() → False
    Where no token comes twice this is the mean of nothing: NaN. The score is 0 then.
ones: new_zeros → new_ones
    Where no token comes twice the score is 1. It is 0.
hits: (weights * behind).sum(-1) → behind[torch.arange(len(ids)), weights.argmax(-1)].to(weights.dtype)
    This counts how often the largest weight is at the right position. Add the weights themselves.
in_float32: (len(weights)) → (len(weights)).float() ; .mean(-1) → .mean(-1).float()
    The score is float32 whatever comes in. Keep the dtype of the weights.
""",
)

EXERCISE = Exercise(
    id="induction.score",
    title="What came next the last time",
    points=2,
    difficulty=3,
    minutes=10,
    extension=True,
    reference=induction_score,
    alternatives=[score_in_loops],
    cases=[
        Case(
            "by hand",
            "ids 7 8 7 8: position 2 gives 0.7 to position 1, position 3 gives 0.3 to position 2",
            lambda g: call(BY_HAND, torch.tensor([7, 8, 7, 8])),
        ),
        Case("repeated", "two heads, five tokens repeated", _repeated),
        Case(
            "random",
            "three heads, twelve tokens of four kinds: most came several times",
            lambda g: _random(g, 3, 12, 4),
            weight=2,
        ),
        Case("few", "one head, nine tokens of six kinds, in float64", lambda g: _random(g, 1, 9, 6, torch.float64)),
        Case("none", "no token comes twice: 0 for each head; then the last one does", _none),
    ],
    mutants=MISTAKES,
    unasked="""
it measures a trained head; nothing is trained on it
    gradient of induction_score
""",
    equivalent="""
it measures a trained head; nothing is trained on it
    2ea7dc3aac alternative score_in_loops, result: return total / max(count, 1): result detach
    1c625b2f33 solution, result: return (weights * behind).sum(-1)[:, again].mean(-1): result detach
numbers of a tensor compare as their list's do
    993bc29aeb alternative score_in_loops, call: ids.tolist() → ids
the weights behind earlier positions are added, in whatever order
    0b3817fa3c alternative score_in_loops, reversed: range(t) reversed
""",
)
