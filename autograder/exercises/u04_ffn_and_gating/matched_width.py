"""The width at which a gated layer weighs what a plain one does."""

import math

from autograder.judge.changes import changes
from autograder.judge.spec import Case, Exercise, Program, call, several
from autograder.reference import ffn as ref


def checked(width):
    """A width rule with the error for sizes that are not positive."""

    def matched_width(d_model, multiple_of=1):
        if d_model < 1 or multiple_of < 1:
            raise ValueError("sizes must be positive")
        return width(d_model, multiple_of)

    return matched_width


def unchecked(d_model, multiple_of=1):
    """The right width without the error: a learner who errs here may or may not have written it."""
    width = 8 * d_model // 3
    return -(-width // multiple_of) * multiple_of


MISTAKES = [
    *changes(
        unchecked,
        """
four_times: 8 * d_model // 3 → 4 * d_model
    This keeps the width 4·d_model. With three matrices instead of two it must shrink to 2/3 of that.
nearest: 8 * d_model // 3 → 8 * d_model / 3 ; -(-width // multiple_of) → round(width / multiple_of)
    Rounded to the nearest. The rule rounds 8/3·d_model down to an int, and that up to a multiple.
down: -(-width // multiple_of) → width // multiple_of
    Rounded down to a multiple. The published rule rounds up: 10922 becomes 11008, not 10752.
ceiling_first: 8 * d_model // 3 → -(-8 * d_model // 3)
    8/3·d_model is rounded up here: 10923. Round that down, to 10922, and only then up to a multiple.
always_one_more: -(-width // multiple_of) → (width // multiple_of + 1)
    A width that is a multiple already gets one multiple too many.
rounded_first: 8 * d_model // 3 → round(8 * d_model / 3)
    8/3·d_model is rounded to the nearest int: 10923. Round down, to 10922, and only then up to a multiple.
not_rounded_down: -(-width // multiple_of) → math.ceil(8 * d_model / 3 / multiple_of)
    The step in the middle is missing: 8/3·d_model is first rounded down to an int, then up to a multiple.
multiple_ignored: -(-width // multiple_of) * multiple_of → width
    multiple_of is not used. Round up to the next multiple of it.
multiple_added: -(-width // multiple_of) * multiple_of → width + multiple_of
    multiple_of is added. Round up to the next multiple of it.
inverted: 8 * d_model // 3 → 4 * d_model * 3 // 2
    The ratio is upside down: three matrices instead of two leave 2/3 of the width, not 3/2.
two_thirds_of_d: 8 * d_model // 3 → 2 * d_model // 3
    This is 2/3 of d_model. Take 2/3 of the plain layer's width, 4·d_model.
""",
    ),
    *changes(
        ref.matched_hidden_size,
        """
float: -(-width // multiple_of) * multiple_of → float(-(-width // multiple_of) * multiple_of)
    The width is a float. nn.Linear takes an int: divide with //, or convert with int().
multiple_unchecked: d_model < 1 or multiple_of < 1 → d_model < 1
    Only d_model is checked. Raise a ValueError where multiple_of is below 1, too.
model_unchecked: d_model < 1 or multiple_of < 1 → multiple_of < 1
    Only multiple_of is checked. Raise a ValueError where d_model is below 1, too.
zero_passes: d_model < 1 or multiple_of < 1 → d_model < 0 or multiple_of < 0
    Only negative sizes are refused. 0 is below 1 as well: compare with < 1.
negative_passes: d_model < 1 or multiple_of < 1 → d_model == 0 or multiple_of == 0
    Only 0 is refused. Negative sizes are below 1 as well: compare with < 1.
one_refused: d_model < 1 → d_model <= 1
    A d_model of 1 is refused. Only sizes below 1 raise the ValueError.
assertion: raise ValueError → raise AssertionError
    assert raises an AssertionError, and Python may be told to skip it. Write if …: raise ValueError(…).
unchecked: d_model < 1 or multiple_of < 1 → False
    Sizes below 1 should raise a ValueError.
""",
    ),
    *changes(
        unchecked,
        """
third_first: 8 * d_model // 3 → 4 * d_model // 3 * 2
    The division by 3 comes too early: what it rounds off is then doubled. Multiply first: 8 * d_model // 3.
two_thirds_first: 8 * d_model // 3 → 2 * d_model // 3 * 4
    2/3 of d_model is rounded down, and then multiplied by 4. Multiply first: 8 * d_model // 3.
third_of_d_first: 8 * d_model // 3 → d_model // 3 * 8
    d_model is divided by 3 and rounded before it is multiplied by 8. Multiply first: 8 * d_model // 3.
number_of_multiples: -(-width // multiple_of) * multiple_of → -(-width // multiple_of)
    This is how many multiples fit. Multiply by multiple_of again, to get a width.
multiple_multiplied: -(-width // multiple_of) * multiple_of → width * multiple_of
    The width is multiplied by multiple_of. Round it up to the next multiple.
remainder_added: -(-width // multiple_of) * multiple_of → width + width % multiple_of
    The remainder is added, and that gives no multiple. Add what is missing: (-width) % multiple_of.
four_thirds: 8 * d_model // 3 → 4 * d_model // 3
    This is 4/3·d_model. From 3·w = 2·4·d_model follows 8/3.
fraction_turned: 8 * d_model // 3 → 3 * d_model // 8
    This is 3/8·d_model: the fraction is upside down. From 3·w = 8·d_model follows 8/3.
three_times: 8 * d_model // 3 → 3 * d_model
    This is 3·d_model. Three matrices of width w weigh as much as two of 4·d_model: w is 8/3·d_model.
eight_times: 8 * d_model // 3 → 8 * d_model
    The division by 3 is missing: from 3·w = 8·d_model follows w = 8/3·d_model.
""",
    ),
    *changes(
        ref.matched_hidden_size,
        """
one_multiple_refused: multiple_of < 1 → multiple_of <= 1
    multiple_of = 1 is refused. It is allowed, and the default: raise only below 1.
other_error: raise ValueError → raise TypeError
    Sizes below 1 raise a TypeError. Their value is wrong, not their type: raise a ValueError.
nothing_returned: raise ValueError → return None  #
    For sizes below 1 your function returns None. Raise the error: raise ValueError(…).
zero_returned: raise ValueError → return 0  #
    For sizes below 1 your function returns 0. Raise the error: raise ValueError(…).
""",
    ),
]

EXERCISE = Exercise(
    id="ffn.matched_width",
    title="Where 11008 comes from",
    points=2,
    difficulty=2,
    minutes=12,
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
    mutants=MISTAKES,
)
