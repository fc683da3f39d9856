"""The learning rate during warm-up and after."""

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import residual as ref


def rate_by_min(step, peak, warmup):
    """The smaller of the ramp and the peak."""
    return peak * min(1.0, (step + 1) / max(warmup, 1))


def rate_by_shares(step, peak, warmup):
    """Count the steps that the ramp has left."""
    left = max(warmup - step - 1, 0)
    return peak if warmup == 0 else peak * (warmup - left) / warmup


EXERCISE = Exercise(
    id="placement.warmup",
    unit="03-norm-placement",
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
            lambda g: call(g.integer(500, 900), g.number(0.1, 0.9, digits=7), g.integer(10, 90)),
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
