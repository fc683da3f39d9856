"""The learning rate during warm-up and after."""

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, Source, call
from autograder.reference import residual as ref


def rate_by_min(step, peak, warmup):
    """The smaller of the ramp and the peak."""
    return peak * min(1.0, (step + 1) / max(warmup, 1))


def rate_by_shares(step, peak, warmup):
    """Count the steps that the ramp has left."""
    left = max(warmup - step - 1, 0)
    return peak if warmup == 0 else peak * (warmup - left) / warmup


def before_the_top(g: Source) -> Program:
    """The last step that is still below the peak."""
    warmup = g.integer(5, 40)
    return call(warmup - 2, g.number(1.5, 3.0, digits=6), warmup)


def top_of_the_ramp(g: Source) -> Program:
    """The last two steps of the ramp and the one after it."""
    return Program().call(2, 0.8, 4).call(3, 0.8, 4).call(4, 0.8, 4)


def at_the_top(g: Source) -> Program:
    """The top of the ramp and what comes after it, for one step of warm-up and for several."""
    warmup, peak = g.integer(5, 40), g.number(1.5, 3.0, digits=6)
    long_after = g.integer(500, 900)
    several = Program().call(warmup - 1, peak, warmup).call(warmup, peak, warmup).call(long_after, peak, warmup)
    return several.call(0, peak, 1).call(1, peak, 1)


MISTAKES = changes(
    rate_by_min,
    """
from_zero: return peak → return peak if step >= warmup else peak ; (step + 1) → step
    Step 0 gets the rate 0, so the first batch teaches nothing. Steps count from 0: use (step + 1) / warmup.
from_zero_by_min: (step + 1) → step
    The ramp begins at 0: step / warmup. Steps count from 0, so the first one takes (0 + 1) / warmup, and without a
    warm-up the peak.
from_zero_divides: (step + 1) / max(warmup, 1) → step / warmup
    Step 0 gets the rate 0, and warmup = 0 divides by zero. Use (step + 1) / warmup on the ramp, and the peak from
    its last step on.
one_too_many: max(warmup, 1) → (warmup + 1)
    The ramp has warmup + 1 stairs. It has warmup of them: (step + 1) / warmup.
one_too_few: return peak → return peak if step + 2 >= warmup else peak
    The peak comes one step early. Only step warmup − 1 is the top of the ramp.
whole_numbers: (step + 1) / → (step + 1) //
    // drops what comes after the point, so the whole ramp is 0. Divide with /.
falls: return peak → return peak if step + 1 >= warmup else peak ; (step + 1) / → (warmup - step) /
    The ramp falls from the peak. It rises to it: peak·(step + 1)/warmup.
ratio_turned: min(1.0, (step + 1) / max(warmup, 1)) → max(1.0, warmup / (step + 1))
    The ratio is upside down, so the first steps are the largest. Multiply by (step + 1)/warmup.
share_alone: peak * min(1.0, (step + 1) / max(warmup, 1)) → min(1.0, (step + 1) / max(warmup, 1))
    This is the share of the peak, from 0 to 1. Multiply it by peak.
limited_by_peak: peak * min(1.0 → min(peak
    peak only cuts the ramp off here. It also sets how steep the ramp is: peak·(step + 1)/warmup.
zero_without_warmup: return peak → return 0.0 if warmup == 0 else peak
    With warmup = 0 the rate is 0 for ever. No warm-up means the peak from the first step on.
no_end: min(1.0, (step + 1) / max(warmup, 1)) → (step + 1) / max(warmup, 1)
    The rate goes on growing after the warm-up. It stays at the peak from then on.
overshoots: peak * min(1.0, (step + 1) / max(warmup, 1)) → peak if step > warmup else peak * (step + 1) / warmup
    Step number warmup still climbs, beyond the peak. The last stair is step warmup − 1.
ramp_only: peak * min(1.0, (step + 1) / max(warmup, 1)) → peak * (step + 1) / warmup if step < warmup else 0.0
    After the warm-up the rate is 0, and nothing is learned any more. It stays at the peak.
divides_by_zero: max(warmup, 1) → warmup
    warmup = 0 divides by zero. No warm-up means the peak from the first step on.
jumps: min(1.0, (step + 1) / max(warmup, 1)) → (1.0 if step + 1 >= warmup else 0.1)
    The rate jumps. Each step of the warm-up adds the same share: peak·(step + 1)/warmup.
decays: min(1.0 → min((max(warmup, 1) / (step + 1)) ** 0.5
    The rate falls after its peak, as in the original Transformer's schedule. Here it stays constant.
max_for_min: min(1.0 → max(1.0
    The rate starts at the peak and climbs beyond it: max takes the larger of the two. Take the smaller, min.
one_stair_less: (step + 1) / max(warmup, 1) → step / max(warmup - 1, 1)
    The ramp begins at 0 and has warmup − 1 stairs. Step 0 takes the first of warmup stairs: peak·(step + 1)/warmup.
too_steep: max(warmup, 1) → max(warmup - 1, 1)
    The ramp has one stair less than warmup, so the peak comes too early. Divide by warmup.
always_peak: peak * min(1.0, (step + 1) / max(warmup, 1)) → peak
    The rate is the peak from the start. Before step warmup − 1 it is peak·(step + 1)/warmup.
added: peak * min(1.0, (step + 1) / max(warmup, 1)) → peak if step + 1 >= warmup else peak + (step + 1) / warmup
    The share is added to the peak. It multiplies it: peak·(step + 1)/warmup.
squared: min(1.0, (step + 1) / max(warmup, 1)) → min(1.0, (step + 1) / max(warmup, 1)) ** 2
    The ramp is a parabola here. It is a straight line: peak·(step + 1)/warmup.
linear_decay: min(1.0 → min(max(warmup, 1) / (step + 1)
    After the warm-up the rate falls again. It stays at the peak.
""",
)

EXERCISE = Exercise(
    id="placement.warmup",
    title="Warm-up",
    points=1,
    difficulty=1,
    minutes=6,
    reference=ref.warmup_rate,
    alternatives=[rate_by_min, rate_by_shares],
    cases=[
        Case(
            "first step",
            "peak 0.8 and 4 steps of warm-up: step 0 takes a quarter of the peak, 0.2",
            lambda g: call(0, 0.8, 4),
        ),
        Case(
            "top of the ramp",
            "step 2 takes three quarters of the peak, step 3 is the fourth and takes the whole, and step 4, right "
            "after the ramp, does not climb beyond it",
            top_of_the_ramp,
        ),
        Case(
            "on the ramp",
            "a step in the middle of the ramp",
            lambda g: call(g.integer(5, 40), g.number(0.1, 0.9), g.integer(60, 90)),
        ),
        Case("before the top", "the last step but one of a ramp is still below the peak", before_the_top),
        Case(
            "tops",
            "the last step of a ramp, the one after it and one long after it; then the first two for a ramp of one "
            "step",
            at_the_top,
        ),
        Case("no warm-up", "with 0 steps of warm-up the first step takes the peak", lambda g: call(0, 0.8, 0)),
    ],
    mutants=MISTAKES,
    equivalent="""
at step + 1 = warmup the ramp's own value is the peak, so either branch gives it
    7d3748df81 solution, compare: step + 1 >= warmup → step + 1 > warmup
    e66bda03b1 solution, window: warmup + 1 in step + 1 >= warmup
    673904e259 solution, operand: step + 1 → step
""",
)
