"""Sandwich norm, and a norm on the branch alone."""

from autograder.judge.spec import Case, Exercise, Mutant, call
from autograder.reference import residual as ref

from .shared import LAYER, RELU, RMS, SIN, SQUARE, TANH, ZEROS, pair, post_no_residual


def sandwich_of_pre(x, sublayer, norm_in, norm_out):
    """Pre-LN with a sublayer that normalizes its own output."""
    return ref.pre_ln(x, lambda h: norm_out(sublayer(h)), norm_in)


def inside_in_steps(x, sublayer, norm):
    """The branch, then the sum."""
    branch = norm(sublayer(x))
    return branch.add(x)


def _as_sandwich(rule):
    """With the names of the signature, which is checked before anything runs."""
    return lambda x, sublayer, norm_in, norm_out: rule(x, sublayer, norm_in, norm_out)


EXERCISE = Exercise(
    id="placement.variants",
    unit="03-norm-placement",
    title="A norm on the branch",
    points=2,
    difficulty=2,
    minutes=8,
    signature="sandwich(x, sublayer, norm_in, norm_out)",
    targets=("sandwich", "norm_inside"),
    reference=(ref.sandwich, ref.norm_inside),
    alternatives=[(sandwich_of_pre, inside_in_steps)],
    cases=[
        Case(
            "sandwich by hand",
            "1 and 3 normalized are −1 and 1, ReLU makes 0 and 1, RMSNorm 0 and 1.414; added to x",
            lambda g: call(pair(1.0, 3.0), RELU, LAYER, RMS),
        ),
        Case(
            "inside by hand",
            "1 and 3 squared are 1 and 9, normalized −1 and 1, added to 1 and 3: 0 and 4",
            lambda g: call(pair(1.0, 3.0), SQUARE, LAYER, fn="norm_inside"),
        ),
        Case(
            "sandwich random",
            "LayerNorm before and RMSNorm after a sublayer, 2 sentences of 3 words",
            lambda g: call(g.randn(2, 3, 5, scale=3.0), SIN, LAYER, RMS),
        ),
        Case(
            "norms exchanged",
            "RMSNorm before and LayerNorm after the sublayer",
            lambda g: call(g.randn(1, 4, 7, scale=2.0), TANH, RMS, LAYER),
        ),
        Case(
            "inside random",
            "the sublayer sees the raw stream, its output is normalized",
            lambda g: call(g.randn(2, 3, 5, scale=3.0), SIN, RMS, fn="norm_inside"),
        ),
        Case(
            "silent",
            "a sublayer that says 0 leaves the stream untouched",
            lambda g: call(g.randn(2, 3, 5), ZEROS, LAYER, RMS),
            weight=0,
        ),
    ],
    mutants=[
        Mutant(
            "norms_exchanged",
            (_as_sandwich(lambda x, f, a, b: ref.sandwich(x, f, b, a)), ref.norm_inside),
            "sandwich uses norm_out before the sublayer and norm_in after it. Exchange them.",
        ),
        Mutant(
            "on_the_stream",
            (_as_sandwich(lambda x, f, a, b: b(x + f(a(x)))), ref.norm_inside),
            "sandwich puts norm_out around the sum, which normalizes the stream. It belongs around the sublayer "
            "alone; x is added last.",
        ),
        Mutant(
            "no_norm_out",
            (_as_sandwich(lambda x, f, a, b: x + f(a(x))), ref.norm_inside),
            "sandwich never uses norm_out. Normalize the sublayer's output before it is added to x.",
        ),
        Mutant(
            "same_norm_twice",
            (_as_sandwich(lambda x, f, a, b: x + a(f(a(x)))), ref.norm_inside),
            "sandwich uses norm_in twice. The two norms have weights of their own: norm_out comes after the sublayer.",
        ),
        Mutant(
            "from_normed",
            (_as_sandwich(lambda x, f, a, b: a(x) + b(f(a(x)))), ref.norm_inside),
            "sandwich adds the branch to norm_in(x). The residual path carries x itself.",
        ),
        Mutant(
            "inside_as_pre",
            (ref.sandwich, ref.pre_ln),
            "norm_inside normalizes what enters the sublayer. Here the sublayer sees x, and its output is normalized.",
        ),
        Mutant(
            "inside_as_post",
            (ref.sandwich, ref.post_ln),
            "norm_inside normalizes the sum. Normalize the sublayer's output alone, then add x.",
        ),
        Mutant(
            "inside_no_residual",
            (ref.sandwich, post_no_residual),
            "norm_inside forgets the residual. Add x after the norm.",
        ),
        Mutant(
            "sandwich_no_residual",
            (_as_sandwich(lambda x, f, a, b: b(f(a(x)))), ref.norm_inside),
            "sandwich forgets the residual. Add x to what norm_out gives.",
        ),
        Mutant(
            "inside_as_sandwich",
            (ref.sandwich, lambda x, sublayer, norm: x + norm(sublayer(norm(x)))),
            "norm_inside normalizes before the sublayer as well. There is one norm, on what the sublayer gives.",
        ),
    ],
)
