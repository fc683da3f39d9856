"""Sandwich norm, and a norm on the branch alone."""

import torch

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


def own_norm(x):
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


EXERCISE = Exercise(
    id="placement.variants",
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
        Case(
            "sandwich float64",
            "a stream in float64, one sentence of one word: so is what sandwich makes of it",
            lambda g: call(g.randn(1, 1, 6, dtype=torch.float64), SIN, RMS, LAYER),
            weight=0.5,
        ),
        Case(
            "inside float64",
            "a stream in float64, one sentence of one word: so is what norm_inside makes of it",
            lambda g: call(g.randn(1, 1, 6, dtype=torch.float64), TANH, LAYER, fn="norm_inside"),
            weight=0.5,
        ),
        Case(
            "sandwich gradient",
            "the gradient of x through both norms, and past them",
            lambda g: call(g.randn(2, 3, 4, scale=2.0), SIN, LAYER, RMS, grad=[0]),
            weight=0.5,
        ),
        Case(
            "inside gradient",
            "the gradient of x through the norm on the branch, and past it",
            lambda g: call(g.randn(2, 3, 4, scale=2.0), SIN, LAYER, fn="norm_inside", grad=[0]),
            weight=0.5,
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
            "no_norm_in",
            (_as_sandwich(lambda x, f, a, b: x + b(f(x))), ref.norm_inside),
            "sandwich never uses norm_in. Normalize what the sublayer reads as well.",
        ),
        Mutant(
            "out_twice",
            (_as_sandwich(lambda x, f, a, b: x + b(f(b(x)))), ref.norm_inside),
            "sandwich uses norm_out twice. The two norms have weights of their own: norm_in comes before the sublayer.",
        ),
        Mutant(
            "both_before",
            (_as_sandwich(lambda x, f, a, b: x + f(b(a(x)))), ref.norm_inside),
            "sandwich uses both norms before the sublayer. norm_out normalizes what the sublayer gives.",
        ),
        Mutant(
            "both_after",
            (_as_sandwich(lambda x, f, a, b: x + b(a(f(x)))), ref.norm_inside),
            "sandwich uses both norms after the sublayer. norm_in normalizes what the sublayer reads.",
        ),
        Mutant(
            "inside_no_norm",
            (ref.sandwich, lambda x, sublayer, norm: x + sublayer(x)),
            "norm_inside never uses norm. Normalize what the sublayer gives, then add x.",
        ),
        Mutant(
            "inside_from_normed",
            (ref.sandwich, lambda x, sublayer, norm: norm(x) + norm(sublayer(x))),
            "norm_inside adds the branch to norm(x). The residual path carries x itself.",
        ),
        Mutant(
            "inside_stream_only",
            (ref.sandwich, lambda x, sublayer, norm: norm(x) + sublayer(x)),
            "norm_inside normalizes the residual path in place of the branch: it should be x + norm(sublayer(x)).",
        ),
        Mutant(
            "inside_as_sandwich",
            (ref.sandwich, lambda x, sublayer, norm: x + norm(sublayer(norm(x)))),
            "norm_inside normalizes before the sublayer as well. There is one norm, on what the sublayer gives.",
        ),
        Mutant(
            "sandwich_own_norms",
            (_as_sandwich(lambda x, f, a, b: x + own_norm(f(own_norm(x)))), ref.norm_inside),
            "sandwich always takes LayerNorm, whatever norms it is given. Call norm_in and norm_out.",
        ),
        Mutant(
            "inside_own_norm",
            (ref.sandwich, lambda x, sublayer, norm: x + own_norm(sublayer(x))),
            "norm_inside always takes LayerNorm, whatever norm it is given. Call the argument norm.",
        ),
        Mutant(
            "sandwich_as_post",
            (_as_sandwich(lambda x, f, a, b: b(x + f(x))), ref.norm_inside),
            "sandwich is Post-LN with norm_out. Both norms lie on the branch, and x is added last: "
            "x + norm_out(sublayer(norm_in(x))).",
        ),
        Mutant(
            "sandwich_of_parts",
            (_as_sandwich(lambda x, f, a, b: b(a(x) + f(a(x)))), ref.norm_inside),
            "sandwich normalizes the stream at both ends. Its norms lie on the branch alone: "
            "x + norm_out(sublayer(norm_in(x))).",
        ),
        Mutant(
            "sandwich_around_sum",
            (_as_sandwich(lambda x, f, a, b: x + b(a(x) + f(a(x)))), ref.norm_inside),
            "sandwich adds norm_in(x) inside norm_out. norm_out normalizes what the sublayer gives, nothing else.",
        ),
        Mutant(
            "inside_sum_too",
            (ref.sandwich, lambda x, sublayer, norm: norm(x + norm(sublayer(x)))),
            "norm_inside normalizes the sum as well. There is one norm, on what the sublayer gives.",
        ),
        Mutant(
            "inside_second_residual",
            (ref.sandwich, lambda x, sublayer, norm: x + norm(x + sublayer(x))),
            "norm_inside adds x inside the norm too. Normalize the sublayer's output alone, then add x once.",
        ),
    ],
)
