"""The width at which a gated layer weighs what a plain one does."""

import math

from autograder.judge.spec import Case, Exercise, Mutant, call, several
from autograder.reference import ffn as ref


def checked(width):
    """A width rule with the error for sizes that are not positive."""

    def matched_width(d_model, multiple_of=1):
        if d_model < 1 or multiple_of < 1:
            raise ValueError("sizes must be positive")
        return width(d_model, multiple_of)

    return matched_width


def unchecked(width):
    """A wrong width rule without the error: a learner who errs here may or may not have written it."""
    return lambda d_model, multiple_of=1: width(d_model, multiple_of)


EXERCISE = Exercise(
    id="ffn.matched_width",
    unit="04-ffn-and-gating",
    title="Where 11008 comes from",
    points=2,
    difficulty=2,
    minutes=12,
    signature="matched_width(d_model, multiple_of=1)",
    reference=ref.matched_hidden_size,
    alternatives=[
        checked(lambda d, m: math.ceil((2 * 4 * d // 3) / m) * m),
        checked(lambda d, m: (w := int(2 * (4 * d) / 3)) + (-w) % m),
    ],
    cases=[
        Case("six", "d_model 6: three matrices of 6·16 weigh as much as two of 6·24", lambda g: call(6)),
        Case("rounded down", "d_model 4096: 10922.67 becomes 10922", lambda g: call(4096)),
        Case("seven billion", "LLaMA-7B: 4096 and multiples of 256", lambda g: call(4096, 256)),
        Case(
            "thirteen billion",
            "LLaMA-13B: 5120 and multiples of 256, rounded up although 53.3 is nearer to 53",
            lambda g: call(5120, 256),
        ),
        Case("fits already", "768: 2048 is a multiple of 256 already and stays", lambda g: call(768, 256)),
        Case(
            "random",
            "four random widths and multiples",
            lambda g: several(4, lambda p: p.call(3 * g.integer(400, 900) + 1, g.choice((96, 112)))),
        ),
        Case("error", "a d_model of 0 is refused with a ValueError", lambda g: call(0, 256), weight=0.5),
        Case("no multiple", "multiples of 0 are refused with a ValueError", lambda g: call(64, 0), weight=0.5),
    ],
    mutants=[
        Mutant(
            "four_times",
            unchecked(lambda d, m: -(-4 * d // m) * m),
            "This keeps the width 4·d_model. With three matrices instead of two it must shrink to 2/3 of that.",
        ),
        Mutant(
            "nearest",
            unchecked(lambda d, m: round(8 * d / 3 / m) * m),
            "Rounded to the nearest. The rule rounds 8/3·d_model down to an int, and that up to a multiple.",
        ),
        Mutant(
            "down",
            unchecked(lambda d, m: 8 * d // 3 // m * m),
            "Rounded down to a multiple. The published rule rounds up: 10922 becomes 11008, not 10752.",
        ),
        Mutant(
            "ceiling_first",
            unchecked(lambda d, m: math.ceil(math.ceil(8 * d / 3) / m) * m),
            "8/3·d_model is rounded up here: 10923. Round that down, to 10922, and only then up to a multiple.",
        ),
        Mutant(
            "always_one_more",
            unchecked(lambda d, m: (8 * d // 3 // m + 1) * m),
            "A width that is a multiple already gets one multiple too many.",
        ),
        Mutant(
            "unchecked", unchecked(lambda d, m: -(-(8 * d // 3) // m) * m), "Sizes below 1 should raise a ValueError."
        ),
    ],
)
