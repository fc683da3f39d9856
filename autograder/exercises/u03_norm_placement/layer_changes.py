"""How much each layer changes the residual stream."""

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import residual as ref


def layer_changes(streams):
    if len(streams) < 2:
        raise ValueError("no layer")
    before, after = streams[:-1], streams[1:]
    steps, lengths = (after - before).norm(dim=-1), before.norm(dim=-1)
    ratios = steps / lengths
    return torch.stack([r.mean() for r in ratios])


def by_tokens(streams):
    """One layer and one token at a time."""
    if streams.shape[0] == 1:
        raise ValueError("no layer")
    changes = []
    for layer in streams.unfold(0, 2, 1):  # (B, T, d, 2): before and after
        ratios = [torch.diff(token).norm() / token[:, 0].norm() for token in layer.flatten(0, 1)]
        changes.append(torch.stack(ratios).mean())
    return torch.stack(changes)


def by_roots(streams):
    """diff along the layers, roots of sums of squares."""
    if len(streams) < 2:
        raise ValueError("no layer")
    step = torch.diff(streams, dim=0).square().sum(-1).sqrt()
    return (step / streams[:-1].square().sum(-1).sqrt()).mean((-2, -1))


def _tokens(g: Source, *shape: int) -> Tensor:
    # Tokens of very different lengths: a mean of ratios is then far from a ratio of means.
    return g.randn(*shape) * g.uniform(1, *shape[1:-1], 1, low=0.3, high=6.0)


def _random(*shape: int) -> Callable[[Source], Program]:
    return lambda g: call(_tokens(g, *shape))


MISTAKES = changes(
    layer_changes,
    """
by_the_new: before.norm(dim=-1) → after.norm(dim=-1) ; if len(streams) < 2: → if False:
    The step is divided by the length after the layer. Compare it with the length before.
absolute: steps / lengths → steps ; if len(streams) < 2: → if False:
    These are absolute steps. Divide each by the length of the token's vector before the layer.
by_the_first: before.norm(dim=-1) → streams[0].norm(dim=-1)
; torch.stack([r.mean() for r in ratios]) → ratios.mean(dim=(1, 2)) ; if len(streams) < 2: → if False:
    Each step is divided by the length of the stack's input. Divide by the length of what entered that layer,
    streams[:-1].
squares: steps / lengths → steps**2 / lengths**2 ; if len(streams) < 2: → if False:
    These are ratios of squared lengths. A length has a root: use .norm(dim=-1).
first_left_out: streams[:-1], streams[1:] → streams[1:-1], streams[2:]
; torch.stack([r.mean() for r in ratios]) → ratios.mean(dim=(1, 2)) ; if len(streams) < 2: → if False:
    The first layer is left out. streams[0] is what enters it: N + 1 streams make N changes.
last_left_out: streams[:-1], streams[1:] → streams[:-2], streams[1:-1]
; torch.stack([r.mean() for r in ratios]) → ratios.mean(dim=(1, 2)) ; if len(streams) < 2: → if False:
    The last layer is left out. N + 1 streams make N changes.
sizes_of_entries: (after - before).norm(dim=-1) → (after - before).abs().sum(-1)
; before.norm(dim=-1) → before.abs().sum(-1) ; if len(streams) < 2: → if False:
    The entries' sizes are added up: that is the L1 norm. A vector's length is the root of its squared entries' sum.
entry_by_entry: steps / lengths → ((after - before) / before).abs() ; if len(streams) < 2: → if False:
    Entries are compared one by one. Compare vectors: the length of the step over the length of the token.
per_token: torch.stack([r.mean() for r in ratios]) → ratios ; if len(streams) < 2: → if False:
    These are the ratios of all tokens. Take the mean over sentences and tokens, mean(dim=(1, 2)).
along_the_tokens: (after - before).norm(dim=-1) → (after - before).norm(dim=-2)
; before.norm(dim=-1) → before.norm(dim=-2) ; if len(streams) < 2: → if False:
    The lengths run along the tokens. A token's vector lies along the last axis: norm(dim=-1).
cosine: steps / lengths → torch.cosine_similarity(before, after, dim=-1) ; if len(streams) < 2: → if False:
    This is the cosine between before and after. The length of the difference is asked for, over the length before.
ratio_of_all: (after - before).norm(dim=-1) → (after - before).flatten(1).norm(dim=1)
; before.norm(dim=-1) → before.flatten(1).norm(dim=1) ; if len(streams) < 2: → if False:
    All tokens are taken as one long vector, so long ones drown the others. Take the ratio per token, then the mean.
ratio_of_means: steps / lengths → steps.mean((1, 2)) / lengths.mean((1, 2)) ; if len(streams) < 2: → if False:
    This divides the mean step by the mean length. Take the ratio of each token first, then the mean.
one_number: torch.stack([r.mean() for r in ratios]) → ratios.mean() ; if len(streams) < 2: → if False:
    This is one number for the whole stack. Take the mean over sentences and tokens only, mean(dim=(1, 2)), for one
    number per layer.
growth: steps / lengths → (after.norm(dim=-1) - lengths).abs() / lengths ; if len(streams) < 2: → if False:
    Only the change of length is measured. A vector can turn without getting longer: take the norm of the
    difference.
summed: r.mean() → r.sum() ; if len(streams) < 2: → if False:
    The tokens' ratios are added up. Take their mean, so that longer texts do not look as if they changed more.
from_the_start: streams[:-1] → streams[:1] ; torch.stack([r.mean() for r in ratios]) → ratios.mean(dim=(1, 2))
; if len(streams) < 2: → if False:
    Every layer is compared with the first input. Compare it with what entered that layer.
unchecked: if len(streams) < 2: → if False: ; torch.stack([r.mean() for r in ratios]) → ratios.mean(dim=(1, 2))
    The numbers are right. Raise a ValueError where there is no layer: an empty answer would hide the mistake.
one_length_per_sentence: (after - before).norm(dim=-1) → (after - before).norm(dim=(-2, -1))
; before.norm(dim=-1) → before.norm(dim=(-2, -1)) ; if len(streams) < 2: → if False:
    One length is taken per sentence, over tokens and features together. Each token has its own: norm(dim=-1).
over_sentences_only: torch.stack([r.mean() for r in ratios]) → ratios.mean(1) ; if len(streams) < 2: → if False:
    The mean runs over the sentences only, so the tokens remain. Take it over both: mean(dim=(1, 2)).
over_words_only: torch.stack([r.mean() for r in ratios]) → ratios.mean(-1) ; if len(streams) < 2: → if False:
    The mean runs over the tokens only, so the sentences remain. Take it over both: mean(dim=(1, 2)).
over_layers: torch.stack([r.mean() for r in ratios]) → ratios.mean(0) ; if len(streams) < 2: → if False:
    The mean runs over the layers. Keep these apart, and average over sentences and tokens: mean(dim=(1, 2)).
growth_signed: steps / lengths → (after.norm(dim=-1) - lengths) / lengths ; if len(streams) < 2: → if False:
    The lengths are subtracted, not the vectors. Take the norm of the difference: a vector can turn as well.
cosine_distance: steps / lengths → torch.cosine_similarity(before, after, dim=-1) ; r.mean() → 1 - r.mean()
; if len(streams) < 2: → if False:
    This is 1 minus the cosine between before and after. The length of the difference is asked for, over the length
    before.
upside_down: steps / lengths → lengths / steps ; if len(streams) < 2: → if False:
    The ratio is upside down. Divide the length of the step by the length before.
backwards: torch.stack([r.mean() for r in ratios]) → ratios.mean(dim=(1, 2)).flip(0) ; if len(streams) < 2: → if False:
    The layers come last to first. Return c₁ first.
largest: r.mean() → r.max() ; if len(streams) < 2: → if False:
    This is the largest ratio of a token. Take the mean over all tokens.
median: r.mean() → r.median() ; if len(streams) < 2: → if False:
    This is the median of the tokens' ratios. Take their mean.
one_layer_refused: < 2 → <= 2
    Two streams are refused, though there is a layer between them. Only fewer than two raise the ValueError.
length_plus_millionth: steps / lengths → steps / (lengths + 1e-6)
    A millionth is added to the length before the layer, so every ratio comes out a little too small. Divide by the
    length as it is.
length_plus_tiny: steps / lengths → steps / (lengths + 1e-8)
    A tiny number, 1e-8, is added to the length before the layer, and the ratios are no longer exact. Divide by the
    length as it is.
""",
)

EXERCISE = Exercise(
    id="placement.layer_changes",
    title="How much does a layer change?",
    points=2,
    difficulty=2,
    minutes=10,
    extension=True,
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
        Case("layers", "four layers, 2 sentences of 3 tokens", _random(5, 2, 3, 7)),
        Case("one sentence", "two layers, B = 1", _random(3, 1, 6, 4)),
        Case(
            "float64",
            "three layers in float64, 5 sentences of one token",
            lambda g: call(_tokens(g, 4, 5, 1, 3).double()),
            weight=0.5,
        ),
        Case(
            "gradient",
            "the gradient of the streams: a penalty on large steps could be trained with it",
            lambda g: call(_tokens(g, 4, 2, 2, 3), grad=[0]),
            weight=0.5,
        ),
        Case(
            "nothing to compare",
            "the input alone, without a layer: ValueError",
            lambda g: call(g.randn(1, 2, 3, 4)),
            weight=0.5,
        ),
    ],
    mutants=MISTAKES,
    equivalent="""
a vector and its negative have the same length
    96dd0f1305 solution, swapped: after - before → before - after
""",
)
