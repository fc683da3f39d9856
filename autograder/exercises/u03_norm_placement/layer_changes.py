"""How much each layer changes the residual stream."""

from collections.abc import Callable

import torch

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import residual as ref


def by_tokens(streams):
    """One layer and one token at a time."""
    if streams.shape[0] == 1:
        raise ValueError("no layer")
    flat = streams.flatten(1, 2)
    rows = [
        [torch.dist(b, a) / a.norm() for a, b in zip(x, y, strict=True)]
        for x, y in zip(flat[:-1], flat[1:], strict=True)
    ]
    return torch.stack([torch.stack(row).mean() for row in rows])


def by_roots(streams):
    """diff along the layers, roots of sums of squares."""
    if len(streams) < 2:
        raise ValueError("no layer")
    step = torch.diff(streams, dim=0).square().sum(-1).sqrt()
    return (step / streams[:-1].square().sum(-1).sqrt()).mean((-2, -1))


def _changes(measure):
    def wrong(streams):
        return torch.stack([measure(a, b) for a, b in zip(streams[:-1], streams[1:], strict=True)])

    return wrong


def from_the_start(streams):
    return ((streams[1:] - streams[:1]).norm(dim=-1) / streams[:1].norm(dim=-1)).mean(dim=(1, 2))


def unchecked(streams):
    return ((streams[1:] - streams[:-1]).norm(dim=-1) / streams[:-1].norm(dim=-1)).mean(dim=(1, 2))


def _random(*shape: int) -> Callable[[Source], Program]:
    # Tokens of very different lengths: a mean of ratios is then far from a ratio of means.
    return lambda g: call(g.randn(*shape) * g.uniform(1, *shape[1:-1], 1, low=0.3, high=6.0))


EXERCISE = Exercise(
    id="placement.layer_changes",
    unit="03-norm-placement",
    title="How much does a layer change?",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
    signature="layer_changes(streams)",
    reference=ref.layer_changes,
    alternatives=[by_tokens, by_roots],
    cases=[
        Case(
            "by hand",
            "one token, (3, 4) becomes (3, 5): it moved by 1 from a length of 5, so 0.2",
            lambda g: call(torch.tensor([[[[3.0, 4.0]]], [[[3.0, 5.0]]]])),
        ),
        Case(
            "two tokens",
            "two tokens, moved by half and by twice their lengths: 1.25 on average",
            lambda g: call(torch.tensor([[[[2.0, 0.0], [0.0, 1.0]]], [[[3.0, 0.0], [0.0, 3.0]]]])),
        ),
        Case("layers", "four layers, 2 sentences of 3 words", _random(5, 2, 3, 7)),
        Case("one sentence", "two layers, B = 1", _random(3, 1, 6, 4)),
        Case(
            "nothing to compare",
            "the input alone, without a layer: ValueError",
            lambda g: call(g.randn(1, 2, 3, 4)),
            weight=0.5,
        ),
    ],
    mutants=[
        Mutant(
            "by_the_new",
            _changes(lambda a, b: ((b - a).norm(dim=-1) / b.norm(dim=-1)).mean()),
            "The step is divided by the length after the layer. Compare it with the length before.",
        ),
        Mutant(
            "absolute",
            _changes(lambda a, b: (b - a).norm(dim=-1).mean()),
            "These are absolute steps. Divide each by the length of the token's vector before the layer.",
        ),
        Mutant(
            "ratio_of_all",
            _changes(lambda a, b: (b - a).norm() / a.norm()),
            "All tokens are taken as one long vector, so long ones drown the others. Take the ratio per token, then "
            "the mean.",
        ),
        Mutant(
            "ratio_of_means",
            _changes(lambda a, b: (b - a).norm(dim=-1).mean() / a.norm(dim=-1).mean()),
            "This divides the mean step by the mean length. Take the ratio of each token first, then the mean.",
        ),
        Mutant(
            "one_number",
            lambda streams: unchecked(streams).mean(),
            "This is one number for the whole stack. Take the mean over sentences and tokens only, "
            "mean(dim=(1, 2)), for one number per layer.",
        ),
        Mutant(
            "growth",
            _changes(lambda a, b: ((b.norm(dim=-1) - a.norm(dim=-1)).abs() / a.norm(dim=-1)).mean()),
            "Only the change of length is measured. A vector can turn without getting longer: take the norm of the "
            "difference.",
        ),
        Mutant(
            "summed",
            _changes(lambda a, b: ((b - a).norm(dim=-1) / a.norm(dim=-1)).sum()),
            "The tokens' ratios are added up. Take their mean, so that longer texts do not look as if they changed "
            "more.",
        ),
        Mutant(
            "from_the_start",
            from_the_start,
            "Every layer is compared with the first input. Compare it with what entered that layer.",
        ),
        Mutant(
            "unchecked",
            unchecked,
            "The numbers are right. Raise a ValueError where there is no layer: an empty answer would hide the "
            "mistake.",
        ),
    ],
)
