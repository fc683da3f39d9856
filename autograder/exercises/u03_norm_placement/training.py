"""Linear warm-up, and how much each layer changes the stream."""

import torch

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import residual as ref

UNIT = "03-norm-placement"


# --- warm-up -------------------------------------------------------------------------------------------------------
def rate_by_min(step, peak, warmup):
    """The smaller of the ramp and the peak."""
    return peak * min(1.0, (step + 1) / max(warmup, 1))


def rate_by_shares(step, peak, warmup):
    """Count the steps that the ramp has left."""
    left = max(warmup - step - 1, 0)
    return peak if warmup == 0 else peak * (warmup - left) / warmup


WARMUP = Exercise(
    id="placement.warmup",
    unit=UNIT,
    title="Warm-up",
    points=1,
    difficulty=1,
    minutes=6,
    signature="warmup_rate(step, peak, warmup)",
    reference=ref.warmup_rate,
    alternatives=[rate_by_min, rate_by_shares],
    cases=[
        Case(
            "first step",
            "peak 0.8 and 4 steps of warm-up: step 0 takes a quarter of the peak, 0.2",
            lambda g: call(0, 0.8, 4),
        ),
        Case("top of the ramp", "step 3 is the fourth step and takes the whole peak", lambda g: call(3, 0.8, 4)),
        Case(
            "first after it",
            "step 4 comes right after the ramp, and does not climb beyond the peak",
            lambda g: call(4, 0.8, 4),
        ),
        Case(
            "after it",
            "long after the ramp the rate is still the peak",
            lambda g: call(g.integer(500, 900), g.number(0.1, 0.9), g.integer(10, 90)),
        ),
        Case(
            "on the ramp",
            "a step in the middle of the ramp",
            lambda g: call(g.integer(5, 40), g.number(0.1, 0.9), g.integer(60, 90)),
        ),
        Case("no warm-up", "with 0 steps of warm-up the first step takes the peak", lambda g: call(0, 0.8, 0)),
    ],
    mutants=[
        Mutant(
            "from_zero",
            lambda step, peak, warmup: peak * min(1.0, step / max(warmup, 1)),
            "Step 0 gets the rate 0, so the first batch teaches nothing. Steps count from 0: use (step + 1) / warmup.",
        ),
        Mutant(
            "no_end",
            lambda step, peak, warmup: peak * (step + 1) / max(warmup, 1),
            "The rate goes on growing after the warm-up. It stays at the peak from then on.",
        ),
        Mutant(
            "overshoots",
            lambda step, peak, warmup: peak if step > warmup else peak * (step + 1) / warmup,
            "Step number warmup still climbs, beyond the peak. The last stair is step warmup − 1.",
        ),
        Mutant(
            "ramp_only",
            lambda step, peak, warmup: peak * (step + 1) / warmup if step < warmup else 0.0,
            "After the warm-up the rate is 0, and nothing is learned any more. It stays at the peak.",
        ),
        Mutant(
            "divides_by_zero",
            lambda step, peak, warmup: peak * min(1.0, (step + 1) / warmup),
            "warmup = 0 divides by zero. No warm-up means the peak from the first step on.",
        ),
        Mutant(
            "jumps",
            lambda step, peak, warmup: peak if step + 1 >= warmup else 0.1 * peak,
            "The rate jumps. Each step of the warm-up adds the same share: peak·(step + 1)/warmup.",
        ),
        Mutant(
            "decays",
            lambda step, peak, warmup: peak * min((step + 1) / max(warmup, 1), (max(warmup, 1) / (step + 1)) ** 0.5),
            "The rate falls after its peak, as in the original Transformer's schedule. Here it stays constant.",
        ),
    ],
)


# --- effective depth -----------------------------------------------------------------------------------------------
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


def _random(*shape):
    # Tokens of very different lengths: a mean of ratios is then far from a ratio of means.
    return lambda g: call(g.randn(*shape) * g.uniform(1, *shape[1:-1], 1, low=0.3, high=6.0))


CHANGES = Exercise(
    id="placement.layer_changes",
    unit=UNIT,
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

EXERCISES = [WARMUP, CHANGES]
