"""The width at which a gated layer weighs what a plain one does."""

import math

from autograder.judge.spec import Case, Exercise, Mutant, Program, call, several
from autograder.reference import ffn as ref


def checked(width):
    """A width rule with the error for sizes that are not positive."""

    def matched_width(d_model, multiple_of=1):
        if d_model < 1 or multiple_of < 1:
            raise ValueError("sizes must be positive")
        return width(d_model, multiple_of)

    return matched_width


def refusing(is_refused, error=ValueError):
    """The right width, and an error where ``is_refused``."""

    def matched_width(d_model, multiple_of=1):
        if is_refused(d_model, multiple_of):
            raise error("sizes must be positive")
        return up(d_model, multiple_of)

    return matched_width


def up(d_model, multiple_of):
    """Two thirds of 4·d_model, up to a multiple, for any sizes."""
    return -(-(8 * d_model // 3) // multiple_of) * multiple_of


def unchecked(width):
    """A wrong width rule without the error: a learner who errs here may or may not have written it."""
    return lambda d_model, multiple_of=1: width(d_model, multiple_of)


EXERCISE = Exercise(
    id="ffn.matched_width",
    title="Where 11008 comes from",
    points=2,
    difficulty=2,
    minutes=12,
    signature="matched_width(d_model, multiple_of=1)",
    reference=ref.matched_hidden_size,
    alternatives=[
        checked(lambda d, m: math.ceil((2 * 4 * d // 3) / m) * m),
        checked(lambda d, m: (w := 4 * d - math.ceil(4 * d / 3)) + (-w) % m),
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
        Case("negative", "a negative d_model is refused with a ValueError", lambda g: call(-96, 8), weight=0.5),
        Case(
            "negative multiple",
            "negative multiples are refused with a ValueError",
            lambda g: call(96, -8),
            weight=0.5,
        ),
        Case(
            "smallest",
            "d_model 1 is the smallest: 2.67 becomes 2, or a whole multiple; for d_model 2, 5.33 becomes 5",
            lambda g: Program().call(1).call(2).call(1, g.integer(20, 90)),
            weight=0.5,
        ),
        Case(
            "one division",
            "widths that 3 does not divide, without a multiple: rounded down once, after all multiplying",
            lambda g: several(2, lambda p: p.call(3 * g.integer(400, 900) + 1).call(3 * g.integer(400, 900) + 2)),
            weight=0.5,
        ),
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
            "rounded_first",
            unchecked(lambda d, m: -(-round(8 * d / 3) // m) * m),
            "8/3·d_model is rounded to the nearest int: 10923. Round down, to 10922, and only then up to a multiple.",
        ),
        Mutant(
            "not_rounded_down",
            unchecked(lambda d, m: math.ceil(8 * d / 3 / m) * m),
            "The step in the middle is missing: 8/3·d_model is first rounded down to an int, then up to a multiple.",
        ),
        Mutant(
            "multiple_ignored",
            unchecked(lambda d, m: 8 * d // 3),
            "multiple_of is not used. Round up to the next multiple of it.",
        ),
        Mutant(
            "multiple_added",
            unchecked(lambda d, m: 8 * d // 3 + m),
            "multiple_of is added. Round up to the next multiple of it.",
        ),
        Mutant(
            "inverted",
            unchecked(lambda d, m: -(-(4 * d * 3 // 2) // m) * m),
            "The ratio is upside down: three matrices instead of two leave 2/3 of the width, not 3/2.",
        ),
        Mutant(
            "two_thirds_of_d",
            unchecked(lambda d, m: -(-(2 * d // 3) // m) * m),
            "This is 2/3 of d_model. Take 2/3 of the plain layer's width, 4·d_model.",
        ),
        Mutant(
            "float",
            lambda d_model, multiple_of=1: float(ref.matched_hidden_size(d_model, multiple_of)),
            "The width is a float. nn.Linear takes an int: divide with //, or convert with int().",
        ),
        Mutant(
            "multiple_unchecked",
            refusing(lambda d, m: d < 1),
            "Only d_model is checked. Raise a ValueError where multiple_of is below 1, too.",
        ),
        Mutant(
            "model_unchecked",
            refusing(lambda d, m: m < 1),
            "Only multiple_of is checked. Raise a ValueError where d_model is below 1, too.",
        ),
        Mutant(
            "zero_passes",
            refusing(lambda d, m: d < 0 or m < 0),
            "Only negative sizes are refused. 0 is below 1 as well: compare with < 1.",
        ),
        Mutant(
            "negative_passes",
            refusing(lambda d, m: d == 0 or m == 0),
            "Only 0 is refused. Negative sizes are below 1 as well: compare with < 1.",
        ),
        Mutant(
            "one_refused",
            refusing(lambda d, m: d <= 1 or m < 1),
            "A d_model of 1 is refused. Only sizes below 1 raise the ValueError.",
        ),
        Mutant(
            "assertion",
            refusing(lambda d, m: d < 1 or m < 1, AssertionError),
            "assert raises an AssertionError, and Python may be told to skip it. Write if …: raise ValueError(…).",
        ),
        Mutant("unchecked", unchecked(up), "Sizes below 1 should raise a ValueError."),
        Mutant(
            "third_first",
            unchecked(lambda d, m: -(-(4 * d // 3 * 2) // m) * m),
            "The division by 3 comes too early: what it rounds off is then doubled. Multiply first: 8 * d_model // 3.",
        ),
        Mutant(
            "two_thirds_first",
            unchecked(lambda d, m: -(-(2 * d // 3 * 4) // m) * m),
            "2/3 of d_model is rounded down, and then multiplied by 4. Multiply first: 8 * d_model // 3.",
        ),
        Mutant(
            "third_of_d_first",
            unchecked(lambda d, m: -(-(d // 3 * 8) // m) * m),
            "d_model is divided by 3 and rounded before it is multiplied by 8. Multiply first: 8 * d_model // 3.",
        ),
        Mutant(
            "number_of_multiples",
            unchecked(lambda d, m: -(-(8 * d // 3) // m)),
            "This is how many multiples fit. Multiply by multiple_of again, to get a width.",
        ),
        Mutant(
            "multiple_multiplied",
            unchecked(lambda d, m: 8 * d // 3 * m),
            "The width is multiplied by multiple_of. Round it up to the next multiple.",
        ),
        Mutant(
            "remainder_added",
            unchecked(lambda d, m: 8 * d // 3 + 8 * d // 3 % m),
            "The remainder is added, and that gives no multiple. Add what is missing: (-width) % multiple_of.",
        ),
        Mutant(
            "four_thirds",
            unchecked(lambda d, m: -(-(4 * d // 3) // m) * m),
            "This is 4/3·d_model. From 3·w = 2·4·d_model follows 8/3.",
        ),
        Mutant(
            "fraction_turned",
            unchecked(lambda d, m: -(-(3 * d // 8) // m) * m),
            "This is 3/8·d_model: the fraction is upside down. From 3·w = 8·d_model follows 8/3.",
        ),
        Mutant(
            "three_times",
            unchecked(lambda d, m: -(-3 * d // m) * m),
            "This is 3·d_model. Three matrices of width w weigh as much as two of 4·d_model: w is 8/3·d_model.",
        ),
        Mutant(
            "eight_times",
            unchecked(lambda d, m: -(-8 * d // m) * m),
            "The division by 3 is missing: from 3·w = 8·d_model follows w = 8/3·d_model.",
        ),
        Mutant(
            "one_multiple_refused",
            refusing(lambda d, m: d < 1 or m <= 1),
            "multiple_of = 1 is refused. It is allowed, and the default: raise only below 1.",
        ),
        Mutant(
            "other_error",
            refusing(lambda d, m: d < 1 or m < 1, TypeError),
            "Sizes below 1 raise a TypeError. Their value is wrong, not their type: raise a ValueError.",
        ),
        Mutant(
            "nothing_returned",
            lambda d_model, multiple_of=1: up(d_model, multiple_of) if d_model > 0 < multiple_of else None,
            "For sizes below 1 your function returns None. Raise the error: raise ValueError(…).",
        ),
        Mutant(
            "zero_returned",
            lambda d_model, multiple_of=1: up(d_model, multiple_of) if d_model > 0 < multiple_of else 0,
            "For sizes below 1 your function returns 0. Raise the error: raise ValueError(…).",
        ),
    ],
)
