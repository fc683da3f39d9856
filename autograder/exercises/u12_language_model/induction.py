"""A score for heads that look for what came next the last time."""

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
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


def _scoring(
    before=lambda same: same.tril(-1),
    behind=lambda before: _right(before, 1),
    again=lambda before: before.any(-1),
    add=lambda weights, behind: (weights * behind).sum(-1),
    weights_of=lambda weights: weights,
    average=lambda found, again: found[:, again].mean(-1),
    nothing=lambda weights: weights.new_zeros(len(weights)),
):
    """The score in steps, each of which a mistake can replace."""

    def wrong(weights, ids):
        found = before(ids[:, None] == ids)
        rows = again(found)
        if nothing is not None and not rows.any():
            return nothing(weights)
        return average(add(weights_of(weights), behind(found)), rows)

    return wrong


def _right(mask, by):
    moved = torch.zeros_like(mask)
    moved[:, by:] = mask[:, : mask.shape[1] - by]
    return moved


def _latest(before):
    return before & (before.flip(-1).cumsum(-1).flip(-1) == 1)


def _first(before):
    return before & (before.cumsum(-1) == 1)


def _rolled(before):
    return before.roll(1, -1)


def _mean_of_targets(weights, behind):
    return (weights * behind).sum(-1) / behind.sum(-1).clamp(min=1)


def _previous(weights, ids):
    again = (ids[:, None] == ids).tril(-1).any(-1)
    if not again.any():
        return weights.new_zeros(len(weights))
    found = torch.zeros_like(weights[:, :, 0])
    found[:, 1:] = weights.diagonal(-1, 1, 2)
    return found[:, again].mean(-1)


def _hits(weights, ids):
    same = (ids[:, None] == ids).tril(-1)
    behind, again = _right(same, 1), same.any(-1)
    if not again.any():
        return weights.new_zeros(len(weights))
    best = weights.argmax(-1)
    return behind.expand_as(weights).gather(-1, best[..., None])[..., 0][:, again].to(weights.dtype).mean(-1)


def _per_pair(weights, ids):
    before = (ids[:, None] == ids).tril(-1)
    return (weights * _right(before, 1)).sum((-1, -2)) / before.sum().clamp(min=1)


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

EXERCISE = Exercise(
    id="induction.score",
    title="What came next the last time",
    points=2,
    difficulty=3,
    minutes=10,
    extension=True,
    signature="induction_score(weights, ids)",
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
    mutants=[
        Mutant(
            "same_token",
            _scoring(behind=lambda b: b),
            "This is attention to the earlier occurrence itself. An induction head looks at the token right behind "
            "it: one column further.",
        ),
        Mutant(
            "two_behind",
            _scoring(behind=lambda b: _right(b, 2)),
            "This is attention two behind the earlier occurrence. Move by one column.",
        ),
        Mutant(
            "one_before",
            _scoring(behind=lambda b: b.roll(-1, -1)),
            "This is attention to what stands before the earlier occurrence. The token behind it tells what may come "
            "next.",
        ),
        Mutant(
            "previous_token",
            _previous,
            "This is attention to the previous position. That is another kind of head; this one looks behind earlier "
            "occurrences of the current token.",
        ),
        Mutant(
            "later",
            _scoring(before=lambda s: s.triu(1)),
            "Later occurrences are looked for. Only s < t is earlier: tril(-1).",
        ),
        Mutant(
            "latest",
            _scoring(behind=lambda b: _right(_latest(b), 1)),
            "Only the latest earlier occurrence counts. Add the weights behind all of them.",
        ),
        Mutant(
            "first",
            _scoring(behind=lambda b: _right(_first(b), 1)),
            "Only the first occurrence counts. Add the weights behind all of them.",
        ),
        Mutant(
            "mean_of_targets",
            _scoring(add=_mean_of_targets),
            "The weights behind several occurrences are averaged. A head may split its attention: add them.",
        ),
        Mutant(
            "largest",
            _scoring(add=lambda w, b: (w * b).amax(-1)),
            "Only the largest of several weights counts. Add them.",
        ),
        Mutant(
            "all_positions",
            _scoring(average=lambda f, a: f.mean(-1)),
            "The mean runs over all positions, or each one counts as its own earlier occurrence. Only those whose "
            "token has "
            "come before count: s < t, as tril(-1) has it.",
        ),
        Mutant(
            "total",
            _scoring(average=lambda f, a: f[:, a].sum(-1)),
            "This is the sum over positions. The score is their mean.",
        ),
        Mutant(
            "per_pair",
            _per_pair,
            "The sum is divided by the number of pairs. Divide by the number of positions whose token came before.",
        ),
        Mutant(
            "one_number",
            _scoring(average=lambda f, a: f[:, a].mean()),
            "One number for all heads came back. Each head has its own score: average over positions only.",
        ),
        Mutant(
            "transposed",
            _scoring(weights_of=lambda w: w.mT),
            "Rows and columns of the weights are exchanged. weights[h, t, s]: query t, key s.",
        ),
        Mutant(
            "nan",
            _scoring(nothing=None),
            "Where no token comes twice this is the mean of nothing: NaN. The score is 0 then.",
        ),
        Mutant(
            "ones",
            _scoring(nothing=lambda w: w.new_ones(len(w))),
            "Where no token comes twice the score is 1. It is 0.",
        ),
        Mutant(
            "hits", _hits, "This counts how often the largest weight is in the right place. Add the weights themselves."
        ),
        Mutant(
            "in_float32",
            lambda weights, ids: induction_score(weights, ids).float(),
            "The score is float32 whatever comes in. Keep the dtype of the weights.",
        ),
    ],
)
