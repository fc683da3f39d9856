"""How much each layer changes the residual stream."""

from collections.abc import Callable

import torch
from torch import Tensor

from autograder.judge.spec import Case, Exercise, Mutant, Program, Source, call
from autograder.reference import residual as ref


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


def _changes(measure):
    def wrong(streams):
        return torch.stack([measure(a, b) for a, b in zip(streams[:-1], streams[1:], strict=True)])

    return wrong


def from_the_start(streams):
    return ((streams[1:] - streams[:1]).norm(dim=-1) / streams[:1].norm(dim=-1)).mean(dim=(1, 2))


def unchecked(streams):
    return ((streams[1:] - streams[:-1]).norm(dim=-1) / streams[:-1].norm(dim=-1)).mean(dim=(1, 2))


def _length_plus(eps):
    def wrong(streams):
        if len(streams) < 2:
            raise ValueError("no layer")
        return ((streams[1:] - streams[:-1]).norm(dim=-1) / (streams[:-1].norm(dim=-1) + eps)).mean(dim=(1, 2))

    return wrong


def by_the_first(streams):
    return ((streams[1:] - streams[:-1]).norm(dim=-1) / streams[0].norm(dim=-1)).mean(dim=(1, 2))


def _tokens(g: Source, *shape: int) -> Tensor:
    # Tokens of very different lengths: a mean of ratios is then far from a ratio of means.
    return g.randn(*shape) * g.uniform(1, *shape[1:-1], 1, low=0.3, high=6.0)


def _random(*shape: int) -> Callable[[Source], Program]:
    return lambda g: call(_tokens(g, *shape))


def one_layer_refused(streams):
    if len(streams) <= 2:
        raise ValueError("too few streams")
    return unchecked(streams)


def ratios(streams):
    return (streams[1:] - streams[:-1]).norm(dim=-1) / streams[:-1].norm(dim=-1)


EXERCISE = Exercise(
    id="placement.layer_changes",
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
            "float64",
            "three layers in float64, 5 sentences of one word",
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
            "by_the_first",
            by_the_first,
            "Each step is divided by the length of the stack's input. Divide by the length of what entered that layer, "
            "streams[:-1].",
        ),
        Mutant(
            "squares",
            _changes(lambda a, b: ((b - a).square().sum(-1) / a.square().sum(-1)).mean()),
            "These are ratios of squared lengths. A length has a root: use .norm(dim=-1).",
        ),
        Mutant(
            "first_left_out",
            lambda streams: unchecked(streams[1:]),
            "The first layer is left out. streams[0] is what enters it: N + 1 streams make N changes.",
        ),
        Mutant(
            "last_left_out",
            lambda streams: unchecked(streams[:-1]),
            "The last layer is left out. N + 1 streams make N changes.",
        ),
        Mutant(
            "sizes_of_entries",
            _changes(lambda a, b: ((b - a).abs().sum(-1) / a.abs().sum(-1)).mean()),
            "The entries' sizes are added up: that is the L1 norm. A vector's length is the root of its squared "
            "entries' sum.",
        ),
        Mutant(
            "entry_by_entry",
            _changes(lambda a, b: ((b - a) / a).abs().mean()),
            "Entries are compared one by one. Compare vectors: the length of the step over the length of the token.",
        ),
        Mutant(
            "per_token",
            lambda streams: (streams[1:] - streams[:-1]).norm(dim=-1) / streams[:-1].norm(dim=-1),
            "These are the ratios of all tokens. Take the mean over sentences and words, mean(dim=(1, 2)).",
        ),
        Mutant(
            "along_the_tokens",
            _changes(lambda a, b: ((b - a).norm(dim=-2) / a.norm(dim=-2)).mean()),
            "The lengths run along the words. A token's vector lies along the last axis: norm(dim=-1).",
        ),
        Mutant(
            "cosine",
            _changes(lambda a, b: torch.cosine_similarity(a, b, dim=-1).mean()),
            "This is the cosine between before and after. The length of the difference is asked for, over the length "
            "before.",
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
        Mutant(
            "one_length_per_sentence",
            _changes(lambda a, b: ((b - a).norm(dim=(-2, -1)) / a.norm(dim=(-2, -1))).mean()),
            "One length is taken per sentence, over words and features together. Each word has its own: norm(dim=-1).",
        ),
        Mutant(
            "over_sentences_only",
            lambda streams: ratios(streams).mean(1),
            "The mean runs over the sentences only, so the words remain. Take it over both: mean(dim=(1, 2)).",
        ),
        Mutant(
            "over_words_only",
            lambda streams: ratios(streams).mean(-1),
            "The mean runs over the words only, so the sentences remain. Take it over both: mean(dim=(1, 2)).",
        ),
        Mutant(
            "over_layers",
            lambda streams: ratios(streams).mean(0),
            "The mean runs over the layers. Keep these apart, and average over sentences and words: mean(dim=(1, 2)).",
        ),
        Mutant(
            "growth_signed",
            _changes(lambda a, b: ((b.norm(dim=-1) - a.norm(dim=-1)) / a.norm(dim=-1)).mean()),
            "The lengths are subtracted, not the vectors. Take the norm of the difference: a vector can turn as well.",
        ),
        Mutant(
            "cosine_distance",
            _changes(lambda a, b: 1 - torch.cosine_similarity(a, b, dim=-1).mean()),
            "This is 1 minus the cosine between before and after. The length of the difference is asked for, over the "
            "length before.",
        ),
        Mutant(
            "upside_down",
            _changes(lambda a, b: (a.norm(dim=-1) / (b - a).norm(dim=-1)).mean()),
            "The ratio is upside down. Divide the length of the step by the length before.",
        ),
        Mutant(
            "backwards",
            lambda streams: unchecked(streams).flip(0),
            "The layers come last to first. Return c₁ first.",
        ),
        Mutant(
            "largest",
            _changes(lambda a, b: ((b - a).norm(dim=-1) / a.norm(dim=-1)).max()),
            "This is the largest ratio of a token. Take the mean over all tokens.",
        ),
        Mutant(
            "median",
            _changes(lambda a, b: ((b - a).norm(dim=-1) / a.norm(dim=-1)).median()),
            "This is the median of the tokens' ratios. Take their mean.",
        ),
        Mutant(
            "one_layer_refused",
            one_layer_refused,
            "Two streams are refused, though there is a layer between them. Only fewer than two raise the ValueError.",
        ),
        Mutant(
            "length_plus_millionth",
            _length_plus(1e-6),
            "A millionth is added to the length before the layer, so every ratio comes out a little too small. Divide "
            "by the length as it is.",
        ),
        Mutant(
            "length_plus_tiny",
            _length_plus(1e-8),
            "A tiny number, 1e-8, is added to the length before the layer, and the ratios are no longer exact. Divide "
            "by the length as it is.",
        ),
    ],
)
