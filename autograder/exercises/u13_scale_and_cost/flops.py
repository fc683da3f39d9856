"""FLOPs of a training run, and the days that it takes."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Source, call, several
from autograder.reference import scaling


def training_flops(parameters, tokens, recompute=False):
    """6·N·D or 8·N·D."""
    return scaling.training_flops(parameters, tokens, recompute)


def training_days(flops, devices, achieved):
    """Days at a rate that is reached."""
    return scaling.training_days(flops, devices, achieved)


def flops_by_passes(parameters, tokens, recompute=False):
    """Forward once or twice, then backward."""
    forward = 2 * parameters * tokens
    return forward * (1 + recompute) + 2 * forward


def days_by_seconds(flops, devices, achieved):
    """Seconds first."""
    seconds = flops / achieved / devices
    return seconds / 3600 / 24


def _run(g: Source) -> tuple[float, float]:
    return g.number(0.1, 500, 1) * 1e9, g.number(0.1, 20) * 1e12


def _cluster(g: Source) -> tuple[float, int, float]:
    return g.number(1, 9) * 1e23, g.integer(100, 5000), g.number(50, 600, 1) * 1e12


MISTAKES = changes(
    (scaling.training_flops, scaling.training_days),
    """
forward_only: 8 if recompute else 6 → 4 if recompute else 2
    Only the forward pass is counted. Backward takes twice as much again.
backward_only: 8 if recompute else 6 → 6 if recompute else 4
    A part of the passes is missing: 2 per parameter and token forward, 4 backward.
backward_as_forward: (8 if recompute else 6) → 4
    Backward is counted like forward. It makes two products for each of forward's: one for the weight's gradient,
    one for the input's.
half: 8 if recompute else 6 → 4 if recompute else 3
    A multiplication and an addition are two FLOPs, not one.
ignored: (8 if recompute else 6) → 6
    recompute changes nothing. With it the forward pass runs a second time: 2 more per parameter and token.
all_twice: 8 if recompute else 6 → 12 if recompute else 6
    With recompute everything is doubled. Only the forward pass runs twice.
backward_twice: 8 if recompute else 6 → 10 if recompute else 6
    With recompute the backward pass is doubled. The forward pass runs twice.
inverted: 8 if recompute else 6 → 6 if recompute else 8
    recompute works the wrong way round: with it there is more to compute, not less.
seconds: flops / (devices * achieved_flops) / 86400 → flops / (devices * achieved_flops)
    Seconds come back. A day has 86,400 of them.
hours: 86400 → 3600
    Hours come back. Divide by 24 for days.
minutes: 86400 → 1440
    The seconds are divided by the minutes of a day, 1,440. A day has 86,400 seconds.
one_device: (devices * achieved_flops) → achieved_flops
    One device does all the work. Divide by the number of devices.
more_is_slower: flops / (devices * achieved_flops) → flops / achieved_flops * devices
    More devices take longer. Divide by their number, do not multiply.
whole_days: flops / (devices * achieved_flops) / 86400 → flops // (devices * achieved_flops * 86400)
    The days are rounded down. Divide with /.
upside_down: flops / (devices * achieved_flops) / 86400 → devices * achieved_flops * 86400 / flops
    The quotient is upside down: work divided by what is done in a day.
""",
)

EXERCISE = Exercise(
    id="scale.flops",
    title="FLOPs and days of a training",
    points=1,
    difficulty=1,
    minutes=6,
    reference=(training_flops, training_days),
    alternatives=[(flops_by_passes, days_by_seconds)],
    cases=[
        Case("by hand", "10 parameters, 5 tokens: 100 FLOPs forward, 200 backward", lambda g: call(10, 5)),
        Case("recomputed", "the forward pass runs twice: 400 FLOPs", lambda g: call(10, 5, recompute=True)),
        Case("runs", "three random sizes of models and texts", lambda g: several(3, lambda p: p.call(*_run(g)))),
        Case(
            "runs, recomputed",
            "three more, with the forward pass twice",
            lambda g: several(3, lambda p: p.call(*_run(g), recompute=True)),
        ),
        Case(
            "a day",
            "864,000 FLOPs, 2 devices that reach 5 per second each: one day",
            lambda g: call(864_000, 2, 5, fn="training_days"),
        ),
        Case(
            "an instant",
            "100 to 200 FLOPs on a slow pair or trio: a small part of a day",
            lambda g: several(
                2,
                lambda p: p.call(100 + g.number(0, 99), g.integer(2, 4), g.number(30, 60), fn="training_days"),
            ),
        ),
        Case(
            "clusters",
            "three random clusters",
            lambda g: several(3, lambda p: p.call(*_cluster(g), fn="training_days")),
            weight=2,
        ),
    ],
    mutants=MISTAKES,
)
